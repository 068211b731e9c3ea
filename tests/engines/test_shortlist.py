"""A shortlist changes what may be written and nothing else: the same search, in any company, over fewer pieces."""

from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.api import Materials, Pipeline
from regard.api.costing import ROWS
from regard.api.exporting import export
from regard.decode import Asked, Hypothesis, Request, SearchSettings, search, stream
from regard.engines import exported
from regard.engines.engine import beside
from regard.engines.shortlist.lexicon import FILE, NONE, Lexicon
from regard.engines.shortlist.narrow import Narrow
from regard.engines.shortlist.searching import ShortlistSearcher
from regard.errors import ConfigError, DataError, RequestError
from regard.nn.native import building
from tests.engines.toys import SEQUENCES, SMALL, lively, made, pipeline, sources

SIZE = 40
SEARCHES = {
    "greedy": {"method": "greedy"},
    "beam": {"beams": 3},
    "n best": {"beams": 4, "best": 3},
    "untold": {"beams": 3, "probabilities": False},
    "diverse": {"method": "diverse", "beams": 4, "best": 2},
    "without repeats": {"beams": 3, "no_repeat": 2},
    "sure": {"beams": 3, "stop": "sure"},
    # Whatever is chosen is computed alone.
    "near ties": {"beams": 3, "margin": 5.0},
}
FAMILIES = {**SEQUENCES, **{cross: {**SMALL, "cross": cross} for cross in ("joint", "layerwise")}}
SWIFT = [family for family in SEQUENCES if family != "relative"]
BANNED = (0, 3)
LENGTHS = (5, 1, 3, 7, 2)


def lexicon(each: int, common: int = 3, seed: int = 0) -> Lexicon:
    """Of each piece so many others that render it, at random."""
    rng = np.random.default_rng(seed)
    return Lexicon(rng.integers(4, SIZE, (SIZE, each)), np.arange(4, 4 + common), SIZE)


def short(model: Any, known: Lexicon, joint: bool = False) -> Any:
    return beside(model, searcher=ShortlistSearcher(model, known, joint))


def settings(how: str) -> SearchSettings:
    return SearchSettings.read({"longest_factor": 1.0, "longest_extra": 8, **SEARCHES[how]})


def same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    assert [[one.pieces for one in row] for row in theirs] == [[one.pieces for one in row] for row in ours]
    for one, other in zip(chain(*ours), chain(*theirs), strict=True):
        assert (other.complete, other.met) == (one.complete, one.met)
        assert other.score == pytest.approx(one.score, abs=1e-5)
        assert other.piece_log_probabilities == pytest.approx(one.piece_log_probabilities, abs=1e-5)


@pytest.fixture
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "library", lambda: None)


# A relative scheme is left to the modules, which take their time.
@pytest.mark.parametrize(
    ("family", "how"), [*product(SWIFT, SEARCHES), *product(["relative", "joint", "layerwise"], ["beam"])]
)
def test_offered_everything_a_search_finds_what_it_would_without(family: str, how: str) -> None:
    model = made("transformer", FAMILIES[family], SIZE)
    everything = Lexicon(np.full((SIZE, 1), 4), np.arange(SIZE), SIZE)
    source, real = sources(*LENGTHS, size=SIZE)
    asked = source, real, settings(how)
    same(search(model, *asked, banned=BANNED), search(short(model, everything), *asked, banned=BANNED))


@pytest.mark.parametrize("how", SEARCHES)
def test_company_changes_nothing(how: str) -> None:
    model = short(lively(made("transformer", SEQUENCES["pre"], SIZE), 0.6), lexicon(3))
    source, real = sources(*LENGTHS, size=SIZE)
    alone = [
        search(model, source[n : n + 1, :length], None, settings(how), banned=BANNED)[0]
        for n, length in enumerate(LENGTHS)
    ]
    same(alone, search(model, source, real, settings(how), banned=BANNED))
    assert len({one.pieces for row in alone for one in row}) > 3


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("how", ["beam", "near ties"])
def test_nor_does_it_without_kernels(how: str) -> None:
    test_company_changes_nothing(how)


