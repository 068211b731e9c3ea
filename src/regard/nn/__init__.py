"""What models are built from: embeddings, blocks, recurrent and convolutional layers, norms, losses."""

from regard.nn.blocks import Block, BlockSettings, Depth, Past, Residual, Scene
from regard.nn.characters import Characters, CharactersSettings
from regard.nn.convolution import Convolution, ConvolutionSettings
from regard.nn.crf import CRF
from regard.nn.dropout import Dropout
from regard.nn.embeddings import Embedding, EmbeddingSettings, Readout
from regard.nn.feedforward import ACTIVATIONS, FeedForward, FeedForwardSettings
from regard.nn.lora import Lora, LoraSettings, adapt, merge
from regard.nn.losses import IGNORE, Loss, chunked_cross_entropy, distribution_loss, smoothed_cross_entropy
from regard.nn.norms import NORMS, BatchNorm, LayerNorm, NoNorm, RMSNorm
from regard.nn.recurrent import Carry, Recurrent, RecurrentSettings

__all__ = [
    "ACTIVATIONS",
    "CRF",
    "IGNORE",
    "NORMS",
    "BatchNorm",
    "Block",
    "BlockSettings",
    "Carry",
    "Characters",
    "CharactersSettings",
    "Convolution",
    "ConvolutionSettings",
    "Depth",
    "Dropout",
    "Embedding",
    "EmbeddingSettings",
    "FeedForward",
    "FeedForwardSettings",
    "LayerNorm",
    "Lora",
    "LoraSettings",
    "Loss",
    "NoNorm",
    "Past",
    "RMSNorm",
    "Readout",
    "Recurrent",
    "RecurrentSettings",
    "Residual",
    "Scene",
    "adapt",
    "chunked_cross_entropy",
    "distribution_loss",
    "merge",
    "smoothed_cross_entropy",
]
