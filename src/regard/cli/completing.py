"""What the shell offers at a tab. Nothing here may take long or fail: a tab that raises prints over the prompt."""

import tomllib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from regard.cli import shelf


def recipes(incomplete: str) -> list[str]:
    """Recipes by name, and runs; for anything else the shell offers files."""
    return _beginning(incomplete, [*shelf.at_hand(), *_runs()])


def bundles(incomplete: str) -> list[str]:
    """Runs that have a bundle, and bundles."""
    finished = (run for run in _runs() if any((Path(run) / place).is_file() for place in shelf.MANIFESTS))
    return _beginning(incomplete, finished)


def targets(incomplete: str) -> list[str]:
    return sorted({*recipes(incomplete), *bundles(incomplete)})


def promises(incomplete: str) -> list[str]:
    with suppress(ImportError):
        from regard.api.checks import PROMISES

        return _beginning(incomplete, PROMISES)
    return []


@runtime_checkable
class Typed(Protocol):
    """What has been typed so far."""

    params: dict[str, Any]
    args: list[str]


# The name `ctx` is how typer knows what to give: its own context class is not what it passes here.
def settings(ctx: Typed, incomplete: str) -> list[str]:
    """The settings that stand in the recipe or bundle already typed; a bundle's recipe has them all."""
    # An option still without its value leaves the words before it unread.
    words = [ctx.params.get(name) for name in ("recipe", "folder", "target")] + ctx.args
    typed = next(filter(None, words), None)
    if typed is None:
        return []
    with suppress(OSError, ValueError):
        values = tomllib.loads(shelf.recipe_of(Path(typed)).read_text("utf-8"))
        return _beginning(incomplete, (f"{name}=" for name, _ in shelf.dotted(values)))
    return []


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _runs() -> list[str]:
    with suppress(OSError):
        return [str(path) for path in Path("runs").iterdir() if path.is_dir()]
    return []
