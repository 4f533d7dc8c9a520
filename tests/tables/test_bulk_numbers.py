"""Conversion of many columns of plain numbers together."""

import numpy as np
import pytest

from qufur.tables import Batch

MANY = [f"x{j}" for j in range(150)]


def test_plain_numbers_returns_columns_in_the_requested_order():
    values = np.arange(3.0 * len(MANY)).reshape(3, -1)
    batch = Batch(dict(zip(MANY, values.T, strict=True)))
    assert batch.plain_numbers(MANY[::-1]).tolist() == values[:, ::-1].tolist()


@pytest.mark.parametrize("bad", [3, 70, 149])
def test_plain_numbers_error_names_the_first_invalid_column(bad):
    columns = {name: np.zeros(2) for name in MANY}
    for name in MANY[bad:]:
        columns[name] = np.array([0.0, np.nan])
    with pytest.raises(ValueError, match=f"column 'x{bad}' of .* in row 2"):
        Batch(columns).plain_numbers(MANY)
