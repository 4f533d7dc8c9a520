"""What the commands around the service share: the store, and what is wrong with it in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from qufur.errors import missing_extra

if TYPE_CHECKING:
    from qufur.service.store import Store

URL = "sqlite:///FILE or postgresql://USER@HOST/DATABASE."
DEFAULT = "sqlite:///labels.db"
StoreOption = Annotated[str, typer.Option("--store", metavar="URL", help=URL)]
StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help=URL)]
StreamArgument = Annotated[str, typer.Argument(metavar="STREAM", help="The stream, by name.")]


@contextmanager
def opened(url: str, *, writing: bool = False, takeover: bool = False) -> Iterator[Store]:
    """Open a store for a command, to be written by nobody else if it writes events."""
    with complaining():
        from qufur.service.store import Store

        store = Store(url, writing=writing, takeover=takeover)
        try:
            yield store
        finally:
            store.close()


def made_if_new(url: str) -> None:
    """Make a store on SQLite that is not there yet."""
    with complaining():
        from qufur.service.store import Store, file_of, parsed

        file = file_of(parsed(url))
        if file is not None and not os.path.exists(file):
            Store(url).close()


@contextmanager
def complaining() -> Iterator[None]:
    """Let what is wrong with a store or a request be bad input like any other, and say what to install."""
    try:
        from qufur.service.events import DamagedError
        from qufur.service.fence import FencedError
        from qufur.service.refusals import RefusalError
        from qufur.service.store import StoreError
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "sqlalchemy", "serve", "the service") from None
    try:
        yield
    except (DamagedError, FencedError, RefusalError, StoreError) as error:
        raise ValueError(str(error)) from None
