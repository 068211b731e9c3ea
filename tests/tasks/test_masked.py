"""Masked language modelling: what is hidden and what is not, fill-ins that nothing around them changes, an encoder
that another task can begin with."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.api import Training, load, read, train
from regard.errors import ConfigError
from regard.nn import IGNORE
from regard.nn.parameters import named
from regard.tasks.filling import Filled
from regard.tasks.masked import MaskedRecipe, MaskedTask, Texts
from regard.tasks.masking import Masking, MaskingSettings, stretches
from regard.tasks.reading import rectangle
from regard.text import Tokenizer, TokenizerSettings
from tests.text.foreign_toys import foreign

LINES = ["the king sees the cat .", "a cat and a king and a dog !", "who goes there ?", "the dog goes home ."] * 6
ENCODERS: dict[str, dict[str, Any]] = {
    "transformer": {"width": 16, "layers": 2, "attention": {"heads": 2}, "feedforward": {"hidden": 24}},
    "recurrent": {"width": 16},
}


def recipe(name: str = "transformer", kind: str = "bpe", **tables: Any) -> MaskedRecipe:
    values = {
        "task": "masked",
        "data": {"train": {"path": "train.txt", "columns": {"text": 1}}},
        "model": {"name": name, **ENCODERS[name]},
        "tokenizer": {"kind": kind, "size": 70},
    }
    return MaskedRecipe.read({**values, **tables})


@cache
def made(name: str = "transformer", kind: str = "bpe") -> tuple[MaskedTask, nn.Module]:
    torch.manual_seed(1)
    task = MaskedTask.learn(recipe(name, kind), [{"text": line} for line in LINES], {})
    return task, task.model().eval()


def filled(rows: Sequence[str], name: str = "transformer", **tables: Any) -> list[Filled]:
    task, model = made(name)
    return list(task.predict(model, [{"text": text} for text in rows], recipe(name, **tables)))


def masking(**settings: Any) -> Masking:
    tokenizer = Tokenizer.learn(TokenizerSettings(kind="words", size=60, extra=("<mask>",)), LINES, 1)
    return Masking(tokenizer, MaskingSettings(**settings))


def rows_of(hiding: Masking, *texts: str) -> tuple[torch.Tensor, torch.Tensor]:
    tokenizer = hiding.tokenizer
    ids = [[tokenizer.begin, *tokenizer.encode(text).ids, tokenizer.end] for text in texts]
    return rectangle(ids, tokenizer.padding)


# Hiding


def test_fifteen_of_a_hundred_are_hidden_eight_in_ten_of_them_by_the_mask() -> None:
    hiding = masking()
    pieces, real = rows_of(hiding, *[" ".join(LINES)] * 200)
    given_, wanted = hiding.drawn(pieces, real)
    chosen = wanted != IGNORE
    text = torch.isin(pieces, hiding.ordinary)
    assert float(chosen.sum() / text.sum()) == pytest.approx(0.15, abs=0.01)
    assert float((given_[chosen] == hiding.mask).float().mean()) == pytest.approx(0.8, abs=0.02)
    # One in ten stays; a few of the random ones are by chance what they were.
    assert 0.09 < float((given_[chosen] == pieces[chosen]).float().mean()) < 0.14
    others = given_[chosen & (given_ != hiding.mask) & (given_ != pieces)]
    assert len(Counter(others.tolist())) > len(hiding.ordinary) / 2


@given(st.lists(st.sampled_from([*LINES, "", "unheard words"]), min_size=1, max_size=5), st.integers(0, 9))
def test_only_text_is_hidden_and_what_stood_there_is_wanted(texts: list[str], seed: int) -> None:
    hiding = masking(rate=0.5)
    pieces, real = rows_of(hiding, *texts)
    torch.manual_seed(seed)
    found, wanted = hiding.drawn(pieces, real)
    chosen = wanted != IGNORE
    assert torch.equal(found[~chosen], pieces[~chosen])
    assert torch.equal(wanted[chosen], pieces[chosen])
    assert bool(torch.isin(pieces[chosen], hiding.ordinary).all())
    assert bool(torch.isin(found[chosen], torch.cat([hiding.ordinary, torch.tensor([hiding.mask])])).all())
    # A text with anything to hide has something hidden.
    assert torch.equal(chosen.any(1), torch.isin(pieces, hiding.ordinary).any(1))


def test_what_is_hidden_to_judge_by_is_the_same_beside_any_other_text() -> None:
    hiding = masking()
    together, wanted = hiding.fixed(*rows_of(hiding, *LINES[:4]))
    for number, line in enumerate(LINES[:4]):
        alone, its = hiding.fixed(*rows_of(hiding, line))
        assert torch.equal(together[number, : alone.shape[1]], alone[0])
        assert torch.equal(wanted[number, : its.shape[1]], its[0])


def test_judging_draws_nothing_from_torchs_luck() -> None:
    task, model = made()
    batch = task.batch([{"text": np.array([5, 6, 7, 2])}], torch.device("cpu"))
    before = torch.get_rng_state()
    first, second = (float(task.loss(model, batch, 0.0).nll) for _ in range(2))
    assert first == second
    assert torch.equal(before, torch.get_rng_state())


def test_a_tokenizer_without_a_mask_is_refused_in_a_sentence() -> None:
    bare = Tokenizer.learn(TokenizerSettings(kind="words", size=60), LINES, 1)
    with pytest.raises(ConfigError, match="no piece <mask>"):
        _ = Masking(bare, MaskingSettings()).mask
    with pytest.raises(ConfigError, match="leave no piece"):
        recipe(masking={"other": 0.6, "same": 0.5})


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 12))
def test_stretches_hold_every_piece_once_and_fit(ids: list[int], room: int) -> None:
    parts = stretches(ids, room)
    assert [piece for part in parts for piece in part] == ids
    assert all(len(part) <= room for part in parts)
    assert len(parts) == max(1, -(-len(ids) // room))


# Filling in


def test_a_mark_is_filled_with_the_likeliest_piece_and_the_others_are_told() -> None:
    (found,) = filled(["the <mask> sees the [MASK] ."])
    assert found.status == ("complete",)
    assert [len(each) for each in found.fills] == [5, 5]
    first, second = (each[0] for each in found.fills)
    assert found.text == f"the {first.text} sees the {second.text} ."
    assert found.score == pytest.approx(np.log([first.probability, second.probability]).mean(), abs=1e-6)
    for each in found.fills:
        chances = [one.probability for one in each]
        assert chances == sorted(chances, reverse=True)
    assert found.plain()["fills"][0][0] == first._asdict()


def test_probabilities_are_the_models_own_where_the_mask_stands() -> None:
    task, model = made()
    (found,) = filled(["the <mask> sees"])
    tokenizer = task.reading.tokenizer
    ids = [*tokenizer.encode("the").ids, task.masking.mask, *tokenizer.encode("sees").ids, tokenizer.end]
    with torch.no_grad():
        chances_V = model(torch.tensor([ids]))[0, ids.index(task.masking.mask)].softmax(-1)
    assert found.fills[0][0].probability == pytest.approx(float(chances_V[task.masking.ordinary].max()), abs=1e-5)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_text_is_filled_the_same_alone_and_in_company(name: str) -> None:
    texts = [
        "the <mask> sees",
        "",
        "no mark",
        "a <mask> " * 30,
        "<mask>",
        "\x00\ud83d <mask>",
        "<mask><mask> " + "x" * 500,
    ]
    together = filled(texts, name)
    turned = filled(texts[::-1] * 2, name)[: len(texts)][::-1]
    for text, one, other in zip(texts, together, turned, strict=True):
        (alone,) = filled([text], name)
        assert alone.text == one.text == other.text
        assert alone.status == one.status == other.status
        assert alone.score == pytest.approx(one.score, abs=1e-4)
        assert [[fill.piece for fill in each] for each in alone.fills] == [
            [f.piece for f in each] for each in one.fills
        ]


def test_statuses_tell_what_was_done() -> None:
    texts = ["", "no mark here", "one <mask>", "long " * 200 + "<mask>"]
    assert [one.status for one in filled(texts)] == [("empty",), ("no mask",), ("complete",), ("windows",)]
    assert filled(["no mark here"])[0].text == "no mark here"


def test_a_text_that_is_too_long_is_refused_if_asked_and_its_positions_never_overrun() -> None:
    long = "long " * 200 + "<mask>"
    (refused,) = filled([long], predict={"long": "refuse"})
    assert (refused.text, refused.status) == ("", ("refused",))
    placed = recipe(
        model={"name": "transformer", **ENCODERS["transformer"], "position": {"name": "learned", "length": 9}}
    )
    task = MaskedTask.learn(placed, [{"text": line} for line in LINES], {})
    asked = placed.model_copy(update={"predict": placed.predict.model_copy(update={"longest": 50})})
    (found,) = task.predict(task.model().eval(), [{"text": long}], asked)
    assert found.status == ("windows",)


def test_a_tokenizer_from_elsewhere_has_its_own_mask() -> None:
    task = MaskedTask.load(recipe(), {"tokenizer.json": foreign("word_piece").to_json()})
    model = task.model().eval()
    (found,) = task.predict(model, [{"text": "the [MASK] , the <mask>"}], recipe())
    assert len(found.fills) == 2
    work = next(iter(task.predict(model, [{"text": "the [MASK]"}], recipe())))
    assert work.status == ("complete",)


def test_pieces_hidden_on_purpose_are_counted_as_found_or_not() -> None:
    task, model = made()
    settings = recipe(predict={"hide": True})
    rows = [{"text": line} for line in LINES[:4]]
    results = list(task.predict(model, rows, settings))
    assert all(one.found is not None and len(one.found) == len(one.fills) for one in results)
    told = task.details(results, rows, settings)["accuracy"]
    assert told.hidden == sum(len(one.fills) for one in results)
    assert 0 <= told.value <= 1


def test_the_loss_is_smoothed_as_asked() -> None:
    task, model = made()
    pieces, real = rows_of(task.masking, *LINES)
    hidden, wanted = task.masking.fixed(pieces, real)
    with torch.no_grad():
        logits = model(hidden, real).flatten(0, 1)
        expected = nn.functional.cross_entropy(logits, wanted.flatten(), label_smoothing=0.3, reduction="sum")
        found = task.loss(model, Texts(pieces, real), 0.3).total
    assert float(found) == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.parametrize("name", ENCODERS)
def test_likelihood_is_the_validation_loss_row_by_row(name: str) -> None:
    task, model = made(name)
    rows: list[Mapping[str, str]] = [{"text": line} for line in LINES[:4]]
    told = list(task.likelihood(model, rows, recipe(name)))
    columns = task.encoding({}).encode({"text": LINES[:4]})
    batch = task.batch([{"text": np.array(ids)} for ids in columns["text"]], torch.device("cpu"))
    with torch.no_grad():
        loss = task.loss(model, batch, 0.0)
    assert sum(one.nll for one in told) == pytest.approx(float(loss.total), rel=1e-4)
    assert sum(one.pieces for one in told) == int(loss.count)


# The whole walk


def plan(folder: Path, **tables: Any) -> dict[str, Any]:
    (folder / "train.txt").write_text("".join(f"{line}\n" for line in LINES), "utf-8")
    return {
        "task": "masked",
        "data": {
            "root": str(folder),
            "train": {"path": "train.txt", "columns": {"text": 1}},
            "valid": {"path": "train.txt", "columns": {"text": 1}},
        },
        "model": {"name": "transformer", **ENCODERS["transformer"]},
        "tokenizer": {"kind": "words", "size": 40},
        "batches": {"tokens": 120},
        "optimizer": {"rate": 1e-2, "schedule": {"name": "linear", "warm_up": 3}},
        "train": {"updates": 60, "every": 20, "log": 10},
        **tables,
    }


def test_a_run_learns_fills_in_and_is_a_start_for_classification(tmp_path: Path) -> None:
    pipeline = train(plan(tmp_path), tmp_path / "run")
    before = 35.0
    assert pipeline.scores["valid"]["perplexity"]["value"] < before / 2
    model = load(tmp_path / "run", verify=True)
    assert model.predict(["who goes <mask> ?"])[0].text == pipeline.predict(["who goes <mask> ?"])[0].text
    king, nothing = model.embed(["the king", ""])
    assert len(king) == len(nothing) == 16
    assert king.any()
    assert not nothing.any()
    rows = "".join(f"{line}\t{'cat' if 'cat' in line else 'dog'}\n" for line in LINES)
    (tmp_path / "labels.tsv").write_text(rows, "utf-8")
    labelled = {"path": "labels.tsv", "columns": {"text": 1, "label": 2}}
    training = Training(
        read(
            {
                "task": "classification",
                "data": {"root": str(tmp_path), "train": labelled, "valid": labelled},
                "model": {"start": str(tmp_path / "run")},
                "train": {"updates": 1, "every": 1},
            }
        ),
        tmp_path / "classes",
    )
    (tmp_path / "classes").mkdir()
    _ = training.factors
    learned, taken = named(model.model), named(training.model)
    shared = [name for name in taken if name.startswith("encoder.")]
    assert shared
    assert all(torch.equal(taken[name], learned[name]) for name in shared)


def test_a_run_stopped_and_resumed_hides_the_same_pieces(tmp_path: Path) -> None:
    short = plan(tmp_path, train={"updates": 4, "every": 2, "log": 2})
    train(short, tmp_path / "whole")
    for step in Training(read(short), tmp_path / "parts").steps():
        if step.progress.update == 3:
            break
    train(short, tmp_path / "parts", resume=True)
    whole, parts = (named(load(tmp_path / folder).model) for folder in ("whole", "parts"))
    assert all(torch.equal(tensor, parts[key]) for key, tensor in whole.items())
