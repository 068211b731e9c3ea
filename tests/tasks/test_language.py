"""Language modelling: blocks that lose nothing, likelihoods that count everything once, continuations that nothing
around them changes."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.api import Materials, Training, load, read, train
from regard.api.preflight import preflight
from regard.api.spreading import judged
from regard.cli.lines import Given, settling
from regard.data import Batches, Corpus, CorpusSettings, prepare
from regard.errors import ConfigError, RequestError
from regard.metrics import score_likelihood
from regard.nn import IGNORE
from regard.nn.parameters import named
from regard.tasks import measuring
from regard.tasks.blocks import Blocks, BlockSettings, cut
from regard.tasks.continuing import Continuation
from regard.tasks.language import LanguageRecipe, LanguageTask
from regard.train.distributed import Team
from tests.cli.toy import regard
from tests.text.foreign_toys import foreign

LINES = ["the king sees the cat .", "a cat , a king and a dog !", "who goes there ?", "", "the dog goes home ."] * 3
MODELS: dict[str, dict[str, Any]] = {
    "transformer_language": {
        "width": 16,
        "layers": 2,
        "attention": {"heads": 2},
        "feedforward": {"hidden": 24},
        "position": "rotary",
    },
    "recurrent_language": {"width": 16, "layers": 2},
}
every_model = pytest.mark.parametrize("name", MODELS)
TOKENIZERS = {
    "characters": {"kind": "characters", "size": 60},
    "bpe": {"kind": "bpe", "size": 60},
    "words": {"kind": "words", "size": 60},
    "spaced": {"kind": "spaced", "size": 60},
}
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"method": "greedy"},
    "beam": {"method": "beam", "beams": 3},
    "sample": {"temperature": 0.8, "top_k": 12},
    "nucleus": {"top_p": 0.7, "min_p": 0.01, "no_repeat": 3},
}


def recipe(name: str = "transformer_language", tokenizer: str = "characters", **tables: Any) -> LanguageRecipe:
    values = {
        "task": "language",
        "data": {"train": {"path": "train.txt", "columns": {"text": 1}}},
        "model": {"name": name, **MODELS[name]},
        "tokenizer": TOKENIZERS[tokenizer],
        "blocks": {"length": 12},
        "predict": {"longest": 24, "pieces": 10},
    }
    return LanguageRecipe.read({**values, **tables})


@cache
def made(name: str, tokenizer: str = "characters") -> tuple[LanguageTask, nn.Module]:
    """A task, and a model that has learned nothing: what it writes is long and strange."""
    torch.manual_seed(1)
    task = LanguageTask.learn(recipe(name, tokenizer), [{"text": line} for line in LINES], {})
    return task, task.model().eval()


def continued(name: str, rows: Sequence[Mapping[str, str]], tokenizer: str = "characters", **tables: Any) -> list[Any]:
    task, model = made(name, tokenizer)
    return list(task.predict(model, rows, recipe(name, tokenizer, **tables)))


def texts(*prompts: str) -> list[dict[str, str]]:
    return [{"text": prompt} for prompt in prompts]


# Blocks


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(1, 9), st.integers(1, 9))
def test_every_piece_but_the_first_of_a_row_is_wanted(rows: list[int], length: int, step: int) -> None:
    step = min(step, length)
    starts, sizes = cut(np.array(rows), length, step)
    wanted = [place for start, size in zip(starts, sizes, strict=True) for place in range(start + 1, start + size)]
    ends = np.cumsum(rows).tolist()
    expected = [place for start, end in pairwise([0, *ends]) for place in range(start + 1, end)]
    assert sorted(set(wanted)) == expected
    assert all(2 <= size <= length + 1 for size in sizes)
    if step == length:
        assert sorted(wanted) == expected


def stored(folder: Path, task: LanguageTask, lines: Sequence[str] = LINES) -> Any:
    (folder / "train.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    settings = CorpusSettings.read({"path": str(folder / "train.txt"), "columns": {"text": 1}, "blank": "keep"})
    return prepare(folder / "store", Corpus(settings), task.encoding({}))


@pytest.mark.parametrize("within", [False, True])
def test_blocks_are_slices_of_the_rows_one_after_the_other(tmp_path: Path, within: bool) -> None:
    task = LanguageTask.learn(recipe(blocks={"length": 7, "within": within}), texts(*LINES), {})
    blocks = task.examples(stored(tmp_path, task))
    assert isinstance(blocks, Blocks)
    tokenizer = task.reading.tokenizer
    rows = [[tokenizer.begin, *tokenizer.encode(line).ids, tokenizer.end] for line in LINES]
    streams = rows if within else [[piece for row in rows for piece in row]]
    expected = [stream[at : at + 8] for stream in streams for at in range(0, len(stream) - 1, 7)]
    assert [blocks[number]["text"].tolist() for number in range(len(blocks))] == expected
    assert blocks.lengths[:, 0].tolist() == [len(block) for block in expected]


def test_a_batch_is_contiguous_text_and_asks_for_no_beginning(tmp_path: Path) -> None:
    task, model = made("transformer_language")
    blocks = task.examples(stored(tmp_path, task))
    plan = Batches([blocks.lengths], task.recipe.batches, seed=1)
    total = wanted = 0
    for planned in plan.epoch():
        batch = task.batch([blocks[int(number)] for number in planned.examples], torch.device("cpu"))
        asked = (batch.wanted != IGNORE)[:, 1:] & (batch.wanted != IGNORE)[:, :-1]
        same = (batch.pieces[:, 1:] == batch.wanted[:, :-1]) | ~asked
        assert bool(same.all())
        total += int(task.loss(model, batch, 0.0).count)
        wanted += int((batch.wanted != IGNORE).sum())
    # All pieces and the end of every line.
    assert total == wanted == sum(len(line) + 1 for line in LINES)


def test_a_text_that_neither_begins_nor_ends_is_only_its_pieces() -> None:
    task = LanguageTask.learn(recipe(blocks={"ends": False}), texts(*LINES), {})
    assert task.framing.framed([7, 8]) == [7, 8]


def test_a_piece_that_both_begins_and_ends_stands_between_rows_once() -> None:
    tokenizer = foreign("byte_bpe")
    task = LanguageTask.load(recipe(), {"tokenizer.json": tokenizer.to_json()})
    assert task.framing.framed([7, 8]) == [tokenizer.begin, 7, 8, tokenizer.end]


def test_a_stride_that_skips_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="skips text"):
        recipe(blocks={"length": 8, "stride": 9})


def test_a_model_that_writes_another_text_is_no_language_model() -> None:
    wrong = recipe(model={"name": "transformer", "width": 16, "attention": {"heads": 2}})
    with pytest.raises(ConfigError, match="goes on with a text"):
        LanguageTask.check(wrong)


# Likelihood


def direct(model: Any, pieces: Sequence[int]) -> list[float]:
    """-log p of each piece after the first, all of the text before it seen."""
    given = torch.tensor([pieces])
    with torch.no_grad():
        log_TV = model.output.log_probabilities(model(given[:, :-1]))[0]
    return (-log_TV.gather(1, given[0, 1:, None])[:, 0]).tolist()


@every_model
def test_the_likelihood_of_rows_is_that_of_all_they_follow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = made(name)
    monkeypatch.setattr(measuring, "STRETCH", 7)
    rows = LINES[:4]
    told = list(task.likelihood(model, texts(*rows), recipe(name, predict={"longest": 500})))
    tokenizer = task.reading.tokenizer
    stream = [piece for line in rows for piece in (tokenizer.begin, *tokenizer.encode(line).ids, tokenizer.end)]
    costs = iter([0.0, *direct(model, stream)])
    for line, likelihood in zip(rows, told, strict=True):
        next(costs)
        assert likelihood.nll == pytest.approx(sum(next(costs) for _ in range(len(line) + 1)), abs=1e-3)
        assert (likelihood.pieces, likelihood.characters) == (len(line) + 1, len(line) + 1)
        assert likelihood.words == len(line.split()) + 1


def test_a_window_shows_at_least_as_much_as_is_asked_and_counts_every_piece_once() -> None:
    task, model = made("transformer_language")
    line = LINES[0] + LINES[1]
    settings = recipe(predict={"longest": 9, "context": 3}, blocks={"ends": False, "length": 8})
    task = LanguageTask(settings, task.reading)
    (told,) = task.likelihood(model, texts(line), settings)
    ids = task.reading.tokenizer.encode(line).ids
    # Windows of 8 pieces read: the first tells pieces 1 to 8, each further one the 6 after three it has in common.
    expected = [np.log(task.reading.tokenizer.size), *direct(model, ids[:9])]
    while len(expected) < len(ids):
        start = len(expected) - 3
        expected += direct(model, ids[start : start + 9])[2:]
    assert len(expected) == len(ids) == told.pieces
    assert told.nll == pytest.approx(sum(expected), abs=1e-3)
    assert told.characters == len(line)


@every_model
def test_rows_that_keep_to_themselves_are_as_likely_alone(name: str) -> None:
    task, model = made(name)
    settings = recipe(name, blocks={"within": True, "length": 12}, predict={"longest": 9, "context": 2})
    task = LanguageTask(settings, task.reading)
    together = [one.nll for one in task.likelihood(model, texts(*LINES[:5]), settings)]
    alone = [next(iter(task.likelihood(model, texts(line), settings))).nll for line in LINES[:5]]
    assert together == pytest.approx(alone, abs=1e-3)


def test_probabilities_of_all_texts_of_one_length_sum_to_one() -> None:
    task, model = made("transformer_language")
    settings = recipe(blocks={"ends": False, "length": 8})
    task = LanguageTask(settings, task.reading)
    size = task.reading.tokenizer.size
    framing = task.framing
    chances = 0.0
    for first in range(size):
        asked = [np.array([first, second]) for second in range(size)]
        within = measuring.Measuring(
            model, type(framing)(framing.tokenizer, BlockSettings(ends=False, within=True)), 8, 4, settings.predict
        )
        chances += float(sum(np.exp(-cost.sum()) for cost in within.costs(asked)))
    assert chances == pytest.approx(1.0, abs=1e-3)


# Continuation


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *(("transformer_language", way) for way in WAYS),
        ("recurrent_language", "beam"),
        ("recurrent_language", "sample"),
    ],
)
def test_a_prompt_gives_the_same_alone_in_any_batch_and_in_a_stream(name: str, way: str) -> None:
    prompts = texts("the king", "", "the dog goes home .", "\x00\ud83d")
    task, model = made(name)
    settings = recipe(name, search=WAYS[way], predict={"longest": 12, "pieces": 9, "rows": 3})
    together = list(task.predict(model, prompts, settings))
    turned = list(task.predict(model, [*prompts[::-1], prompts[0]], settings))[: len(prompts)][::-1]
    for prompt, one, other in zip(prompts, together, turned, strict=True):
        (alone,) = task.predict(model, [prompt], settings)
        *grown, streamed = task.settle(model, prompt, settings)
        assert alone.text == one.text == other.text == streamed.text
        assert alone.score == pytest.approx(one.score, abs=1e-4)
        assert all(str(later).startswith(str(sooner)) for sooner, later in pairwise([*grown, streamed.text]))
        assert alone.status == one.status == streamed.status


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_prompt_and_continuation_together_are_the_text_of_all_pieces(tokenizer: str) -> None:
    task, model = made("transformer_language", tokenizer)
    settings = recipe(tokenizer=tokenizer, predict={"longest": 40, "pieces": 12})
    (found,) = task.predict(model, texts("the king"), settings)
    cutter = task.reading.tokenizer
    ids = [cutter.id(piece) for piece in found.pieces]
    assert "the king" + found.text == cutter.decode([*cutter.encode("the king").ids, *ids])
    (echoed,) = task.predict(
        model, texts("the king"), recipe(tokenizer=tokenizer, predict={**dict(settings.predict), "echo": True})
    )
    assert (echoed.text, echoed.prompt) == ("the king" + found.text, "the king")


def test_a_seed_decides_wherever_a_row_stands() -> None:
    rows = [{"text": "the king", "seed": str(seed)} for seed in (1, 2, 1, 3)]
    first, second, again, _ = continued("transformer_language", rows)
    assert first.text == again.text != second.text
    (turned,) = continued("transformer_language", rows[1:2])
    assert turned.text == second.text
    other = continued("transformer_language", rows[:1], search={"seed": 5})[0]
    assert other.text != first.text


def test_probabilities_are_those_the_model_gives() -> None:
    task, model = made("transformer_language")
    (found,) = task.predict(model, texts("the king"), recipe(search={"method": "greedy"}))
    tokenizer = task.reading.tokenizer
    written = [tokenizer.id(piece) for piece in found.pieces]
    ends = [tokenizer.end] if "complete" in found.status else []
    costs = direct(model, [tokenizer.begin, *tokenizer.encode("the king").ids, *written, *ends])
    assert found.probabilities == pytest.approx(np.exp([-cost for cost in costs[8:]]).tolist(), abs=1e-4)


@pytest.mark.parametrize("way", ["greedy", "beam"])
def test_windows_repeat_nothing_that_stands_in_another(way: str) -> None:
    task, model = made("transformer_language")
    search = {**WAYS[way], "no_repeat": 2}
    settings = recipe(search=search, predict={"longest": 12, "pieces": 40})
    [found] = task.predict(model, [{"text": "the king"}], settings)
    *_, settled = task.settle(model, {"text": "the king"}, settings)
    assert "windows" in found.status
    pairs = list(pairwise(found.pieces))
    assert len(pairs) == len(set(pairs))
    assert settled.text == found.text


def test_what_a_model_cannot_look_at_at_once_is_written_in_windows() -> None:
    wanted = {"longest": 12, "pieces": 30, "begin": False}
    (found,) = continued("transformer_language", texts("the king"), predict=wanted, search={"method": "greedy"})
    task, model = made("transformer_language")
    tokenizer = task.reading.tokenizer
    everything = tokenizer.encode("the king").ids[-6:]
    first = len(everything)
    while len(everything) - first < 30:
        window = everything[-6:]
        for _ in range(6):
            log_V = model.output.log_probabilities(model(torch.tensor([window])))[0, -1].detach()
            log_V[[*(tokenizer.special - {tokenizer.end})]] = -torch.inf
            window = [*window, int(log_V.argmax())]
        everything += window[6:]
    assert tokenizer.end not in everything
    assert [tokenizer.id(piece) for piece in found.pieces] == everything[first:]
    assert found.status[:3] == ("tail", "windows", "limit")


@pytest.mark.parametrize("long", ["tail", "head", "refuse"])
def test_a_prompt_that_is_too_long_is_dealt_with_as_set_and_says_so(long: str) -> None:
    (found,) = continued("transformer_language", texts("word " * 2000), predict={"longest": 16, "long": long})
    assert found.status[0] == ("refused" if long == "refuse" else long)
    assert bool(found.text) == (long != "refuse")


def test_a_recurrent_model_reads_a_prompt_of_any_length() -> None:
    (found,) = continued("recurrent_language", texts("the king goes " * 50), predict={"longest": 16, "pieces": 4})
    assert found.status == ("limit",)


def test_nothing_is_gone_on_with_where_nothing_begins_a_text() -> None:
    settings = {"longest": 16, "pieces": 5, "begin": False}
    assert continued("transformer_language", texts(""), predict=settings)[0] == Continuation("", 0.0, ("empty",))


def test_several_outputs_are_all_told() -> None:
    (found,) = continued("transformer_language", texts("the king"), search={"best": 3}, predict={"pieces": 5})
    assert found.alternatives is not None
    assert len(found.alternatives) == 3
    assert found.text == found.alternatives[0].text
    assert "alternatives" not in continued("transformer_language", texts("the"), predict={"pieces": 2})[0].plain()


@every_model
@pytest.mark.parametrize("way", ["beam", "sample"])
def test_several_outputs_each_go_on_in_windows_of_their_own(way: str, name: str) -> None:
    task, model = made(name)
    search = {**WAYS[way], "best": 3}
    settings = recipe(name, search=search, predict={"longest": 12, "pieces": 40})
    rows = [{"text": "the king"}, {"text": "a cat", "seed": "5"}]
    together = list(task.predict(model, rows, settings))
    for row, found in zip(rows, together, strict=True):
        (alone,), (*_, settled) = task.predict(model, [row], settings), task.settle(model, row, settings)
        assert isinstance(settled, Continuation)
        written = [one.text for one in found.alternatives]
        assert len(set(written)) == 3
        for other in (alone, settled):
            assert other.alternatives is not None
            assert [one.text for one in other.alternatives] == written
            assert other.score == pytest.approx(found.score, abs=1e-4)
        assert found.text == found.alternatives[0].text
        assert (found.pieces, found.score) == (found.alternatives[0].pieces, found.alternatives[0].score)
        # An end that was written has a probability too.
        assert all(len(one.probabilities) > len(one.pieces) or len(one.pieces) == 40 for one in found.alternatives)


def test_the_first_of_several_outputs_is_what_one_alone_would_be() -> None:
    settings = [recipe(search={**WAYS["beam"], "best": best}, predict={"longest": 12, "pieces": 40}) for best in (3, 1)]
    task, model = made("transformer_language")
    several, one = (next(iter(task.predict(model, texts("the king"), each))) for each in settings)
    assert "windows" in one.status
    assert (several.text, several.status) == (one.text, one.status)
    assert several.score == pytest.approx(one.score, abs=1e-4)


def test_a_row_without_a_prompt_is_refused_in_a_sentence() -> None:
    with pytest.raises(RequestError, match="stands in the field text"):
        continued("transformer_language", [{"question": "who?"}])
    with pytest.raises(RequestError, match="no whole number"):
        continued("transformer_language", [{"text": "who", "seed": "x"}])


# Conversations, with a tokenizer that came from elsewhere


@cache
def chatting() -> tuple[LanguageTask, nn.Module]:
    torch.manual_seed(2)
    task = LanguageTask.load(recipe(), {"tokenizer.json": foreign("byte_bpe").to_json()})
    return task, task.model().eval()


CHAT = {"longest": 400, "pieces": 8, "chat": "chatml"}


def test_a_line_is_what_the_user_says_and_messages_are_a_conversation() -> None:
    task, model = chatting()
    messages = json.dumps([{"role": "user", "content": "who?"}])
    one, other = task.predict(model, [{"text": "who?"}, {"messages": messages}], recipe(predict=CHAT))
    assert one == other
    said = recipe(predict={**CHAT, "system": "Be brief."})
    whole = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "who?"}])
    one, other = task.predict(model, [{"text": "who?"}, {"messages": whole}], said)
    assert one == other


def test_a_reply_ends_with_the_turn() -> None:
    task, model = chatting()
    continuing = task.continuing(model, recipe(predict=CHAT))
    tokenizer = task.reading.tokenizer
    assert tokenizer.piece(continuing.ending.end) == "<|im_end|>"
    # Both pieces that end a reply are one to the search, and neither is written.
    started = model.start(torch.tensor([[5, 6]]))
    expected = model.step(started.first, started.state)[0].exp()[0, list(continuing.prompting.stops)].sum()
    found = continuing.ending.step(started.first, started.state)[0].exp()[0, continuing.ending.end]
    assert float(found.detach()) == pytest.approx(float(expected.detach()), abs=1e-6)
    assert set(tokenizer.special) - {continuing.ending.end} <= set(continuing.ending.banned)


def test_a_reply_is_the_same_in_a_stream() -> None:
    task, model = chatting()
    settings = recipe(predict=CHAT)
    *grown, last = task.settle(model, {"text": "the dog?"}, settings)
    assert last == next(iter(task.predict(model, texts("the dog?"), settings)))
    assert all(isinstance(text, str) and last.text.startswith(text) for text in grown)


@pytest.mark.parametrize(
    ("messages", "told"),
    [("{", "no JSON list"), ("[]", "no message"), ('[{"role": "cat"}]', "role"), ("[1]", "JSON list")],
)
def test_a_conversation_that_is_none_is_refused_in_a_sentence(messages: str, told: str) -> None:
    task, model = chatting()
    with pytest.raises(RequestError, match=told):
        list(task.predict(model, [{"messages": messages}], recipe(predict=CHAT)))


@pytest.mark.parametrize("wrong", [{"chat": "chatm"}, {"system": "x"}, {"echo": True, "chat": "chatml"}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        recipe(predict=wrong)


# The whole walk


def plan(folder: Path, name: str = "transformer_language") -> dict[str, Any]:
    (folder / "all.txt").write_text("\n".join(LINES * 4) + "\n", "utf-8")
    return {
        "task": "language",
        "data": {
            "root": str(folder),
            "train": {"path": "all.txt", "columns": {"text": 1}, "unit": "file"},
            "valid": {"share": [0.9, 1.0]},
        },
        "model": {"name": name, **MODELS[name]},
        "tokenizer": TOKENIZERS["characters"],
        "blocks": {"length": 16, "ends": False},
        "batches": {"tokens": 200},
        "optimizer": {"rate": 1e-2, "schedule": {"name": "linear", "warm_up": 3}},
        "train": {"updates": 24, "every": 12, "log": 6},
        "predict": {"begin": False, "pieces": 12},
        "metrics": ["nats_per_character", "perplexity"],
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    train(plan(folder), folder / "run")
    return folder / "run"


def test_blank_lines_are_nothing_that_training_and_validation_have_in_common(tmp_path: Path) -> None:
    values, corpus = plan(tmp_path), {"columns": {"text": 1}, "blank": "keep"}
    (tmp_path / "held.txt").write_text(f"\n{LINES[0]}\n\nnobody wrote this before\n", "utf-8")
    (tmp_path / "all.txt").write_text("\n\n".join(LINES) + "\n", "utf-8")
    values["data"] |= {"train": {"path": "all.txt", **corpus}, "valid": {"path": "held.txt", **corpus}}
    (told,) = [one for one in preflight(read(values)).findings if one.name == "overlap"]
    assert (told.level, told.text.split(":")[0]) == ("warning", "1 of 2 texts of valid are also in training")


def test_rows_that_are_one_text_are_as_likely_to_each_of_several_processes(run: Path) -> None:
    model = load(run)
    rows = [row.fields for row in Materials(model.recipe).valid]
    (part,) = [one for one in model.recipe.metrics if one.name == "perplexity"]
    alone, one_of_two = (judged(model, rows, [part], team).scores for team in (Team(), Team(rank=1, size=2)))
    assert alone == one_of_two


def test_a_run_learns_and_its_bundle_goes_on_with_texts(run: Path) -> None:
    model = load(run)
    assert model.recipe.predict.longest == 17
    value = model.scores["valid"]["nats_per_character"]["value"]
    assert 0.1 < value < 2.9
    # A character is a piece here.
    assert model.scores["valid"]["perplexity"]["value"] == pytest.approx(np.exp(value), rel=1e-6)
    load(run, verify=True)


def test_validation_loss_and_likelihood_tell_of_the_same_text(run: Path) -> None:
    training = Training(read(run), run, resume=True)
    training.restored()
    rows = [row.fields for row in training.materials.valid]
    told = list(training.task.likelihood(training.model, rows, training.recipe))
    measured = score_likelihood(told, "nats_per_character").value
    # Blocks see on average less before each piece than windows that overlap.
    assert measured == pytest.approx(training.evaluate()["loss"], abs=0.3)


def test_the_same_prompt_and_seed_give_the_same_text_everywhere(run: Path, tmp_path: Path) -> None:
    changes = ("search.temperature=0.7", "search.seed=3")
    prompts = ["the king", "who goes", "a cat , a"]
    model = load(run, *changes)
    expected = [result.text for result in model.predict(prompts)]
    assert [model.predict([prompt])[0].text for prompt in prompts] == expected
    assert [[*model.settle(prompt)][-1].text for prompt in prompts] == expected  # type: ignore[union-attr]
    model.save(tmp_path / "again")
    assert [result.text for result in load(tmp_path / "again", *changes).predict(prompts)] == expected
    words = [word for change in changes for word in ("--set", change)]
    given = "".join(f"{prompt}\n" for prompt in prompts).encode()
    shown = "".join(text.replace("\n", "\\n") + "\n" for text in expected)
    found = regard("predict", run, *words, given=given)
    assert (found.exception, found.stdout) == (None, shown)
    # What `--stream` writes; its output cannot be caught in this process.
    put: list[str] = []
    for prompt in prompts:
        settling(model, Given(prompt), put.append)
        put.append("\n")
    assert "".join(put) == shown


@every_model
def test_a_run_stopped_and_resumed_is_the_run_that_never_stopped(tmp_path: Path, name: str) -> None:
    short = {**plan(tmp_path, name), "train": {"updates": 4, "every": 2, "log": 2}, "metrics": ["perplexity"]}
    train(short, tmp_path / "whole")
    for step in Training(read(short), tmp_path / "parts").steps():
        if step.progress.update == 3:
            break
    train(short, tmp_path / "parts", resume=True)
    whole, parts = (named(load(tmp_path / folder).model) for folder in ("whole", "parts"))
    assert all(torch.equal(tensor, parts[key]) for key, tensor in whole.items())
