"""Many independent tasks → one row each, in parallel and resumable."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qufur.progress import track
from qufur.sweep.fingerprint import fingerprint
from qufur.sweep.parallel import PROCESSES, spread
from qufur.sweep.releases import library

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A call whose result is a row of numbers and names.

    Parameters
    ----------
    key
        Tells the task apart from all others, also in a file of rows: everything that decides the result.
    play, arguments
        What to call. Both are sent to another process if there are several jobs.
    """

    key: str
    play: Callable[..., Row]
    arguments: tuple[Any, ...]

    def run(self) -> tuple[str, Row]:
        """Return the key with its row."""
        return self.key, self.play(*self.arguments)


def key_of(*parts: object) -> str:
    """Return a short digest of everything that decides a result, the code of this library included.

    >>> key_of("QuFUR", 0.5) == key_of("QuFUR", 0.5), key_of("QuFUR", 0.5) == key_of("QuFUR", 0.25)
    (True, False)
    """
    return fingerprint(library(), *parts)[:32]


def perform(
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    label: str = "Running",
    backend: str = PROCESSES,
) -> list[Row]:
    """Do the tasks and return their rows in order.

    Parameters
    ----------
    tasks
        What to do, begun in this order; the rows do not depend on `jobs`.
    jobs, backend
        Number of processes, and the backend of joblib that runs them.
    out
        A JSON-lines file to which each row is added as it comes. Tasks that are in it already are not done
        again.
    label
        Stands beside the progress bar.

    Examples
    --------
    >>> perform([Task(str(n), lambda n: {"square": n * n}, (n,)) for n in (2, 3)])
    [{'square': 4}, {'square': 9}]
    """
    rows = _read(out)
    missing = [task for task in tasks if task.key not in rows]
    for key, row in track(spread(Task.run, missing, jobs, backend), len(missing), label):
        rows[key] = row
        _append(out, key, row)
    return [rows[task.key] for task in tasks]


def _read(path: str | os.PathLike[str] | None) -> dict[str, Row]:
    if path is None or not Path(path).exists():
        return {}
    rows: dict[str, Row] = {}
    for line in Path(path).read_text().splitlines():
        try:
            rows.update([json.loads(line)])
        except json.JSONDecodeError:  # the blank first line, or one cut off: that task is done again
            continue
    return rows


def _append(path: str | os.PathLike[str] | None, key: str, row: Row) -> None:
    if path is not None:
        with open(path, "a") as file:
            # The line break comes first: it also ends a line that an interruption cut off.
            file.write("\n" + json.dumps([key, row]))
