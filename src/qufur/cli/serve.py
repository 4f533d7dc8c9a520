"""`qufur serve`: streams over HTTP, and pages where people label."""

from __future__ import annotations

from typing import Annotated

import typer

from qufur.cli.stores import DEFAULT, URL, complaining, opened

DEMO = "sqlite:///qufur-demo.db"
MEGABYTE = 2**20


def serve(
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help=f"{URL} Default: {DEFAULT}, {DEMO} with --demo."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any that is free.")] = 8000,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a stream with a simulated annotator, in a store of its own.")
    ] = False,
    takeover: Annotated[
        bool, typer.Option("--takeover", help="End the right of another server to write to the store.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(min=0.1, metavar="N", help="Requests a second from one key; any number by default."),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Size of the largest request.")] = 16
    * MEGABYTE,
) -> None:
    """Serve streams over HTTP, with pages where people label, until Ctrl-C.

    Without keys it is for this machine alone, and asks for none. On another address one is needed: it is made
    and printed if there is none yet, and `qufur key` makes others.
    """
    with complaining():
        from qufur.service.limits import Limits
        from qufur.service.server import listening
        from qufur.service.server import serve as run
    url = store or (DEMO if demo else DEFAULT)
    # The address first: what is wrong with it leaves no store behind.
    with listening(host, port) as door, opened(url, writing=True, takeover=takeover) as found:
        if demo:
            print(f"The demonstration is stored in {found.url.render_as_string()}.", flush=True)
        run(found, door, Limits(body=max_body, rate=rate), demo=demo)
