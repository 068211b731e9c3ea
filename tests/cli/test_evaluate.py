"""Scores with signatures, from names and from files; comparisons in a sentence."""

import json
from pathlib import Path

import pytest

from regard.api import Materials, Pipeline
from regard.errors import RegardError
from regard.metrics import compare
from tests.cli.toy import regard


def test_the_scores_are_those_of_the_api(run: Path) -> None:
    result = regard("evaluate", run, "--json")
    told = json.loads(result.stdout)
    pipeline = Pipeline.load(run)
    found = pipeline.evaluate(Materials(pipeline.recipe).test("held"))
    assert (told["data"], told["lines"]) == ("held", 6)
    assert told["scores"] == found.plain()
    assert sum(told["statuses"].values()) >= 6


def test_each_score_is_shown_with_its_signature(run: Path) -> None:
    result = regard("evaluate", run, "held")
    assert result.exit_code == 0
    assert "held: 6 lines" in result.stdout
    assert "bleu" in result.stdout
    assert "nrefs:1|case:mixed" in result.stdout


def test_two_files_and_a_table_and_a_name_score_alike(run: Path, toy: Path, tmp_path: Path) -> None:
    sources, targets = ((toy / f"test.{side}").read_text("utf-8").splitlines() for side in ("en", "de"))
    table, keyed = tmp_path / "test.tsv", tmp_path / "test.jsonl"
    table.write_text("".join(f"{a}\t{b}\n" for a, b in zip(sources, targets, strict=True)), "utf-8")
    keyed.write_text(
        "".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in zip(sources, targets, strict=True)), "utf-8"
    )
    given = [["held"], [toy / "test.en", toy / "test.de"], [table], [keyed]]
    scores = [json.loads(regard("evaluate", run, *data, "--json").stdout)["scores"] for data in given]
    assert scores == [scores[0]] * 4


@pytest.fixture
def spoiled(toy: Path, tmp_path: Path) -> Path:
    """The test set as a table of which line 2 is empty on one side and line 4 has a list for a text."""
    sides = [(toy / f"test.{side}").read_text("utf-8").splitlines() for side in ("en", "de")]
    rows = [{"source": source, "target": target} for source, target in zip(*sides, strict=True)]
    rows[1]["target"], rows[3]["source"] = "", ["the", "dog"]
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return tmp_path / "bad.jsonl"


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_a_bad_line_stops_unless_it_is_to_be_skipped(run: Path, spoiled: Path, command: str) -> None:
    models = [run] * (2 if command == "compare" else 1)
    assert "line 2: target is empty" in str(regard(command, *models, spoiled).exception)
    shown = regard(command, *models, spoiled, "--set", "data.policy=skip")
    assert shown.exit_code == 0, shown.exception
    assert "4 lines" in shown.stdout
    assert f"1 left out: empty ({spoiled} line 2)" in shown.stdout
    assert f"1 left out: unusable ({spoiled} line 4)" in shown.stdout
    told = json.loads(regard(command, *models, spoiled, "--set", "data.policy=skip", "--json").stdout.splitlines()[0])
    assert told["lines"] == 4
    assert told["left_out"]["unusable"] == {"count": 1, "places": [f"{spoiled} line 4"]}


def test_lines_left_out_stand_beside_each_score(run: Path, spoiled: Path) -> None:
    shown = regard("evaluate", run, spoiled, "--set", "data.policy=skip").stdout
    assert [line.endswith(", 2 lines left out") for line in shown.splitlines() if "nrefs" in line] == [True, True]
    told = json.loads(regard("evaluate", run, spoiled, "--set", "data.policy=skip", "--json").stdout)
    assert {one["left_out"] for one in told["scores"].values()} == {2}
    whole = json.loads(regard("evaluate", run, "--json").stdout)
    assert whole["left_out"] == {}
    assert not any("left_out" in one for one in whole["scores"].values())


def test_where_all_lines_are_bad_nothing_is_measured(run: Path, tmp_path: Path) -> None:
    (tmp_path / "none.tsv").write_text("\tx\n", "utf-8")
    failed = regard("evaluate", run, tmp_path / "none.tsv", "--set", "data.policy=skip").exception
    assert isinstance(failed, RegardError)
    assert "no line to evaluate on.\n0 of 1 rows kept\n  1 left out: empty" in str(failed)


