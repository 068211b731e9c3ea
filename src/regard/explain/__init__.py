"""What a model looks at, whether it matters, and how far to trust the picture."""

from regard.explain.attribution import Attribution, Axis, Unit
from regard.explain.rendering.svg import heat
from regard.explain.subject import Look, Subject

__all__ = ["Attribution", "Axis", "Look", "Subject", "Unit", "heat"]
