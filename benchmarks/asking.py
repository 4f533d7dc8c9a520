"""Run one `qufur` command and print its time and peak memory as JSON.

It runs in a separate process, so that the process's memory is that of the command.
"""

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
    measurements = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time(),
        "peak": highest(),
    }
    print(json.dumps(measurements))


if __name__ == "__main__":
    main(*sys.argv[1:])
