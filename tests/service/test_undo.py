"""A label that is removed and sent again counts for the error as if it had never been removed."""

import numpy as np
import pytest
from sqlalchemy import select, update
from tests.service.conftest import opened

from qufur.pending import decisions, purchase_terms
from qufur.service.config import StreamConfig, config_from_workbook
from qufur.service.examples import numbered
from qufur.service.rebuild import from_start, replay_events
from qufur.service.service import Service
from qufur.service.snapshots import STATE
from qufur.service.state_files import export, read, rows_of
from qufur.service.store import schema
from qufur.service.store.events import SIZE, decode, digest_of, encode
from qufur.service.verification import verify
from qufur.storage import container

X = np.random.default_rng(4).normal(size=(200, 2))
HARD = np.random.default_rng(5).random(200) < 0.3
KINDS = {
    "ridge": {"model": "ridge", "label_range": (-9.0, 9.0), "rule": "uniform"},
    "experts": {"model": "experts"},
    "classes": {"model": "experts", "classes": ["no", "yes"]},
}
pytestmark = pytest.mark.usefixtures("few_trees")


def label(kind, id, *, wrong=False):
    place = int(id)
    value = float(X[place, 0] + (5.0 if HARD[place] else 0.1) * X[place, 1])
    if kind == "classes":
        return float((value > 0) != wrong)
    return 0.0 if wrong else value


def correct(service, kind, ids, how):
    """Replace wrong labels by right ones, directly or after removing them."""
    for id in ids:
        if how == "undone":
            service.remove_label("s", id, "me")
        right = {id: label(kind, id)}
        service.tell("s", right, "me", replace=how == "replaced", accept_outliers=True)


def work(service, kind, how):
    """Send rows and queried labels; unless `how` is "plain", labels of hard rows are wrong at first."""
    service.create(StreamConfig(name="s", dim=2, budget="50%", seed=3, **KINDS[kind]), "me")
    for start in range(0, 200, 25):
        ids = [str(place) for place in range(start, start + 25)]
        wanted = [one.id for one in service.ask("s", numbered(ids, X[start : start + 25]), "me") if one.query]
        wrong = [id for id in wanted if how != "plain" and HARD[int(id)]]
        labels = {id: label(kind, id, wrong=id in wrong) for id in wanted}
        service.tell("s", labels, "me", replace=False, accept_outliers=True)
        correct(service, kind, wrong, how)
        service.commit()
    return service.stream("s")


@pytest.fixture
def services(tmp_path):
    """Function that creates a service with a new store."""
    stores = []

    def make(name):
        stores.append(opened(tmp_path, name))
        return Service(stores[-1])

    yield make
    for store in stores:
        store.close()


