"""What the attention explorer of the page asks for."""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt
from starlette.responses import Response

from regard.api import Pipeline
from regard.api.exploring import At, cell
from regard.api.whatif import begun
from regard.errors import RequestError
from regard.serve.answers import CellResponse, ExploreResponse
from regard.serve.asking import changes, quoted
from regard.serve.problems import Json, dumped
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Served, Shelf
from regard.tasks.generating import OUTPUT_PIECES

T = TypeVar("T")
# The numbers of pieces, no more than anybody would look at.
Pieces = Annotated[list[NonNegativeInt], Field(max_length=4096)]


class Prediction(BaseModel):
    """Which prediction is meant: what a model makes of an input, or an output that is given, as text or in pieces."""

    model_config = ConfigDict(extra="forbid")
    model: str | None = None
    input: str | dict[str, str]
    target: str | None = None
    pieces: Pieces | None = None
    # How the output has to begin.
    prefix: str | Pieces | None = None
    settings: dict[str, Any] = {}
    # Of a source that is translated in parts, the one that is meant.
    part: NonNegativeInt = 0


class ExploreRequest(Prediction):
    """Some attentions by name and some of their layers by number, or all that there is room for."""

    attentions: list[str] = Field(default=[], max_length=64)
    layers: list[NonNegativeInt] = Field(default=[], max_length=256)


class CellRequest(Prediction):
    """A cell as it is drawn; `layer` counts the layers of that attention."""

    attention: str
    layer: NonNegativeInt
    head: NonNegativeInt
    row: NonNegativeInt
    column: NonNegativeInt


def router(shelf: Shelf, settings: ServeSettings) -> APIRouter:
    """The routes of the explorer."""
    routes = APIRouter(tags=["explore"])

    @routes.post("/v1/explore", response_model=ExploreResponse)
    async def explore(asked: ExploreRequest) -> Response:
        """A result with every map of attention, what else could have stood at each place, and the search for it."""

        def work(pipeline: Pipeline, row: Mapping[str, str]) -> bytes:
            return dumped(pipeline.explore(row, asked.target, shown(asked)).plain())

        served = shelf.find(asked.model)
        return Response(await done(served, asked, settings, work), media_type=Json.media_type)

    @routes.post("/v1/explore/cell", response_model=CellResponse)
    async def formula(asked: CellRequest) -> Response:
        """The formula of one cell of attention with its numbers."""
        at = At(asked.attention, asked.layer, asked.head, asked.row, asked.column)

        def work(pipeline: Pipeline, row: Mapping[str, str]) -> dict[str, Any]:
            return cell(pipeline, row, at, asked.target, asked.part).plain()

        return Json(await done(shelf.find(asked.model), asked, settings, work))

    return routes


async def done(
    served: Served, asked: Prediction, settings: ServeSettings, work: Callable[[Pipeline, Mapping[str, str]], T]
) -> T:
    """What the work gives for the prediction that is meant."""
    row, given = served.checked([asked.input])[0], changes(asked.settings, settings)
    if asked.target is not None and len(asked.target) > settings.characters:
        raise RequestError(
            f"The target has {len(asked.target)} characters, and {settings.characters} are allowed; give less."
        )
    if asked.pieces:
        row = {**row, OUTPUT_PIECES: json.dumps(asked.pieces)}

    def alone(pipeline: Pipeline) -> T:
        variant = pipeline.with_settings(*given) if given else pipeline
        return work(variant, begun(variant, row, asked.prefix))

    return await served.run(alone)


def shown(asked: ExploreRequest) -> list[str]:
    """What is to be shown, as settings."""
    names = ", ".join(map(quoted, asked.attentions))
    return [f"attentions=[{names}]", f"layers={asked.layers}", f"part={asked.part}"]
