"""The grammar behind the phrasebook: words, templates and how each language inflects them."""

__all__: list[str] = []
