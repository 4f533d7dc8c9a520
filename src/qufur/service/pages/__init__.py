"""Pages for people: streams, progress of a stream, labelling.

Pages are shells. They read and change data through /v1 as any other client, so one set of rules applies. Only
keys have their own forms.
"""

from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from qufur.service.pages import keys, routes

__all__ = ["ROUTES"]
__dir__ = __all__.copy
ROUTES = [*routes.routes, *keys.routes, Mount("/static", StaticFiles(directory=routes.HERE / "static"))]
