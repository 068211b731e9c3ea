"""Models in GGUF files, as llama.cpp has them: dequantized, with their tokenizer and chat template."""

from regard.convert.gguf.blocks import BLOCKS, Block, dequantized
from regard.convert.gguf.file import File, Stored, opened
from regard.convert.gguf.importing import Imported, read

__all__ = ["BLOCKS", "Block", "File", "Imported", "Stored", "dequantized", "opened", "read"]
