"""The grammars of the starter corpora, as data: words, sentences, and what belongs together."""

__all__: list[str] = []
