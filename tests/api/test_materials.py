"""Test sets by name, with and without what training has seen."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.api import Materials, Training, read
from regard.errors import ConfigError, DataError
from tests.api.toy import recipe


def test_an_unseen_test_set_leaves_out_what_stands_in_training(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    train = (tmp_path / "data" / "train.en").read_text("utf-8").splitlines()
    test = tmp_path / "data" / "test.en"
    lines = test.read_text("utf-8").splitlines()
    test.write_text("\n".join([train[3].upper(), *lines[1:]]) + "\n", "utf-8")
    plan["data"]["test"]["unseen"] = {**plan["data"]["test"]["test"], "unseen": True}
    materials = Materials(read(plan))
    assert len(list(materials.test("test"))) == len(lines)
    assert [row.fields["source"] for row in materials.test("unseen")] == lines[1:]


# What is given first; what is to be predicted is the same everywhere.
GIVEN = {
    "classification": ({"text": "{}"}, {"label": "good"}),
    "tagging": ({"text": "{} came"}, {"tags": "O O"}),
    "answering": ({"question": "Who is {}?", "passage": "{} is here."}, {"answers": "[]"}),
    "dialogue": ({"turns": "Hello, {}."}, {"reply": "Thanks!"}),
}


@pytest.mark.parametrize("task", GIVEN)
def test_the_same_label_makes_no_text_seen(task: str, tmp_path: Path) -> None:
    given, wanted = GIVEN[task]

    def corpus(name: str, people: list[str]) -> dict[str, Any]:
        rows = [{**{field: text.format(one) for field, text in given.items()}, **wanted} for one in people]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return {"path": name, "columns": {field: field for field in (*given, *wanted)}}

    # A test set may come later; training is not cleaned of it then.
    test = {**corpus("valid.jsonl", ["TOM"]), "path": "later.jsonl", "unseen": True}
    materials = Materials(
        read(
            {
                "task": task,
                "data": {
                    "root": str(tmp_path),
                    "train": corpus("train.jsonl", ["Bob", "EVE", "Tom"]),
                    "valid": corpus("valid.jsonl", ["TOM"]),
                    "test": {"later": test},
                    "cleaning": ["overlap"],
                },
                "model": {"name": "transformer"},
            }
        )
    )
    first = next(iter(given))
    assert [row.fields[first] for row in materials.train[0]] == [given[first].format(one) for one in ("Bob", "EVE")]
    corpus("later.jsonl", ["Ann", "Eve"])
    assert [row.fields[first] for row in materials.test("later")] == [given[first].format("Ann")]


def test_an_unseen_share_is_the_share_without_what_was_seen(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    files = plan["data"]["valid"]["files"]
    first, second = {"files": files, "share": [0, 0.5]}, {"files": files, "share": [0.5, 1]}
    plan["data"] |= {"valid": first, "test": {"test": second, "unseen": {**second, "unseen": True}}}
    materials = Materials(read(plan))
    valid, test, unseen = (
        {row.fields["source"] for row in rows}
        for rows in (materials.valid, materials.test("test"), materials.test("unseen"))
    )
    assert set() < unseen <= test
    assert not test & valid


def test_an_unseen_share_of_training_is_cleaned_of_the_rest(tmp_path: Path) -> None:
    lines = [f"Zeile {number}" for number in range(60)]
    both = "".join(f"{line}\t{line}!\n{line.upper()}\t{line}?\n" for line in lines)
    (tmp_path / "train.tsv").write_text(both, "utf-8")
    plan = recipe(tmp_path / "data")
    share = {"share": [0.7, 1]}
    plan["data"] |= {
        "root": str(tmp_path),
        "train": {"path": "train.tsv", "columns": {"source": 1, "target": 2}},
        "valid": {"share": [0, 0.3]},
        "test": {"test": share, "unseen": {**share, "unseen": True}},
    }
    materials = Materials(read(plan))
    trained = {row.fields["source"].casefold() for row in materials.train[0]}
    test = [row.fields["source"] for row in materials.test("test")]
    unseen = [row.fields["source"] for row in materials.test("unseen")]
    assert 0 < len(unseen) < len(test)
    assert unseen == [source for source in test if source.casefold() not in trained]


@pytest.mark.parametrize("path", ["held.tsv", "h?ld*.tsv"])
def test_training_is_cleaned_of_held_out_files_that_a_pattern_names(tmp_path: Path, path: str) -> None:
    plan = recipe(tmp_path / "data")
    sides = [(tmp_path / "data" / f"train.{side}").read_text("utf-8").splitlines() for side in ("en", "de")]
    (tmp_path / "data" / "held.tsv").write_text(f"{sides[0][3]}\t{sides[1][3]}\n", "utf-8")
    plan["data"] |= {"cleaning": ["overlap"], "test": {"held": {"path": path, "columns": {"source": 1, "target": 2}}}}
    (train,) = Materials(read(plan)).train
    assert sides[0][3] not in {row.fields["source"] for row in train}


def test_each_of_several_references_is_held_out(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    plan["data"] |= {"references": " | ", "cleaning": ["overlap"]}
    taught = (tmp_path / "data" / "train.de").read_text("utf-8").splitlines()[3]
    valid = tmp_path / "data" / "valid.de"
    valid.write_text("".join(f"{line} | {taught}\n" for line in valid.read_text("utf-8").splitlines()), "utf-8")
    (train,) = Materials(read(plan)).train
    assert taught not in {row.fields["target"] for row in train}


def test_an_unseen_line_has_no_reference_that_stands_in_training(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    plan["data"]["references"] = " | "
    plan["data"]["test"]["test"]["unseen"] = True
    taught = (tmp_path / "data" / "train.de").read_text("utf-8").splitlines()[3]
    test = tmp_path / "data" / "test.de"
    first, *rest = test.read_text("utf-8").splitlines()
    test.write_text("".join(f"{line}\n" for line in [f"{first} | {taught.upper()}", f"{rest[0]} | Nö.", *rest[1:]]))
    assert [row.fields["target"] for row in Materials(read(plan)).test("test")] == [f"{rest[0]} | Nö.", *rest[1:]]


def test_validation_without_a_row_is_named_by_its_files(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    for side in ("en", "de"):
        (tmp_path / "data" / f"train.{side}").write_text("Ja.\n", "utf-8")
    plan["data"]["valid"] = {"share": [0.0, 1e-9]}
    with pytest.raises(DataError, match=r"train\.en and .*train\.de: no example is left"):
        Training(read(plan, ["tokenizer.size=20"]), tmp_path / "run").steps().__next__()


def test_examples_that_are_too_long_are_counted_and_told(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data", train={"updates": 1})
    heard: list[str] = []
    run = Training(read(plan, ["batches.longest=20"]), tmp_path / "run", tell=heard.append)
    next(run.steps())
    kept = run.batches.report().examples
    assert 0 < kept < len(run.stores.train)
    left = len(run.stores.train) - kept
    assert f"batches.longest = 20 leaves out {left:,} of {len(run.stores.train):,} examples of training." in heard
    assert any(text.endswith("of 20 examples of validation.") for text in heard)


def test_an_unknown_test_set_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'test'"):
        Materials(read(recipe(tmp_path / "data"))).test("tets")


def test_several_references_stand_on_one_line_of_held_out_data_only(tmp_path: Path) -> None:
    plan = recipe(tmp_path / "data")
    plan["data"]["references"] = " | "
    valid = tmp_path / "data" / "valid.de"
    valid.write_text("".join(f"{line} | Ja.\n" for line in valid.read_text("utf-8").splitlines()), "utf-8")
    from regard.tasks import TASKS

    chosen = read(plan)
    materials = Materials(chosen)
    task = TASKS["translation"].learn(chosen, materials.texts(), {})
    stores = materials.stores(tmp_path / "stores", task)
    first = next(iter(materials.valid)).fields["target"].split(" | ")[0]
    assert task.sides.target.decode(stores.valid[0]["target"].tolist()) == first


def spoiled(folder: Path) -> dict[str, Any]:
    """A recipe whose validation and test have an empty line 2 each, test also an empty line 4."""
    plan = recipe(folder)
    for name, numbers in (("valid.en", [2]), ("test.de", [2, 4])):
        lines = (folder / name).read_text("utf-8").splitlines()
        kept = ["" if number in numbers else line for number, line in enumerate(lines, 1)]
        (folder / name).write_text("".join(f"{line}\n" for line in kept), "utf-8")
    return plan


def test_bad_lines_of_held_out_data_stop_unless_they_are_to_be_skipped(tmp_path: Path) -> None:
    plan = spoiled(tmp_path / "data")
    for corpus in (Materials(read(plan)).valid, Materials(read(plan)).test("test")):
        with pytest.raises(DataError, match=r"line 2: .* is empty"):
            list(corpus)
    materials = Materials(read(plan, ["data.policy=skip"]))
    valid, test = materials.valid, materials.test("test")
    assert (len(list(valid)), valid.counts.lost) == (19, 1)
    assert (len(list(test)), test.counts.lost) == (18, 2)
    assert [place.split("/")[-1] for place in test.counts.left_out["empty"].places] == [
        "test.de line 2",
        "test.de line 4",
    ]


def test_a_run_says_how_many_lines_its_validation_lost(tmp_path: Path) -> None:
    plan = spoiled(tmp_path / "data")
    heard: list[str] = []
    changes = ["data.policy=skip", "train.updates=2", "train.every=2", "search.longest_extra=2"]
    run = Training(read(plan, changes), tmp_path / "run", tell=heard.append)
    list(run.steps())
    assert any("valid.de: 19 of 20 rows kept\n  1 left out: empty" in told for told in heard)
    assert {one["left_out"] for one in run.finish().scores["valid"].values()} == {1}


def test_a_list_is_no_text_to_learn_from(tmp_path: Path) -> None:
    rows = [{"a": "A dog.", "b": "Ein Hund."}, {"a": ["A cat.", "It runs."], "b": "x"}, {"a": "x", "b": {"c": 1}}]
    rows += [{"a": '["quoted"]', "b": 3}]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    plan = recipe(tmp_path / "data")
    plan["data"] |= {"root": str(tmp_path), "train": {"path": "rows.jsonl", "columns": {"source": "a", "target": "b"}}}
    with pytest.raises(DataError, match=r'rows\.jsonl line 2: source is \["A cat\.","It runs\."\], a JSON list'):
        list(Materials(read(plan)).texts())
    (corpus,) = Materials(read(plan, ["data.policy=skip"])).train
    assert [row.fields["source"] for row in corpus] == ["A dog.", '["quoted"]']
