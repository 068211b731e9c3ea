"""What a look at a recipe, a model or a part has found."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

# ok: as it should be; note: worth knowing; warning: perhaps not what was meant; error: it cannot go on like this.
Level = Literal["ok", "note", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: where and what it is, why that matters, what to do."""

    level: Level
    name: str
    text: str

    @property
    def kept(self) -> bool:
        """Whether what was promised held."""
        return self.level != "error"

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "kept": self.kept}

    def __str__(self) -> str:
        return f"{self.level:7} {self.name}: {self.text}"


def failed(findings: Iterable[Finding]) -> bool:
    """Whether anything among them is an error."""
    return any(not finding.kept for finding in findings)
