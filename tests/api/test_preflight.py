"""Preflight: all that is wrong with a recipe or its data is found before training, at once, and nothing is left."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch

from regard.api import read
from regard.api.findings import Finding
from regard.api.preflight import Report, preflight
from regard.api.preflight.pieces import histogram
from regard.api.preflight.report import Notes
from regard.api.preflight.settings import look_at_settings
from tests.api.toy import recipe


@pytest.fixture(scope="module", autouse=True)
def unchecked() -> Iterator[None]:
    """Without checking signatures, which the tests of the parts do: three times as fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("preflight") / "data"
    recipe(folder)
    return folder


@pytest.fixture(scope="module")
def good(data: Path) -> Report:
    return preflight(
        read({**recipe(data), "validation": {"metrics": ["bleu"]}}, ["train.watch=bleu", "train.higher=true"])
    )


def found(report: Report, name: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.name == name]


def only(report: Report, name: str) -> Finding:
    (finding,) = found(report, name)
    return finding


def copied(data: Path, folder: Path, **replaced: str) -> Path:
    """The data with some files replaced, `train_en` for train.en."""
    for path in data.iterdir():
        (folder / path.name).write_text(replaced.get(path.name.replace(".", "_"), path.read_text()))
    return folder


def errors(report: Report) -> set[str]:
    return {finding.name for finding in report.of("error")}


def test_a_good_recipe_flies(good: Report) -> None:
    assert not good.failed, str(good)
    names = [finding.name for finding in good.findings]
    for name in ("model", "train", "valid", "test test", "overlap", "sides", "metrics", "tokenizer", "pieces"):
        assert name in names
    assert "lines in" in only(good, "run").text
    assert "resumed after update 2" in only(good, "run").text


def test_the_report_has_the_numbers_of_the_run(good: Report) -> None:
    assert good.facts["updates"] == 24
    assert good.facts["parameters"] > 1000
    assert good.facts["minutes"] > 0
    assert good.facts["updates_per_second"] > 0
    assert good.facts["memory_megabytes"] > 10
    assert 0 <= good.facts["waste"] < 1
    assert good.facts["batches"] > 1
    assert good.facts["unknown_source"] == 0.0
    assert good.facts["round_trip_target"] == 1.0


def test_the_report_is_plain_and_told_as_it_is_made(good: Report) -> None:
    plain = json.loads(json.dumps(good.plain()))
    assert plain["failed"] is False
    assert plain["findings"][0].keys() == {"level", "name", "text", "kept"}
    assert len(plain["findings"]) == len(good.findings)


def test_lengths_are_drawn(good: Report) -> None:
    assert "#" in only(good, "lengths source").text
    assert good.facts["longest_source"] > 5


def test_a_histogram_counts_every_length_once() -> None:
    drawn = histogram(torch.arange(1, 101).numpy())
    assert sum(int(line.split()[-1]) for line in drawn.splitlines()) == 100
    assert drawn.splitlines()[-1].split()[2] == "100"


