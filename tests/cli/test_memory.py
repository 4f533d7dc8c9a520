"""What `qufur ask` does without, so that a million rows take little memory."""

import pytest
from tests.cli.test_loop import START, write

from qufur.models.engines import compiled


@pytest.mark.parametrize("options", [START, START[2:]])
def test_numba_is_left_out(work, tmp_path, monkeypatch, few_trees, options):
    monkeypatch.setattr(compiled, "_works", lambda: pytest.fail("numba takes 100 MB"))
    table = write(tmp_path / "may.csv", range(60))
    assert work("ask", table, "-o", tmp_path / "out.csv", *options)[0] == 0
    with pytest.raises(pytest.fail.Exception):
        compiled.available()
