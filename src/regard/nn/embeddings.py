"""From pieces to vectors: scaled, placed, normalized, of any width, tied to what reads them back."""

import math

import torch
from jaxtyping import Float, Int
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt
from torch import Tensor, nn

from regard.attention import POSITIONS, At, Tap, linear
from regard.config import Part, Rate, Settings, make
from regard.errors import ConfigError, ModelError
from regard.nn import native
from regard.nn.dropout import Dropout
from regard.nn.norms import LayerNorm


class EmbeddingSettings(Settings):
    """`width` is the vectors' own where it differs from the model's; `segments` counts kinds of segment (BERT).

    `fixed` is the width of vectors learned elsewhere that stand beside the own ones and stay as they are, `beside` that
    of what else is known of each piece, `piece_dropout` how often a piece's own vector is hidden. With `seldom`, a
    piece that training has n times is taken for the unknown one in seldom / (seldom + n) of them, so that what is
    unknown is learned too.
    """

    width: PositiveInt | None = None
    fixed: NonNegativeInt = 0
    beside: NonNegativeInt = 0
    scale: bool = True
    norm: bool = False
    epsilon: float = 1e-5
    segments: NonNegativeInt = 0
    dropout: Rate = 0.1
    piece_dropout: Rate = 0.0
    seldom: NonNegativeFloat = 0.0


class UnscaledSettings(EmbeddingSettings):
    """Vectors as they are, unless told otherwise, and whatever else of them is set."""

    scale: bool = False


