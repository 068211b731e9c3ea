"""Models of every family, which know tensors and no text; all that generate obey one protocol."""

from regard.models.build import MODELS, build, encoder, read_encoder
from regard.models.convolutional import ConvolutionalSequence, ConvolutionalSettings
from regard.models.encoders import (
    ENCODERS,
    ConvolutionalEncoder,
    ConvolutionalEncoderSettings,
    Encoder,
    RecurrentEncoder,
    RecurrentEncoderSettings,
    WideEncoder,
    WideEncoderSettings,
)
from regard.models.heads import (
    HEADS,
    Answers,
    CopyingPiece,
    Labels,
    MaskedPiece,
    Moves,
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
from regard.models.panel import Panel
from regard.models.protocols import Decoded, Decoder, Start, State, Vocabulary
from regard.models.reading import DocumentReader, DocumentReaderSettings
from regard.models.recurrent import RecurrentSequence, SequenceSettings
from regard.models.transformer import StackSettings, Transformer, TransformerEncoder, TransformerSettings
from regard.models.understanding import (
    Classifier,
    ClassifierSettings,
    MaskedLanguage,
    MaskedLanguageSettings,
    SpanReader,
    SpanReaderSettings,
    Tagger,
    TaggerSettings,
)

__all__ = [
    "ENCODERS",
    "HEADS",
    "MODELS",
    "Answers",
    "Classifier",
    "ClassifierSettings",
    "ConvolutionalEncoder",
    "ConvolutionalEncoderSettings",
    "ConvolutionalSequence",
    "ConvolutionalSettings",
    "CopyingPiece",
    "Decoded",
    "Decoder",
    "DocumentReader",
    "DocumentReaderSettings",
    "Encoder",
    "Labels",
    "LanguageSettings",
    "MaskedLanguage",
    "MaskedLanguageSettings",
    "MaskedPiece",
    "Moves",
    "NextPiece",
    "Panel",
    "Pooling",
    "PoolingSettings",
    "RecurrentEncoder",
    "RecurrentEncoderSettings",
    "RecurrentLanguage",
    "RecurrentLanguageSettings",
    "RecurrentSequence",
    "SequenceSettings",
    "SpanReader",
    "SpanReaderSettings",
    "Spans",
    "StackSettings",
    "Start",
    "State",
    "Tagger",
    "TaggerSettings",
    "Tags",
    "Transformer",
    "TransformerEncoder",
    "TransformerLanguage",
    "TransformerSettings",
    "Vocabulary",
    "WideEncoder",
    "WideEncoderSettings",
    "build",
    "encoder",
    "read_encoder",
]
