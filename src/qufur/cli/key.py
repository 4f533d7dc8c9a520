"""`qufur key`: access keys of the service."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from qufur.cli import Command, _show
from qufur.cli import _options as opt
from qufur.cli._store import DEFAULT, StoreOption, create_if_missing, open_store

COLUMNS = ["id", "name", "scopes", "stream", "created", "revoked"]
"""Columns of the list of keys, and their names as JSON fields."""

key = typer.Typer(help="Create, list and revoke keys of the service.", no_args_is_help=True)


@key.command(cls=Command)
def add(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the key holder, recorded with each event.")
    ],
    scope: Annotated[
        list[str],
        typer.Option(
            metavar="SCOPE",
            help="Permission: ingest, label, read or admin. Repeatable.",
        ),
    ],
    stream: Annotated[
        str | None,
        typer.Option(metavar="STREAM", help="Stream that the key is valid for. Default: all streams."),
    ] = None,
    store: StoreOption = DEFAULT,
    json: opt.Json = False,
) -> None:
    """Create a key and print it. The store has only its digest, so it cannot be printed again.

    A running server accepts the key within two seconds. Once a key exists, every request needs one.

    Example:
      qufur key add ana --scope label --store sqlite:///labels.db
    """
    create_if_missing(store)
    with open_store(store) as opened:
        from qufur.service.auth import Keys

        secret = Keys(opened).add(name, scope, stream)
    _show.print_result(json, {"key": secret}, [secret])


@key.command("list", cls=Command)
def list_(store: StoreOption = DEFAULT, json: opt.Json = False) -> None:
    """List the keys without their secrets.

    Example:
      qufur key list --store sqlite:///labels.db
    """
    with open_store(store) as opened:
        from qufur.service.auth import Keys

        keys = [
            (key.id, key.name, sorted(key.scopes), key.stream, key.created, key.revoked)
            for key in Keys(opened).listed()
        ]
    if json:
        _show.print_json({"keys": [dict(zip(COLUMNS, key, strict=True)) for key in keys]})
        return
    cells = [
        [id, name, " ".join(scopes), stream or "all", _day(created), _day(revoked)]
        for id, name, scopes, stream, created, revoked in keys
    ]
    _show.print_table("Keys", COLUMNS, cells, [])


@key.command(cls=Command)
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as shown by `qufur key list`.")],
    store: StoreOption = DEFAULT,
) -> None:
    """Revoke a key. A running server rejects it within two seconds.

    Example:
      qufur key revoke 4f2a9c --store sqlite:///labels.db
    """
    with open_store(store) as opened:
        from qufur.service.auth import Keys

        Keys(opened).revoke(id)
    print(f"Key {id} is revoked.")


def _day(seconds: int | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%d", time.gmtime(seconds))
