"""What is trained on an encoder to understand a text: its class, the tags of its words, the span that answers, what
stands where a piece was hidden. Each keeps what reads under `encoder`, so that a pretrained one can take its place."""

import torch
from jaxtyping import Bool, Float, Int
from pydantic import NonNegativeInt, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config import Rate, Settings
from regard.errors import ConfigError, ModelError
from regard.models.encoders import Encoder
from regard.models.heads import Answers, Labels, MaskedPiece, Moves, PoolingSettings, Spans, Tags
from regard.nn.characters import Characters, CharactersSettings
from regard.nn.dropout import Dropout
from regard.nn.losses import IGNORE, Loss, shared_cross_entropy, smoothed_cross_entropy, wide


class ClassifierSettings(Settings):
    """How a text is summed up; `several` lets it be of several classes, or of none."""

    pooling: PoolingSettings = PoolingSettings()
    dropout: Rate = 0.1
    several: bool = False


class Classifier(nn.Module):
    """softmax(W pool(states) + b): what kind of text this is; sigmoid where it may be of several kinds."""

    Settings = ClassifierSettings

    def __init__(self, encoder: nn.Module, settings: ClassifierSettings, classes: int) -> None:
        super().__init__()
        self.settings, self.encoder = settings, encoder
        self.head = Labels(reads(encoder).width, classes, settings.pooling, settings.dropout)

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B C"]:
        return self.head(self.encoder(pieces, real, segments, beside), real)

    def probabilities(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B C"]:
        return logits.sigmoid() if self.settings.several else logits.softmax(-1)

    def loss(
        self,
        logits: Float[Tensor, "B C"],
        wanted: Int[Tensor, " B"] | Bool[Tensor, "B C"] | Float[Tensor, "B C"],
        smoothing: float = 0.0,
    ) -> Loss:
        """Summed over texts: the class of each, or with `several` whether it is of each class; either may be shares."""
        if not self.settings.several and wanted.is_floating_point():
            return shared_cross_entropy(logits, wanted, smoothing)
        if not self.settings.several:
            return smoothed_cross_entropy(logits, wanted, smoothing)
        truth_BC = wanted.to(logits.dtype)
        aims_BC = truth_BC * (1 - smoothing) + smoothing / 2
        total, nll = (F.binary_cross_entropy_with_logits(logits, aim, reduction="sum") for aim in (aims_BC, truth_BC))
        return Loss(total, torch.tensor(len(logits), device=logits.device), nll.detach())

    def apart(self, first: Float[Tensor, "B C"], second: Float[Tensor, "B C"]) -> Float[Tensor, ""]:
        """KL(p, q) + KL(q, p) of two readings, summed over texts.

        It is the sum of (p - q)(log p - log q), where what a softmax divides by cancels; for sigmoids, of p against
        1 - p, the two logarithms add up to the logits too.
        """
        first, second = (logits.to(wide(logits.dtype)) for logits in (first, second))
        return ((self.probabilities(first) - self.probabilities(second)) * (first - second)).sum()


class TaggerSettings(Settings):
    """`shapes` counts the kinds a word's look may be of (capitals, digits), `shape_width` is the width of each."""

    crf: bool = True
    dropout: Rate = 0.1
    characters: CharactersSettings | None = None
    shapes: NonNegativeInt = 0
    shape_width: PositiveInt = 8

    @property
    def beside(self) -> int:
        """The width of what stands beside each piece's vector: the encoder's embedding.beside."""
        letters = self.characters.out if self.characters else 0
        return letters + (self.shape_width if self.shapes else 0)


class Tagger(nn.Module):
    """One tag a word, each on its own or in a CRF, from its vector, its letters and its look   (Ma and Hovy 2016)."""

    Settings = TaggerSettings

    def __init__(
        self, encoder: nn.Module, settings: TaggerSettings, tags: int, letters: int = 0, moves: Moves | None = None
    ) -> None:
        """`letters` counts the letters there are, where words are read by letters; `moves` binds the CRF."""
        super().__init__()
        found = reads(encoder).embedding.beside
        if found != settings.beside:
            raise ConfigError(
                f"Letters and looks are {settings.beside} features beside each piece, the encoder takes {found}; "
                f"build it with embedding.beside = {settings.beside}."
            )
        self.settings, self.encoder = settings, encoder
        self.characters = Characters(settings.characters, letters) if settings.characters else None
        looks = torch.empty(settings.shapes, settings.shape_width).normal_(0.0, settings.shape_width**-0.5)
        self.shapes = nn.Parameter(looks) if settings.shapes else None
        self.head = Tags(reads(encoder).width, tags, settings.crf, settings.dropout, moves)

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        letters: Int[Tensor, "B T L"] | None = None,
        letters_real: Bool[Tensor, "B T L"] | None = None,
        shapes: Int[Tensor, "B T"] | None = None,
        first: Int[Tensor, "B W"] | None = None,
        words_real: Bool[Tensor, "B W"] | None = None,
    ) -> Float[Tensor, "B W C"]:
        """Emissions of each piece, or with `first` of each word's first piece; letters and shapes are of pieces."""
        return self.head(self.states(pieces, real, letters, letters_real, shapes, first, words_real))

    def states(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        letters: Int[Tensor, "B T L"] | None = None,
        letters_real: Bool[Tensor, "B T L"] | None = None,
        shapes: Int[Tensor, "B T"] | None = None,
        first: Int[Tensor, "B W"] | None = None,
        words_real: Bool[Tensor, "B W"] | None = None,
    ) -> Float[Tensor, "B W D"]:
        """The states the emissions are made of."""
        states_BTD = self.encoder(pieces, real, None, self._beside(letters, letters_real, shapes))
        return states_BTD if first is None else _at(states_BTD, first, words_real)

    def _beside(
        self,
        letters: Int[Tensor, "B T L"] | None,
        letters_real: Bool[Tensor, "B T L"] | None,
        shapes: Int[Tensor, "B T"] | None,
    ) -> Float[Tensor, "B T X"] | None:
        """What the letters and the look of each piece say, side by side."""
        _expect("letters", self.characters is not None, letters is not None and letters_real is not None)
        _expect("shapes", self.shapes is not None, shapes is not None)
        known = []
        if self.characters is not None:
            known.append(self.characters(letters, letters_real))
        if self.shapes is not None and shapes is not None:
            known.append(F.embedding(_known(shapes, len(self.shapes)), self.shapes))
        return torch.cat(known, dim=-1) if known else None

    def loss(self, emissions: Float[Tensor, "B W C"], tags: Int[Tensor, "B W"], real: Bool[Tensor, "B W"]) -> Loss:
        """Summed over words; `real` is that of words."""
        return self.head.loss(emissions, tags, real)

    def best(self, emissions: Float[Tensor, "B W C"], real: Bool[Tensor, "B W"]) -> Int[Tensor, "B W"]:
        """The likeliest tags; -1 at padding."""
        return self.head.best(emissions, real)

    def marginals(self, emissions: Float[Tensor, "B W C"], real: Bool[Tensor, "B W"]) -> Float[Tensor, "B W C"]:
        """The probability of each tag of each word; zero at padding."""
        return self.head.marginals(emissions, real)


