"""Models that decide together, of every kind that reads: through the pipeline, by command, and what they refuse."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from regard.api import Materials, Pipeline, load, train
from regard.errors import ConfigError, RequestError
from tests.cli.toy import regard

WORDS = ("Ada", "sings", "at", "Oslo", "and", "Bo", "sleeps", "near", "Rome")
ENCODER = {"name": "recurrent", "width": 8, "embedding": {"width": 8}}


class Kind(NamedTuple):
    """A task with rows of it and what its model is asked."""

    rows: list[dict[str, Any]]
    columns: dict[str, str]
    asked: list[Any]
    more: dict[str, Any]


def sentences() -> list[list[str]]:
    return [[WORDS[(start + step * k) % len(WORDS)] for k in range(5)] for start in range(9) for step in (1, 2, 4)]


KINDS = {
    "classification": Kind(
        [{"text": " ".join(words), "label": "long" if "Oslo" in words else "short"} for words in sentences()],
        {"text": "text", "label": "label"},
        [" ".join(words) for words in sentences()],
        {},
    ),
    "tagging": Kind(
        [
            {
                "text": " ".join(words),
                "tags": " ".join(["B-LOC" if word in ("Oslo", "Rome") else "O" for word in words]),
            }
            for words in sentences()
        ],
        {"text": "text", "tags": "tags"},
        [" ".join(words) for words in sentences()],
        {},
    ),
    "answering": Kind(
        [{"question": f"Who is {words[0]}?", "passage": " ".join(words), "answers": words[2]} for words in sentences()],
        {"question": "question", "passage": "passage", "answers": "answers"},
        [{"question": f"Who is {words[0]}?", "passage": " ".join(words)} for words in sentences()],
        {},
    ),
}


def recipe(name: str, folder: Path, seed: int, **other: Any) -> dict[str, Any]:
    kind = KINDS[name]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kind.rows))
    side = {"path": f"{name}.jsonl", "columns": kind.columns}
    return {
        "task": name,
        "seed": seed,
        "data": {"root": str(folder), "train": side, "valid": side, "test": {"test": side}},
        "model": ENCODER,
        "batches": {"tokens": 128},
        "optimizer": {"rate": 1e-2, "schedule": "constant"},
        "train": {"updates": 4, "every": 4},
        **kind.more,
        **other,
    }


@pytest.fixture(scope="module", params=list(KINDS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The name of a task, and a folder with two runs of it."""
    folder = tmp_path_factory.mktemp(request.param)
    for seed in (1, 2):
        train(recipe(request.param, folder, seed), folder / f"run{seed}")
    return request.param, folder


def scores(results: list[Any]) -> np.ndarray:
    return np.array([result.score for result in results])


def test_together_is_neither_of_them_and_in_any_order_the_same(pair: tuple[str, Path]) -> None:
    name, folder = pair
    one, other = (load(folder / f"run{seed}") for seed in (1, 2))
    asked = KINDS[name].asked
    together, turned = one.ensemble([other]).predict(asked), other.ensemble([one]).predict(asked)
    assert [result.text for result in together] == [result.text for result in turned]
    assert scores(together) == pytest.approx(scores(turned), abs=1e-4)
    for member in (one, other):
        assert np.abs(scores(together) - scores(member.predict(asked))).max() > 1e-3
        twice = member.ensemble([member]).predict(asked)
        assert [result.text for result in twice] == [result.text for result in member.predict(asked)]
        assert scores(twice) == pytest.approx(scores(member.predict(asked)), abs=1e-5)


def test_alone_is_as_in_company(pair: tuple[str, Path]) -> None:
    name, folder = pair
    together = load(folder / "run1").ensemble([load(folder / "run2")])
    found = together.predict(KINDS[name].asked)
    alone = [together.predict([asked])[0] for asked in KINDS[name].asked]
    assert [result.text for result in found] == [result.text for result in alone]
    assert scores(found) == pytest.approx(scores(alone), abs=1e-4)


def test_the_commands_take_several(pair: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = pair
    one, other = folder / "run1", folder / "run2"
    file = tmp_path / "asked.jsonl"
    lines = [asked if isinstance(asked, dict) else {"text": asked} for asked in KINDS[name].asked]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = regard("predict", one, "--with", other, file)
    together = load(one).ensemble([load(other)])
    assert ran.stdout.splitlines() == [result.text for result in together.predict(KINDS[name].asked)]
    measured = json.loads(regard("evaluate", one, "--with", other, "--json").stdout)
    wanted = together.evaluate(Materials(together.recipe).test("test"))
    assert {what: one["value"] for what, one in measured["scores"].items()} == pytest.approx(
        {what: one.value for what, one in wanted.scores.items()}
    )


def test_what_only_one_model_has_is_refused(pair: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = pair
    asked = KINDS[name].asked[0]
    together = load(folder / "run1").ensemble([load(folder / "run2")])
    refused: list[Any] = [
        lambda: together.explain(asked),
        lambda: together.explore(asked),
        lambda: together.whatif(asked, KINDS[name].asked[1]),
        lambda: list(together.embed([asked])),
        lambda: together.save(tmp_path / "bundle"),
    ]
    if name == "classification":
        refused.append(lambda: together.with_settings("predict.weights=true").predict([asked]))
    for ask in refused:
        with pytest.raises(RequestError, match=r"Models that decide together .* one of them alone"):
            ask()
    assert not (tmp_path / "bundle").exists()


def test_models_of_other_tasks_or_words_are_not_joined(tmp_path: Path, model: Pipeline) -> None:
    made = {name: train(recipe(name, tmp_path, 1), tmp_path / name) for name in ("classification", "tagging")}
    with pytest.raises(ConfigError, match="very same tokenizer and labels"):
        made["classification"].ensemble([made["tagging"]])
    more = recipe("classification", tmp_path, 1, tokenizer={"kind": "words", "size": 9})
    with pytest.raises(ConfigError, match="very same tokenizer and labels"):
        made["classification"].ensemble([train(more, tmp_path / "fewer")])
    with pytest.raises(ConfigError, match="very same tokenizer and labels"):
        model.ensemble([made["classification"]])