@pytest.mark.parametrize("how", SEARCHES)
def test_it_is_the_search_of_a_model_that_finds_all_else_impossible(how: str) -> None:
    model, known = made("transformer", {**SMALL, "output_bias": True, "tied": "none"}, SIZE), lexicon(2)
    source, real = sources(*LENGTHS, size=SIZE)
    found = search(short(model, known), source, real, settings(how), banned=BANNED)
    bias = model.output.readout.bias.detach().clone()
    for number, length in enumerate(LENGTHS):
        read = source[number, :length].tolist()
        offered = torch.from_numpy(known.offered([read], [{1, 2}])[0])
        with torch.no_grad():
            model.output.readout.bias.fill_(-torch.inf)[offered] = bias[offered]
        same(search(model, source[number : number + 1, :length], None, settings(how), banned=BANNED), [found[number]])
        assert {piece for one in found[number] for piece in one.pieces} <= set(offered.nonzero()[:, 0].tolist())


def test_each_text_has_the_probability_of_what_it_is_offered_and_no_other() -> None:
    model, known = made("transformer", SEQUENCES["pre"], SIZE), lexicon(2)
    source, real = sources(*LENGTHS, size=SIZE)
    read = [row[kept].tolist() for row, kept in zip(source, real, strict=True)]
    offered = known.offered(read, [{1, 2}] * len(read))
    narrow = Narrow(model, offered)
    with torch.inference_mode():
        state, pieces = narrow.start(source, real)
        for step in range(4):
            said, state = narrow.step(pieces, state)
            assert said.exp().sum(1).tolist() == pytest.approx([1.0] * len(said), abs=1e-5)
            left = range(len(LENGTHS)) if step < 2 else (1, 3)
            for row, number in zip(said, left, strict=True):
                possible = narrow.pieces[row.isfinite().numpy()].tolist()
                assert possible == offered[number].nonzero()[0].tolist()
            pieces = said.argmax(1)
            if step == 1:
                state, pieces = state.select(torch.tensor([1, 3]), torch.tensor([1, 3])), pieces[[1, 3]]


@pytest.mark.parametrize("how", ["greedy", "beam", "diverse"])
def test_what_is_asked_can_be_written_though_nothing_offers_it(how: str) -> None:
    model = made("transformer", SEQUENCES["pre"], SIZE)
    source, real = sources(5, 3, size=SIZE)
    requests = [Request(prefix=(20, 21), must=(((30, 31),),)), Request(avoid=((5,), (6, 7)), before=(33, 34))]
    run = short(model, Lexicon(np.full((SIZE, 1), 4), np.arange(4, 12), SIZE))
    first, second = search(run, source, real, settings(how), requests, banned=BANNED)
    for one in first:
        assert one.pieces[:2] == (20, 21)
        assert one.met == (True,) or how == "greedy"
    assert all(5 not in one.pieces for one in second)


@pytest.mark.parametrize("how", ["greedy", "beam", "without repeats"])
def test_a_stream_ends_with_what_a_search_finds_and_takes_nothing_back(how: str) -> None:
    model = short(made("transformer", SEQUENCES["pre"], SIZE), lexicon(2))
    source, _ = sources(6, size=SIZE)
    *grown, last = stream(model, source, None, settings(how), banned=BANNED)
    same([list(last.outputs)], search(model, source, None, settings(how), banned=BANNED))
    for before, after in pairwise([*grown, last]):
        assert after.settled[: len(before.settled)] == before.settled


def test_a_joint_vocabulary_lets_a_text_be_copied() -> None:
    model, nothing = (
        made("transformer", SEQUENCES["pre"], SIZE),
        Lexicon(np.full((SIZE, 1), 4), np.arange(4, 6), SIZE),
    )
    source = (17, 23, 0, 2)
    for joint, copied in ((True, [17, 23]), (False, [])):
        searcher = ShortlistSearcher(model, nothing, joint)
        narrow, _, _ = searcher.narrowed(searcher.checked(Asked([source], settings("greedy"), None, BANNED)))
        assert narrow.pieces.tolist() == [1, 2, 4, 5, *copied]


