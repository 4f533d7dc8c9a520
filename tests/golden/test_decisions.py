"""Decisions, predictions and state digests of small runs are those on record.

Numbers are compared to six significant digits. Experts grow trees, which turn the last bit of a matrix
product into larger differences, and digests cover every bit. Both are compared only if
`platforms.fingerprint` (processor, BLAS, versions of NumPy, SciPy, scikit-learn and numba) equals the
recorded fingerprint. The same holds for the decisions of experts for classes, which depend on predictions.

`python -m tests.golden.write runs workbooks` records them again after an intended change.
"""

import numpy as np
import pytest
from tests.golden import decisions, records
from tests.golden.platforms import fingerprint

NUMBERS = "predict", "prediction", "uncertainty"
RUNS, WORKBOOKS = records.read("runs"), records.read("workbooks")
SAME_PLATFORM = fingerprint() == WORKBOOKS["platform"]


@pytest.fixture(scope="module")
def runs():
    """Return the decisions of all runs."""
    return decisions.runs()


@pytest.fixture(scope="module")
def workbooks():
    """Return the steps of all workbooks."""
    return decisions.workbooks()["steps"]


def assert_same(result, expected, name):
    """Compare decisions exactly, and numbers to six digits, as far as the platform allows."""
    if "experts, classes" in name and not SAME_PLATFORM:
        return
    for key in set(expected) - {*NUMBERS, "digest"}:
        assert result[key] == expected[key], (name, key)
    if "experts" in name and not SAME_PLATFORM:
        return
    for key in set(expected) & set(NUMBERS):
        np.testing.assert_allclose(result[key], expected[key], rtol=2e-6, atol=1e-9, err_msg=f"{name} {key}")


def test_every_rule_and_model_has_a_record(runs, workbooks):
    assert set(runs) == set(RUNS)
    assert set(workbooks) == set(WORKBOOKS["steps"])


@pytest.mark.parametrize("name", RUNS)
def test_run_makes_the_recorded_decisions(runs, name):
    assert_same(runs[name], RUNS[name], name)


@pytest.mark.parametrize("name", WORKBOOKS["steps"])
def test_workbook_makes_the_recorded_decisions(workbooks, name):
    for result, expected in zip(workbooks[name], WORKBOOKS["steps"][name], strict=True):
        assert_same(result, expected, f"{name}, {expected['operation']}")


@pytest.mark.parametrize("name", WORKBOOKS["steps"])
def test_workbook_has_the_recorded_digests(workbooks, name):
    expected = {step["operation"]: step["digest"] for step in WORKBOOKS["steps"][name]}
    result = {step["operation"]: step["digest"] for step in workbooks[name]}
    assert result["undo"] == result["tell"]
    assert result["new"] == expected["new"]
    if SAME_PLATFORM:
        assert result == expected
