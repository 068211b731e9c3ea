"""How alike two texts are as a subject of an explanation."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from regard.errors import RequestError
from regard.tasks.explained import EMBEDDED, one_part
from regard.tasks.subjects import Prediction, at, axis, blank, labelled, named, tensor

# log((1 + cosine) / 2) of texts that are opposite is cut off here.
LEAST = 1e-12


def likened(task: Any, model: Any, row: Any, room: int, target: str | None) -> Prediction:
    """How alike a text is to the one that is given: log((1 + cosine) / 2) of their vectors.

    Texts of more than `room` pieces are read in windows, and are refused.
    """
    if target is None or not target.strip():
        raise RequestError("A vector alone has nothing to explain; give --target, and how alike both are is explained.")
    reading, texts = task.reading, (row["text"], target)
    cuts = [reading.tokenizer.encode(text) for text in texts]
    for cut in cuts:
        one_part([cut] if len(cut) else (), "text")
        if len(cut) > room:
            raise RequestError(f"A text has {len(cut)} pieces, more than {room}; explain a part of it.")
    source, other = (tensor(reading.wrapped(cut.ids), model) for cut in cuts)
    # What was made in inference mode could not be differentiated through.
    with torch.inference_mode(False), torch.no_grad():
        other_1D = model.eval()(other[None])

    def score(given: Int[Tensor, "N S"], real: Bool[Tensor, "N S"] | None) -> Float[Tensor, "N O"]:
        cosine_N = functional.cosine_similarity(model(given, real), other_1D, dim=-1)
        return ((1 + cosine_N) / 2).clamp(min=LEAST).log()[:, None]

    tokenizer = reading.tokenizer
    inputs = axis(texts[0], cuts[0], named(tokenizer, tokenizer.opening), named(tokenizer, tokenizer.closing))
    read = at(tensor([0], model), len(inputs)) if model.settings.pooling.how == "first" else None
    outputs = labelled(f"like {target}")
    return Prediction(model, inputs, outputs, source, blank(tokenizer), EMBEDDED, score, read)
