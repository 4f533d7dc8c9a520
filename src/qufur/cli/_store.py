"""Store options, opening and error messages, shared by the commands of the service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from qufur.cli._flags import with_flags
from qufur.errors import missing_extra

if TYPE_CHECKING:
    from qufur.service.store import Store

URL = "Store of the service: sqlite:///FILE or postgresql://USER@HOST/DATABASE."
DEFAULT = "sqlite:///labels.db"
StoreOption = Annotated[str, typer.Option("--store", metavar="URL", help=URL)]
StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help=URL)]
StreamArgument = Annotated[str, typer.Argument(metavar="STREAM", help="Name of the stream.")]


@contextmanager
def open_store(url: str, *, writing: bool = False, takeover: bool = False) -> Iterator[Store]:
    """Open a store and close it at the end.

    With `writing` the process acquires the exclusive right to append events; `takeover` takes it from another
    process.
    """
    with plain_errors():
        from qufur.service.store import Store

        store = Store(url, writing=writing, takeover=takeover)
        try:
            yield store
        finally:
            store.close()


def create_if_missing(url: str) -> None:
    """Create the SQLite file of a store if it does not exist."""
    with plain_errors():
        from qufur.service.store import Store
        from qufur.service.store.store import file_of, parsed

        file = file_of(parsed(url))
        if file is not None and not os.path.exists(file):
            Store(url).close()


@contextmanager
def plain_errors() -> Iterator[None]:
    """Convert errors of the store and the service to `ValueError`; name the extra if a package is missing."""
    try:
        from qufur.service.errors import RequestError
        from qufur.service.store import StoreError
        from qufur.service.store.events import DamagedError
        from qufur.service.store.fencing import FencedError
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "sqlalchemy", "serve", "the service") from None
    try:
        yield
    except (DamagedError, FencedError, RequestError, StoreError) as error:
        raise ValueError(with_flags(str(error))) from None
