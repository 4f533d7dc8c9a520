"""`qufur serve`: streams over HTTP, with labelling pages."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur.cli._store import DEFAULT, URL, open_store, plain_errors

DEMO = "sqlite:///qufur-demo.db"
MEGABYTE = 2**20


def serve(
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help=f"{URL} Default: {DEFAULT}, {DEMO} with --demo."),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 selects a free one.")
    ] = 8000,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Serve a demo stream with a simulated annotator, in a separate store."),
    ] = False,
    takeover: Annotated[
        bool, typer.Option("--takeover", help="Take the write lock of the store from another server.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(min=0.1, metavar="N", help="Maximum requests per second and key. Default: no limit."),
    ] = None,
    max_body: Annotated[
        int, typer.Option(min=1, metavar="BYTES", help="Maximum size of a request body.")
    ] = 16 * MEGABYTE,
) -> None:
    """Serve streams over HTTP, with labelling pages.

    Ctrl-C stops the server. Without keys it listens on this machine only and requires none. Any other address
    requires keys: the server creates an admin key and prints it if there is none, and `qufur key` creates
    others.

    Example:
      qufur serve --store sqlite:///labels.db --port 8000
    """
    with plain_errors():
        from qufur.service.http import Limits
        from qufur.service.server import listening
        from qufur.service.server import serve as run
    url = store or (DEMO if demo else DEFAULT)
    # Bind the address first: an invalid address must not leave a new store behind.
    with listening(host, port) as listener, open_store(url, writing=True, takeover=takeover) as opened:
        if demo:
            print(f"The demonstration is stored in {opened.url.render_as_string()}.", flush=True)
        run(opened, listener, Limits(body=max_body, rate=rate), demo=demo)
