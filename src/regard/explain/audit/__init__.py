"""Is attention an explanation for this model? Figures over many texts, and a verdict in sentences."""

from regard.explain.audit.auditing import Case, Cost, Watch, audit
from regard.explain.audit.report import Audit
from regard.explain.audit.settings import AuditSettings

__all__ = ["Audit", "AuditSettings", "Case", "Cost", "Watch", "audit"]
