"""Train, run, explain and serve sequence models built on attention."""

__all__ = ["__version__"]

__version__ = "0.1.0"
