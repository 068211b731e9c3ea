"""What CTranslate2 finds is what our own search finds: pieces, scores, probabilities, statuses; or it is refused."""

from collections import Counter
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.convert.ctranslate2 import Pieces, write
from regard.decode import Hypothesis, Request, SearchSettings, search, stream
from regard.engines import engine
from regard.engines.ctranslate2 import run
from regard.engines.ctranslate2.searching import CTranslate2Searcher
from regard.errors import ConfigError, RequestError
from regard.models import Decoder, Vocabulary, build
from regard.tasks.ending import Ending
from regard.text import Tokenizer, TokenizerSettings
from tests.engines.toys import LANGUAGES, SEQUENCES, SIZE, SMALL, made, pipeline, sources

pytest.importorskip("ctranslate2")

NAMES = [f"piece {number}" for number in range(SIZE)]
PIECES = Pieces.of(NAMES, NAMES, begin=1, end=2, unknown=3)


def running(model: Any) -> Any:
    """The model as the engine runs it."""
    return run(model, PIECES).model


@pytest.fixture(scope="module")
def models() -> dict[str, tuple[Any, Any]]:
    """Every family, ours and as CTranslate2 runs it."""
    found = {f"sequence {name}": made("transformer", settings) for name, settings in SEQUENCES.items()}
    found |= {f"language {name}": made("transformer_language", settings) for name, settings in LANGUAGES.items()}
    return {name: (model, running(model)) for name, model in found.items()}


FAMILIES = [*(f"sequence {name}" for name in SEQUENCES), *(f"language {name}" for name in LANGUAGES)]
SEARCHES = {
    "greedy": {"method": "greedy"},
    "beam": {"beams": 3},
    "n best": {"beams": 4, "best": 3},
    "no length": {"beams": 3, "length": "none"},
    "half a length": {"beams": 3, "length": {"name": "average", "alpha": 0.5}, "best": 2},
    "greedy without repeats": {"method": "greedy", "no_repeat": 2},
    "beam without repeats": {"beams": 3, "no_repeat": 2},
}


def same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    assert [[one.pieces for one in row] for row in theirs] == [[one.pieces for one in row] for row in ours]
    for one, other in zip(chain(*ours), chain(*theirs), strict=True):
        assert other.complete == one.complete
        assert other.score == pytest.approx(one.score, abs=1e-4)
        assert other.piece_log_probabilities == pytest.approx(one.piece_log_probabilities, abs=1e-4)


def both(pair: tuple[Any, Any], settings: SearchSettings, lengths: list[int], **asked: Any) -> None:
    source, real = sources(*lengths)
    same(*(search(model, source, real, settings, banned=(0, 3), **asked) for model in pair))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("how", SEARCHES)
def test_a_search_finds_what_ours_finds(family: str, how: str, models: dict[str, tuple[Any, Any]]) -> None:
    settings = SearchSettings.read({"longest_factor": 1.0, "longest_extra": 8, **SEARCHES[how]})
    both(models[family], settings, [5, 1, 3, 7])


class Silent:
    """A model that must not be asked."""

    def __init__(self, model: Any) -> None:
        self.vocabulary = model.vocabulary

    def start(self, source: Any, real: Any = None) -> Any:
        raise AssertionError("our own search was asked")

    step = start


@pytest.mark.parametrize("how", [name for name in SEARCHES if "repeats" not in name])
def test_where_nothing_is_doubtful_the_search_is_its_own(how: str) -> None:
    model = made("transformer", SEQUENCES["post"])
    with torch.no_grad():
        model.output.readout.bias[[0, 1, 3]] = -30.0
        model.output.readout.bias[2] += 1.0
    theirs = running(model)
    theirs.searcher = theirs.searcher.ending(Silent(model), (2,))
    settings = SearchSettings.read({"longest_extra": 200, **SEARCHES[how]})
    both((model, theirs), settings, [5, 2, 3, 7])


WIDE = 60
WIDE_PIECES = Pieces.of(*([f"piece {number}" for number in range(WIDE)],) * 2, begin=1, end=2, unknown=3)


