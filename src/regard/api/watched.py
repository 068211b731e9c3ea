"""The score that decides which update of a run is the best."""

from collections import Counter

from regard.errors import ConfigError, nearest
from regard.metrics import metric
from regard.tasks import Recipe


def check_watched(recipe: Recipe) -> None:
    """Refuse a score that is not measured while the model learns, is turned the wrong way, or is two scores."""
    counts = Counter(part.name for part in recipe.validation.metrics)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ConfigError(
            f"validation.metrics has {twice[0]} more than once, and while a model learns scores are known by name "
            "alone; leave one there, and measure the others at the end with metrics."
        )
    watch, higher = recipe.train.watch, recipe.train.higher
    names = {part.name: part for part in recipe.validation.metrics}
    if watch != "loss" and watch not in names:
        known = ", ".join(["loss", *names])
        raise ConfigError(
            f"train.watch = {watch!r} is not measured during training; there are: {known}."
            f"{nearest(watch, ['loss', *names])} Add it to validation.metrics, or watch another."
        )
    better = False if watch == "loss" else metric(names[watch]).higher_is_better
    if better != higher:
        kind = "the higher the better" if better else "the lower the better"
        raise ConfigError(
            f"train.watch = {watch!r} is {kind}, but train.higher = {str(higher).lower()}: the worst update would be "
            f"kept as the best. Set train.higher = {str(better).lower()}."
        )
