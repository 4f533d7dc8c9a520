"""The process that fits experts: it reads fits, writes what came of them, and ends with its parent."""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO

from qufur.service import frames

if TYPE_CHECKING:
    from qufur.models.experts.fitting import Fitting
    from qufur.models.experts.panel import Panel

NICE = 5
"""How far it steps back behind requests, where a system knows that."""


def main() -> None:
    """Make fits until there is nobody any more who wants them."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an estimator prints shall not come among the answers
    if hasattr(os, "nice"):
        os.nice(NICE)
    fits: queue.SimpleQueue[frames.Frame] = queue.SimpleQueue()
    threading.Thread(target=_take, args=(sys.stdin.buffer, fits), daemon=True).start()
    import sklearn.ensemble  # noqa: F401  (which takes a second, before anybody waits for it)

    while True:
        frames.write(out, _made(fits.get()))


def _take(source: BinaryIO, fits: queue.SimpleQueue[frames.Frame]) -> None:
    """Take what comes, also during a fit, so as to notice the end of the parent at once, however it ended."""
    try:
        while True:
            fits.put(frames.read(source))
    finally:
        os._exit(0)


def _made(frame: frames.Frame) -> Panel | str:
    """Return the fitted experts, or what went wrong."""
    try:
        fitting: Fitting = frames.opened(frame)
        return fitting.run().panel
    except Exception as error:  # whatever an estimator does not like
        return type(error).__name__
