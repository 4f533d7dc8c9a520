"""Power cut at any write or sync: what was acknowledged is there when it is back."""

import pytest
from tests.service import apsw_driver
from tests.service.cuts import cut_power
from tests.service.witness import BrokenPromiseError
from tests.soak import cases

from qufur.service.events import DamagedError


@pytest.fixture(autouse=True)
def snapshots_all_the_time(monkeypatch):
    monkeypatch.setattr("qufur.service.snapshots.SECONDS", 0.005)
    monkeypatch.setattr("qufur.service.snapshots.SHARE", 0.5)


def test_nothing_acknowledged_is_lost_with_the_power(tmp_path):
    cuts = cases(500, 50)
    print(f"{cuts} power cuts: {cut_power(tmp_path, cuts)} answers, 0 lost, 0 doubled")


def test_a_store_that_syncs_too_seldom_is_caught(tmp_path, monkeypatch):
    execute = apsw_driver.Connection.execute

    def careless(self, statement, parameters=()):
        return execute(self, statement.replace("synchronous=FULL", "synchronous=NORMAL"), parameters)

    monkeypatch.setattr(apsw_driver.Connection, "execute", careless)
    with pytest.raises((BrokenPromiseError, DamagedError), match=r"lost|and then|gone|missing"):
        cut_power(tmp_path, 200)
