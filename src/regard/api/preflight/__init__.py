"""Preflight: everything that can go wrong with a recipe, found in seconds, before hours are spent on it.

It works in a temporary folder, on all of the data where that is quick and on their first lines where it is not (and
says so), and ends with a whole run in small: update, validate, save, load, resume, predict.
"""

from regard.api.preflight.flight import preflight
from regard.api.preflight.report import Report

__all__ = ["Report", "preflight"]