def test_nothing_is_left_and_random_numbers_go_on_as_before(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before, state = sorted(data.iterdir()), torch.get_rng_state()
    assert not preflight(read(recipe(data))).failed
    assert sorted(data.iterdir()) == before
    assert not list(tmp_path.iterdir())
    assert torch.equal(torch.get_rng_state(), state)


def test_every_mistake_is_told_at_once(data: Path) -> None:
    wrong = recipe(
        data,
        model={"name": "transformer", "width": 15, "attention": {"heads": 2}},
        metrics=["blue"],
        optimizer={"name": "adagrad", "schedule": "lineal"},
        train={"watch": "bleu"},
    )
    wrong["data"] = {**wrong["data"], "cleaning": ["duplicate"], "valid": {"files": {"source": "va", "target": "vb"}}}
    report = preflight(read(wrong))
    assert errors(report) == {"model", "optimizer", "schedule", "metrics", "watch", "cleaning", "valid"}
    assert "'bleu'" in only(report, "metrics").text
    assert only(report, "stopped").level == "note"
    assert report.plain()["failed"] is True


@pytest.mark.parametrize(
    ("watch", "higher", "kept"),
    [("loss", False, True), ("loss", True, False), ("bleu", True, True), ("bleu", False, False)],
)
def test_a_score_watched_the_wrong_way_round_is_an_error(data: Path, watch: str, higher: bool, kept: bool) -> None:
    notes = Notes(lambda _: None)
    settings = recipe(data, train={"watch": watch, "higher": higher}, validation={"metrics": ["bleu"]})
    look_at_settings(read(settings), notes)
    assert ("watch" not in {finding.name for finding in notes.findings}) == kept
    assert notes.failed != kept


def test_a_limit_that_leaves_nothing_to_learn_from_is_an_error(data: Path) -> None:
    report = preflight(read(recipe(data), ["batches.longest=2"]))
    assert errors(report) == {"longest"}


def test_bad_lines_are_all_counted_and_named(data: Path, tmp_path: Path) -> None:
    lines = (data / "train.en").read_text().splitlines()
    lines[4] = lines[9] = ""
    spoiled = copied(data, tmp_path, train_en="\n".join(lines) + "\n")
    report = preflight(read(recipe(spoiled)))
    (finding,) = report.of("error")
    assert all(word in finding.text for word in ("2 empty", "line 5", "line 10", "data.policy = skip"))


def test_bad_lines_of_held_out_data_are_all_named_and_follow_the_policy(data: Path, tmp_path: Path) -> None:
    texts = {}
    for name in ("valid", "test"):
        lines = (data / f"{name}.en").read_text().splitlines()
        lines[4] = lines[9] = ""
        texts[f"{name}_en"] = "\n".join(lines) + "\n"
    settings = recipe(copied(data, tmp_path, **texts))
    report = preflight(read(settings))
    assert errors(report) == {"valid"}
    assert only(report, "test test").level == "warning"
    for finding in (only(report, "valid"), only(report, "test test")):
        assert all(word in finding.text for word in ("2 empty", "line 5", "line 10", "data.policy = skip"))
    report = preflight(read(settings, ["data.policy=skip"]))
    assert not report.failed, str(report)
    for finding in (only(report, "valid"), only(report, "test test")):
        assert (finding.level, "18 of 20 rows kept" in finding.text) == ("warning", True)


def test_sides_that_are_swapped_copied_or_of_other_lengths_are_told(data: Path, tmp_path: Path) -> None:
    for name in ("swapped", "copies", "short"):
        (tmp_path / name).mkdir()
    texts = {path.name.replace(".", "_"): path.read_text() for path in data.iterdir()}
    broken = ["model.width=15"]
    swapped = copied(data, tmp_path / "swapped", valid_en=texts["valid_de"], valid_de=texts["valid_en"])
    assert "swapped" in only(preflight(read(recipe(swapped), broken)), "sides").text
    copies = copied(data, tmp_path / "copies", train_de=texts["train_en"])
    assert "same text" in only(preflight(read(recipe(copies), broken)), "sides").text
    short = copied(data, tmp_path / "short", train_de=texts["train_de"].partition("\n")[2])
    assert "same number of lines" in only(preflight(read(recipe(short))), "train").text


def test_a_test_set_that_is_not_there_yet_is_a_warning(data: Path) -> None:
    settings = recipe(data)
    settings["data"]["test"] = {"later": {"files": {"source": "later.en", "target": "later.de"}}}
    report = preflight(read(settings, ["model.width=15"]))
    assert only(report, "test later").level == "warning"
    assert "regard evaluate`." in only(report, "test later").text
    report = preflight(read(settings, ["model.width=15", 'data.cleaning=["overlap"]']))
    assert "but training is not cleaned of what it holds." in only(report, "test later").text


def test_references_without_spaces_want_another_metric(data: Path, tmp_path: Path) -> None:
    lines = len((data / "valid.de").read_text().splitlines())
    chinese = copied(data, tmp_path, valid_de="一个男人在街上走。\n" * lines)
    told = found(preflight(read(recipe(chinese), ["model.width=15"])), "metrics")
    assert any(finding.level == "warning" and '"zh"' in finding.text for finding in told)


def test_an_average_that_reaches_back_to_early_updates_is_warned_of(data: Path) -> None:
    changes = ["train.updates=24", "train.every=8", "train.average.what=last"]
    (told,) = found(preflight(read(recipe(data), [*changes, "train.average.count=3"])), "average")
    assert (told.level, "from update 8 of 24" in told.text) == ("warning", True)
    assert not found(preflight(read(recipe(data), [*changes, "train.average.count=2"])), "average")


def test_several_references_and_unseen_lines_are_looked_at_as_they_are_used(data: Path, tmp_path: Path) -> None:
    taught = [(data / f"train.{side}").read_text().splitlines()[3] for side in ("en", "de")]
    valid = "".join(f"{line} §§ Ja.\n" for line in (data / "valid.de").read_text().splitlines())
    test_en = (data / "test.en").read_text() + taught[0] + "\n"
    test_de = (data / "test.de").read_text() + f"Nein. §§ {taught[1]}\n"
    settings = recipe(copied(data, tmp_path, valid_de=valid, test_en=test_en, test_de=test_de))
    settings["data"]["references"] = " §§ "
    settings["data"]["test"]["fresh"] = {**settings["data"]["test"]["test"], "unseen": True}
    report = preflight(read(settings))
    assert only(report, "unknown target").level == only(report, "round trip target").level == "ok"
    _, test, fresh = found(report, "overlap")
    assert (test.level, fresh.level) == ("warning", "ok")
    assert "1 of 21 sources of test test are also in training, 1 with the same answer" in test.text
    assert "`unseen` leaves such lines out" in fresh.text


def test_a_rate_that_teaches_nothing_is_warned_of(data: Path) -> None:
    """The paper's schedule multiplies the rate, and wants another than the others do."""
    (told,) = found(preflight(read(recipe(data, optimizer={"rate": 1e-3, "schedule": "paper"}))), "rate")
    assert (told.level, "comes to 7.0e-07 at most" in told.text) == ("warning", True)


@pytest.fixture(scope="module")
def doubtful(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Nothing that stops a run, and much that should not be."""
    folder = tmp_path_factory.mktemp("doubtful")
    valid = (data / "valid.en").read_text().replace("a", "ж", 3)
    copied(
        data, folder, test_en=(data / "train.en").read_text(), test_de=(data / "train.de").read_text(), valid_en=valid
    )
    changes: dict[str, Any] = {
        "tokenizer": {"kind": "words", "size": 5000},
        "batches": {"tokens": 15, "longest": 9},
        "optimizer": {"schedule": {"name": "inverse_root", "warm_up": 400}},
        "train": {"updates": 24, "every": 500},
    }
    return preflight(read(recipe(folder, **changes)))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tokenizer", "the text holds no more"),
        ("longest", "leaves out"),
        ("batches", "a batch of its own"),
        ("schedule", "warm_up = 400"),
        ("validation", "only at its end"),
        ("overlap", "600 of 600"),
        ("unknown source", "unknown"),
        ("round trip source", "became"),
    ],
)
def test_what_is_perhaps_not_meant_is_warned_of(doubtful: Report, name: str, words: str) -> None:
    assert not doubtful.failed, str(doubtful)
    assert any(each.level in ("warning", "note") and words in each.text for each in found(doubtful, name)), str(
        doubtful
    )