def doubtful(seed: int, down: float) -> Any:
    """A random model that ends its texts, whose unwritten pieces are less likely than the others by so much."""
    torch.manual_seed(seed)
    vocabulary = Vocabulary(source=WIDE, target=WIDE, begin=1, end=2)
    model = build("transformer", {**SMALL, "output_bias": True, "tied": "none"}, vocabulary).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.4)
        model.output.readout.bias[[0, 1, 3]] -= down
        model.output.readout.bias[2] += 4.0
    return model


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("down", [-2.0, 0.0, 2.0, 4.0])
@pytest.mark.parametrize("beams", [2, 5])
def test_likely_pieces_that_may_not_be_written_change_nothing(
    beams: int, down: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ours = CTranslate2Searcher.ours
    monkeypatch.setattr(
        CTranslate2Searcher, "ours", lambda self, text, rows: asked.extend(rows) or ours(self, text, rows)
    )
    settings = SearchSettings.read({"beams": beams, "longest_extra": 40, "probabilities": told})
    for seed in range(4):
        model = doubtful(seed, down)
        source = torch.randint(4, WIDE, (16, 6))
        same(*(search(one, source, None, settings, banned=(0, 3)) for one in (model, run(model, WIDE_PIECES).model)))
    # A few go on to their limit; where such pieces are the likeliest, many are left to our own search.
    assert down == 0 or (len(asked) > 10) == (down < 0)


@pytest.mark.parametrize("how", SEARCHES)
def test_what_nobody_asks_is_not_told_and_scores_are_the_same(how: str, models: dict[str, tuple[Any, Any]]) -> None:
    settings = SearchSettings.read({"longest_factor": 1.0, "longest_extra": 8, **SEARCHES[how]})
    both(models["sequence pre"], settings.model_copy(update={"probabilities": False}), [5, 1, 3, 7])
    source, real = sources(5, 1, 3, 7)
    for model in models["sequence pre"]:
        asked, unasked = (
            [one for row in search(model, source, real, each, banned=(0, 3)) for one in row]
            for each in (settings, settings.model_copy(update={"probabilities": False}))
        )
        assert [one.pieces for one in unasked] == [one.pieces for one in asked]
        assert [one.score for one in unasked] == pytest.approx([one.score for one in asked], abs=1e-4)
        assert not any(one.piece_log_probabilities for one in unasked)
        assert all(one.piece_log_probabilities for one in asked)


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    beams=st.integers(1, 4),
    extra=st.integers(1, 9),
    told=st.booleans(),
)
def test_limits_of_neighbours_change_nothing(
    lengths: list[int], beams: int, extra: int, told: bool, models: dict[str, tuple[Any, Any]]
) -> None:
    torch.manual_seed(sum(lengths))
    settings = SearchSettings(beams=beams, longest_factor=0.7, longest_extra=extra, probabilities=told)
    both(models["sequence pre"], settings, lengths)


@pytest.mark.parametrize("family", ["sequence pre", "language gpt2-like"])
@pytest.mark.parametrize("how", ["greedy", "n best", "no length"])
def test_an_output_begins_as_it_is_told(family: str, how: str, models: dict[str, tuple[Any, Any]]) -> None:
    settings = SearchSettings.read({"longest_factor": 1.0, "longest_extra": 8, **SEARCHES[how]})
    requests = [Request(prefix=(5, 9)), Request(), Request(prefix=(7,), longest=4)]
    both(models[family], settings, [5, 2, 3], requests=requests)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name.startswith("language")])
@pytest.mark.parametrize("how", ["no length", "greedy without repeats", "beam without repeats"])
def test_prompts_of_any_lengths_are_gone_on_with_as_ours(family: str, how: str) -> None:
    settings = SearchSettings.read({"longest_factor": 0.0, "longest_extra": 8, **SEARCHES[how]})
    # Models whose likeliest text is empty, and such as would repeat what they were given.
    for seed in (2, 9, 21):
        model = made("transformer_language", LANGUAGES[family.removeprefix("language ")], seed=seed)
        both((model, running(model)), settings, [5, 2, 3, 30])


def test_what_is_to_be_avoided_is_avoided(models: dict[str, tuple[Any, Any]]) -> None:
    requests = [Request(avoid=((piece,),)) for piece in range(4, 8)]
    for how in ("greedy", "beam"):
        settings = SearchSettings.read({"longest_extra": 8, "longest_factor": 0.0, **SEARCHES[how]})
        both(models["sequence post"], settings, [4, 4, 4, 4], requests=requests)


