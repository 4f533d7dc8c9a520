"""Tests of the imports that `qufur ask` avoids to save memory and time."""

import subprocess
import sys

import pytest
from tests.cli.test_state_file import START, write

from qufur.cli._state_file import without_pandas
from qufur.models.engines import compiled


@pytest.mark.parametrize("options", [START, START[2:]])
def test_ask_does_not_import_numba(work, tmp_path, monkeypatch, few_trees, options):
    monkeypatch.setattr(compiled, "_works", lambda: pytest.fail("numba takes 100 MB"))
    table = write(tmp_path / "may.csv", range(60))
    assert work("ask", table, "-o", tmp_path / "out.csv", *options)[0] == 0
    with pytest.raises(pytest.fail.Exception):
        compiled.available()


CALL = """
import sys
from qufur.cli import execute
assert execute(["ask", *sys.argv[1:], "--state", "s.qufur", "-o", "out.csv", "--force"]) == 0
assert "sklearn" in sys.modules
assert not {"numba", "pandas", "polars"} & {*sys.modules}
from sklearn.ensemble import ExtraTreesRegressor
import pandas
frame = pandas.DataFrame({"wind": [1.0, 2.0]})
assert ExtraTreesRegressor(1).fit(frame, [1.0, 2.0]).feature_names_in_ == ["wind"]
"""


def test_scikit_learn_is_imported_without_pandas_and_accepts_frames_later(tmp_path):
    pytest.importorskip("pandas")
    for rows, options in ((range(20), START[2:]), (range(20, 40), [])):
        table = write(tmp_path / f"{rows.start}.csv", rows)
        command = [sys.executable, "-c", CALL, *map(str, [table, *options])]
        subprocess.run(command, cwd=tmp_path, check=True)


def test_imported_pandas_stays(monkeypatch):
    module = object()
    monkeypatch.setitem(sys.modules, "pandas", module)
    with without_pandas():
        assert sys.modules["pandas"] is module
    monkeypatch.delitem(sys.modules, "pandas")
    with without_pandas(), pytest.raises(ImportError):
        import pandas  # noqa: F401
    assert "pandas" not in sys.modules
