"""Imports complete in an interrupted task."""

import _thread
import threading
import time

import pytest

from qufur.cluster import blocks


def test_interrupted_import_of_polars_completes(monkeypatch):
    def slow(name):
        threading.Timer(0.05, _thread.interrupt_main).start()
        time.sleep(0.3)
        imported.append(name)

    imported = []
    monkeypatch.setattr(blocks, "import_module", slow)
    blocks.polars.cache_clear()
    with pytest.raises(KeyboardInterrupt):
        blocks.polars()
    assert imported == ["polars"]
    monkeypatch.undo()
    assert blocks.polars().DataFrame is not None
