"""Points of the series: recorded between commits, never in the write path of a label."""

import itertools
import time

import numpy as np
import pytest
from tests.service.conftest import RIDGE, opened

from qufur.estimates import timeline
from qufur.service.config import StreamConfig
from qufur.service.examples import numbered
from qufur.service.rebuild import load
from qufur.service.service import Service
from qufur.service.stream import POINT_SPACING
from qufur.service.writer import Tell, Writer

LABELS = 60


@pytest.fixture
def store(tmp_path):
    found = opened(tmp_path)
    yield found
    found.close()


@pytest.fixture
def service(store):
    found = Service(store)
    found.create(StreamConfig(name="s", **RIDGE), "test")
    found.ask("s", numbered([f"r{row}" for row in range(LABELS)], np.ones((LABELS, 2))), "test")
    found.commit()
    return found


def tell(service, *rows):
    labels = {f"r{row}": row / LABELS for row in rows}
    service.tell("s", labels, "test", replace=False, accept_outliers=True)
    service.commit()


def points(stream):
    return stream.workbook.monitor.timeline.points


def numbers_of_labels(stream):
    return [point.labels for point in points(stream)]


def test_label_computes_no_point_until_the_writer_is_idle(service, monkeypatch):
    monkeypatch.setattr(timeline, "point", lambda learner: pytest.fail("a chart in the write path"))
    tell(service, 0)
    monkeypatch.undo()
    assert points(service.stream("s")) == []
    service.record_points()
    assert numbers_of_labels(service.stream("s")) == [1]


def test_writer_records_points_when_no_command_arrives(store, service, monkeypatch):
    monkeypatch.setattr("qufur.service.writer.IDLE_SECONDS", 0.001)
    writer = Writer(service)
    writer.start()
    writer.submit(Tell("s", {"r0": 0.5}, "test")).result(10)
    while not points(service.stream("s")):
        time.sleep(0.001)
    writer.stop()


def test_series_after_a_restart_is_the_series_before_it(store, service):
    for row in range(LABELS):
        tell(service, row)
        if row % 7 == 0 and row < 50:
            service.record_points()
    service.save_snapshots(all_changed=True)
    assert points(load(store, 1)) == points(service.stream("s"))
    # The snapshot recorded the last point.
    assert numbers_of_labels(service.stream("s")) == [1, 8, 15, 22, 29, 36, 43, 50, 60]


def test_killed_server_loses_no_label_and_its_points_are_recomputed(store, service):
    recorded_at_every_label = []
    for row in range(LABELS):
        tell(service, row)
        recorded_at_every_label.append(timeline.point(service.stream("s").workbook.learner))
    digest = service.stream("s").digest()
    again = load(store, 1)  # the process ends before a point or a snapshot
    assert again.digest() == digest
    assert points(service.stream("s")) == []
    due = numbers_of_labels(again)
    assert points(again) == [recorded_at_every_label[labels - 1] for labels in due]
    assert due[:12] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13]
    assert all(POINT_SPACING * a <= b <= POINT_SPACING * a + 1 for a, b in itertools.pairwise(due))


def test_failed_point_rejects_no_label_and_no_restart(store, service, monkeypatch, caplog):
    monkeypatch.setattr(timeline, "point", lambda learner: 1 / 0)
    tell(service, 0)
    service.record_points()
    assert load(store, 1).digest() == service.stream("s").digest()
    assert "A point of the series of stream s could not be computed" in caplog.text
