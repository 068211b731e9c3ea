"""What preflight has to say."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from regard.api.findings import Finding, Level, failed
from regard.errors import RegardError


@dataclass(frozen=True)
class Report:
    """Findings in the order they were made, and the numbers among them by name."""

    findings: tuple[Finding, ...]
    facts: Mapping[str, float | int]

    @property
    def failed(self) -> bool:
        """Whether the run could not be made like this."""
        return failed(self.findings)

    def of(self, level: Level) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == level]

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "failed": self.failed,
            "findings": [finding.plain() for finding in self.findings],
            "facts": dict(self.facts),
        }

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))


@dataclass
class Notes:
    """Findings as they are made; each is told at once."""

    tell: Callable[[str], None]
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, float | int] = field(default_factory=dict)

    def add(self, level: Level, name: str, text: str) -> None:
        finding = Finding(level, name, text)
        # The same trouble may be met twice: once looked for, and once in the run in small.
        if finding not in self.findings:
            self.findings.append(finding)
            self.tell(str(finding))

    @contextmanager
    def watching(self, name: str) -> Iterator[None]:
        """Whatever Regard refuses inside becomes a finding, and the look goes on after it."""
        try:
            yield
        except RegardError as error:
            if not any(str(error) == finding.text for finding in self.findings):
                self.add("error", name, str(error))
        except (MemoryError, RuntimeError) as error:
            if "memory" not in f"{type(error).__name__} {error}".lower():
                raise
            self.add("error", name, f"The memory is too small ({error}). Lower batches.tokens or the model's width.")

    @property
    def failed(self) -> bool:
        return failed(self.findings)

    def report(self) -> Report:
        return Report(tuple(self.findings), dict(self.facts))
