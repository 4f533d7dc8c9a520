"""Two small tables, and the results of `qufur ask` on them."""

import os
import shutil
from pathlib import Path

import numpy as np
import polars as pl

from qufur.cli import execute
from qufur.workbook import Workbook

ROWS = 9000


def frame(rows, skies, seed):
    rng = np.random.default_rng(seed)
    columns = {
        "flight": [f"LH{seed}-{row}" for row in range(rows)],
        "wind": rng.normal(size=rows),
        "gate": rng.integers(0, 9, rows),
        "day": [f"2024-03-{day:02d}" for day in rng.integers(1, 29, rows)],
    }
    return pl.DataFrame(columns | ({"sky": rng.choice(skies, rows)} if skies else {}))


def run(*arguments):
    assert execute(list(map(str, arguments))) == 0


class Work:
    """State after a first table, a later table, and the expected state after that.

    With `categories` the later table has a new category, so that a cluster needs two passes over it.
    """

    def __init__(self, folder, *, categories):
        self.folder = folder
        first, self.later = (
            frame(rows, skies if categories else None, seed)
            for rows, skies, seed in ((400, ["fog", "sun"], 1), (ROWS, ["fog", "hail", "sun"], 2))
        )
        first.write_parquet(folder / "first.parquet")
        self.later.write_parquet(folder / "later.parquet", row_group_size=2000)
        self.first_state = folder / "first.qufur"
        start = "--model", "ridge", "--label-range", 0, 60, "--budget", "5%", "--id", "flight"
        run("ask", folder / "first.parquet", "--state", self.first_state, "-o", folder / "a.csv", *start)
        state = shutil.copy(self.first_state, folder / "expected.qufur")
        run("ask", folder / "later.parquet", "--state", state, "-o", folder / "expected.csv", "--json")
        self.expected = Workbook.load(state)

    def fresh(self, folder):
        """Return a copy of the state before the later table."""
        return Path(shutil.copy(self.first_state, folder / "state.qufur"))

    def cut(self, folder, lengths):
        """Write the later table to files whose lengths cycle through `lengths`; return their folder."""
        os.makedirs(folder / "rows")
        start = part = 0
        while start < ROWS:
            length = lengths[part % len(lengths)]
            path = folder / "rows" / f"part{part}.parquet"
            self.later[start : start + length].write_parquet(path, row_group_size=700)
            start, part = start + length, part + 1
        return folder / "rows"


def assert_same(workbook, expected):
    """Check that two workbooks are equal to the bit, except for their history and times."""
    (header, arrays), (expected_header, expected_arrays) = workbook.content(), expected.content()
    assert header["learner"] == expected_header["learner"]
    values, expected_values = (
        {key: value for key, value in each["workbook"].items() if key not in ("history", "tables")}
        for each in (header, expected_header)
    )
    assert values == expected_values
    assert arrays.keys() == expected_arrays.keys()
    for name in arrays.keys() - {"pending.asked_at"}:
        np.testing.assert_array_equal(arrays[name], expected_arrays[name], err_msg=name)
    for id in workbook.learner.outstanding:
        assert workbook.pending_rows.cells(id) == expected.pending_rows.cells(id)
