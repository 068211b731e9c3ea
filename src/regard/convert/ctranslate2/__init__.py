"""Transformers in CTranslate2's own form, written through its specs."""

from regard.convert.ctranslate2.library import library
from regard.convert.ctranslate2.models import Kind, Pieces, kind, write

__all__ = ["Kind", "Pieces", "kind", "library", "write"]
