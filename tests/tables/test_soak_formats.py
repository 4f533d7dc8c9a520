"""Damaged tables of every format are read or raise one-line errors."""

import numpy as np
import pytest
from tests.soak import times
from tests.tables.test_tables import FORMATS, TABLE, save

from qufur.tables import Encoding, labels, read

WORDS = {
    "price": [f"€ {j},{j:03}.5" for j in range(1, 104)],
    "share": [f"{j}%" for j in range(103)],
    "day": [f"{1 + j % 28:02}.0{1 + j % 9}.2024 0{j % 10}:30" for j in range(103)],
}
TEXTS = [
    b"",
    b"\xff",
    b"\0",
    b'"',
    b";",
    b",",
    b"\n",
    b"\t",
    b"|",
    b"1,5",
    b"nan",
    b"\xe4",
    b"[",
    b"{",
    b"}",
    b"\r",
]


def damaged(content, rng):
    """Return a damaged file: truncated, with other bytes, or with sections in another order."""
    start, end = sorted(rng.integers(0, len(content) + 1, 2).tolist())
    text = TEXTS[rng.integers(len(TEXTS))]
    return [
        lambda: content[:end],
        lambda: content[start:],
        lambda: content[:start] + text * int(rng.integers(1, 4)) + content[start:],
        lambda: content[:start] + rng.bytes(int(rng.integers(1, 9))) + content[start + 4 :],
        lambda: content[end:] + content[start:end] + content[:start],
        lambda: content[:start] + content[end:],
    ][rng.integers(6)]()


@pytest.mark.parametrize("ending", FORMATS)
def test_damaged_tables_raise_one_line_errors(tmp_path, ending):
    whole = save(tmp_path, TABLE | WORDS, ending).read_bytes()
    rng = np.random.default_rng(FORMATS.index(ending))
    path, readable = tmp_path / f"damaged.{ending}", 0
    for _ in range(times(3_000)):
        path.write_bytes(damaged(damaged(whole, rng) if rng.random() < 0.3 else whole, rng))
        try:
            encoding = Encoding.of(read(path, 40), skip=["flight"], target="delay", impute=True)
            for batch in read(path, 40):
                assert np.isfinite(encoding.encode(batch)).all()
                labels(batch, "delay", skip_blank=True)
            readable += 1
        except ValueError as error:
            assert "\n" not in str(error)
            assert " must be " in str(error)
    assert readable < times(3_000)