def test_a_lexicon_finds_what_renders_what() -> None:
    rng = np.random.default_rng(1)
    known = rng.permutation(np.arange(50, 80))
    texts = [rng.choice(30, rng.integers(3, 9), replace=False) for _ in range(400)]
    # 49 stands in every target and renders nothing.
    pairs = [(text.tolist(), [*rng.permutation(known[text]).tolist(), 49]) for text in texts]
    found = Lexicon.learn(pairs, 31, 80)
    assert found.renderings[:30, 0].tolist() == known.tolist()
    assert found.renderings[30].tolist() == [NONE] * found.renderings.shape[1]
    assert found.common[0] == 49
    offered, other = found.offered([[3, 4], [5]], [{2}, ()])
    assert set(known[[3, 4]]) | {2, 49} <= set(offered.nonzero()[0])
    assert other[known[5]]
    assert not other[[2, 48]].any()
    assert found.knows([3, 4])
    assert not found.knows([5, 30])


def test_one_text_alone_has_the_very_numbers_it_has_among_others() -> None:
    model, known = made("transformer", SEQUENCES["pre"], SIZE), lexicon(2)
    read = [(5, 6, 2), (7, 2), (9, 8, 4, 2)]
    offered = known.offered(read, [{1, 2}] * 3)
    among, by_itself = Narrow(model, offered).alone(1), Narrow(model, offered[1:2])
    assert by_itself.alone(0) is by_itself
    with torch.inference_mode():
        both = [(one, *one.start(torch.tensor([read[1]]))[::-1]) for one in (among, by_itself)]
        for _ in range(3):
            (said, ours), (other, theirs) = (one.step(pieces, state) for one, pieces, state in both)
            assert said[said.isfinite()].tolist() == other[0].tolist()
            pieces = said.argmax(1), other.argmax(1)
            both = [(one, *rest) for (one, _, _), *rest in zip(both, pieces, (ours, theirs), strict=True)]


@pytest.mark.parametrize("how", ["greedy", "beam"])
def test_vectors_learned_elsewhere_are_narrowed_too(how: str) -> None:
    model = made("transformer", {**SMALL, "embedding": {"fixed": 6}, "output_bias": True, "tied": "none"}, SIZE)
    source, _ = sources(6, size=SIZE)
    known = lexicon(3)
    offered = torch.from_numpy(known.offered(source.tolist(), [{1, 2}])[0])
    found = search(short(model, known), source, None, settings(how), banned=BANNED)
    with torch.no_grad():
        model.output.readout.bias.masked_fill_(~offered, -torch.inf)
    same(search(model, source, None, settings(how), banned=BANNED), found)


@pytest.mark.parametrize("how", ["greedy", "n best"])
def test_a_text_of_which_nothing_is_known_is_searched_among_all_pieces(how: str) -> None:
    model, known = made("transformer", SEQUENCES["pre"], SIZE), lexicon(2)
    source, real = sources(*LENGTHS, size=SIZE)
    source[source == 7] = 8
    source[2, 1] = source[4, 0] = 7
    known.renderings[7] = NONE
    asked = source, real, settings(how)
    whole, short_ones = search(model, *asked, banned=BANNED), search(short(model, lexicon(2)), *asked, banned=BANNED)
    expected = [whole[n] if n in (2, 4) else short_ones[n] for n in range(len(LENGTHS))]
    same(expected, search(short(model, known), *asked, banned=BANNED))
    *_, last = stream(short(model, known), source[4:, :2], None, settings(how), banned=BANNED)
    same([whole[4]], [list(last.outputs)])


def test_what_may_not_be_written_is_named_as_the_model_calls_it() -> None:
    model = made("transformer", SEQUENCES["pre"], SIZE)
    source, real = sources(3, size=SIZE)
    with pytest.raises(RequestError, match="`must` holds piece 35, which is never written"):
        search(short(model, lexicon(2)), source, real, settings("beam"), [Request(must=(((35,),),))], banned=(35,))


def test_what_is_to_be_avoided_is_not_offered_for_that() -> None:
    model = made("transformer", SEQUENCES["pre"], SIZE)
    searcher = ShortlistSearcher(model, Lexicon(np.full((SIZE, 1), 4), np.arange(4, 6), SIZE), False)
    requests = [Request(avoid=((5,), (20, 21))), Request(prefix=(20,))]
    asked = searcher.checked(Asked([(4, 2), (4, 2)], settings("greedy"), requests, BANNED))
    narrow, numbered, _ = searcher.narrowed(asked)
    assert narrow.pieces.tolist() == [1, 2, 4, 5, 20]
    assert [one.avoid for one in numbered] == [((3,),), ()]


def test_no_text_teaches_nothing() -> None:
    with pytest.raises(DataError, match="no pair of texts"):
        Lexicon.learn([], 5, 5)


