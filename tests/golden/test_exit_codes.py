"""Calls of the command line end with the recorded exit codes, and errors are one line.

`python -m tests.golden.write exit_codes` records them again after an intended change.
"""

import pytest
from tests.golden import calls, records


@pytest.fixture(scope="module")
def results():
    """Return the results of all calls: later calls need the files that earlier calls wrote."""
    return calls.results()


def test_calls_end_with_the_recorded_exit_codes(results):
    assert calls.exit_codes(results) == records.read("exit_codes")


def test_wrong_calls_print_one_line_that_begins_with_the_program_name(results):
    wrong = {line: result for line, result in results.items() if result.code == 2}
    assert len(wrong) > 25
    for line, result in wrong.items():
        assert result.out == "", line
        assert result.err.startswith("qufur: "), line
        assert (result.err.count("\n"), result.err[-1]) == (1, "\n"), line


def test_good_calls_print_no_errors(results):
    assert not {line: result.err for line, result in results.items() if result.code != 2 and result.err}
