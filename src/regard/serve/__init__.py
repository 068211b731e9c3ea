"""HTTP: bundles behind the clients people have, and the page. Programs build it with `regard.serve.app.build`."""

from regard.serve.settings import ServeSettings

__all__ = ["ServeSettings"]
