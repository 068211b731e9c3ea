"""Writing with a shortlist of pieces: those that render what is read, by what training shows."""

from regard.engines.shortlist.making import by_shortlist, check, learned

__all__ = ["by_shortlist", "check", "learned"]
