"""`qufur undo`: restore the previous state file."""

from __future__ import annotations

from pathlib import Path

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._state_file import locked_workbook, when
from qufur.errors import invalid
from qufur.storage import versions
from qufur.workbook import Workbook


def undo(state: opt.State, json: opt.Json = False) -> None:
    """Undo the last command that changed the state file.

    Repeat it to undo up to five commands. Other files, such as the file of rows to label, do not change.

    Example:
      qufur undo --state s.qufur
    """
    with locked_workbook(state) as workbook:
        history = workbook.history
        version = _version(state, history)
        restored = Workbook.load(versions.version_of(state, version))  # a damaged version is not restored
        versions.restore(state, version)
    outstanding = len(restored.learner.outstanding)
    undone = {"command": history.command, "at": history.at, "outcome": history.outcome}
    counts = {"rows": restored.rows, "left": restored.learner.left, "outstanding": outstanding}
    lines = [
        f"Undid `{history.command}` of {when(history.at)}: {history.outcome}.",
        f"{counted(outstanding, 'label is', 'labels are')} outstanding.",
    ]
    _show.print_result(json, undone | counts, lines)


def _version(state: Path, history: versions.History) -> str:
    if history.command and not history.before:
        received = f"`{history.command}`, which created the state file"
        remedy = "Remove the state file to start over."
        allowed = "one with an earlier version of the state file"
        raise invalid("the last command", "qufur undo", allowed, received, remedy)
    if not history.before or not versions.version_of(state, history.before[0]).is_file():
        received = f"none in {str(versions.folder_of(state))!r}"
        remedy = (
            f"The last {versions.KEPT} are stored beside the state file; a copied or moved file has none."
        )
        raise invalid("the previous version", "qufur undo", "stored", received, remedy)
    return history.before[0]
