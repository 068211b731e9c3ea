"""What each route answers, as the service describes itself; a test holds real answers against it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """An answer that has these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class PredictResponse(Answer):
    """A result for each input, with the fields of its task."""

    model: str
    results: list[dict[str, Any]]


class ModelCard(BaseModel):
    """A model, in OpenAI's shape and with what else is known of it."""

    model_config = ConfigDict(extra="allow")
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "regard"
    task: str
    engine: str
    title: str
    fields: list[str]
    parameters: int
    writes: bool
    looks: bool
    audit: str | None


class ModelList(Answer):
    object: Literal["list"] = "list"
    data: list[ModelCard]


class Unit(Answer):
    """A piece or a word, and from where to where it stands in the text; special ones stand nowhere."""

    text: str
    span: tuple[int, int] | None
    special: bool


class Axis(Answer):
    text: str
    units: list[Unit]


class ExplainResponse(Answer):
    """How much each input counts for each output."""

    method: str
    outputs: Axis
    inputs: Axis
    weights: list[list[float | None]]
    signed: bool
    error: list[list[float | None]] | None
    source: str
    check: dict[str, Any]
    caveat: str
    probabilities: list[float | None] | None
    layer: int | None
    head: int | None


class Side(Answer):
    """What was put out for a source, each output with its score and its probability."""

    source: str
    text: str
    outputs: list[str]
    scores: list[float | None]
    probabilities: list[float | None]


class WhatIfResponse(Answer):
    """Before and after, and by how much log p of what was put out before has moved."""

    before: Side
    after: Side
    changes: list[float | None] | None
    change: float | None
    note: str


class Words(Answer):
    """Which pieces make which word: the first of them, and the one after the last."""

    inputs: list[tuple[int, int]]
    outputs: list[tuple[int, int]]


class Attention(Answer):
    """Weights as base64 of bytes [layers, heads, rows, columns], 255 for 1; null where there was no room for them."""

    name: str
    title: str
    kind: str
    queries: str
    keys: str
    layers: int
    heads: int
    rows: int
    columns: int
    taps: list[str]
    numbers: list[int | None]
    heads_of: list[int]
    bytes: str | None
    check: float | None = None


class Alternative(Answer):
    """What else could have stood there; `joins` says whether it goes on with the word before, `ends` with nothing."""

    text: str
    probability: float
    piece: int | None = None
    joins: bool | None = None
    ends: bool | None = None


class Node(Answer):
    """A candidate of the search: kept, lost, finished or won."""

    id: int
    parent: int | None
    step: int
    text: str
    piece: int
    score: float | None
    probability: float | None
    state: str


class Tree(Answer):
    beams: int
    cut: bool
    nodes: list[Node]


class ExploreResponse(Answer):
    """All attention of one prediction, what else could have stood at each place, and the search for it."""

    result: dict[str, Any] | None
    inputs: Axis
    outputs: Axis
    words: Words
    attentions: list[Attention]
    probabilities: list[float | None]
    alternatives: list[list[Alternative]] | None
    pieces: list[int] | None
    tree: Tree | None
    part: int
    parts: int
    notes: list[str]


class CellResponse(Answer):
    """weight = exp(score - log_sum) x factor, score = product x scale + bias; null for what there is not."""

    formula: str
    text: str
    weight: float
    rows: int
    columns: int
    in_view: bool
    score: float | None
    log_sum: float | None
    factor: float | None
    threshold: float | None
    product: float | None
    scale: float | None
    bias: float | None


class Told(Answer):
    message: str
    type: str
    code: int | str | None
    param: None = None


class Error(Answer):
    """What cannot be answered, in one sentence."""

    error: Told


class PlainError(Answer):
    """The same for clients that read no more."""

    error: str
