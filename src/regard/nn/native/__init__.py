"""Kernels of our own for reading and writing on a processor; torch where they cannot be had."""

from regard.nn.native.kernels import (
    Natively,
    activation,
    attention,
    fingerprint,
    kernels,
    linear,
    log_softmax,
    norm,
    panels,
    projection,
    ready,
    sample,
    serves,
    sharing,
    threads,
    top,
)

__all__ = [
    "Natively",
    "activation",
    "attention",
    "fingerprint",
    "kernels",
    "linear",
    "log_softmax",
    "norm",
    "panels",
    "projection",
    "ready",
    "sample",
    "serves",
    "sharing",
    "threads",
    "top",
]
