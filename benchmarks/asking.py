"""One command of `qufur`, in a process of its own so that all the memory is its own: prints JSON."""

from __future__ import annotations

import io
import json
import sys
import time
from contextlib import redirect_stdout

from benchmarks.memory import highest
from qufur.cli import app


def main(*arguments: str) -> None:
    start = time.perf_counter()
    with redirect_stdout(io.StringIO()):
        app(args=list(arguments), standalone_mode=False)
    found = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time(), "peak": highest()}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
