"""Settings: does everything a recipe names exist, fit together, and mean what it says?"""

from collections.abc import Mapping, Sequence

from torch import nn

from regard.api import starts
from regard.api.devices import device
from regard.api.preflight.report import Notes
from regard.api.preflight.texts import Texts
from regard.api.watched import check_watched
from regard.config import Part, make
from regard.data import CLEANERS
from regard.metrics import metric, score
from regard.tasks import TASKS, Recipe
from regard.text.patterns import starts_cjk
from regard.train import SCHEDULES, optimizers

SAMPLE = 200


def look_at_settings(recipe: Recipe, notes: Notes) -> None:
    """The model is made once, for a vocabulary of a few words; whatever else has a name is looked up."""
    with notes.watching("device"):
        notes.add("ok", "device", f"{device(recipe.device)}")
    with notes.watching("model"):
        starts.check(recipe)
        recipe = starts.resolved(recipe)
        start = starts.read(recipe.model.start).files if recipe.model.start else {}
        task = TASKS[recipe.task].learn(recipe, TASKS[recipe.task].sample(), start)
        task.model()
        notes.add("ok", "model", f"{recipe.model.name} can be built as it is set")
    with notes.watching("optimizer"):
        optimizers.build(recipe.optimizer, nn.Linear(1, 1))
    with notes.watching("schedule"):
        make("schedule", SCHEDULES, recipe.optimizer.schedule, recipe.optimizer.rate, recipe.train.updates)
    for step in recipe.data.cleaning:
        with notes.watching("cleaning"):
            make("cleaning step", CLEANERS, step, lambda: ())
    for part in (*recipe.metrics, *recipe.validation.metrics):
        with notes.watching("metrics"):
            metric(part)
    with notes.watching("watch"):
        check_watched(recipe)


def look_at_metrics(recipe: Recipe, texts: Texts, notes: Notes) -> None:
    """Every metric can be computed on this language: validation scored against itself is as good as can be."""
    wanted = [TASKS[recipe.task].references(row, recipe)[0] for row in texts.valid[:SAMPLE]]
    if not wanted:
        return
    told = []
    asked = {str(part): part for part in (*recipe.metrics, *recipe.validation.metrics)}
    for part, chosen in asked.items():
        if metric(chosen).of == "likelihood":
            continue
        with notes.watching("metrics"):
            told.append(f"{part} {score(wanted, wanted, chosen).value:.4g}")
            _look_at_language(chosen, wanted, recipe.data.valid.languages, texts.fields[-1], notes)
    notes.add(
        "ok", "metrics", f"{len(wanted)} validation lines against themselves: {', '.join(told) or 'none asked for'}"
    )


def _look_at_language(
    part: Part, wanted: Sequence[str], languages: Mapping[str, str], field: str, notes: Notes
) -> None:
    chinese = sum(map(starts_cjk, wanted)) > len(wanted) / 2
    if part.name == "bleu" and chinese and part.options.get("tokenizer", "13a") not in ("zh", "char"):
        notes.add(
            "warning",
            "metrics",
            "bleu counts words between spaces, and the references are written without; set "
            'metrics = [{ name = "bleu", tokenizer = "zh" }].',
        )
    said, known = part.options.get("language"), languages.get(field)
    if said and known and said != known:
        notes.add(
            "warning",
            "metrics",
            f"{part} cuts by the rules of {said!r}, but the corpus says its {field} is {known!r}; make them the same.",
        )