class Embedding(nn.Module):
    """P [E[piece] sqrt(D); G[piece]; beside] + position   (Vaswani et al. 2017, 3.4-3.5; G: Kim 2014, two channels)."""

    def __init__(self, settings: EmbeddingSettings, vocabulary: int, width: int, position: Part) -> None:
        super().__init__()
        own = settings.width or width
        self.vocabulary, self.beside = vocabulary, settings.beside
        self.factor = math.sqrt(width) if settings.scale else 1.0
        self.mistaken: Tensor | None
        self.vectors = nn.Parameter(torch.empty(vocabulary, own).normal_(0.0, own**-0.5))
        self.fixed = nn.Parameter(torch.zeros(vocabulary, settings.fixed), False) if settings.fixed else None
        inputs = own + settings.fixed + settings.beside
        self.project = linear(inputs, width, bias=False) if inputs != width else None
        self.position = make("position", POSITIONS, position, width)
        if self.position.acts == "attention":
            raise ConfigError(
                f"position {position.name} acts inside attention, not on embeddings; "
                "choose none, one_hot, learned or sinusoidal here."
            )
        self.segments = (
            nn.Parameter(torch.empty(settings.segments, width).normal_(0.0, 0.02)) if settings.segments else None
        )
        self.norm = LayerNorm(width, epsilon=settings.epsilon) if settings.norm else None
        self.dropout, self.hide = Dropout(settings.dropout), Dropout(settings.piece_dropout)
        self.seldom, self.unknown = settings.seldom, 0
        # How often each piece is taken for the unknown one while training; nobody needs it later.
        self.register_buffer("mistaken", None, persistent=False)
        self.embedded = Tap("BTD")

    def forward(
        self,
        pieces: Int[Tensor, "B T"],
        at: At,
        segments: Int[Tensor, "B T"] | None = None,
        beside: Float[Tensor, "B T X"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        vectors_BTD = self._own(pieces)
        known = [] if self.fixed is None else [nn.functional.embedding(pieces, self.fixed)]
        known += [self._checked(beside, pieces)] if beside is not None or self.beside else []
        if known:
            # What stands beside a piece is not scaled as its vector is.
            vectors_BTD = torch.cat([vectors_BTD, *(each / self.factor for each in known)], dim=-1)
        if self.project is not None:
            vectors_BTD = self.project(vectors_BTD)
        placed_BTD = self.position.embed(vectors_BTD * self.factor, at)
        if segments is not None:
            self._check_segments(segments)
        if self.segments is not None:
            # Every piece belongs to the first segment unless told otherwise.
            placed_BTD = placed_BTD + (self.segments[0] if segments is None else self.segments[segments])
        if self.norm is not None:
            placed_BTD = self.norm(placed_BTD)
        return self.dropout(self.embedded(placed_BTD))

    def room(self, before: int) -> int | None:
        """How many pieces can be placed after so many, and an end after them; None: any number."""
        length = self.position.length
        return None if length is None else max(length - before - 1, 1)

    def _own(self, pieces: Int[Tensor, "B T"]) -> Float[Tensor, "B T X"]:
        """The pieces' own vectors, some hidden as a whole while training   (Gal and Ghahramani 2016, section 4.2)."""
        vectors_BTX = self._mistaken(pieces) if self.training and self.seldom else self._looked_up(pieces)
        if not self.training or self.hide.rate == 0.0:
            return vectors_BTX
        return vectors_BTX * self.hide(vectors_BTX.new_ones(*pieces.shape, 1))

    def _looked_up(self, pieces: Int[Tensor, "B T"]) -> Float[Tensor, "B T X"]:
        return nn.functional.embedding(pieces, self.vectors)

    def _mistaken(self, pieces: Int[Tensor, "B T"]) -> Float[Tensor, "B T X"]:
        """Own vectors, of seldom pieces now and then the unknown one's   (Kiperwasser and Goldberg 2016, section 4).

        A piece with a fixed vector has none of its own then, as one that training never shows.
        """
        if self.mistaken is None:
            raise ModelError(
                f"embedding.seldom = {self.seldom} hangs on how often each piece occurs, which nobody has told; call "
                "`count`, or set it to 0."
            )
        taken_BT = torch.rand(pieces.shape, device=pieces.device) < self.mistaken[pieces]
        if self.fixed is None:
            return self._looked_up(pieces.masked_fill(taken_BT, self.unknown))
        known_BT = nn.functional.embedding(pieces, self.fixed).any(-1)
        vectors_BTX = self._looked_up(pieces.masked_fill(taken_BT & ~known_BT, self.unknown))
        return vectors_BTX.masked_fill((taken_BT & known_BT)[..., None], 0.0)

    def count(self, occurrences: Int[Tensor, " V"], unknown: int) -> None:
        """Tells how often training has each piece, and which one stands for all it does not have.

        What its texts never have and a batch has nevertheless, such as a mask, was put there on purpose and stays.
        """
        if occurrences.shape != (self.vocabulary,):
            raise ModelError(f"Occurrences of {len(occurrences)} pieces, where this embedding has {self.vocabulary}.")
        self.unknown = unknown
        rates_V = self.seldom / (self.seldom + occurrences.double().clamp(min=1.0))
        self.mistaken = rates_V.masked_fill(occurrences == 0, 0.0).float().to(self.vectors.device)

    def _checked(self, beside: Float[Tensor, "B T X"] | None, pieces: Int[Tensor, "B T"]) -> Float[Tensor, "B T X"]:
        if beside is None:
            raise ModelError(
                f"This embedding takes {self.beside} features beside each piece and was given none; "
                "give them, or set embedding.beside = 0."
            )
        if beside.shape != (*pieces.shape, self.beside):
            raise ModelError(
                f"Features of shape {tuple(beside.shape)} beside pieces of shape {tuple(pieces.shape)}, where this "
                f"embedding takes {self.beside} a piece; set embedding.beside = {beside.shape[-1]} or give others."
            )
        return beside

    def _check_segments(self, segments: Int[Tensor, "B T"]) -> None:
        known = 0 if self.segments is None else len(self.segments)
        lowest, highest = int(segments.min()), int(segments.max())
        if lowest < 0 or highest >= known:
            raise ModelError(
                f"Segments {lowest} to {highest}, of which this embedding knows the first {known}; "
                f"set embedding.segments = {highest + 1} or give lower ones."
            )

    @torch.no_grad()
    def load(self, vectors: Float[Tensor, "V X"], rows: Int[Tensor, " V"], frozen: bool = False) -> None:
        """Pretrained vectors for these pieces; the rest keep their random start. Frozen freezes the whole table.

        With `fixed` they stand beside the own vectors, which begin at zero: a piece that training never shows is known
        by them alone.
        """
        table, setting = (self.vectors, "width") if self.fixed is None else (self.fixed, "fixed")
        if vectors.shape[-1] != table.shape[-1]:
            raise ModelError(
                f"The pretrained vectors have width {vectors.shape[-1]}, the embedding {table.shape[-1]}; "
                f"set embedding.{setting} = {vectors.shape[-1]}, which is then projected to the model's width."
            )
        if not bool(((rows >= 0) & (rows < self.vocabulary)).all()):
            raise ModelError(f"Vectors for pieces {int(rows.min())} to {int(rows.max())} of only {self.vocabulary}.")
        if self.fixed is not None:
            self.fixed[rows] = vectors.to(self.fixed.dtype)
            self.vectors[rows] = 0.0
            return
        # The forward pass multiplies by sqrt(width); what was trained elsewhere is to arrive as it is.
        self.vectors[rows] = vectors.to(self.vectors.dtype) / self.factor
        self.vectors.requires_grad_(not frozen)


class Readout(nn.Module):
    """Logits E (P h) + b: the output projection, tied to an embedding or on its own."""

    def __init__(self, width: int, vocabulary: int, tied: Embedding | None = None, bias: bool = False) -> None:
        super().__init__()
        own = width if tied is None else tied.vectors.shape[-1]
        self.project = linear(width, own, bias=False) if own != width else None
        self.weight = (
            nn.Parameter(torch.empty(vocabulary, own).normal_(0.0, own**-0.5)) if tied is None else tied.vectors
        )
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None
        self.logits = Tap("BTV")

    def reduced(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T X"]:
        """Hidden states at the width of the vectors."""
        return hidden if self.project is None else self.project(hidden)

    def forward(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        reduced_BTX = self.reduced(hidden)
        by = native.linear if native.serves(reduced_BTX, self.weight, self.bias) else nn.functional.linear
        return self.logits(by(reduced_BTX, self.weight, self.bias))
