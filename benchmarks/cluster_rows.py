"""Cost of a row on a cluster: bytes in Parquet, CPU time to read, encode and decide it."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.text import Table
from qufur.workbook import Workbook

ROWS = 2**15
FIRST = 4096
"""Rows of the first table, which determines the encoding."""
LABELS, HORIZON = 20_000, 10**9
KINDS = {"88 numbers": 88, "an embedding of 768": 768}


def ask_first(folder: Path, budget: int, horizon: int, *options: str) -> None:
    """Create the state file of a folder from its first table."""
    from qufur.cli import execute

    table, state, out = (str(folder / name) for name in ("first.parquet", "state.qufur", "first.csv"))
    model = [
        "--model",
        "ridge",
        "--label-range",
        "-1",
        "1",
        "--budget",
        str(budget),
        "--horizon",
        str(horizon),
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        execute(["ask", table, "--state", state, "-o", out, *model, *options, "--json"])


def measure(folder: Path, rows: int) -> list[dict[str, Any]]:
    """Measure the cost of a row of each type, without a cluster."""
    return [_row(folder / name, name, rows) for name in KINDS]


def _row(folder: Path, name: str, rows: int) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from qufur.cluster.blocks import with_inputs
    from qufur.cluster.decider import Decider
    from qufur.storage import container
    from qufur.workbook.workbook import header_of

    folder.mkdir()
    embedding = KINDS[name] > 100
    _write(folder, KINDS[name], rows, embedding=embedding)
    ask_first(folder, LABELS, HORIZON, *(["--embedding", "v"] if embedding else []))
    workbook = Workbook.load(folder / "state.qufur")
    encoding = workbook.encoding
    workbook.partial_tables["rows"] = 0
    file = pq.ParquetFile(folder / "rows.parquet")
    names = file.schema_arrow.names

    def encoded() -> list[Any]:
        batches = (pa.Table.from_batches([batch]) for batch in file.iter_batches(8192))
        return [with_inputs(block, encoding=encoding, columns=names, kept=[]) for block in batches]

    blocks, encode = _timed(encoded)
    decider = Decider(container.pack(workbook.content()), "rows", *header_of(workbook, []))
    firsts = np.cumsum([0, *map(len, blocks[:-1])]).tolist()
    _, decide = _timed(lambda: list(map(decider.take, firsts, blocks)))
    size = (folder / "rows.parquet").stat().st_size / rows
    return {"row": name, "bytes": size, "encode": 1e6 * encode / rows, "decide": 1e6 * decide / rows}


def _write(folder: Path, dim: int, rows: int, *, embedding: bool) -> None:
    """Write rows with a decaying spectrum, like that of embeddings."""
    import polars as pl

    rng = np.random.default_rng(dim)
    scales = np.geomspace(1, 0.05, dim) / np.sqrt(dim)
    for name, count in {"first": FIRST, "rows": rows}.items():
        X = rng.normal(size=(count, dim)) * scales
        vectors = {"v": pl.Series(X, dtype=pl.Array(pl.Float32, dim))} if embedding else {}
        columns = vectors or {f"x{j}": X[:, j] for j in range(dim)}
        pl.DataFrame(columns).write_parquet(folder / f"{name}.parquet", row_group_size=2**14)


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.process_time()
    result = call()
    return result, time.process_time() - begin


def table(measurements: list[dict[str, Any]]) -> Table:
    """Return a table of the cost of 10⁹ rows."""
    rows = [
        [
            m["row"],
            f"{m['bytes']:,.0f}",
            f"{m['encode']:.0f}, {m['decide']:.0f}",
            f"{m['bytes'] / 1e3:.1f}",
            f"{m['encode'] / 3.6:.0f}, {m['decide'] / 3.6:.0f}",
        ]
        for m in measurements
    ]
    header = ["a row", "bytes in Parquet", "CPU µs: read and encode, decide", "TB for 10⁹ rows"]
    header += ["core-hours for 10⁹ rows: encode, decide"]
    return Table(f"Cost per row with `Ridge` and a budget of {LABELS:,} of 10⁹ labels", header, rows)
