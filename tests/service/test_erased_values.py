"""Values that only erased examples had are gone from the store, its snapshots, exports and answers."""

import struct
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, text, update
from tests.service.conftest import running
from tests.service.test_erasure import rebuilt

from qufur.service.rebuild import load
from qufur.service.store import Store, schema
from qufur.service.store.events import SIZE, DamagedError, Payload, decode
from qufur.service.store.store import parsed
from qufur.service.verification import verify
from qufur.storage import container

NAME, CITY, ID = "Zoë Q. Onlyone", 'St. "Quote"\\Town', "person-Zoë"
CODE, PAY = 8675309, 98765.4321012
COLUMNS = {"name": "category", "city": "category", "code": "category", "adult": "category", "pay": "number"}
EXPERTS = {"name": "s", "columns": COLUMNS, "budget": "100%"}
ANSWERS = ("", "?digest=true", "/series", "/report", "/model", "/events", "/queue")


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """URL of a new store, for both databases."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres").database()
    (tmp_path / "store").mkdir()
    return f"sqlite:///{tmp_path / 'store' / 'labels.db'}"


def person(place, **cells):
    """Return an example of the person whose rows the tests erase."""
    record = {"name": NAME, "city": CITY, "code": CODE, "adult": True, "pay": PAY}
    return {"id": f"{ID}-{place}", "record": record | cells}


def other(place):
    record = {"name": f"name{place % 3}", "city": "Oslo", "code": place % 2, "pay": float(place)}
    return {"id": f"other-{place}", "record": record}


def send(server, path, body=None, verb="POST"):
    answer = server.http.request(verb, f"/v1/streams/s{path}", json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def ask(server, *examples, label=True):
    """Send examples one by one, and label the queried ones."""
    for example in examples:
        said = send(server, "/examples", example)
        if said["query"] and label:
            send(server, f"/examples/{said['id']}/label", {"label": float(len(said["id"]) % 7)}, "PUT")


def erase(server, *examples):
    return send(server, "/erase", {"ids": [example["id"] for example in examples]})


def needles(value):
    """Return the bytes that a cell may have in a file: as text, or as a number."""
    found = [str(value).encode(), str(value).encode("unicode_escape")]
    return [*found, struct.pack("<d", value), struct.pack(">d", value)] if isinstance(value, float) else found


def opened_content(content):
    """Yield the header and the arrays of a state file, or of the workbook in a snapshot."""
    header, tensors = container.unpack(bytes(content), "the test")
    yield repr(header).encode()
    yield from (array.tobytes() for array in tensors.values())


def everything(address):
    """Yield the content of a store: files, rows of tables, decoded payloads and snapshots."""
    if address.startswith("sqlite"):
        folder = Path(parsed(address).database).parent
        yield from (path.read_bytes() for path in folder.iterdir() if path.is_file())
    store = Store(address, writing=False)
    with store.reading() as connection:
        for table in schema.metadata.sorted_tables:
            for row in connection.execute(select(table)).mappings():
                yield from (cell if isinstance(cell, bytes) else str(cell).encode() for cell in row.values())
        if not address.startswith("sqlite"):
            statistics = "SELECT most_common_vals::text, histogram_bounds::text FROM pg_stats"
            yield repr(connection.execute(text(f"{statistics} WHERE schemaname = 'public'")).all()).encode()
        payloads = [bytes(row.payload) for row in connection.execute(select(schema.events.c.payload))]
        snapshots = select(schema.snapshots.c.body).where(schema.snapshots.c.seq > 0)  # the others hold ids
        bodies = [bytes(row.body) for row in connection.execute(snapshots)]
    for payload in map(Payload.from_bytes, payloads):
        yield repr([payload.values, list(payload.rows())]).encode()
    for body in bodies:
        yield from opened_content(decode(body[SIZE:])["workbook"])
    store.close()


def found_in(haystack, *values):
    """Return the values that occur in the content."""
    joined = b"\n".join(haystack)
    return [value for value in values if any(needle in joined for needle in needles(value))]


def answers(server):
    return [server.http.get(f"/v1/streams/s{path}").content for path in ANSWERS]


def settled_digest(server):
    server.settle()
    return server.digest("s")[0]


SECRETS = NAME, CITY, ID, CODE, PAY


@pytest.mark.parametrize("before", [0, 3, 6], ids=["first", "middle", "last"])
def test_erased_cells_leave_both_stores(address, tmp_path, command, few_trees, before):
    others = [other(place) for place in range(6)]
    shared = person(2, city="Oslo", code=1)
    with running(Store(address)) as server:
        assert server.http.post("/v1/streams", json=EXPERTS).status_code == 201
        ask(server, *others[:before], person(0))
        server.settle()
        ask(server, person(1), shared, *others[before:])
        server.settle()
        server.app.state.writer.call(lambda service: service.save_snapshots(all_changed=True))
        if address.startswith("postgresql"):
            with server.store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("ANALYZE"))
        assert found_in(everything(address), *SECRETS) == list(SECRETS)
        spent, inputs = send(server, "", verb="GET")["spent"], send(server, "/model", verb="GET")["inputs"]
        erase(server, person(0))
        assert found_in(everything(address), *SECRETS) == list(SECRETS)
        erase(server, person(1), shared)
        assert found_in([*everything(address), *answers(server)], *SECRETS) == []
        assert found_in(everything(address), "name0", "name1", "Oslo") == ["name0", "name1", "Oslo"]
        assert send(server, "", verb="GET")["spent"] == spent
        assert send(server, "/model", verb="GET")["inputs"] == inputs
        digest = settled_digest(server)
    assert found_in(everything(address), *SECRETS) == []
    store = Store(address)
    assert load(store, 1).digest() == rebuilt(store).digest() == verify(store)[0].digest == digest
    assert verify(store)[0].remarks == []
    store.close()
    assert command("export", "s", "s.qufur", "--store", address)[0] == 0
    content = (tmp_path / "s.qufur").read_bytes()
    assert found_in([content, *opened_content(content)], *SECRETS) == []

    with running(Store(address)) as server:
        ask(server, person(3), other(20), {"id": "new", "record": {"name": "name9"}})
        server.settle()
        assert send(server, "/model", verb="GET")["inputs"] > inputs
        assert found_in(everything(address), *SECRETS) == list(SECRETS)
        erase(server, person(3))
        assert found_in([*everything(address), *answers(server)], *SECRETS) == []
        digest = settled_digest(server)
    store = Store(address)
    assert rebuilt(store).digest() == verify(store)[0].digest == digest
    store.close()
    assert command("verify", address)[0] == 0


@pytest.fixture
def sqlite(tmp_path):
    (tmp_path / "store").mkdir()
    return f"sqlite:///{tmp_path / 'store' / 'labels.db'}"


def lessons(*examples):
    return [example | {"label": float(place)} for place, example in enumerate(examples)]


def check_replay(address, digest):
    """Check that replay of the log gives this digest."""
    store = Store(address)
    assert rebuilt(store).digest() == verify(store)[0].digest == digest
    store.close()


def test_rows_of_one_request_keep_the_categories_they_share(sqlite, few_trees):
    batch = [person(0), person(1, name="name1"), other(1), other(2)]
    with running(Store(sqlite)) as server:
        server.http.post("/v1/streams", json=EXPERTS)
        send(server, "/examples", batch)
        erase(server, *batch[:2])
        assert found_in(everything(sqlite), *SECRETS) == []
        encoding = load(server.store, 1).workbook.encoding
        assert [name for name in encoding.names if name.startswith("name")] == [
            "name (erased)",
            "name=name1",
            "name=name2",
        ]
        # The erased text becomes a new category; a category that is still used keeps its input.
        ask(server, person(5, city="Oslo"))
        names = load(server.store, 1).workbook.encoding.names
        assert names[: encoding.dim] == encoding.names
        assert names[encoding.dim :] == [f"name={NAME}", f"code={CODE}", "adult=true"]
        digest = settled_digest(server)
    check_replay(sqlite, digest)


def test_free_labels_that_are_all_erased_leave_the_inputs_they_added(sqlite, few_trees):
    with running(Store(sqlite)) as server:
        server.http.post("/v1/streams", json=EXPERTS)
        ask(server, other(0), other(1))
        send(server, "/learn", lessons(person(0), person(1, name="shared")))
        ask(server, other(2) | {"record": other(0)["record"] | {"name": "shared"}})
        server.settle()
        inputs = send(server, "/model", verb="GET")["inputs"]
        erase(server, person(0), person(1))
        assert send(server, "/model", verb="GET")["inputs"] == inputs
        assert found_in([*everything(sqlite), *answers(server)], *SECRETS) == []
        assert found_in(everything(sqlite), "shared") == ["shared"]
        ask(server, other(3))
        digest = settled_digest(server)
    check_replay(sqlite, digest)


def test_erasure_clears_values_that_version_0_1_0_left_in_headers(sqlite, few_trees, monkeypatch):
    with running(Store(sqlite)) as server:
        server.http.post("/v1/streams", json=EXPERTS)
        ask(server, person(0), other(0), label=False)
        send(server, "/learn", lessons(person(1, name=f"{NAME} jr.", city=f"{CITY} East", code=-CODE)))
        with monkeypatch.context() as patch:
            patch.setattr("qufur.service.erasure.Redaction.add", lambda *_: None)
            erase(server, person(0), person(1))
        ask(server, other(1), other(2), other(3), label=False)
        assert found_in(everything(sqlite), NAME, CITY) == [NAME, CITY]
        digest = settled_digest(server)
    check_replay(sqlite, digest)
    with running(Store(sqlite)) as server:
        assert settled_digest(server) == digest
        assert erase(server) == {"erased": 0, "parts": 0}
        assert found_in([*everything(sqlite), *answers(server)], *SECRETS) == []
        digest, events = settled_digest(server), send(server, "", verb="GET")["events"]
        erase(server)  # nothing is left to clear
        assert send(server, "", verb="GET")["events"] == events
    check_replay(sqlite, digest)


@pytest.fixture
def replaced(sqlite, few_trees):
    """Return the address of a store in which the header of event 2 was replaced."""
    with running(Store(sqlite)) as server:
        server.http.post("/v1/streams", json=EXPERTS)
        ask(server, person(0), other(0), label=False)
        erase(server, person(0))
    return sqlite


def stored(store, payload):
    """Replace the payload of event 2."""
    where = schema.events.c.seq == 2
    with store.writing() as connection:
        connection.execute(update(schema.events).where(where).values(payload=payload))


def test_replaced_header_that_no_erasure_records_is_damage(replaced):
    store = Store(replaced)
    payload = Payload.from_bytes(store.event(1, 2).payload)
    forged = payload.with_header(payload.values | {"error": 1.0})
    assert forged.digest() == payload.digest()
    stored(store, forged.to_bytes())
    with pytest.raises(DamagedError, match="event 2: no erasure"):
        verify(store)
    store.close()


def test_replaced_header_with_any_flipped_bit_is_detected(replaced):
    store = Store(replaced, writing=False)
    event = store.event(1, 2)
    store.close()
    assert event.checked_payload().new_header is not None
    draws = np.random.default_rng(0)
    for bit in draws.choice(8 * len(event.payload), 400, replace=False).tolist():
        flipped = bytearray(event.payload)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedError):
            event._replace(payload=bytes(flipped)).checked_payload()


CSV = "when,paid,sky,list,level,far\n" + "".join(
    f'2024-01-{1 + n % 28:02},€ {n % 13}.50,{("fog", "rain")[n % 2]},"[{n}, 5]",{n % 4},0\n'
    for n in range(60)
)


@pytest.mark.parametrize("model", ["experts", "ridge"])
def test_cells_of_every_kind_of_column_leave_an_imported_stream(sqlite, tmp_path, command, few_trees, model):
    (tmp_path / "a.csv").write_text(CSV)
    options = ["--embedding", "list", "--budget", "50%", "--impute"]
    options += ["--label-range", "0", "9"] if model == "ridge" else []
    code, said = command("ask", "a.csv", *options, "--model", model, "--state", "s.qufur", "-o", "want.csv")
    assert code == 0, said
    assert command("import", "s.qufur", "--store", sqlite)[0] == 0
    cells = {"when": "2031-07-19", "paid": "€ 7654.32", "sky": NAME, "list": [4321.0625, PAY]}
    cells |= {"level": 31337.125, "far": 777.0078125}
    secrets = ["2031-07-19", "7654.32", NAME, ID, 4321.0625, PAY, 31337.125, 777.0078125]
    with running(Store(sqlite)) as server:
        ask(server, {"id": ID, "record": cells})
        ask(server, {"id": "b", "record": {"when": "2024-02-03", "paid": "€ 1.50", "sky": "fog", "far": 3.0}})
        server.settle()
        assert found_in(everything(sqlite), *secrets) == secrets
        erase(server, {"id": ID})
        assert found_in([*everything(sqlite), *answers(server)], *secrets) == []
        ask(server, {"id": "c", "record": {"when": "2024-02-03", "sky": "hail", "list": [1, 7], "far": 2.0}})
        digest = settled_digest(server)
    check_replay(sqlite, digest)
    assert command("export", "s", "out.qufur", "--store", sqlite)[0] == 0
    content = (tmp_path / "out.qufur").read_bytes()
    assert found_in([content, *opened_content(content)], *secrets) == []