def test_outputs_are_written_one_a_line(run: Path, toy: Path, tmp_path: Path) -> None:
    result = regard("evaluate", run, "--out", tmp_path / "out.de")
    assert result.exit_code == 0
    assert (tmp_path / "out.de").read_bytes() == regard("predict", run, toy / "test.en").stdout_bytes


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (["hled"], "Did you mean 'held'?"),
        (["missing.en", "missing.de"], "No file missing.en"),
        (["a.en", "b.de", "c.fr"], "3 files were named"),
        (["a.txt"], "cannot tell the format"),
    ],
)
def test_data_that_are_not_there_are_told(run: Path, data: list[str], told: str) -> None:
    result = regard("evaluate", run, *data)
    assert isinstance(result.exception, RegardError)
    assert told in str(result.exception)


def test_a_file_without_an_ending_is_a_file(run: Path, here: Path) -> None:
    (here / "plain").write_text("the dog\n", "utf-8")
    assert "neither a test set nor a file" not in str(regard("evaluate", run, "plain").exception)


def test_names_are_read_as_tags_and_as_spans(others: dict[str, Path], tmp_path: Path) -> None:
    spans = {"text": "Ada sees Rome", "entities": [[0, 3, "PER"], [9, 13, "LOC"]]}
    tags = {"text": "Ada sees Rome", "tags": "B-PER O B-LOC"}
    scores = []
    for name, row in (("spans", spans), ("tags", tags)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        result = regard("evaluate", others["tagging"], tmp_path / f"{name}.jsonl", "--json")
        assert result.exit_code == 0, result.exception
        scores.append(json.loads(result.stdout)["scores"])
    assert scores[0] == scores[1]


def test_labels_the_model_never_saw_are_named(others: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    rows = [{"text": "Ada sees Rome", "tags": "B-PER O B-LOC"}, {"text": "Bo sees Acme", "tags": "B-PER O B-ORG"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    shown = regard("evaluate", others["tagging"], file).stdout
    assert "1 of 2 lines have a label that training never had" in shown
    assert f"'ORG' ({file} line 2)" in shown
    told = json.loads(regard("evaluate", others["tagging"], file, "--json").stdout)
    found = {"ORG": {"count": 1, "places": [f"{file} line 2"]}}
    assert told["unseen"] == found
    both = ("compare", others["tagging"], others["tagging"], file)
    assert f"{others['tagging']}: 1 of 2 lines have a label" in regard(*both).stdout
    assert json.loads(regard(*both, "--json").stdout.splitlines()[0])["unseen"] == [found, found]


def test_where_nothing_is_written_no_file_is_promised(others: dict[str, Path], toy: Path, tmp_path: Path) -> None:
    result = regard("evaluate", others["language"], toy / "test.en", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    assert "there is no output to write" in result.stderr
    assert not (tmp_path / "out").exists()


def test_models_of_two_tasks_are_not_compared(run: Path, others: dict[str, Path]) -> None:
    result = regard("compare", run, others["tagging"])
    assert isinstance(result.exception, RegardError)
    assert "is for translation" in str(result.exception)


def test_a_model_is_as_good_as_itself(run: Path) -> None:
    result = regard("compare", run, run)
    assert result.exit_code == 0
    assert "By bleu they are the same." in result.stdout


def test_a_comparison_tells_what_the_bootstrap_found(run: Path) -> None:
    told = [json.loads(line) for line in regard("compare", run, run, "held", "--json").stdout.splitlines()]
    assert [row["metric"] for row in told] == ["bleu", "chrf"]
    assert all((row["delta"], row["p_value"], row["interval"]) == (0.0, 1.0, [0.0, 0.0]) for row in told)


@pytest.mark.parametrize(
    ("metric", "outputs", "better"),
    [("exact", ("x", "a"), "new"), ("line_error", ("x", "a"), "new"), ("exact", ("a", "x"), "old")],
)
def test_the_better_one_is_named_whichever_way_a_score_points(
    metric: str, outputs: tuple[str, str], better: str
) -> None:
    from regard.cli.compare import sentence

    found = compare([outputs[0]] * 50, [outputs[1]] * 50, ["a"] * 50, metric)
    worse = {"old": "new", "new": "old"}[better]
    assert f"{better} is better than {worse} by 100.00" in sentence(found, "old", "new")


def test_what_the_engine_of_an_export_cannot_do_is_not_done_by_the_bundle_inside_it(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    assert regard("export", run, "--to", "ctranslate2", "--out", tmp_path / "export").exit_code == 0
    many = 500
    (tmp_path / "many.en").write_text("the dog\n" * many)
    (tmp_path / "many.de").write_text("das Hund\n" * many)
    words = ("evaluate", tmp_path / "export", tmp_path / "many.en", tmp_path / "many.de", "--engine", "auto")
    result = regard(*words, "--set", "search.method=diverse", "--set", "search.longest_extra=1")
    assert result.exit_code == 1
    assert str(result.exception).startswith("The engine ctranslate2 cannot search by search.method = 'diverse'")
    assert str(result.exception).endswith("use --engine torch or onnx.")
