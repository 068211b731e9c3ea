"""Demos: a corpus that Regard writes itself, a small model, what it learned, and what to type next."""

from regard.demo.kinds import DEMOS
from regard.demo.running import run

__all__ = ["DEMOS", "run"]
