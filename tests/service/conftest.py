"""Fixtures: a service in a thread, new streams, commands."""

import itertools
import time
from dataclasses import dataclass, field

import httpx
import pytest
from tests.cli.test_cli import qufur
from tests.service.postgres import postgres  # noqa: F401
from tests.service.process import start_server  # noqa: F401

from qufur.service.app import create_app
from qufur.service.http import Limits
from qufur.service.server import serving
from qufur.service.store import Store

RIDGE = {"dim": 2, "model": "ridge", "label_range": [-1, 1], "budget": "100%"}
"""Configuration of a cheap stream that at first queries every label."""
numbers = itertools.count(1)


@dataclass
class Server:
    """Running service, with its internals for tests."""

    url: str
    store: Store
    app: object
    http: httpx.Client = field(repr=False)

    def stream(self, **config):
        """Create a stream with a unique name, by default `RIDGE`, and return the name."""
        name = f"stream-{next(numbers)}"
        body = {"name": name, **({} if {"dim", "columns"} & set(config) else RIDGE), **config}
        answer = self.http.post("/v1/streams", json=body)
        assert answer.status_code == 201, answer.text
        return name

    def digest(self, name):
        """Return the digest and the number of events of a stream."""
        state = self.http.get(f"/v1/streams/{name}", params={"digest": "true"}).json()
        return state["digest"], state["events"]

    def settle(self):
        """Wait until no background fit is due or running."""

        def is_done(service):
            fits = [stream.workbook.learner.background_fits for stream in service.loaded.values()]
            return all(each is None or each.next_job() is None for each in fits)

        while not self.app.state.writer.call(is_done):
            time.sleep(0.01)


@pytest.fixture(scope="session", autouse=True)
def small_bundles():
    """Make bundles small, so that snapshots of short streams have some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qufur.service.snapshots.BUNDLE", 7)
        yield


def opened(folder, name="labels.db", **options):
    """Open a store in a folder."""
    return Store(f"sqlite:///{folder / name}", **options)


class running:
    """Context manager that runs a service on a store."""

    def __init__(self, store, limits=None, log=None, **headers):
        self.store, self.app = store, create_app(store, limits, log)
        self._headers, self._serving = headers, serving(self.app)

    def __enter__(self):
        url = self._serving.__enter__()
        self._http = httpx.Client(base_url=url, headers=self._headers, timeout=60, trust_env=False)
        return Server(url, self.store, self.app, self._http)

    def __exit__(self, *error):
        self._http.close()
        self._serving.__exit__(*error)
        self.store.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Service without keys, shared by the tests of a module."""
    with running(opened(tmp_path_factory.mktemp("store")), Limits(body=2**20, batch=1000)) as running_server:
        yield running_server


@pytest.fixture
def stream(server):
    """Function that creates a stream with a unique name."""
    return server.stream


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Function that runs a command in a temporary folder and returns its exit code and output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = qufur(monkeypatch, *arguments)
        text = capsys.readouterr()
        assert "Traceback" not in text.err
        return code, text.out + text.err

    return run
