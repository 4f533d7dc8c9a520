"""Labelled rows that are read from the log: the results equal those with rows in memory."""

import numpy as np
import pytest
from tests.service.conftest import opened

from qufur.errors import InvalidError
from qufur.service import rebuild
from qufur.service.config import StreamConfig, config_from_workbook
from qufur.service.erasure import erase
from qufur.service.examples import Example, numbered, read_examples
from qufur.service.rebuild import from_start, replay_events
from qufur.service.service import Service
from qufur.service.snapshots import encode_snapshot
from qufur.service.state_files import export, read
from qufur.service.store import StoreError
from qufur.workbook import Workbook

X = np.random.default_rng(4).normal(size=(60, 3))
RIDGE = {"dim": 3, "model": "ridge", "label_range": (-9.0, 9.0), "budget": "60%"}
EXPERTS = {"columns": {"a": "number", "sky": "category"}, "budget": "60%", "label_range": (-9.0, 9.0)}
KINDS = pytest.mark.parametrize("kind", [RIDGE, EXPERTS], ids=["numbers", "records"])


def rows_of(config, places, letter="r"):
    """Return examples; records sometimes have a new category or a missing cell."""
    ids = [f"{letter}{place}" for place in places]
    if config.dim is not None:
        return numbered(ids, X[places])
    records = [
        {"a": None if place % 13 == 12 else float(X[place, 0]), "sky": f"c{place // 9}"} for place in places
    ]
    return read_examples(config, [Example(id, record=one) for id, one in zip(ids, records, strict=True)])


def tell(service, ids, shift=0.0, *, replace=False):
    labels = {id: float(X[int(id[1:]), 0]) + shift for id in ids}
    service.tell("s", labels, "me", replace=replace, accept_outliers=True)


def work(service, config):
    """Run all operations that need labelled rows, also rows that are not in the store yet."""
    service.create(config, "me")
    said, digests = [], []
    for start in range(0, 60, 10):
        answers = service.ask("s", rows_of(config, range(start, start + 10)), "me")
        said += answers
        wanted = [one.id for one in answers if one.query]
        tell(service, wanted)
        tell(service, wanted[1:3], 0.5, replace=True)
        if start == 20:
            service.remove_label("s", wanted[0], "me")
            service.remove_label("s", said[0].id, "me")
            tell(service, [wanted[0]])
        digests.append(service.stream("s").digest())
        service.commit()
        digests.append(service.stream("s").digest())
    service.learn("s", rows_of(config, [0], "free"), [1.0], "me")
    return said, digests


@pytest.fixture
def done(tmp_path, monkeypatch):
    """Function that runs `work` on a new store, with this many bytes for rows in memory."""
    stores = []

    def do(kind, room, name):
        monkeypatch.setattr(rebuild, "MAX_ROW_BYTES", room)
        stores.append(opened(tmp_path, name))
        service = Service(stores[-1])
        return service, work(service, StreamConfig(name="s", **kind))

    yield do
    for store in stores:
        store.close()


@KINDS
def test_offloaded_rows_give_the_answers_and_digests_of_rows_in_memory(done, kind, tmp_path):
    (here, expected), (there, found) = done(kind, 10**6, "here.db"), done(kind, 100, "there.db")
    told = [service.stream("s").workbook.labels for service in (here, there)]
    assert len(told[0].cached_rows) == len(told[0]) > 20
    assert len(told[1].cached_rows) < 5
    assert found == expected
    for service in (here, there):
        service.commit()
        export(service.store, "s", tmp_path / "s.qufur")
        rows = Workbook.load(tmp_path / "s.qufur").labels.rows
        assert (rows == told[0].rows).all()


@KINDS
@pytest.mark.parametrize("room", [0, 100])
def test_offloaded_rows_survive_a_restart(done, kind, room):
    service, (_, digests) = done(kind, room, "one.db")
    service.commit()
    digest = service.stream("s").digest()
    assert digest not in digests[:-1]
    replayed = from_start(service.store, 1)
    replay_events(replayed, service.store)
    assert replayed.digest() == digest
    assert len(replayed.workbook.labels.cached_rows) < 5
    service.save_snapshots(all_changed=True)
    again = Service(service.store)
    assert again.stream("s").digest() == digest
    assert len(again.stream("s").workbook.labels.cached_rows) < 5
    wanted = list(again.stream("s").workbook.labels)[3]
    for one in (service, again):
        one.stream("s").remove_label(wanted, "me")
    assert service.stream("s").digest() == again.stream("s").digest() != digest


def test_snapshots_omit_offloaded_rows(done, monkeypatch):
    service, _ = done(RIDGE, 0, "one.db")
    service.commit()
    without, labels = len(encode_snapshot(service.stream("s")).body), len(service.stream("s").workbook.labels)
    with pytest.raises(InvalidError, match="as many as labels"):
        Workbook.from_content(service.stream("s").workbook.content(whole=False))
    monkeypatch.setattr(rebuild, "MAX_ROW_BYTES", 10**6)
    service.roll_back()
    assert len(encode_snapshot(service.stream("s")).body) - without >= labels * 4 * 8


def test_offloaded_rows_exclude_erased_rows(done):
    service, _ = done(RIDGE, 0, "one.db")
    first = next(iter(service.stream("s").workbook.labels))
    erase(service, "s", [first], "me")
    assert first not in service.stream("s").workbook.labels
    assert len(service.stream("s").workbook.labels.rows) == len(service.stream("s").workbook.labels)


def test_offloaded_row_that_is_missing_raises_store_error(done):
    service, _ = done(RIDGE, 0, "one.db")
    service.stream("s").workbook.labels.add(["r99"], np.zeros((1, 4)), np.zeros((1, 4)))
    with pytest.raises(StoreError, match="missing in the log"):
        service.stream("s").digest()


@KINDS
def test_imported_rows_stay_in_memory(done, kind, tmp_path):
    service, _ = done(kind, 0, "one.db")
    service.commit()
    export(service.store, "s", tmp_path / "s.qufur")
    workbook = read(tmp_path / "s.qufur")
    service.import_workbook(config_from_workbook("t", workbook), workbook, {}, "me")
    labels = dict.fromkeys(list(workbook.labels)[:2], 2.5)
    service.tell("t", labels, "me", replace=True, accept_outliers=True)
    service.commit()
    digest = service.stream("t").digest()
    for last in (False, True):
        service.save_snapshots(all_changed=last)
        service.roll_back()
        assert service.stream("t").digest() == digest
