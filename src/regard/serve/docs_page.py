"""`/docs`: every route with its fields and a form to try it, from `/openapi.json`, with nothing from elsewhere."""

from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

from regard.serve.problems import Missing
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf

MEDIA = {
    "index.html": "text/html; charset=utf-8",
    "reference.js": "text/javascript; charset=utf-8",
    "reference.css": "text/css; charset=utf-8",
}
# Read once: no name in a request reaches the disk.
FILES = {name: (files("regard.serve") / "reference" / name).read_bytes() for name in MEDIA}


def router(shelf: Shelf, settings: ServeSettings) -> APIRouter:
    """The page and its two files."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/docs")
    async def page() -> Response:
        return Response(FILES["index.html"], media_type=MEDIA["index.html"])

    @routes.get("/docs/{name}")
    async def part(name: str) -> Response:
        if name not in FILES:
            raise Missing("The page of the routes has no such part.")
        return Response(FILES[name], media_type=MEDIA[name])

    return routes
