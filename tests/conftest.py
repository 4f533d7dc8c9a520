"""What tests of several rooms share."""

import gc
import os
import signal

import pytest
from tests.pictures import without_pictures

# Before NumPy and scikit-learn are loaded: threads that wait for one another take the cores of other workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A run in the background ignores this signal, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """Let what was imported and collected be no garbage to look for: it stays."""
    gc.freeze()


@pytest.fixture
def few_trees(monkeypatch):
    """Let `Experts` grow few trees, for tests that try it in many ways and do not care what it says."""
    monkeypatch.setattr("qufur.models.ensemble.experts.TREES", 3)


@pytest.fixture
def no_pictures(monkeypatch):
    """Let figures be drawn and not written."""
    monkeypatch.setattr("qufur.figures.style.save", without_pictures)
