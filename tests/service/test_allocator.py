"""Memory that is returned to the system, if the C library can do that."""

import os
from pathlib import Path

import pytest

from qufur.service import snapshots


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(snapshots._trim is None, reason="no glibc")
def test_trim_memory_returns_pages_below_objects_in_use():
    much = [b"x" * 50_000 for _ in range(1000)]
    few = much[99::100]
    much.clear()
    before = resident()
    snapshots.trim_memory()
    assert resident() < before - 40e6
    assert len(few) == 10


def test_trim_memory_does_nothing_without_glibc(monkeypatch):
    monkeypatch.setattr(snapshots, "_trim", None)
    snapshots.trim_memory()
    monkeypatch.setattr("sys.platform", "darwin")
    assert snapshots._load_malloc_trim() is None
