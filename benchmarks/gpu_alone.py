"""Selected cells of `gpu`, on a machine with NumPy, SciPy and torch but few other dependencies.

`python -m benchmarks.gpu_alone --rows 1e6 --dims 4096 --shares 0.05 --sources card host` prints each cell
when it is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import MagicMock

CORES = "2"


def main() -> None:
    for name in ("OMP", "OPENBLAS", "MKL"):  # before NumPy reads them
        os.environ.setdefault(f"{name}_NUM_THREADS", CORES)
    for name in ("safetensors", "safetensors.numpy", "threadpoolctl"):  # this script saves no file
        if find_spec(name.partition(".")[0]) is None:
            sys.modules[name] = MagicMock()
    from benchmarks import gpu
    from benchmarks.text import Progress

    options = vars(_parser(gpu.ROWS, gpu.DIMS, gpu.SHARES, gpu.SOURCES, gpu.RULES).parse_args())
    file = options.pop("json")
    results = gpu.measure(options.pop("quick"), Progress(), **options)
    print(gpu.render(results), flush=True)
    if file:
        file.write_text(json.dumps(results, indent=1) + "\n")


def _parser(
    rows: tuple[int, ...],
    dims: tuple[int, ...],
    shares: tuple[float, ...],
    sources: tuple[str, ...],
    rules: tuple[str, ...],
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.gpu_alone", description=__doc__)
    parser.add_argument("--rows", nargs="+", type=lambda text: int(float(text)), default=rows)
    parser.add_argument("--dims", nargs="+", type=int, default=dims)
    parser.add_argument("--shares", nargs="+", type=float, default=shares)
    parser.add_argument("--sources", nargs="+", choices=sources, default=sources)
    parser.add_argument("--rules", nargs="+", choices=rules, default=rules[:1])
    parser.add_argument("--device", help="cuda, cuda:1 or cpu")
    parser.add_argument("--folder", type=Path, help="folder for temporary files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    parser.add_argument("--profile", action="store_true", help="print a profile of the host's time")
    parser.add_argument(
        "--quick", action="store_true", help="run for seconds only: tests the code, does not measure speed"
    )
    return parser


if __name__ == "__main__":
    main()
