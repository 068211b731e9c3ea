"""Models from elsewhere, as ours: one package for each layout that is read."""

from regard.convert import gguf, huggingface

__all__ = ["gguf", "huggingface"]