class SpanReaderSettings(Settings):
    """How a span is looked for."""

    dropout: Rate = 0.1


class SpanReader(nn.Module):
    """Two scores a position, where an answer starts and where it ends   (Devlin et al. 2019, section 4.2-4.3).

    Question and passage are one text. Its opening piece, position 0, stands for "no answer" and is always allowed.
    """

    Settings = SpanReaderSettings

    def __init__(self, encoder: nn.Module, settings: SpanReaderSettings) -> None:
        super().__init__()
        self.settings, self.encoder = settings, encoder
        self.dropout = Dropout(settings.dropout)
        self.head = Spans(reads(encoder).width)

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        allowed: Bool[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B T 2"]:
        """`allowed` is True where an answer may start and end; unless told otherwise at every real piece.

        Segments are for an encoder that knows two; another goes without.
        """
        allowed_BT = torch.ones_like(pieces, dtype=torch.bool) if real is None else real
        if allowed is not None:
            allowed_BT = allowed_BT & allowed
        opening_T = torch.arange(pieces.shape[1], device=pieces.device) == 0
        states_BTD = self.encoder(pieces, real, known_segments(self.encoder, segments), beside)
        return self.head(self.dropout(states_BTD), allowed_BT | opening_T)

    def loss(self, logits: Float[Tensor, "B T 2"], start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> Loss:
        """Summed over texts; a text without an answer has both at 0."""
        return self.head.loss(logits, start, end)

    def answers(self, logits: Float[Tensor, "B T 2"], longest: int) -> Answers:
        """The best span of at most `longest` pieces, its score, and the score of "no answer"."""
        return self.head.answers(logits, longest)


class MaskedLanguageSettings(Settings):
    """What stands between the states and the table of pieces."""

    activation: str = "gelu"
    epsilon: float = 1e-5


class MaskedLanguage(nn.Module):
    """Which piece stood where one was hidden, read back by the table it came from   (Devlin et al. 2019, 3.1)."""

    Settings = MaskedLanguageSettings

    def __init__(self, encoder: nn.Module, settings: MaskedLanguageSettings) -> None:
        super().__init__()
        self.settings, self.encoder = settings, encoder
        reader = reads(encoder)
        self.head = MaskedPiece(reader.width, reader.embedding, settings.activation, settings.epsilon)

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of every piece at every position."""
        return self.head(self.encoder(pieces, real, segments))

    def loss(
        self,
        pieces: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"],
        real: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        ignore: int = IGNORE,
        smoothing: float = 0.0,
    ) -> Loss:
        """Of the positions whose target is not `ignore`, without the logits of any other."""
        return self.head.loss(self.encoder(pieces, real, segments), targets, ignore, smoothing)


def reads(encoder: nn.Module) -> Encoder:
    """The encoder, if it is one."""
    if not isinstance(encoder, Encoder):
        raise ModelError(f"{type(encoder).__name__} has no width and embedding, so it is no encoder to build on.")
    return encoder


def known_segments(encoder: nn.Module, segments: Int[Tensor, "B T"] | None) -> Int[Tensor, "B T"] | None:
    """Which segment each piece is in, for an encoder that knows two."""
    known = reads(encoder).embedding.segments
    return segments if known is not None and len(known) > 1 else None


def _at(
    states: Float[Tensor, "B T D"], first: Int[Tensor, "B W"], real: Bool[Tensor, "B W"] | None
) -> Float[Tensor, "B W D"]:
    """The states at each word's first piece; zeros where there is no word."""
    first_BW = first if real is None else first.masked_fill(~real, 0)
    states_BWD = states.gather(1, first_BW[..., None].expand(-1, -1, states.shape[-1]))
    return states_BWD if real is None else states_BWD * real[..., None]


def _known(shapes: Int[Tensor, "B T"], count: int) -> Int[Tensor, "B T"]:
    lowest, highest = int(shapes.min()), int(shapes.max())
    if lowest < 0 or highest >= count:
        raise ModelError(f"Shapes {lowest} to {highest}, of which this tagger knows the first {count}.")
    return shapes


def _expect(name: str, wanted: bool, given: bool) -> None:
    if wanted and not given:
        raise ModelError(f"This tagger reads {name} and was given none; give them as it was trained with.")
    if given and not wanted:
        raise ModelError(f"This tagger was given {name}, which it was not built to read; leave them out.")
