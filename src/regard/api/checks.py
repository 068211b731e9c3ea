"""The promises, proven on the user's own bundle or recipe."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.api import recipes
from regard.api.broken import Broken
from regard.api.checks_bundle import Subject, batch, lines, round_trip, subject
from regard.api.checks_inside import looking, masks
from regard.api.checks_run import resume, trained
from regard.api.contracts import CONTRACTS, contract
from regard.api.extending import hint, own_parts
from regard.api.findings import Finding
from regard.api.pipeline import inside
from regard.api.rehearsal import shortened, undisturbed
from regard.errors import ConfigError, RegardError, unknown
from regard.tasks import Recipe

__all__ = ["PROMISES", "Promise", "check"]


@dataclass(frozen=True)
class Promise:
    """What is promised, and how it is proven: on a model, or by training from a recipe.

    A proof returns what was compared and how far apart it was, or raises `Broken`.
    """

    sentence: str
    model: Callable[[Subject], str] | None = None
    recipe: Callable[[Recipe, Path], str] | None = None


PROMISES: dict[str, Promise] = {
    "resume": Promise("a run that was stopped and resumed is the run that never stopped", recipe=resume),
    "looking": Promise("looking at attention changes nothing", looking),
    "batch": Promise("a text gets the same output alone and in any batch", batch),
    "masks": Promise("padding and the future change nothing", masks),
    "round_trip": Promise("saved and loaded, it is the same model", round_trip),
    "lines": Promise("every input gets its output, in order", lines),
}


def check(target: Path, promise: str | None = None, changes: Iterable[str] = ()) -> list[Finding]:
    """Whether a bundle, a run or a recipe keeps the promise named, or all of them and own parts their contracts.

    A recipe is trained for a few updates on a few of its lines, in a temporary folder.
    """
    if promise is not None and promise not in PROMISES:
        raise ConfigError(unknown("promise", promise, PROMISES))
    asked = {name: each for name, each in PROMISES.items() if promise in (None, name)}
    stored = (inside(Path(target)) / "manifest.json").exists()
    with TemporaryDirectory(prefix="regard-check-") as folder, undisturbed():
        prove = _on_bundle if stored else _on_recipe
        found = prove(Path(target), asked, tuple(changes), Path(folder))
    return found if promise else [*found, *_own()]


def _on_bundle(target: Path, asked: dict[str, Promise], changes: tuple[str, ...], folder: Path) -> list[Finding]:
    needing = {name: each for name, each in asked.items() if each.model is None}
    found = [_by_training(target, name, each, changes, folder) for name, each in needing.items()]
    if needing == asked:
        for each in found:
            if each.level == "note":
                raise ConfigError(f"{each.name}: {each.text}")
        return found
    try:
        model = subject(inside(target), changes, folder)
    except ConfigError as error:
        raise ConfigError(hint(str(error))) from None
    return [*_on_model(model, asked), *found]


def _by_training(target: Path, name: str, promise: Promise, changes: tuple[str, ...], folder: Path) -> Finding:
    """A promise that is proven by training, with the recipe a bundle has kept; a note where that cannot be."""
    assert promise.recipe is not None
    try:
        recipe = shortened(recipes.read(inside(target), changes), folder)
        return Finding("ok", name, f"{promise.sentence}: {promise.recipe(recipe, folder)}")
    except Broken as error:
        return _broken(name, promise, error)
    except RegardError as error:
        return Finding("note", name, f"{promise.sentence}: not proven, for it takes training. {error}")


def _on_recipe(target: Path, asked: dict[str, Promise], changes: tuple[str, ...], folder: Path) -> list[Finding]:
    recipe = shortened(recipes.read(target, changes), folder)
    provable = [(name, each, each.recipe) for name, each in asked.items()]
    found = [_judged(name, each, partial(prove, recipe, folder)) for name, each, prove in provable if prove]
    if not any(each.model for each in asked.values()):
        return found
    return [*found, *_on_model(subject(trained(recipe, folder / "trained"), (), folder), asked)]


def _on_model(model: Subject, asked: dict[str, Promise]) -> list[Finding]:
    provable = [(name, each, each.model) for name, each in asked.items()]
    return [_judged(name, each, partial(prove, model)) for name, each, prove in provable if prove]


def _judged(name: str, promise: Promise, proof: Callable[[], str]) -> Finding:
    try:
        return Finding("ok", name, f"{promise.sentence}: {proof()}")
    except (Broken, RegardError) as error:
        return _broken(name, promise, error)


def _broken(name: str, promise: Promise, error: Exception) -> Finding:
    return Finding("error", name, f"{promise.sentence}: it does not hold. {error}")


def _own() -> list[Finding]:
    """The contracts of the parts that were added with --extend."""
    parts = own_parts()
    found = [finding for kind, name in parts if kind in CONTRACTS for finding in contract(kind, name)]
    rest = [
        Finding("note", str(part), "there is no contract for this kind.")
        for part in parts
        if part.kind not in CONTRACTS
    ]
    return [*found, *rest]
