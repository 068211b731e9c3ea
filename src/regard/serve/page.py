"""The page people open: a fixed list of files, read once; no name in a request reaches the disk."""

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from fastapi import APIRouter, Header
from starlette.responses import Response

from regard.serve.problems import Missing
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf

# Forms of tasks, what they are made of, and the parts of the explorer.
FORMS = ("task_asking", "task_other", "task_reading", "task_writing", "parts", "bench", "app", "key")
SHOWN = ("explorer", "choosing", "exporting", "grid", "legends", "matrix", "methods", "readout", "ribbons", "tree")
BELOW = ("whatif", "api", "chinese", "colours", "dom", "english", "frames", "maps", "state", "strings")
SCRIPTS = (*FORMS, *SHOWN, *BELOW)
MEDIA = {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "explorer.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    **{f"{name}.js": "text/javascript; charset=utf-8" for name in SCRIPTS},
}


@dataclass(frozen=True)
class File:
    """A file of the page with what a browser needs to keep it."""

    content: bytes
    media: str
    tag: str


def _read(name: str, media: str) -> File:
    content = (files("regard.serve") / "page" / name).read_bytes()
    return File(content, media, f'"{sha256(content).hexdigest()[:32]}"')


FILES = {name: _read(name, media) for name, media in MEDIA.items()}


def router(shelf: Shelf, settings: ServeSettings) -> APIRouter:
    """The page and its parts."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    async def page(if_none_match: str = Header("")) -> Response:
        return answered(FILES["index.html"], if_none_match)

    @routes.get("/page/{name}")
    async def part(name: str, if_none_match: str = Header("")) -> Response:
        if name not in FILES:
            raise Missing("The page has no part of that name.")
        return answered(FILES[name], if_none_match)

    return routes


def answered(file: File, known: str) -> Response:
    """The file, or only word that the browser has it already."""
    headers = {"etag": file.tag, "cache-control": "no-cache"}
    if file.tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media, headers=headers)