def test_a_source_beyond_1024_pieces_is_not_cut(models: dict[str, tuple[Any, Any]]) -> None:
    settings = SearchSettings(method="greedy", longest_factor=0.0, longest_extra=6)
    source, real = sources(1300, 4)
    ours, theirs = (search(model, source, real, settings) for model in models["sequence pre"])
    same(ours, theirs)
    cut, _ = sources(1300, 4)
    cut[0, :1024] = source[0, :1024]
    changed = search(models["sequence pre"][1], cut, real, settings)
    assert changed[0][0].log_probability != pytest.approx(ours[0][0].log_probability, abs=1e-6)


def test_positions_that_are_not_written_down_are_left_to_our_own_search() -> None:
    model = made("transformer", SEQUENCES["learned"])
    pair = model, running(model)
    both(pair, SearchSettings(method="greedy", longest_factor=0.0, longest_extra=5), [40, 3])


@pytest.mark.parametrize("stops", [(2,), (2, 9)])
def test_any_of_several_pieces_ends_a_text(stops: tuple[int, ...], models: dict[str, tuple[Any, Any]]) -> None:
    tokenizer = Tokenizer.learn(TokenizerSettings(kind="characters", size=SIZE), ["abcdefghij"], seed=1)
    assert tokenizer.size == SIZE
    source, real = sources(4, 2, 6)
    settings = SearchSettings(method="greedy")
    found = []
    for model in models["language gpt2-like"]:
        ending = Ending(model, tokenizer, frozenset(stops))
        assert isinstance(ending, Decoder)
        found.append(search(ending, source, real, settings, [Request(longest=7)] * 3, None, ending.banned))
    same(*found)


def test_greedy_pieces_come_as_they_are_written(models: dict[str, tuple[Any, Any]]) -> None:
    ours, theirs = models["sequence pre"]
    settings = SearchSettings(method="greedy", longest_extra=6, longest_factor=0.0)
    source, real = sources(5)
    told = list(stream(theirs, source, real, settings, None, None, (0, 3)))
    same([list(told[-1].outputs)], search(ours, source, real, settings, banned=(0, 3)))
    settled = [one.settled for one in told]
    assert len(told) > 2
    assert all(later[: len(first)] == first for first, later in pairwise(settled))


def test_a_streamed_text_does_not_repeat_what_it_begins_with() -> None:
    settings = SearchSettings(method="greedy", longest_extra=20, longest_factor=0.0, no_repeat=2)
    request = Request(prefix=(5, 9, 6, 7, 8, 9, 10))
    for seed in (2, 3, 8):
        model = made("transformer_language", LANGUAGES["gpt2-like"], seed=seed)
        source, real = sources(12)
        told = list(stream(running(model), source, real, settings, request, None, (0, 3)))
        same(search(model, source, real, settings, requests=[request], banned=(0, 3)), [list(told[-1].outputs)])


# --- positions -------------------------------------------------------------------------------------------------------


def stretched(**stretch: Any) -> dict[str, Any]:
    return {**SEQUENCES["llama-like"], "position": {"name": "rotary", "base": 500.0, "stretch": stretch}}


TURNED = {**SEQUENCES["llama-like"], "position": {"name": "rotary", "base": 500.0}}
GROUPS = {**SMALL, "place": "pre", "attention": {"heads": 6, "groups": 3, "each": 4}}
BUCKETS = {"name": "bucketed", "buckets": 8, "farthest": 12}
# What is held, and the same model without it.
POSITIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "linear": (stretched(factor=3.0), TURNED),
    "as in Llama 3.1": (stretched(factor=8.0, length=12), TURNED),
    "by planes": (stretched(factor=2.0, planes=(1.5, 5.0)), TURNED),
    "halves": (
        {**TURNED, "position": {"name": "rotary", "layout": "halves", "stretch": {"factor": 8.0, "length": 12}}},
        {**TURNED, "position": {"name": "rotary", "layout": "halves"}},
    ),
    "alibi": ({**SMALL, "position": "alibi"}, {**SMALL, "position": "none"}),
    "alibi, groups": ({**GROUPS, "position": "alibi"}, {**GROUPS, "position": "none"}),
    "buckets": ({**SMALL, "position": BUCKETS}, {**SMALL, "position": "none"}),
    "buckets of one side": (
        {**GROUPS, "position": {**BUCKETS, "two_sided": False}},
        {**GROUPS, "position": BUCKETS},
    ),
}
PLACED = [
    (name, position)
    for name in ("transformer", "transformer_language")
    for position in POSITIONS
    if name == "transformer" or not position.startswith("buckets")
]


