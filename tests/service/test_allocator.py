"""What was free is given back to the system, where the C library can do that."""

import os
from pathlib import Path

import pytest

from qufur.service import allocator


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(allocator._trim is None, reason="no glibc")
def test_what_lies_below_something_in_use_is_given_back():
    much = [b"x" * 50_000 for _ in range(1000)]
    few = much[99::100]
    much.clear()
    before = resident()
    allocator.give_back()
    assert resident() < before - 40e6
    assert len(few) == 10


def test_without_glibc_nothing_happens(monkeypatch):
    monkeypatch.setattr(allocator, "_trim", None)
    allocator.give_back()
    monkeypatch.setattr("sys.platform", "darwin")
    assert allocator._found() is None
