"""The command: `python -m benchmarks [replay|sweep|kernel|drift] [--quick] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from benchmarks import drift, kernel, replay, sweep
from benchmarks.text import Progress


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    progress = Progress()
    results: dict[str, object] = {
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    }
    # Two BLAS pools of several threads each would fight over the cores and blur every figure.
    with threadpool_limits(1):
        if options.what in ("replay", "all"):
            results["replay"] = replay.measure(options.quick, progress)
            _print(replay.render(results["replay"]), progress)
        if options.what in ("sweep", "all"):
            results["sweep"] = sweep.measure(options.quick, progress)
            _print(sweep.render(results["sweep"]), progress)
        if options.what in ("kernel", "all"):
            results["kernel"] = kernel.measure(options.quick, progress)
            _print(kernel.render(results["kernel"]), progress)
        if options.what in ("drift", "all"):
            updates = options.updates or (2_000 if options.quick else 10**6)
            results["drift"] = drift.measure(updates, progress)
            _print(drift.render(results["drift"]), progress)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def _print(text: str, progress: Progress) -> None:
    progress.clear()
    print(text, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description=sys.modules["benchmarks"].__doc__)
    choices = ["replay", "sweep", "kernel", "drift", "all"]
    parser.add_argument("what", nargs="?", choices=choices, default="all", help="all of them by default")
    parser.add_argument("--quick", action="store_true", help="a few seconds: proves the code, not the speed")
    parser.add_argument("--updates", type=_count, help="updates per stream of `drift`, 10^6 by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results for a machine")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"an integer of at least 1, got {text!r}")
    return int(text)


if __name__ == "__main__":
    main()
