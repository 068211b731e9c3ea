"""Modules that understand a text: the equalities all of them owe, what each computes, and that each learns."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from regard.attention import record
from regard.errors import ConfigError, ModelError
from regard.models import (
    Classifier,
    ClassifierSettings,
    DocumentReader,
    DocumentReaderSettings,
    MaskedLanguage,
    MaskedLanguageSettings,
    Moves,
    SpanReader,
    SpanReaderSettings,
    Tagger,
    TaggerSettings,
    encoder,
)
from regard.nn import IGNORE, Loss
from regard.nn.parameters import named

PIECES, WIDTH, CLASSES, LETTERS = 20, 12, 4, 9
ENCODERS: dict[str, dict[str, Any]] = {
    "transformer": {"width": WIDTH, "layers": 1, "attention": {"heads": 2}, "feedforward": {"hidden": 16}},
    "recurrent": {"width": WIDTH, "embedding": {"width": 7}},
    "convolutional": {"width": WIDTH, "layers": 1},
    "wide": {"width": WIDTH},
}
DROPPED = {"dropout": 0.0}


@dataclass(frozen=True)
class Batch:
    """Texts of several lengths, a question to each, the letters of each piece, and where words begin."""

    pieces: Tensor
    real: Tensor
    question: Tensor
    question_real: Tensor
    letters: Tensor
    letters_real: Tensor
    first: Tensor
    words_real: Tensor
    classes: Tensor

    def rows(self, *rows: int) -> "Batch":
        return Batch(*(tensor[list(rows)] for tensor in vars(self).values()))

    def alone(self, row: int) -> "Batch":
        """One text without its padding."""
        one = self.rows(row)
        long, asked, words = (int(mask.sum()) for mask in (one.real, one.question_real, one.words_real))
        return Batch(
            one.pieces[:, :long],
            one.real[:, :long],
            one.question[:, :asked],
            one.question_real[:, :asked],
            one.letters[:, :long],
            one.letters_real[:, :long],
            one.first[:, :words],
            one.words_real[:, :words],
            one.classes,
        )

    def padded(self) -> "Batch":
        """More padding, and another filling in all of it."""
        return Batch(
            *_filled(self.pieces, self.real, PIECES),
            *_filled(self.question, self.question_real, PIECES),
            *_filled(*(F.pad(letters, (0, 0, 0, 3)) for letters in (self.letters, self.letters_real)), LETTERS),
            *_filled(self.first, self.words_real, 1),
            self.classes,
        )


def _filled(values: Tensor, real: Tensor, below: int) -> tuple[Tensor, Tensor]:
    values, real = F.pad(values, (0, 3)), F.pad(real, (0, 3))
    return torch.where(real, values, torch.randint(0, below, values.shape)), real


def mask(lengths: Tensor) -> Tensor:
    return torch.arange(int(lengths.max())) < lengths[..., None]


def batch(count: int = 4, empty: bool = False, seed: int = 0) -> Batch:
    chance = torch.Generator().manual_seed(seed)

    def draw(below: int, *shape: int, above: int = 0) -> Tensor:
        return torch.randint(above, below, shape, generator=chance)

    real = mask(torch.cat([torch.tensor([6]), draw(7, count - 1, above=1)]))
    asked = mask(draw(5, count, above=2))
    letters_real = mask(draw(6, count, 6, above=1)) & real[..., None]
    words_real = mask((real.sum(1) + 1) // 2)
    if empty:
        for every in (real, asked, letters_real, words_real):
            every[-1] = False
    return Batch(
        draw(PIECES, count, 6, above=4),
        real,
        draw(PIECES, *asked.shape, above=4),
        asked,
        draw(LETTERS, *letters_real.shape),
        letters_real,
        2 * torch.arange(words_real.shape[1]).expand(count, -1),
        words_real,
        draw(CLASSES, count),
    )


@dataclass(frozen=True)
class Case:
    """A module, how it is called, what it loses, and which of its outputs are of something real."""

    make: Callable[[nn.Module], nn.Module]
    call: Callable[[nn.Module, Batch], Tensor]
    loss: Callable[[nn.Module, Batch], Loss]
    real: Callable[[Batch], Tensor] = lambda batch: batch.real
    beside: int = 0


def tags(batch: Batch, real: Tensor) -> Tensor:
    """Something to learn of each piece."""
    return (batch.pieces % CLASSES)[:, : real.shape[1]]


def opened(real: Tensor) -> Tensor:
    return F.pad(real, (1, 0), value=True)


def span(batch: Batch, moved: int = 0) -> tuple[Tensor, Tensor]:
    """From the second piece, if there is one, to the last; no answer in some texts, and in one that is empty."""
    last = batch.real.sum(1) - 1
    answered = (batch.pieces[:, 0] % 4 != 0) & (last >= 0)
    return answered * (last.clamp(max=1) + moved), answered * (last + moved)


def tagger(settings: dict[str, Any], letters: int = 0) -> Callable[[nn.Module], nn.Module]:
    return lambda made: Tagger(made, TaggerSettings.read({**DROPPED, **settings}), CLASSES, letters)


def letter_tags(model: nn.Module, batch: Batch) -> Tensor:
    return model(batch.pieces, batch.real, batch.letters, batch.letters_real, batch.pieces % 3)


def masked(batch: Batch) -> Tensor:
    return batch.pieces.masked_fill(~batch.real | (torch.arange(batch.pieces.shape[1]) % 2 == 1), IGNORE)


def read_apart(model: nn.Module, batch: Batch) -> Tensor:
    return model(batch.question, batch.question_real, batch.pieces, batch.real)


CHARACTERS = {"characters": {"kind": "recurrent", "width": 3, "out": 4, "dropout": 0.0}, "shapes": 3, "shape_width": 2}
CASES = {
    **{
        f"classifier by {how}": Case(
            lambda made, how=how: Classifier(
                made, ClassifierSettings.read({**DROPPED, "pooling": {"how": how}}), CLASSES
            ),
            lambda model, batch: model(batch.pieces, batch.real),
            lambda model, batch: model.loss(model(batch.pieces, batch.real), batch.classes),
            lambda batch: torch.ones(len(batch.pieces), dtype=torch.bool),
        )
        for how in ("attention", "maximum")
    },
    "tagger": Case(
        tagger({"crf": False}),
        lambda model, batch: model(batch.pieces, batch.real),
        lambda model, batch: model.loss(model(batch.pieces, batch.real), tags(batch, batch.real), batch.real),
    ),
    "tagger with letters and a CRF": Case(
        tagger(CHARACTERS, LETTERS),
        letter_tags,
        lambda model, batch: model.loss(letter_tags(model, batch), tags(batch, batch.real), batch.real),
        beside=6,
    ),
    "tagger of first pieces": Case(
        tagger({}),
        lambda model, batch: model(batch.pieces, batch.real, first=batch.first, words_real=batch.words_real),
        lambda model, batch: model.loss(
            model(batch.pieces, batch.real, first=batch.first, words_real=batch.words_real),
            tags(batch, batch.words_real),
            batch.words_real,
        ),
        lambda batch: batch.words_real,
    ),
    "span reader": Case(
        lambda made: SpanReader(made, SpanReaderSettings(dropout=0.0)),
        lambda model, batch: model(batch.pieces, batch.real),
        lambda model, batch: model.loss(model(batch.pieces, batch.real), *span(batch)),
    ),
    "document reader": Case(
        lambda made: DocumentReader(made, DocumentReaderSettings(width=10, dropout=0.0)),
        read_apart,
        lambda model, batch: model.loss(read_apart(model, batch), *span(batch, moved=1)),
        lambda batch: opened(batch.real),
    ),
    "masked language": Case(
        lambda made: MaskedLanguage(made, MaskedLanguageSettings()),
        lambda model, batch: model(batch.pieces, batch.real),
        lambda model, batch: model.loss(batch.pieces, masked(batch), batch.real),
    ),
}
# What an encoder owes is proven of all of them elsewhere; here stands one that reads in order and one that does not.
PAIRS = [*product(CASES, ("transformer", "recurrent")), *product(list(CASES)[:2], ("convolutional", "wide"))]
every_module = pytest.mark.parametrize(("module", "reads"), PAIRS)


def build(module: str, reads: str) -> nn.Module:
    torch.manual_seed(0)
    settings = {**ENCODERS[reads], "dropout": 0.0}
    settings["embedding"] = {**settings.get("embedding", {}), **DROPPED}
    return CASES[module].make(encoder(reads, settings, PIECES, CASES[module].beside))


@every_module
@torch.no_grad()
def test_a_batch_is_its_texts_alone(module: str, reads: str) -> None:
    case, model, texts = CASES[module], build(module, reads).eval(), batch()
    together = case.call(model, texts)
    for row in range(len(texts.pieces)):
        alone = case.call(model, texts.alone(row))[0]
        assert_close(
            alone, together[row][case.real(texts)[row]] if together.dim() == 3 else together[row], atol=1e-5, rtol=1e-5
        )


@every_module
@torch.no_grad()
def test_padding_changes_nothing(module: str, reads: str) -> None:
    case, model, texts = CASES[module], build(module, reads).eval(), batch(empty=True)
    more = texts.padded()
    found, expected = case.call(model, more)[case.real(more)], case.call(model, texts)[case.real(texts)]
    assert_close(found, expected, atol=1e-5, rtol=1e-5)
    if "classifier" not in module:
        assert_close(case.loss(model, more).total, case.loss(model, texts).total, atol=1e-4, rtol=1e-5)


@every_module
def test_watching_changes_not_a_bit(module: str, reads: str) -> None:
    found = []
    for watched in (False, True):
        model, texts = build(module, reads).train(), batch()
        if watched:
            with record(model, "*") as seen:
                loss = CASES[module].loss(model, texts).total
            assert {entry.name.split(".")[0] for entry in seen} >= {"encoder"}
        else:
            loss = CASES[module].loss(model, texts).total
        loss.backward()
        found.append([loss, *(parameter.grad for parameter in model.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@every_module
def test_an_empty_text_gives_finite_gradients_and_every_parameter_learns(module: str, reads: str) -> None:
    case, model, texts = CASES[module], build(module, reads).train(), batch(empty=True)
    assert case.call(model, texts).isfinite().all()
    case.loss(model, texts).mean.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert [name for name, gradient in gradients.items() if not gradient.isfinite().all()] == []
    assert [name for name, gradient in gradients.items() if not gradient.any()] == []


@every_module
def test_a_loss_is_the_sum_of_its_texts_losses(module: str, reads: str) -> None:
    case, model, texts = CASES[module], build(module, reads).eval(), batch()
    parts = case.loss(model, texts.rows(0, 1)) + case.loss(model, texts.rows(2, 3))
    whole = case.loss(model, texts)
    assert int(parts.count) == int(whole.count)
    assert_close(parts.total, whole.total, atol=1e-4, rtol=1e-5)


@every_module
def test_sixteen_texts_are_learned_by_heart(module: str, reads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    case, model, texts = CASES[module], build(module, reads).train(), batch(16)
    optimizer = torch.optim.Adam(model.parameters(), 0.03)
    before = case.loss(model, texts).mean.detach()
    for _ in range(60):
        optimizer.zero_grad()
        case.loss(model, texts).mean.backward()
        optimizer.step()
    assert case.loss(model, texts).mean < min(0.35, before / 3)


@pytest.mark.parametrize("module", CASES)
def test_the_encoder_stands_under_its_name(module: str) -> None:
    model = build(module, "recurrent")
    own = named(encoder("recurrent", {**ENCODERS["recurrent"]}, PIECES, CASES[module].beside))
    assert {f"encoder.{name}" for name in own} <= set(named(model))


def model_of(settings: dict[str, Any], moves: Moves | None = None) -> Tagger:
    made = encoder("recurrent", ENCODERS["recurrent"], PIECES)
    return Tagger(made, TaggerSettings.read(settings), CLASSES, moves=moves).eval()


@torch.no_grad()
def test_attention_that_pools_says_what_it_looked_at() -> None:
    texts, model = batch(), build("classifier by attention", "recurrent").eval()
    with record(model, "head.*.weights") as seen:
        model(texts.pieces, texts.real)
    weights = seen[0].tensor[:, 0, 0]
    assert_close(weights.sum(-1), torch.ones(4))
    assert not weights[~texts.real].any()


def test_a_text_may_be_of_several_classes() -> None:
    made = encoder("recurrent", ENCODERS["recurrent"], PIECES)
    model = Classifier(made, ClassifierSettings(several=True), CLASSES).eval()
    texts, wanted = batch(), torch.rand(4, CLASSES) < 0.5
    logits = model(texts.pieces, texts.real)
    loss = model.loss(logits, wanted)
    likely = model.probabilities(logits)
    expected = -torch.where(wanted, likely, 1 - likely).log().sum()
    assert_close(loss.total, expected)
    assert int(loss.count) == 4
    smoothed = model.loss(logits, wanted, smoothing=0.2)
    assert_close(smoothed.total, 0.9 * expected + 0.1 * model.loss(logits, ~wanted).total)
    assert_close(smoothed.nll, expected.detach())


@torch.no_grad()
def test_probabilities_of_one_class_are_those_its_loss_was_of() -> None:
    model, texts = build("classifier by maximum", "wide").eval(), batch()
    logits = model(texts.pieces, texts.real)
    chosen = model.probabilities(logits).gather(1, texts.classes[:, None])
    assert_close(model.loss(logits, texts.classes).total, -chosen.log().sum())


@torch.no_grad()
def test_first_pieces_are_tagged_as_they_are_in_place() -> None:
    texts, model = batch(), model_of({"crf": False})
    everywhere = model(texts.pieces, texts.real)
    found = model(texts.pieces, texts.real, first=texts.first, words_real=texts.words_real)
    expected = everywhere[:, ::2]
    assert_close(found[texts.words_real], expected[texts.words_real])


@pytest.mark.parametrize("crf", [True, False])
@torch.no_grad()
def test_marginals_are_what_all_paths_say_together(crf: bool) -> None:
    model, emissions, real = model_of({"crf": crf}), torch.randn(2, 3, CLASSES), mask(torch.tensor([3, 2]))
    if model.head.crf is not None:
        for parameter in model.head.crf.parameters():
            nn.init.normal_(parameter)
    found = model.marginals(emissions, real)
    for row, length in enumerate((3, 2)):
        expected = torch.zeros(length, CLASSES)
        for path in product(range(CLASSES), repeat=length):
            here = slice(row, row + 1)
            likely = (-model.loss(emissions[here, :length], torch.tensor([path]), real[here, :length]).total).exp()
            for place, tag in enumerate(path):
                expected[place, tag] += likely
        assert_close(found[row, :length], expected, atol=1e-5, rtol=1e-5)
    assert not found[1, 2].any()


@torch.no_grad()
def test_forbidden_moves_are_never_made() -> None:
    # 0 outside, 1 begins, 2 goes on, 3 begins another: 2 may follow 1 and 2 only, and begins nothing.
    between = torch.ones(CLASSES, CLASSES, dtype=torch.bool)
    between[[0, 3], 2] = False
    moves = Moves(between, torch.arange(CLASSES) != 2)
    model, emissions, real = model_of({}, moves), torch.randn(40, 5, CLASSES), torch.ones(40, 5, dtype=torch.bool)
    best = model.best(emissions, real)
    assert not (best[:, 0] == 2).any()
    assert between[best[:, :-1], best[:, 1:]].all()
    assert (best == 2).any()
    assert not model.marginals(emissions, real)[:, 0, 2].any()
    free = model_of({}).best(emissions, real)
    assert not between[free[:, :-1], free[:, 1:]].all()


def test_letters_and_looks_reach_the_tags() -> None:
    texts, model = batch(), build("tagger with letters and a CRF", "recurrent").eval()
    found = letter_tags(model, texts)
    turned = model(texts.pieces, texts.real, 8 - texts.letters, texts.letters_real, texts.pieces % 3)
    others = model(texts.pieces, texts.real, texts.letters, texts.letters_real, (texts.pieces + 1) % 3)
    assert not torch.allclose(found, turned)
    assert not torch.allclose(found, others)


def test_taggers_refuse_what_does_not_fit() -> None:
    texts, plain = batch(), model_of({})
    lettered = build("tagger with letters and a CRF", "recurrent")
    with pytest.raises(ModelError, match="This tagger reads letters and was given none"):
        lettered(texts.pieces, texts.real)
    with pytest.raises(ModelError, match="This tagger reads shapes and was given none"):
        lettered(texts.pieces, texts.real, texts.letters, texts.letters_real)
    with pytest.raises(ModelError, match="given letters, which it was not built to read"):
        plain(texts.pieces, texts.real, texts.letters, texts.letters_real)
    with pytest.raises(ModelError, match="of which this tagger knows the first 3"):
        lettered(texts.pieces, texts.real, texts.letters, texts.letters_real, texts.pieces)
    with pytest.raises(ConfigError, match=r"6 features beside each piece, the encoder takes 0.*embedding\.beside = 6"):
        Tagger(plain.encoder, TaggerSettings.read(CHARACTERS), CLASSES, LETTERS)
    with pytest.raises(ModelError, match="Linear has no width and embedding"):
        Classifier(nn.Linear(2, 2), ClassifierSettings(), CLASSES)


@pytest.mark.parametrize("module", ["span reader", "document reader"])
@torch.no_grad()
def test_an_answer_is_the_best_allowed_span_and_none_is_the_opening(module: str) -> None:
    texts, model = batch(), build(module, "recurrent").eval()
    allowed = texts.real & (torch.arange(6) >= 2)
    if module == "span reader":
        logits, shift = model(texts.pieces, texts.real, None, allowed), 0
    else:
        logits, shift = model(texts.question, texts.question_real, texts.pieces, texts.real, allowed), 1
    answers = model.answers(logits, 2)
    assert_close(answers.none, logits[:, 0].sum(-1))
    for row in range(len(allowed)):
        places = (allowed[row].nonzero().flatten() + shift).tolist()
        spans = {(i, j): logits[row, i, 0] + logits[row, j, 1] for i in places for j in places if i <= j < i + 2}
        if not spans:
            assert answers.score[row] == -torch.inf
            assert answers.places[row].tolist() == [0, 0]
            continue
        best = max(spans, key=lambda span: float(spans[span]))
        assert answers.places[row].tolist() == list(best)
        assert_close(answers.score[row], spans[best])


def test_a_span_loss_is_half_of_either_end() -> None:
    texts, model = batch(), build("span reader", "transformer").eval()
    logits, (start, end) = model(texts.pieces, texts.real), span(texts)
    expected = sum(F.cross_entropy(logits[..., i], place, reduction="sum") for i, place in enumerate((start, end))) / 2
    loss = model.loss(logits, start, end)
    assert_close(loss.total, expected)
    assert int(loss.count) == 4


def test_an_answer_where_none_may_be_is_refused() -> None:
    texts, model = batch(), build("span reader", "recurrent")
    allowed = texts.real & (torch.arange(6) >= 2)
    logits, none = model(texts.pieces, texts.real, None, allowed), torch.zeros(4, dtype=torch.long)
    assert model.loss(logits, none, none).total.isfinite()
    for place in (1, 6, -1):
        with pytest.raises(ModelError, match=f"Row 2: the answer's end is position {place}, where none may be"):
            model.loss(logits, none, none.index_fill(0, torch.tensor([2]), place))


def test_a_question_is_read_by_whom_reads_the_passage_and_matters() -> None:
    texts, model = batch(), build("document reader", "recurrent").eval()
    other = torch.where(texts.question_real, (texts.question + 3) % PIECES, 0)
    assert not torch.allclose(
        read_apart(model, texts)[0], model(other, texts.question_real, texts.pieces, texts.real)[0]
    )
    with record(model, "attention.mechanism.weights") as seen:
        read_apart(model, texts)
    weights = seen[0].tensor[:, 0]
    assert_close(weights.sum(-1), torch.ones(4, 6))
    assert not weights.transpose(1, 2)[~texts.question_real].any()


def test_a_masked_language_learns_of_hidden_pieces_only_and_shares_its_table() -> None:
    texts, model = batch(), build("masked language", "transformer").eval()
    logits, wanted = model(texts.pieces, texts.real), masked(texts)
    loss = model.loss(texts.pieces, wanted, texts.real)
    assert_close(loss.total, F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="sum"))
    assert model.head.readout.weight is model.encoder.embedding.vectors
    assert int(model.loss(texts.pieces, torch.full_like(wanted, IGNORE), texts.real).count) == 0
