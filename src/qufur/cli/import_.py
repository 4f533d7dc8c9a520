"""`qufur import`: a state file as a stream of the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._store import DEFAULT, StoreOption, open_store
from qufur.storage.lock import locked


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="State file of `qufur ask` or `qufur export`.")
    ],
    store: StoreOption = DEFAULT,
    name: Annotated[
        str | None,
        typer.Option(metavar="STREAM", help="Name of the stream. Default: the file name without extension."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Create a stream of the service from a state file. The file does not change.

    Pending rows stay pending in the service, and the next decisions equal those of the state file. No server
    may use the store meanwhile.

    Example:
      qufur import s.qufur --store sqlite:///labels.db --name prices
    """
    with locked(file, "FILE", "qufur import"), open_store(store, writing=True) as opened:
        from qufur.service.config import config_from_workbook
        from qufur.service.service import Service
        from qufur.service.state_files import read, rows_of

        workbook, service = read(file), Service(opened)
        config = config_from_workbook(name or file.stem, workbook)
        stream = service.import_workbook(config, workbook, rows_of(workbook, config), "qufur import")
        service.commit()
    rows, labels = counted(workbook.rows, "row"), counted(len(workbook.labels), "label")
    line = f"Stream {stream.name!r}: {rows}, {labels}, {len(workbook.learner.pending)} outstanding."
    content = {"name": stream.name, "rows": workbook.rows, "digest": stream.digest()}
    _show.print_result(json, content, [line])
