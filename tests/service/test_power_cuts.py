"""Power cuts at any write or sync: acknowledged requests survive."""

import pytest
from tests.service import apsw_driver
from tests.service.cuts import cut_power
from tests.service.witness import GuaranteeError
from tests.soak import cases

from qufur.service.store.events import DamagedError


@pytest.fixture(autouse=True)
def snapshots_all_the_time(monkeypatch):
    monkeypatch.setattr("qufur.service.snapshots.SECONDS", 0.005)
    monkeypatch.setattr("qufur.service.snapshots.SHARE", 0.5)


def test_acknowledged_requests_survive_power_cuts(tmp_path):
    cuts = cases(500, 50)
    print(f"{cuts} power cuts: {cut_power(tmp_path, cuts)} answers, 0 lost, 0 duplicated")


def test_store_that_syncs_too_rarely_is_detected(tmp_path, monkeypatch):
    execute = apsw_driver.Connection.execute

    def careless(self, statement, parameters=()):
        return execute(self, statement.replace("synchronous=FULL", "synchronous=NORMAL"), parameters)

    monkeypatch.setattr(apsw_driver.Connection, "execute", careless)
    with pytest.raises((GuaranteeError, DamagedError), match=r"lost|and then|gone|missing"):
        cut_power(tmp_path, 200)
