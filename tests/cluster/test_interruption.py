"""An import goes to its end in a task that is interrupted."""

import _thread
import threading
import time

import pytest

from qufur.cluster import interruption


def test_an_import_goes_to_its_end(monkeypatch):
    def slow(name):
        threading.Timer(0.05, _thread.interrupt_main).start()
        time.sleep(0.3)
        ended.append(name)

    ended = []
    monkeypatch.setattr(interruption, "import_module", slow)
    interruption.polars.cache_clear()
    with pytest.raises(KeyboardInterrupt):
        interruption.polars()
    assert ended == ["polars"]
    monkeypatch.undo()
    assert interruption.polars().DataFrame is not None