def terms_of(stream):
    """Return the terms of the closed queries of a stream, by id."""
    queries = stream.workbook.closed.values()
    terms = np.column_stack([decisions(queries), purchase_terms(queries)])
    return dict(zip(stream.workbook.closed, terms.tolist(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_error_and_intervals_after_undo_are_those_of_a_replaced_label(services, kind):
    found, expected = (work(services(how), kind, how).workbook.learner for how in ("undone", "replaced"))
    assert found.ledger.answered == expected.ledger.answered > 50
    assert (found.ledger.retracted, found.spent) == (0, expected.spent)
    if kind == "ridge":  # the decisions of other models depend on the order of labels
        reports = found.report(), expected.report()
        assert reports[0].loss == pytest.approx(reports[1].loss)
        assert reports[0].interval == pytest.approx(reports[1].interval)
        assert found.ledger.likely_error(0.9) == pytest.approx(expected.ledger.likely_error(0.9))


@pytest.mark.parametrize("kind", KINDS)
def test_terms_outlast_restarts_and_replay(services, kind):
    service = services("one.db")
    stream = work(service, kind, "undone")
    waiting = list(stream.workbook.labels)[:3]
    for id in waiting:
        service.remove_label("s", id, "me")
    service.decline("s", waiting[0], "me")
    service.commit()
    service.save_snapshots(all_changed=True)
    replayed = from_start(service.store, 1)
    replay_events(replayed, service.store)
    restarted = Service(service.store).stream("s")
    assert list(stream.workbook.closed) == waiting
    for other in (replayed, restarted):
        assert terms_of(other) == terms_of(stream)
        assert other.digest() == stream.digest()
    answered = stream.workbook.learner.ledger.answered
    again = Service(service.store)
    again.tell("s", {waiting[1]: 1.0, waiting[2]: 0.0}, "me", replace=False, accept_outliers=True)
    ledger = again.stream("s").workbook.learner.ledger
    assert (ledger.answered, ledger.retracted) == (answered + 2, 1)
    assert list(again.stream("s").workbook.closed) == waiting[:1]


def test_declined_row_takes_no_label_and_its_terms_go_into_the_state_file(services, tmp_path):
    service = services("one.db")
    workbook = work(service, "ridge", "plain").workbook
    told = next(iter(workbook.labels))
    spent, terms = workbook.learner.spent, workbook.labels[told][1:4]
    service.remove_label("s", told, "me")
    service.decline("s", told, "me")
    assert workbook.learner.spent == spent, "the label was paid for"
    with pytest.raises(Exception, match="was not asked for"):
        service.tell("s", {told: 0.0}, "me", replace=True, accept_outliers=True)
    service.commit()
    export(service.store, "s", tmp_path / "s.qufur")
    other = services("two.db")
    work_so_far = read(tmp_path / "s.qufur")
    config = config_from_workbook("t", work_so_far)
    stream = other.import_workbook(config, work_so_far, rows_of(work_so_far, config), "me")
    assert decisions([stream.workbook.closed[told]])[0].tolist() == list(terms)


def test_half_width_of_intervals_follows_a_replaced_label(services):
    service = services("one.db")
    stream = work(service, "ridge", "plain")
    half_width = stream.workbook.learner.ledger.likely_error(0.9)
    low, high = service.ask("s", numbered(["a"], X[:1]), "me")[0].interval
    assert (high - low) / 2 == pytest.approx(half_width)
    labels = {id: stream.workbook.labels.label(id) + 3.0 for id in stream.workbook.labels}
    service.tell("s", labels, "me", replace=True, accept_outliers=True)
    wider = stream.workbook.learner.ledger.likely_error(0.9)
    low, high = service.ask("s", numbered(["b"], X[:1]), "me")[0].interval
    assert (high - low) / 2 == pytest.approx(wider) != pytest.approx(half_width)


def as_version_0_1_0(store):
    """Rewrite the snapshot without the terms of closed queries."""
    with store.writing() as connection:
        where = schema.snapshots.c.seq > 0
        body = bytes(connection.execute(select(schema.snapshots.c.body).where(where)).scalar_one())
        values = decode(body[SIZE:])
        header, tensors = container.unpack(values["workbook"], STATE)
        del values["terms"], header["workbook"]["closed"], tensors["workbook.closed"]
        body = encode(values | {"workbook": container.pack((header, tensors))})
        connection.execute(update(schema.snapshots).where(where).values(body=digest_of(body) + body))


@pytest.mark.parametrize("undoes", [True, False])
def test_snapshot_without_terms_is_ignored_when_the_log_has_them(services, undoes, caplog):
    service = services("one.db")
    stream = work(service, "ridge", "undone" if undoes else "plain")
    if undoes:
        service.remove_label("s", next(iter(stream.workbook.labels)), "me")
        service.commit()
    service.save_snapshots(all_changed=True)
    as_version_0_1_0(service.store)
    restarted = Service(service.store).stream("s")
    assert ("lacks the terms" in caplog.text) == undoes
    assert restarted.digest() == stream.digest()
    assert terms_of(restarted) == terms_of(stream)
    assert [one.remarks for one in verify(service.store)] == [[]]
