"""A run from recipe to bundle: whole, stopped and resumed, refused."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.api import Materials, Training, load, read, train
from regard.errors import ConfigError, DataError, ModelError, RegardError
from regard.nn.parameters import named
from regard.train import NotFinite
from tests.api.toy import RECURRENT, TRANSFORMER, recipe


def parameters(folder: Path) -> dict[str, torch.Tensor]:
    return named(load(folder).model)


def told(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in ("seconds", "per_second")} for line in lines]


def test_a_run_leaves_all_that_is_needed_to_go_on_and_to_use_the_model(run: Path) -> None:
    left = {path.name for path in run.iterdir()}
    assert {"recipe.toml", "tokenizer.json", "data", "checkpoints", "log.jsonl", "curve.png", "bundle"} <= left
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    losses = [line["loss"] for line in told(run) if line["kind"] == "train"]
    assert losses[-1] < losses[0]


def test_the_bundle_knows_its_scores_its_data_and_how_long_its_sources_were(run: Path) -> None:
    model = load(run)
    assert {"bleu", "chrf"} <= set(model.scores["valid"])
    assert model.facts["examples"] == 600
    assert model.facts["updates"] == 24
    assert model.recipe.predict.longest > 10
    assert len(model.golden) == 5


@pytest.mark.parametrize("settings", [{}, {"ema": 0.9}, {"average": {"what": "best", "count": 2}}])
def test_a_run_stopped_and_resumed_is_the_run_that_never_stopped(tmp_path: Path, settings: dict[str, Any]) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 12, "every": 4, "log": 3, **settings})
    train(plan, tmp_path / "whole")
    first = Training(read(plan), tmp_path / "parts")
    for step in first.steps(stop=lambda: True):
        assert step.last
    second = Training(read(plan), tmp_path / "parts", resume=True)
    made: list[int] = []
    for step in second.steps(stop=lambda: len(made) == 4):
        made.append(step.progress.update)
    assert made == [2, 3, 4, 5, 6]
    train(plan, tmp_path / "parts", resume=True)
    whole, parts = parameters(tmp_path / "whole"), parameters(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    assert told(tmp_path / "whole") == told(tmp_path / "parts")


CUTTING = {"dropout": 0.3, "ways": 3}


def test_texts_cut_in_several_ways_are_the_same_texts_and_no_more_of_them(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"epochs": 1, "every": 99})
    plain, varied = (
        Training(read(plan | more), tmp_path / name)
        for name, more in {"plain": {}, "varied": {"cutting": CUTTING}}.items()
    )
    with plain.claim(), varied.claim():
        tokenizer, store = varied.task.sides.source, varied.stores.train
        lines = (tmp_path / "data" / "train.en").read_text("utf-8").splitlines()
        assert len(store) == 3 * len(plain.stores.train) == 3 * len(lines)
        read_back = [tokenizer.decode(store[number]["source"].tolist()) for number in range(60)]
        assert read_back == [line for line in lines[:20] for _ in range(3)]
        assert len({tuple(store[number]["source"].tolist()) for number in range(60)}) > 40
        assert varied.batches.report().examples == plain.batches.report().examples == len(lines)
        # What is held out is cut as ever.
        valid = [training.stores.valid[0]["source"].tolist() for training in (plain, varied)]
        assert valid[0] == valid[1]


def goes_on_unchanged(plan: dict[str, Any], folder: Path) -> None:
    """Stopped and resumed, a run ends with the parameters of one that was not."""
    train(plan, folder / "whole")
    for step in Training(read(plan), folder / "parts").steps(stop=lambda: True):
        assert step.last
    train(plan, folder / "parts", resume=True)
    whole, parts = parameters(folder / "whole"), parameters(folder / "parts")
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_run_on_texts_cut_in_several_ways_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    goes_on_unchanged(recipe(tmp_path / "data", train={"updates": 8, "every": 4}, cutting=CUTTING), tmp_path)
    assert load(tmp_path / "whole").facts["examples"] == 600


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tokenizer": {"kind": "words", "size": 400}}, "the kind words has no merges"),
        ({"model": RECURRENT, "target_tokenizer": {"kind": "unigram", "size": 400}}, "the kind unigram"),
    ],
)
def test_what_has_no_merges_leaves_none_out(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=rf"cutting\.dropout = 0\.3: .*{said}"):
        Training(read(recipe(tmp_path / "data", cutting=CUTTING, **change)), tmp_path / "run")


@pytest.mark.parametrize("model", [TRANSFORMER, RECURRENT])
def test_two_readings_that_are_to_agree_are_for_training_only(tmp_path: Path, model: dict[str, Any]) -> None:
    sure = {"dropout": 0.0, "embedding": {"dropout": 0.0}} if model is TRANSFORMER else {}
    plan = recipe(tmp_path / "data", {**model, **sure}, train={"updates": 2, "every": 2})
    with (training := Training(read(plan | {"loss": {"agreement": 5.0}}), tmp_path / "run")).claim():
        batch = training.part(next(iter(training.batches.walk())))
        once = replace(training.task, recipe=read(plan))
        for learning in (False, True):
            training.model.train(learning)
            torch.manual_seed(1)
            found = training.task.loss(training.model, batch, 0.1)
            torch.manual_seed(1)
            alone = once.loss(training.model, batch, 0.1)
            assert found.count == alone.count
            # Where nothing is dropped, two readings are one.
            if not learning or model is TRANSFORMER:
                torch.testing.assert_close((found.total, found.nll), (alone.total, alone.nll))
            else:
                assert found.total != alone.total


def test_a_run_of_two_readings_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    goes_on_unchanged(recipe(tmp_path / "data", train={"updates": 6, "every": 3}, loss={"agreement": 5.0}), tmp_path)


def test_what_is_copied_is_not_compared(tmp_path: Path) -> None:
    copying = read(recipe(tmp_path / "data", {**RECURRENT, "copying": True}, loss={"agreement": 5.0}))
    with pytest.raises(ConfigError, match=r"loss\.agreement = 5\.0 .* this model copies"):
        Training(copying, tmp_path / "run")


def test_one_thing_changed_in_the_seed_changes_the_run(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 2, "every": 2})
    one, other = train(plan, tmp_path / "one"), train(plan, tmp_path / "other", ["seed=2"])
    assert any(
        not torch.equal(a, b) for a, b in zip(named(one.model).values(), named(other.model).values(), strict=True)
    )


def test_the_examples_of_a_batch_that_is_no_number_are_named_whichever_of_a_group_it_is(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", {**TRANSFORMER, "tied": "none"}, tokenizer={"kind": "characters", "size": 200})
    plan |= {"batches": {"tokens": 4000, "rows": 40}, "train": {"updates": 1, "every": 1, "accumulate": 4}}
    lines = (tmp_path / "data" / "train.en").read_text("utf-8").splitlines()
    training = Training(read(plan), tmp_path / "first")
    with training.claim():
        first, *_, last = [batch.examples.tolist() for batch in islice(training.batches.walk(), 4)]
    bad = first[30]
    lines[bad] = f"☃{lines[bad][1:]}"
    (tmp_path / "data" / "train.en").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    training = Training(read(plan), tmp_path / "run")
    with training.claim(), torch.no_grad():
        token = training.task.sides.source.encode("☃").ids[0]
        training.model.encoder.embedding.vectors[token] = torch.nan
    with pytest.raises(NotFinite) as error:
        list(training.steps())
    told = str(error.value)
    assert f"The examples: {', '.join(map(str, first[:20]))} and {len(first) - 20} more. " in told
    assert str(last[0]) not in told.partition("The examples:")[2].split(", ")


def test_a_folder_in_use_is_refused_and_named(run: Path) -> None:
    with pytest.raises(ConfigError, match="is there already; add --resume"):
        next(iter(Training(read(run), run).steps()))


def test_a_run_is_not_resumed_with_other_settings(run: Path) -> None:
    with pytest.raises(ConfigError, match=r"optimizer\.rate was 0\.01, now 0\.5"):
        next(iter(Training(read(run, ["optimizer.rate=0.5"]), run, resume=True).steps()))


@pytest.mark.parametrize("change", ["train.keep_memory=false", "tensorboard=true"])
def test_what_does_not_touch_the_parameters_may_change(run: Path, change: str) -> None:
    before = read(run)
    Training(before, run, resume=True).check_same(read(run, [change]))


def test_a_finished_run_resumed_makes_no_more_updates(run: Path) -> None:
    assert list(Training(read(run), run, resume=True).steps()) == []


@pytest.mark.parametrize(("part", "which"), [("train", "training"), ("valid", "validation")])
def test_a_run_does_not_go_on_with_other_data(tmp_path: Path, part: str, which: str) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 2, "every": 2})
    train(plan, tmp_path / "run")
    for side in ("en", "de"):
        path = tmp_path / "data" / f"{part}.{side}"
        path.write_text("".join(reversed(path.read_text("utf-8").splitlines(keepends=True))), "utf-8")
    with pytest.raises(DataError, match=f"{which} data are not those of the checkpoint of update 2"):
        train(plan, tmp_path / "run", ["train.updates=4"], resume=True)


def test_a_run_may_be_made_longer(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 2, "every": 2}, optimizer={"schedule": "constant"})
    train(plan, tmp_path / "short")
    train(plan, tmp_path / "short", ["train.updates=4"], resume=True)
    train(plan, tmp_path / "long", ["train.updates=4"])
    longer, whole = parameters(tmp_path / "short"), parameters(tmp_path / "long")
    assert all(torch.equal(longer[name], whole[name]) for name in whole)


def test_every_mistake_in_a_recipe_is_told_by_name(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    with pytest.raises(ConfigError, match=r"train\.updatse.*train\.updates"):
        read(plan, ["train.updatse=5"])
    with pytest.raises(ConfigError, match="Unknown task 'translaton'\\. Did you mean 'translation'"):
        read(plan, ["task=translaton"])
    with pytest.raises(ConfigError, match=r"Unknown task \['translation'\]"):
        read(plan, ["task=['translation']"])
    with pytest.raises(ConfigError, match=r"layers = .*less than or equal to 10000"):
        train(plan, tmp_path / "x", [f"model.layers={10**6}"])
    with pytest.raises(ConfigError, match="Unknown model 'transfomer'"):
        train(plan, tmp_path / "x", ["model.name=transfomer"])
    with pytest.raises(RegardError, match=r"train\.xx"):
        train(plan, tmp_path / "y", ["data.train.files.source=train.xx"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("train.watch=bleu", "the higher the better, but train.higher = false"),
        ("train.watch=chrf", "not measured during training"),
        ('validation.metrics=["bleu", {name = "bleu", tokenizer = "char"}]', "has bleu more than once"),
        ("optimizer.name=moun", "Unknown optimizer 'moun'. Did you mean 'muon'"),
    ],
)
def test_what_would_end_or_spoil_a_run_later_is_told_before_its_data_are_prepared(
    tmp_path: Path, change: str, told: str
) -> None:
    plan = recipe(tmp_path / "data", validation={"metrics": ["bleu"]})
    with pytest.raises(ConfigError, match=told):
        Training(read(plan, [change]), tmp_path / "run")


@pytest.mark.parametrize("part", ["train", "valid"])
def test_an_example_without_a_position_is_told_before_the_first_update(tmp_path: Path, part: str) -> None:
    model = {**TRANSFORMER, "position": {"name": "learned", "length": 60}}
    plan = recipe(tmp_path / "data", model)
    for side in ("en", "de"):
        with (tmp_path / "data" / f"{part}.{side}").open("a", encoding="utf-8") as file:
            file.write("und so weiter " * 40 + "\n")
    training = Training(read(plan), tmp_path / "run")
    with pytest.raises(ModelError, match=rf"example of {part}\w+: Position \d+ is past the 60.*batches.longest"):
        next(training.steps())
    shorter = Training(read(plan, ["batches.longest=60"]), tmp_path / "shorter")
    assert next(shorter.steps()).progress.update == 1


@pytest.mark.parametrize("asked", [{}, {"tied": "output", "copying": True}])
def test_vectors_are_not_shared_by_two_vocabularies_of_one_size(tmp_path: Path, asked: dict[str, Any]) -> None:
    plan = recipe(tmp_path / "data", {**TRANSFORMER, **asked}, target_tokenizer={"size": 400})
    with pytest.raises(ConfigError, match="needs one vocabulary for source and target, and target_tokenizer makes"):
        Training(read(plan), tmp_path / "run")


def test_a_test_set_that_training_cannot_be_cleaned_of_is_told(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 1, "every": 1})
    plan["data"] |= {
        "cleaning": ["overlap"],
        "test": {"later": {"files": {"source": "later.en", "target": "later.de"}}},
    }
    heard: list[str] = []
    next(Training(read(plan), tmp_path / "run", tell=heard.append).steps())
    assert "The files of data.test.later are not there: training is not cleaned of what they hold." in heard


def test_fields_that_the_task_does_not_have_are_refused(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    plan["data"]["train"] = {"files": {"source": "train.en", "reference": "train.de"}}
    with pytest.raises(ConfigError, match="this task needs source and target"):
        Training(read(plan), tmp_path / "run")


def test_a_damaged_checkpoint_is_passed_over_and_said(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 8, "every": 4})
    train(plan, tmp_path / "whole")
    list(Training(read(plan), tmp_path / "run").steps())
    newest = max((tmp_path / "run" / "checkpoints").iterdir()) / "parameters.safetensors"
    newest.write_bytes(newest.read_bytes()[:-1] + b"?")
    heard: list[str] = []
    training = Training(read(plan), tmp_path / "run", resume=True, tell=heard.append)
    assert [step.progress.update for step in training.steps()] == [5, 6, 7, 8]
    assert any("is damaged" in text for text in heard)
    training.finish()
    whole, again = parameters(tmp_path / "whole"), parameters(tmp_path / "run")
    assert all(torch.equal(whole[name], again[name]) for name in whole)


def test_a_recipe_on_a_base_changes_only_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('task = "translation"\n[model]\nname = "transformer"\nwidth = 8\n')
    (tmp_path / "top.toml").write_text('base = "base.toml"\nseed = 7\n[model]\nwidth = 16\n')
    from regard.api.recipes import based

    assert based(tmp_path / "top.toml") == {
        "task": "translation",
        "seed": 7,
        "model": {"name": "transformer", "width": 16},
    }
    (tmp_path / "base.toml").write_text('base = "top.toml"\n')
    with pytest.raises(ConfigError, match="circle"):
        based(tmp_path / "top.toml")
    (tmp_path / "top.toml").write_text(f'base = "../{tmp_path.name}/top.toml"\n')
    with pytest.raises(ConfigError, match=r"top\.toml: base = .* goes round in a circle"):
        based(tmp_path / "top.toml")


def test_a_compiled_run_is_the_plain_one(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 3, "every": 3})
    train(plan, tmp_path / "plain")
    # In a process of its own: shapes that are checked at every call cannot be traced.
    call = "import json, sys, regard; regard.train(json.loads(sys.argv[1]), sys.argv[2], ['train.compile=eager'])"
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    place = str(tmp_path / "compiled")
    subprocess.run([sys.executable, "-c", call, json.dumps(plan), place], env=environment, check=True)
    plain, compiled = parameters(tmp_path / "plain"), parameters(tmp_path / "compiled")
    assert all(torch.equal(plain[name], compiled[name]) for name in plain)


def test_a_recurrent_model_takes_the_same_walk(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", RECURRENT, train={"updates": 3, "every": 3}, validation={"metrics": ["bleu"]})
    model = train(plan, tmp_path / "run")
    [result] = model.with_settings("predict.alignment=true").predict(["He reads a book."])
    assert result.plain()["links"] is not None


def test_a_model_of_several_languages_is_judged_in_those_of_each_corpus(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 2, "every": 2}, validation={"metrics": ["bleu"]})
    sides = {"de": plan["data"]["train"], "en": {"files": {"source": "train.de", "target": "train.en"}}}
    plan["data"]["train"] = [{**side, "languages": {"target": name}} for name, side in sides.items()]
    plan["data"]["valid"]["languages"] = {"target": "de"}
    plan["data"]["test"]["back"] = {"files": {"source": "test.de", "target": "test.en"}, "languages": {"target": "en"}}
    made = train(plan, tmp_path / "run")
    assert made.recipe.predict.language == "de"
    load(tmp_path / "run", verify=True)
    corpus = Materials(made.recipe).test("back")
    wanted = made.with_settings("predict.language=en").predict(row.fields["source"] for row in corpus)
    assert made.evaluate(corpus).texts == [one.text for one in wanted]


def test_a_held_out_set_without_lines_is_an_error(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    (tmp_path / "data" / "valid.en").write_text("")
    (tmp_path / "data" / "valid.de").write_text("")
    with pytest.raises(DataError):
        train(plan, tmp_path / "run")
