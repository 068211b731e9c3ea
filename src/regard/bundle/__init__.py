"""A saved model: one folder of tensors, settings and text, with nothing in it that runs.

    parameters.safetensors   the learned tensors, a tied one once (`regard.nn.parameters.named` and `fill`)
    recipe.toml              every setting, defaults included; TOML has no "nothing", so what is None is left out
    scores.json              what was measured; a number that is not finite is null
    golden.json              a few inputs with the outputs they gave
    tokenizer.json ...       any number of texts by name
    manifest.json            format, task, versions, facts about the data, size and SHA-256 of all the above

Loading takes only what is, byte for byte, what the manifest says.
"""

from regard.bundle.contents import Bundle
from regard.bundle.folder import Parameter, load, save, shapes
from regard.bundle.identity import FORMAT, FileRecord, Manifest, manifest

__all__ = ["FORMAT", "Bundle", "FileRecord", "Manifest", "Parameter", "load", "manifest", "save", "shapes"]
