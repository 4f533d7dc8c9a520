"""Kills of a server under load by eight clients: no acknowledged request is lost or duplicated."""

import random
import threading
import time

from tests.service.clients import HttpClient
from tests.service.process import free_port, kill
from tests.service.witness import NUMBERS, RECORDS, Witness
from tests.soak import cases

from qufur.service.store import Store

CLIENTS = 8
KILLS_PER_STORE = 20
"""Kills before a new store is used, so that the log to check stays short."""


def test_acknowledged_requests_survive_a_kill(tmp_path, few_trees, start_server):
    kills, acknowledged = cases(200, 20), 0
    for number in range(kills // KILLS_PER_STORE):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        acknowledged += kill_repeatedly(start_server, url, KILLS_PER_STORE, random.Random(number))
    print(f"{kills} kills under load by {CLIENTS} clients: {acknowledged} answers, 0 lost, 0 duplicated")


def test_acknowledged_requests_survive_a_kill_on_postgresql(postgres, few_trees, start_server):
    kills = cases(50, 3)
    acknowledged = kill_repeatedly(start_server, postgres.database(), kills, random.Random(0))
    print(f"{kills} kills on PostgreSQL: {acknowledged} answers, 0 lost, 0 duplicated")


def kill_repeatedly(start, url, kills, draws):
    """Return the number of acknowledged answers, labels and declined rows."""
    port, witness = free_port(), Witness(("numbers", "numbers", "numbers", "records"))
    pid = start(url, port)
    client = HttpClient(port)
    for config in (NUMBERS, RECORDS):
        client.create(config)
    client.close()
    for _ in range(kills):
        before = len(witness.answers)
        load = [
            threading.Thread(target=run_client, args=(witness, port, draws.random())) for _ in range(CLIENTS)
        ]
        for thread in load:
            thread.start()
        while len(witness.answers) == before:  # on a busy machine the clients may start late
            time.sleep(0.001)
        time.sleep(draws.uniform(0.005, 0.3))
        kill(pid)
        for thread in load:
            thread.join()
        pid = start(url, port)
        check(witness, url, port, draws)
    check(witness, url, port, draws, everything=True)
    kill(pid)
    return len(witness.answers) + len(witness.labels) + len(witness.declined)


def run_client(witness, port, seed):
    witness.work(HttpClient(port), random.Random(seed), lambda: True)


def check(witness, url, port, draws, **settings):
    client, store = HttpClient(port), Store(url, writing=False)
    try:
        witness.check(client, store, draws, **settings)
    finally:
        client.close()
        store.close()
