"""The service as one ASGI app."""

from fastapi import FastAPI

from regard import __version__
from regard.serve import (
    docs_page,
    exploring,
    health,
    huggingface_clients,
    libretranslate,
    native,
    openai_clients,
    page,
    problems,
)
from regard.serve.access import Access, Caught
from regard.serve.guards import Guard
from regard.serve.keys import Keys
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf

# Every file of routes, in the order they are described. To add one: write its `router`, add a line.
ROUTES = (
    native.router,
    exploring.router,
    libretranslate.router,
    openai_clients.router,
    huggingface_clients.router,
    health.router,
    docs_page.router,
    page.router,
)


def build(shelf: Shelf, settings: ServeSettings) -> FastAPI:
    """All routes over these bundles, behind their guards."""
    servers = [{"url": settings.root}] if settings.root else None
    app = FastAPI(title="Regard", version=__version__, docs_url=None, redoc_url=None, servers=servers)
    problems.handle(app)
    for router in ROUTES:
        made = router(shelf, settings)
        # Those of other clients say themselves how they refuse.
        app.include_router(made, responses=made.responses or problems.refusing())
    # The last is the outermost.
    app.add_middleware(Caught)
    app.add_middleware(Guard, settings=settings, keys=Keys.read(settings.api_key_file))
    app.add_middleware(Access, metrics=shelf.metrics)
    return app
