"""A server killed at any moment, under load by eight clients: nothing acknowledged is lost or doubled."""

import random
import threading
import time

from tests.service.doors import Http
from tests.service.process import free_port, kill
from tests.service.witness import NUMBERS, RECORDS, Witness
from tests.soak import cases

from qufur.service.store import Store

CLIENTS = 8
KILLS_OF_A_STORE = 20
"""After so many kills work goes on with another store, so that the judge does not have to read ever more."""


def test_nothing_acknowledged_is_lost_when_killed(tmp_path, few_trees, start_server):
    kills, told = cases(200, 20), 0
    for number in range(kills // KILLS_OF_A_STORE):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        told += kill_again_and_again(start_server, url, KILLS_OF_A_STORE, random.Random(number))
    print(f"{kills} kills under load by {CLIENTS} clients: {told} answers, 0 lost, 0 doubled")


def test_nothing_acknowledged_is_lost_on_postgresql(postgres, few_trees, start_server):
    kills = cases(50, 3)
    told = kill_again_and_again(start_server, postgres.database(), kills, random.Random(0))
    print(f"{kills} kills on PostgreSQL: {told} answers, 0 lost, 0 doubled")


def kill_again_and_again(start, url, kills, draws):
    """Return how many answers, labels and refusals to label were acknowledged."""
    port, witness = free_port(), Witness(("numbers", "numbers", "numbers", "records"))
    pid = start(url, port)
    door = Http(port)
    for description in (NUMBERS, RECORDS):
        door.create(description)
    door.close()
    for _ in range(kills):
        before = len(witness.answers)
        load = [threading.Thread(target=client, args=(witness, port, draws.random())) for _ in range(CLIENTS)]
        for thread in load:
            thread.start()
        while len(witness.answers) == before:  # a busy machine may need longer than that to begin
            time.sleep(0.001)
        time.sleep(draws.uniform(0.005, 0.3))
        kill(pid)
        for thread in load:
            thread.join()
        pid = start(url, port)
        judge(witness, url, port, draws)
    judge(witness, url, port, draws, everything=True)
    kill(pid)
    return len(witness.answers) + len(witness.labels) + len(witness.declined)


def client(witness, port, seed):
    witness.work(Http(port), random.Random(seed), lambda: True)


def judge(witness, url, port, draws, **settings):
    door, store = Http(port), Store(url, writing=False)
    try:
        witness.judge(door, store, draws, **settings)
    finally:
        door.close()
        store.close()
