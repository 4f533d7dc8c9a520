"""What tests of several rooms share."""

import pytest


@pytest.fixture
def few_trees(monkeypatch):
    """Let `Experts` grow few trees, for tests that try it in many ways and do not care what it says."""
    monkeypatch.setattr("qufur.models.experts.experts.TREES", 3)
