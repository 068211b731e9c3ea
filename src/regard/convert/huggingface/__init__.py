"""Models in Hugging Face's layout (a config.json and safetensors), read without any of its code."""

from regard.convert.huggingface.architecture import Architecture, Config, Head, Left
from regard.convert.huggingface.importing import ARCHITECTURES, Imported, parameters, read, settings, vocabulary
from regard.convert.huggingface.rules import Form, Rule

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "Config",
    "Form",
    "Head",
    "Imported",
    "Left",
    "Rule",
    "parameters",
    "read",
    "settings",
    "vocabulary",
]
