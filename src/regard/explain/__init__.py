"""What a model looks at, for people to see."""

from regard.explain.svg import heat

__all__ = ["heat"]
