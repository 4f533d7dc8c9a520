"""`qufur undo`: the last command, taken back."""

from __future__ import annotations

from pathlib import Path

from qufur.cli import show
from qufur.cli.changes import when
from qufur.cli.loop import State, opened
from qufur.cli.options import Json
from qufur.counts import counted
from qufur.errors import invalid
from qufur.storage import versions
from qufur.storage.lock import locked
from qufur.storage.versions import History
from qufur.workbook import Workbook


def undo(state: State, json: Json = False) -> None:
    """Take back the last command that changed the state file.

    Called again it takes back the one before, up to five of them. Other files stay as they are, those with
    rows to label too.
    """
    with locked(state):
        history = opened(state).history
        version = _version(state, history)
        book = Workbook.load(versions.version_of(state, version))  # what is damaged is not put back
        versions.take_back(state, version)
    outstanding = len(book.learner.outstanding)
    if json:
        counts = {"rows": book.rows, "left": book.learner.left, "outstanding": outstanding}
        show.print_json({"command": history.command, "at": history.at, "outcome": history.outcome} | counts)
        return
    print(f"Took back `{history.command}` of {when(history.at)}: {history.outcome}.")
    print(f"As before, {counted(outstanding, 'label is', 'labels are')} outstanding.")


def _version(state: Path, history: History) -> str:
    if history.command and not history.before:
        received = f"`{history.command}`, with which the work began"
        remedy = "Remove the state file to start anew."
        raise invalid("the last command", "qufur undo", "one that a state was kept before", received, remedy)
    if not history.before or not versions.version_of(state, history.before[0]).is_file():
        received = f"none in {str(versions.folder_of(state))!r}"
        remedy = f"The last {versions.KEPT} are, beside the state file; what was copied or moved lacks them."
        raise invalid("the version before", "qufur undo", "kept", received, remedy)
    return history.before[0]
