"""Models from elsewhere, as ours: one package for each layout that is read."""

from regard.convert import huggingface

__all__ = ["huggingface"]
