"""Repeated power cuts under a working service; a witness checks its guarantees after each restart."""

import itertools
import random
from contextlib import contextmanager

import pytest
from tests.service import apsw_driver
from tests.service.clients import DirectClient, RejectedError
from tests.service.power import Disk
from tests.service.witness import NUMBERS, Witness

from qufur.service.store import Store, StoreError

CUTS_PER_STORE = 10
CHECKPOINT_BYTES = 30 * 4096
"""Size of the write-ahead log that triggers a checkpoint: small, so that cuts also hit checkpoints."""
_names = itertools.count()


def new_disk(seed):
    """Return a disk with a unique name."""
    return Disk(f"disk{next(_names)}", seed)


def cut_power(folder, cuts):
    """Cut the power of one store after another; return the number of acknowledged requests."""
    return sum(
        cut_repeatedly(folder / f"{number}.db", CUTS_PER_STORE, random.Random(number))
        for number in range(cuts // CUTS_PER_STORE)
    )


def cut_repeatedly(path, cuts, draws):
    disk, witness = new_disk(draws.random()), Witness(("numbers",))
    for _ in range(cuts):
        disk.left = draws.choice([draws.randint(0, 20), draws.randint(0, 400)])
        work_until_cut(disk, path, witness, draws)
        disk.restore_power()
        if draws.random() < 0.5:  # the mark is not synced, so it may be missing
            path.with_name(f"{path.name}.mark").unlink(missing_ok=True)
        with powered(disk, path) as client:
            witness.check(client, client.store, draws)
    with powered(disk, path) as client:
        witness.check(client, client.store, draws, everything=True)
    return len(witness.answers) + len(witness.labels) + len(witness.declined)


def work_until_cut(disk, path, witness, draws):
    try:
        with powered(disk, path) as client:
            while True:
                witness.step(client, draws)
    except RejectedError as error:
        assert error.status == 503, error
    except StoreError:
        pass


@contextmanager
def powered(disk, path):
    """Open a store on this disk and create its stream."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qufur.service.store.integrity.CHECKPOINT_BYTES", CHECKPOINT_BYTES)
        client = DirectClient(Store(f"sqlite:///{path}", module=apsw_driver.on(disk.name)))
        try:
            client.create(NUMBERS)
            yield client
        finally:
            client.close()
