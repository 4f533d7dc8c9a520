"""Calls behind one operation: how much code a reader meets on its path.

`python -m benchmarks.walk` prints for each operation the number of calls of Python functions of qufur, and
the number of files and top-level packages or modules that they are in. Nothing is imported or compiled in a
traced operation.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import qufur
from qufur import Learner, Ridge, Steady
from qufur.service.app import create_app
from qufur.service.server import serving
from qufur.service.store import Store

ROOT = f"{Path(qufur.__file__).parent}/"
DIM, ROWS = 8, 64
SETTLE_SECONDS = 0.5
"""Pause after a request, so that work after its answer is counted too."""


class Tracer:
    """Records the files of calls in the threads that start after `install`, while it is active."""

    def __init__(self) -> None:
        self._files: list[str] = []
        self._is_active = False

    def install(self) -> None:
        """Trace this thread and all that start later."""
        threading.setprofile(self._record)
        sys.setprofile(self._record)

    def calls(self, operation: Callable[[], object], settle: float = 0.0) -> list[str]:
        """Run an operation; return the file of each call below it, relative to the package."""
        self._files, self._is_active = [], True
        operation()
        time.sleep(settle)
        self._is_active = False
        return self._files

    def _record(self, frame: Any, event: str, argument: Any) -> None:
        if self._is_active and event == "call" and frame.f_code.co_filename.startswith(ROOT):
            self._files.append(frame.f_code.co_filename.removeprefix(ROOT))


def walks() -> dict[str, list[str]]:
    """Return the calls of each operation."""
    tracer = Tracer()
    tracer.install()
    try:
        return _of_library(tracer) | _of_service(tracer)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _of_library(tracer: Tracer) -> dict[str, list[str]]:
    X = np.random.default_rng(0).normal(size=(4 * ROWS, DIM)) / 4
    learner = Learner(Ridge(DIM), Steady(1.0), seed=0)
    for x in X[:8]:  # with warm caches
        learner.tell(learner.ask(x).id, 0.5)
    learner.ask_many(X[:ROWS])
    single = tracer.calls(lambda: learner.ask(X[9], id="row"))
    label = tracer.calls(lambda: learner.tell("row", 0.5))
    block = tracer.calls(lambda: learner.ask_many(X[ROWS : 2 * ROWS]))
    return {"ask, one row": single, "tell, one label": label, f"ask_many, {ROWS} rows": block}


def _of_service(tracer: Tracer) -> dict[str, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(f"sqlite:///{folder}/labels.db")
        try:
            with serving(create_app(store)) as url, httpx.Client(base_url=url, trust_env=False) as http:
                return _requests(tracer, http)
        finally:
            store.close()


def _requests(tracer: Tracer, http: httpx.Client) -> dict[str, list[str]]:
    stream = {"name": "s", "dim": DIM, "model": "ridge", "label_range": [-1, 1], "budget": 50, "horizon": 50}
    http.post("/v1/streams", json=stream).raise_for_status()

    def ask(id: str) -> None:
        body = {"id": id, "x": [0.1 * len(id)] * DIM}
        http.post("/v1/streams/s/examples", json=body).raise_for_status()

    def tell(id: str) -> None:
        http.put(f"/v1/streams/s/examples/{id}/label", json={"label": 0.5}).raise_for_status()

    for id in ("a", "bb", "ccc"):  # with warm caches
        ask(id)
        tell(id)
    time.sleep(SETTLE_SECONDS)
    asked = tracer.calls(lambda: ask("dddd"), SETTLE_SECONDS)
    return {"POST /examples, one row": asked, "PUT label": tracer.calls(lambda: tell("dddd"), SETTLE_SECONDS)}


def main() -> None:
    """Print the walks as a Markdown table."""
    print("| operation | calls | files | packages |\n|---|---|---|---|")
    for operation, files in walks().items():
        packages = {file.partition("/")[0] for file in files}
        print(f"| {operation} | {len(files)} | {len(set(files))} | {len(packages)} |")


if __name__ == "__main__":
    main()
