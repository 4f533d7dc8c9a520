"""Command line of the benchmarks: `python -m benchmarks [part ...] [--quick] [--json FILE] [--docs]`."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from benchmarks import cluster, command, drift, gpu, kernel, leases, page, ratios, restart, service
from benchmarks.text import Progress

PARTS: dict[str, Any] = {
    **page.TABLES,
    "command": command,
    "service": service,
    "restart": restart,
    "leases": leases,
    "kernel": kernel,
    "gpu": gpu,
    "drift": drift,
}
"""Modules with `measure`, which returns JSON values, and `render` or `tables` for display."""
FOLDER = Path("bench")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.docs and options.quick:
        parser.error("--docs writes speeds into the manual, which --quick does not measure")
    progress = Progress()
    results: dict[str, Any] = {"versions": _versions()}
    # Two BLAS pools with several threads each would compete for the cores and disturb all timings.
    with threadpool_limits(1):
        for part in options.what or PARTS:
            results[part] = _measure(part, options, progress)
            progress.clear()
            print(_render(part, results[part]), flush=True)
    print(*ratios.tables(results), sep="\n")
    if options.quick:
        print("--quick tests the code only. Run without --quick to measure speed.")
    path = options.json or FOLDER / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {path}", *page.draw(results, path.parent), sep="\n      ")
    if options.docs:
        print("wrote", *page.update(results), sep="\n      ")


def _measure(part: str, options: argparse.Namespace, progress: Progress) -> Any:
    if part == "drift":
        return drift.measure(options.updates or (2_000 if options.quick else 10**6), progress)
    if part == "cluster":
        return cluster.measure(options.rows or (20_000 if options.quick else cluster.ROWS), progress)
    return PARTS[part].measure(options.quick, progress)


def _render(part: str, measurements: Any) -> str:
    module = PARTS[part]
    return (
        "\n".join(map(str, module.tables(measurements)))
        if hasattr(module, "tables")
        else module.render(measurements)
    )


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description=sys.modules["benchmarks"].__doc__)
    names = ", ".join(PARTS)
    parser.add_argument("what", nargs="*", type=_part, metavar="part", help=f"{names}; default: all")
    parser.add_argument(
        "--quick", action="store_true", help="run for seconds only: tests the code, does not measure speed"
    )
    parser.add_argument("--updates", type=_count, help="updates per stream of `drift`, 10^6 by default")
    parser.add_argument("--rows", type=_count, help="rows of `cluster`, 10^6 by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    parser.add_argument("--docs", action="store_true", help="also write the results into the manual")
    return parser


def _part(text: str) -> str:
    if text not in PARTS:
        raise argparse.ArgumentTypeError(f"one of {', '.join(PARTS)}, got {text!r}")
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"an integer of at least 1, got {text!r}")
    return int(text)


if __name__ == "__main__":
    main()
