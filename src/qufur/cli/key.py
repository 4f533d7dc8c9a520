"""`qufur key`: who may use the service, and what for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qufur.cli import show
from qufur.cli.options import Json
from qufur.cli.stores import DEFAULT, StoreOption, made_if_new, opened

if TYPE_CHECKING:
    from qufur.service.access import Key

key = typer.Typer(help="Make, list and revoke keys of the service.", no_args_is_help=True)


@key.command()
def add(
    name: Annotated[str, typer.Argument(help="Whose key it is; the log of events has it.")],
    scope: Annotated[
        list[str],
        typer.Option(
            metavar="SCOPE",
            help="What it is for: ingest, label, read or admin. May be given several times.",
        ),
    ],
    stream: Annotated[
        str | None, typer.Option(metavar="STREAM", help="The only stream that it is for; all by default.")
    ] = None,
    store: StoreOption = DEFAULT,
    json: Json = False,
) -> None:
    """Make a key, and print it this once: the store has a digest of it alone.

    A server that runs takes it within two seconds. Once there is a key, every request needs one.
    """
    made_if_new(store)
    with opened(store) as found:
        from qufur.service.access import Keys

        made = Keys(found).add(name, scope, stream)
    if json:
        show.print_json({"key": made})
        return
    print(made)


@key.command("list")
def list_(store: StoreOption = DEFAULT, json: Json = False) -> None:
    """List the keys, without what is secret of them."""
    with opened(store) as found:
        from qufur.service.access import Keys

        keys = Keys(found).listed()
    if json:
        show.print_json({"keys": [_values(one) for one in keys]})
        return
    cells = [
        [one.id, one.name, " ".join(_scopes(one)), one.stream or "all", _day(one.created), _day(one.revoked)]
        for one in keys
    ]
    show.print_table("Keys", ["id", "name", "for", "stream", "made", "revoked"], cells, [])


@key.command()
def revoke(
    id: Annotated[str, typer.Argument(help="The id of the key, as `qufur key list` has it.")],
    store: StoreOption = DEFAULT,
) -> None:
    """Let a key be taken no more; a server that runs refuses it within two seconds."""
    with opened(store) as found:
        from qufur.service.access import Keys

        Keys(found).revoke(id)
    print(f"Key {id} is revoked.")


def _values(key: Key) -> dict[str, Any]:
    shown = {"scopes": _scopes(key), "stream": key.stream, "created": key.created, "revoked": key.revoked}
    return {"id": key.id, "name": key.name, **shown}


def _scopes(key: Key) -> list[str]:
    return sorted(scope.value for scope in key.scopes)


def _day(seconds: int | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%d", time.gmtime(seconds))
