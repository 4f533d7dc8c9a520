"""`qufur serve`: streams over HTTP, and pages where people label."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur.errors import missing_extra

StoreOption = Annotated[
    str, typer.Option("--store", metavar="URL", help="sqlite:///FILE or postgresql://USER@HOST/DATABASE.")
]


def serve(
    store: StoreOption = "sqlite:///labels.db",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any that is free.")] = 8000,
    takeover: Annotated[
        bool, typer.Option("--takeover", help="End the right of another server to write to the store.")
    ] = False,
) -> None:
    """Serve streams over HTTP until Ctrl-C."""
    try:
        from qufur.service.limits import Limits
        from qufur.service.server import serve as run
        from qufur.service.store import Store
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "fastapi", "serve", "the service") from None
    opened = Store(store, takeover=takeover)
    try:
        run(opened, host, port, Limits())
    finally:
        opened.close()