def test_a_lexicon_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    known = lexicon(3)
    known.save(tmp_path)
    again = Lexicon.load(tmp_path)
    assert (again.renderings == known.renderings).all()
    assert (again.common == known.common).all()
    Lexicon(known.renderings, known.common, SIZE - 10).save(tmp_path)
    with pytest.raises(DataError, match="damaged"):
        Lexicon.load(tmp_path)
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(DataError, match="damaged"):
        Lexicon.load(tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of a translator that was taught nothing."""
    out = tmp_path_factory.mktemp("exports") / "short"
    found = export(pipeline("translation"), "shortlist", out)
    assert found.kind == "lexicon"
    assert found.differences.bleu is not None
    assert found.costs
    return out


def test_an_export_is_run_by_its_engine(folder: Path) -> None:
    loaded = Pipeline.load(folder, engine="shortlist")
    rows = [entry["input"] for entry in loaded.golden]
    together = loaded.predict(rows)
    assert [one.text for one in together] == [loaded.predict([row])[0].text for row in rows]
    # The bundle inside is the model as it was.
    assert [one.text for one in Pipeline.load(folder).predict(rows)] == [
        one.text for one in pipeline("translation").predict(rows)
    ]


def test_what_it_cannot_do_it_refuses(folder: Path) -> None:
    loaded = Pipeline.load(folder, ["search.method=sample"], engine="shortlist")
    with pytest.raises(RequestError, match="cannot draw samples; use --engine torch"):
        loaded.predict(["a"])
    with pytest.raises(RequestError, match="while it reads"):
        Pipeline.load(folder, ["predict.simultaneous.policy=wait"], engine="shortlist").predict(["a"])
    with pytest.raises(ConfigError, match="regard export BUNDLE --to shortlist"):
        pipeline("translation").with_engine("shortlist")
    with pytest.raises(ConfigError, match="writes text by what it reads"):
        export(pipeline("language"), "shortlist", folder.parent / "other")
    with pytest.raises(DataError, match="it is of another model"):
        pipeline("dialogue").with_engine("shortlist", folder)
    assert exported(folder, "shortlist") == folder
    assert not (folder.parent / "other").exists()


def test_a_recipe_that_draws_samples_is_exported_and_compared_without(tmp_path: Path) -> None:
    found = export(pipeline("translation", "search.method=sample"), "shortlist", tmp_path / "out")
    assert found.costs


@pytest.mark.parametrize("changes", [["search.stop=sure"], ["search.method=diverse"], ["search.length=wu"]])
def test_what_it_costs_is_told_of_the_recipes_own_search(changes: list[str], tmp_path: Path) -> None:
    ours = pipeline("translation", *changes)
    found = export(ours, "shortlist", tmp_path / "out")
    rows = [row.fields for row in Materials(ours.recipe).valid][:ROWS]
    wanted = ours.judged(rows, ours.recipe.metrics).scores
    narrow = Pipeline.load(tmp_path / "out", engine="shortlist").judged(rows, ours.recipe.metrics).scores
    assert {one.metric: (one.before, one.after) for one in found.costs} == {
        name: (score.value, narrow[name].value) for name, score in wanted.items()
    }


def test_texts_that_moved_are_read_where_they_are_and_the_bundle_stays_as_it_was(tmp_path: Path) -> None:
    ours = pipeline("translation")
    moved = ours.with_settings("data.root=/nowhere")
    there = tmp_path / '中文 😀 a"b'
    there.symlink_to(Path(ours.recipe.data.root).resolve(), target_is_directory=True)
    found = export(moved, "shortlist", tmp_path / "out", root=str(there))
    assert found.costs
    assert Pipeline.load(tmp_path / "out").recipe.data.root == "/nowhere"


def test_whoever_may_read_one_file_may_read_all(folder: Path) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir() if path.is_file()}
    assert len(set(modes.values())) == 1, modes


def test_texts_that_are_elsewhere_are_told_of(tmp_path: Path) -> None:
    lost = pipeline("translation").with_settings("data.root=/nowhere")
    with pytest.raises(DataError, match=r"No file /nowhere/train\.en .* --set data\.root=DIR"):
        export(lost, "shortlist", tmp_path / "out")
    assert not list(tmp_path.iterdir())