@pytest.mark.parametrize(("name", "position"), PLACED)
def test_a_long_output_has_the_positions_of_ours(name: str, position: str) -> None:
    held, without = POSITIONS[position]
    model, other = made(name, held), made(name, without)
    other.load_state_dict(model.state_dict(), strict=False)
    theirs = running(model)
    theirs.searcher = theirs.searcher.ending(Silent(model), (2,))
    settings = SearchSettings(method="greedy", longest_factor=0.0, longest_extra=40)
    for lengths in ([30, 2, 9], [40]):
        source, real = sources(*lengths)
        found = search(theirs, source, real, settings, banned=())
        same(search(model, source, real, settings, banned=()), found)
        with pytest.raises(AssertionError):
            same(search(other, source, real, settings, banned=()), found)


@pytest.mark.parametrize(("name", "position"), PLACED)
@pytest.mark.parametrize("how", ["beam", "n best"])
def test_searches_have_the_positions_of_ours(name: str, position: str, how: str) -> None:
    model = made(name, POSITIONS[position][0])
    settings = SearchSettings.read({"longest_factor": 0.0, "longest_extra": 9, **SEARCHES[how]})
    pair = model, running(model)
    both(pair, settings, [5, 2, 30])
    both(pair, settings, [6], requests=[Request(prefix=(5, 9, 6, 7, 8, 9))])


# --- sampling: another luck, the same odds ---------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"top_k": 3}, {"top_p": 0.6}, {"temperature": 0.5}])
def test_samples_have_the_odds_of_ours(how: dict[str, Any], models: dict[str, tuple[Any, Any]]) -> None:
    settings = SearchSettings.read({"method": "sample", "best": 300, "longest_factor": 0.0, "longest_extra": 1, **how})
    source, real = sources(4)
    counts = []
    for model in models["sequence pre"]:
        found = search(model, source, real, settings, banned=(0, 3))[0]
        counts.append(Counter(one.pieces for one in found))
    assert sum(counts[1].values()) == 300
    assert sum(abs(counts[0][one] - counts[1][one]) for one in counts[0] | counts[1]) / 600 < 0.15


def test_what_is_told_of_a_sample_is_what_the_model_holds_of_it(models: dict[str, tuple[Any, Any]]) -> None:
    ours, theirs = models["language llama-like"]
    settings = SearchSettings(method="sample", best=3, longest_extra=5, longest_factor=0.0)
    source, real = sources(3)
    for one in search(theirs, source, real, settings, banned=(0, 3))[0]:
        forced = SearchSettings(method="greedy")
        again = search(ours, source, real, forced, [Request(prefix=one.pieces)])[0][0]
        known = again.piece_log_probabilities[: len(one.pieces)]
        assert one.piece_log_probabilities[: len(one.pieces)] == pytest.approx(known, abs=1e-4)


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "request_", "said"),
    [
        ({"method": "diverse", "beams": 2}, Request(), "diverse"),
        ({"coverage": 0.2}, Request(), "coverage"),
        ({"stop": "sure"}, Request(), "sure"),
        ({"length": "wu"}, Request(), "wu"),
        ({"method": "sample", "min_p": 0.1}, Request(), "min_p"),
        ({"method": "sample", "top_k": 3, "top_p": 0.5}, Request(), "top_k"),
        ({"method": "sample"}, Request(seed=3), "own seed"),
        ({"method": "sample", "seed": 3}, Request(), "search.seed = 3"),
        ({}, Request(must=(((5,),),)), "glossary"),
    ],
)
def test_what_it_cannot_is_refused_and_the_engines_that_can_are_named(
    settings: dict[str, Any], request_: Request, said: str, models: dict[str, tuple[Any, Any]]
) -> None:
    source, real = sources(4)
    # What goes by where a model looks, torch alone can.
    engines = "torch" if said == "coverage" else "torch or onnx"
    with pytest.raises(RequestError, match=rf"ctranslate2 cannot .*{said}.*use --engine {engines}\.$"):
        search(models["sequence pre"][1], source, real, SearchSettings.read(settings), [request_])


