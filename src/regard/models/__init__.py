"""Models of every family, which know tensors and no text; all that generate obey one protocol."""

from regard.models.build import MODELS, build, encoder
from regard.models.convolutional import ConvolutionalSequence, ConvolutionalSettings
from regard.models.encoders import (
    ENCODERS,
    ConvolutionalEncoder,
    ConvolutionalEncoderSettings,
    Encoder,
    RecurrentEncoder,
    RecurrentEncoderSettings,
)
from regard.models.heads import (
    HEADS,
    CopyingPiece,
    Labels,
    MaskedPiece,
    NextPiece,
    Pooling,
    PoolingSettings,
    Spans,
    Tags,
)
from regard.models.language import (
    LanguageSettings,
    RecurrentLanguage,
    RecurrentLanguageSettings,
    TransformerLanguage,
)
from regard.models.protocols import Decoded, Decoder, Start, State, Vocabulary
from regard.models.recurrent import RecurrentSequence, SequenceSettings
from regard.models.transformer import StackSettings, Transformer, TransformerEncoder, TransformerSettings

__all__ = [
    "ENCODERS",
    "HEADS",
    "MODELS",
    "ConvolutionalEncoder",
    "ConvolutionalEncoderSettings",
    "ConvolutionalSequence",
    "ConvolutionalSettings",
    "CopyingPiece",
    "Decoded",
    "Decoder",
    "Encoder",
    "Labels",
    "LanguageSettings",
    "MaskedPiece",
    "NextPiece",
    "Pooling",
    "PoolingSettings",
    "RecurrentEncoder",
    "RecurrentEncoderSettings",
    "RecurrentLanguage",
    "RecurrentLanguageSettings",
    "RecurrentSequence",
    "SequenceSettings",
    "Spans",
    "StackSettings",
    "Start",
    "State",
    "Tags",
    "Transformer",
    "TransformerEncoder",
    "TransformerLanguage",
    "TransformerSettings",
    "Vocabulary",
    "build",
    "encoder",
]
