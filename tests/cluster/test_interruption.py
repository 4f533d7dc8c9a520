"""An import goes to its end in a task that is interrupted."""

import _thread
import signal
import threading
import time

import pytest

from qufur.cluster import interruption


@pytest.fixture
def interruptible():
    """A process that is started in the background may not be."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
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
