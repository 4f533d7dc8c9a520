"""A service at work on a disk whose power is cut again and again, judged each time it is back."""

import itertools
import random
from contextlib import contextmanager

import pytest
from tests.service import apsw_driver
from tests.service.doors import Direct, RefusedError
from tests.service.power import Disk
from tests.service.witness import NUMBERS, Witness

from qufur.service.store import Store, StoreError

CUTS_OF_A_STORE = 10
CHECKPOINT_BYTES = 30 * 4096
"""Bytes in the log after which they go to the database file: few, so that power is cut in checkpoints too."""
_names = itertools.count()


def new_disk(seed):
    return Disk(f"disk{next(_names)}", seed)


def cut_power(folder, cuts):
    """Cut the power of one store after the other; return how many answers were acknowledged."""
    return sum(
        cut_again_and_again(folder / f"{number}.db", CUTS_OF_A_STORE, random.Random(number))
        for number in range(cuts // CUTS_OF_A_STORE)
    )


def cut_again_and_again(path, cuts, draws):
    disk, witness = new_disk(draws.random()), Witness(("numbers",))
    for _ in range(cuts):
        disk.left = draws.choice([draws.randint(0, 20), draws.randint(0, 400)])
        work_until_cut(disk, path, witness, draws)
        disk.lose()
        if draws.random() < 0.5:  # what is not synced may survive
            path.with_name(f"{path.name}.mark").unlink(missing_ok=True)
        with powered(disk, path) as door:
            witness.judge(door, door.store, draws)
    with powered(disk, path) as door:
        witness.judge(door, door.store, draws, everything=True)
    return len(witness.answers) + len(witness.labels) + len(witness.declined)


def work_until_cut(disk, path, witness, draws):
    try:
        with powered(disk, path) as door:
            while True:
                witness.step(door, draws)
    except RefusedError as error:
        assert error.status == 503, error
    except StoreError:
        pass


@contextmanager
def powered(disk, path):
    """Open the store, with its stream."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qufur.service.store_file.CHECKPOINT_BYTES", CHECKPOINT_BYTES)
        door = Direct(Store(f"sqlite:///{path}", module=apsw_driver.on(disk.name)))
        try:
            door.create(NUMBERS)
            yield door
        finally:
            door.close()
