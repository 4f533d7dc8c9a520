"""What the first requests would wait for: imports, and loops that are compiled once after installation."""

from __future__ import annotations

import logging
import threading
import time

import numpy as np

from qufur.service.description import Description
from qufur.service.logs import log_event
from qufur.service.writer import Writer

LOG = logging.getLogger("qufur.service")
DIMS, ROWS, BATCHES = (8, 88, 300), 64, 4
"""Of batches that need every loop between them."""


def warm_up(writer: Writer) -> None:
    """Do all that once in another thread, as soon as the streams are loaded."""
    threading.Thread(target=_warm_up, args=(writer,), name="qufur-warming", daemon=True).start()


def _warm_up(writer: Writer) -> None:
    try:
        writer.call(lambda service: None)
        start = time.perf_counter()
        for dim in DIMS:
            for model in ("ridge", "experts"):
                _try(Description("warm", dim=dim, model=model, label_range=(0, 1), budget="50%"))
        log_event("warm", seconds=round(time.perf_counter() - start, 1))
    except Exception:  # then the first request does it, or says what is wrong
        LOG.warning("The service could not be warmed up", exc_info=True)


def _try(description: Description) -> None:
    book, X = description.workbook(), np.random.default_rng(0).normal(size=(ROWS, description.dim or 1))
    for batch in range(BATCHES):
        book.ask_rows(X / X.shape[1] ** 0.5, [f"{batch} {row}" for row in range(ROWS)])
