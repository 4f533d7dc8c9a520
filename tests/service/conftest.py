"""A service in a thread, and streams that are new."""

import itertools
import time
from dataclasses import dataclass, field

import httpx
import pytest
from tests.cli.test_cli import qufur
from tests.service.postgres import postgres  # noqa: F401
from tests.service.process import start_server  # noqa: F401

from qufur.service.app import create_app
from qufur.service.background import serving
from qufur.service.limits import Limits
from qufur.service.store import Store

RIDGE = {"dim": 2, "model": "ridge", "label_range": [-1, 1], "budget": "100%"}
"""A stream that costs little to have, and asks for every label at first."""
numbers = itertools.count(1)


@dataclass
class Server:
    """A service that runs, and what tests look at behind its back."""

    url: str
    store: Store
    app: object
    http: httpx.Client = field(repr=False)

    def stream(self, **description):
        """Create a stream of a name of its own, by default a small one of numbers, and return the name."""
        name = f"stream-{next(numbers)}"
        body = {"name": name, **({} if {"dim", "columns"} & set(description) else RIDGE), **description}
        answer = self.http.post("/v1/streams", json=body)
        assert answer.status_code == 201, answer.text
        return name

    def digest(self, name):
        """Return the digest of a stream, with the number of its events."""
        state = self.http.get(f"/v1/streams/{name}", params={"digest": "true"}).json()
        return state["digest"], state["events"]

    def settle(self):
        """Wait until no expert is to be fitted: fits come when they are ready, as events."""

        def is_done(service):
            return all(stream.book.learner.due_fit() is None for stream in service.loaded.values())

        while not self.app.state.writer.call(is_done):
            time.sleep(0.01)


@pytest.fixture(scope="session", autouse=True)
def small_bundles():
    """Let snapshots have bundles of ids wherever there are some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qufur.service.packing.BUNDLE", 7)
        yield


def opened(folder, name="labels.db", **options):
    """Return a store in a folder."""
    return Store(f"sqlite:///{folder / name}", **options)


class running:
    """Runs a service over a store for a while."""

    def __init__(self, store, limits=None, lines=None, **headers):
        self.store, self.app = store, create_app(store, limits, lines)
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
    """A service without keys, for the tests of a file."""
    with running(opened(tmp_path_factory.mktemp("store")), Limits(body=2**20, batch=1000)) as found:
        yield found


@pytest.fixture
def stream(server):
    """What creates a stream of its own name."""
    return server.stream


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """What runs a command in a folder of its own and returns its exit code and output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = qufur(monkeypatch, *arguments)
        text = capsys.readouterr()
        assert "Traceback" not in text.err
        return code, text.out + text.err

    return run
