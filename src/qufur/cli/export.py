"""`qufur export`: a stream of the service as a state file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._store import DEFAULT, StoreOption, StreamArgument, open_store
from qufur.errors import invalid
from qufur.storage.lock import locked


def export(
    stream: StreamArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="State file to write, which must be new.")],
    store: StoreOption = DEFAULT,
    json: opt.Json = False,
) -> None:
    """Write a stream of the service to a state file.

    `qufur ask` and the other commands can continue with the file. The service may run meanwhile; it does not
    see later changes of the file. Ids are in the column 'id' and
    labels in the column 'label'.

    Example:
      qufur export prices prices.qufur --store sqlite:///labels.db
    """
    with locked(file, "FILE", "qufur export"), open_store(store) as opened:
        if file.exists():
            raise invalid("FILE", "qufur export", "a new file", f"{str(file)!r}, which exists")
        from qufur.service.state_files import export as write

        written = write(opened, stream, file)
    rows, labels = written.workbook.rows, len(written.workbook.labels)
    outstanding, reopened = len(written.workbook.learner.pending), len(written.reopened)
    counts = {"rows": rows, "labels": labels, "events": written.seq, "outstanding": outstanding}
    content = counts | {"reopened": reopened, "digest": written.digest()}
    contains = f"{counted(rows, 'row')}, {counted(labels, 'label')}, {outstanding} outstanding"
    lines = [f"{contains}: written to {file}."]
    if reopened:
        removed = counted(reopened, "row with a removed label is", "rows with removed labels are")
        lines.append(f"{removed} not pending in the file.")
    _show.print_result(json, content, lines)
