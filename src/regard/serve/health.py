"""Whether the service lives, whether it can take requests, and what it has counted."""

from fastapi import APIRouter
from starlette.responses import Response

from regard.serve.problems import Json, Leaving
from regard.serve.settings import ServeSettings
from regard.serve.shelf import Shelf


def router(shelf: Shelf, settings: ServeSettings) -> APIRouter:
    routes = APIRouter(tags=["health"])

    @routes.get("/health/live")
    async def live() -> Response:
        """The process answers."""
        return Json({"status": "live"})

    @routes.get("/health/ready")
    async def ready() -> Response:
        """Every bundle is loaded, and the service is not about to stop."""
        if shelf.leaving:
            raise Leaving("The service is stopping.")
        return Json({"status": "ready", "models": len(shelf)})

    @routes.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """What was counted, as Prometheus reads it."""
        return Response(shelf.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return routes