BOTH = {**SMALL, "attention": {"heads": 4, "position": "rotary"}}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (BOTH, "position = sinusoidal and attention.position = rotary.*torch or onnx"),
        ({**BOTH, "position": "learned", "attention": {"heads": 4, "position": "relative"}}, "either.*torch or onnx"),
        ({**SMALL, "position": "relative", "attention": {"heads": 4, "score": "dot"}}, "score = dot and relative"),
        (
            {**SMALL, "norm": {"name": "rms", "epsilon": 0.1}, "attention": {"heads": 4, "normed": True}},
            "one epsilon for all.*torch or onnx",
        ),
        ({**SMALL, "attention": {"heads": 4, "scope": "window"}}, "scope = window.*its windows.*engine torch\\."),
        ({**SMALL, "attention": {"heads": 4, "normalizer": "sparsemax"}}, "normalizer = .*Use the engine torch\\."),
    ],
)
def test_models_it_would_run_otherwise_are_refused_and_an_engine_that_can_is_named(
    settings: dict[str, Any], said: str
) -> None:
    for name in ("transformer", "transformer_language"):
        with pytest.raises(ConfigError, match=said):
            running(made(name, settings))


@pytest.mark.parametrize("quantize", ["float16", "bfloat16"])
def test_turns_that_would_be_rounded_are_refused(quantize: str, tmp_path: Path) -> None:
    held, _ = POSITIONS["linear"]
    with pytest.raises(ConfigError, match=rf"quantize = {quantize} and stretched rotary.*int8"):
        write(made("transformer_language", held), PIECES, tmp_path, quantize)


def test_a_prompt_of_a_decoder_with_buckets_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"bucketed positions: its decoders take every piece.*torch or onnx"):
        running(made("transformer_language", {**SMALL, "position": BUCKETS}))


def test_heads_that_are_normed_are_refused_where_a_decoder_reads_a_source() -> None:
    normed = {**SMALL, "norm": "rms", "place": "pre", "attention": {"heads": 4, "normed": True}}
    with pytest.raises(ConfigError, match=r"attention\.normed = True.*torch or onnx"):
        running(made("transformer", normed))


def test_beams_are_not_streamed(models: dict[str, tuple[Any, Any]]) -> None:
    source, real = sources(4)
    with pytest.raises(RequestError, match="while they grow; use --engine torch or onnx, or search"):
        list(stream(models["sequence pre"][1], source, real, SearchSettings(beams=3)))


# --- whole tasks -----------------------------------------------------------------------------------------------------

BERT = (
    "model.name=transformer",
    "model.layers=1",
    "model.width=16",
    "model.attention.heads=2",
    "model.feedforward.hidden=16",
)


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        ("translation", ("model.width=16", "search.best=2")),
        ("dialogue", ("model.width=16",)),
        ("language", ("model.width=16", "search.method=beam")),
        ("classification", BERT),
        ("tagging", (*BERT, "head.crf=true", "head.characters={}")),
        ("answering", (*BERT, "head.name=spans", "model.embedding.segments=2")),
    ],
)
def test_results_of_a_task_are_those_of_torch(task: str, changes: tuple[str, ...]) -> None:
    if task == "tagging":
        with pytest.raises(ConfigError, match=r"embedding\.beside"):
            pipeline(task, *changes).with_engine("ctranslate2")
        changes = (*BERT, "head={}")
    ours = pipeline(task, *changes)
    theirs = ours.with_engine("ctranslate2")
    rows = [entry["input"] for entry in ours.golden]
    for one, other in zip(ours.predict(rows), theirs.predict(rows), strict=True):
        assert (other.text, other.status) == (one.text, one.status)
        told, known = other.plain(), one.plain()
        assert told.get("score") == (None if "score" not in known else pytest.approx(known["score"], abs=1e-3))


def test_an_engine_changes_nothing_of_the_model_it_runs() -> None:
    ours = pipeline("classification", *BERT)
    before = [name for name, _ in ours.model.named_modules()]
    theirs = ours.with_engine("ctranslate2")
    assert [name for name, _ in ours.model.named_modules()] == before
    assert theirs.running is not ours.model
    assert ours.running is ours.model
    assert theirs.with_settings("predict.rows=2").engine is theirs.engine
    with pytest.raises(ConfigError, match="ensemble"):
        theirs.ensemble([ours])


def test_an_unknown_engine_is_named() -> None:
    ours = pipeline("classification", *BERT)
    with pytest.raises(ConfigError, match="Unknown engine 'tensorrt'"):
        engine("tensorrt", ours.task, ours.model)
