"""Saved files of learners, workbooks and the service: how each is built, loaded and continued.

`build` writes a file, and `outcome` loads a copy of it, performs fixed steps and returns the results as JSON
values. `write_files.py` records the outcomes, and `test_files.py` compares today's outcomes with the record.
"""

import csv
import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LinearRegression
from tests.golden import imports
from tests.golden.calls import call

from qufur import Experts, KernelRidge, Learner, QuFUR, Ridge, Steady
from qufur.rules.per_period import PerPeriod

FOLDER = Path(__file__).parent / "files"
RNG = np.random.default_rng(12)
X = (RNG.normal(size=(80, 3)) / 2).round(4)
NUMBERS = np.clip(X @ [0.5, -0.3, 0.4] + 0.05 * RNG.normal(size=80), -1, 1).round(4)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(NUMBERS, [-0.2, 0.2])]


def build(file_type, name, folder):
    """Write a file of one of `FILE_TYPES` to a folder; return its path."""
    path = folder / ("s.db" if file_type == "stores" else "s.qufur")
    if file_type == "learners":
        build_learner(name).save(path)
    elif file_type == "workbooks":
        build_workbook(name, folder)
    else:
        build_store(name, path)
    return path


def stored(file_type, name):
    """Return the path of a compressed file in the repository."""
    return FOLDER / file_type / f"{name}.{'db' if file_type == 'stores' else 'qufur'}.gz"


def outcome(file_type, name, folder):
    """Unpack a file into a folder, continue from it and return the results."""
    path = unpack(stored(file_type, name), folder / ("s.db" if file_type == "stores" else "s.qufur"))
    if file_type == "learners":
        return continue_learner(name, Learner.load(path))
    if file_type == "workbooks":
        return continue_workbook(name, folder)
    mark = FOLDER / file_type / f"{name}.db.mark.gz"
    if mark.exists():
        unpack(mark, folder / "s.db.mark")
    return continue_store(name, path)


def pack(path, target):
    """Compress a file; the same content gives the same bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def unpack(source, path):
    """Write the content of a compressed file to a path."""
    path.write_bytes(gzip.decompress(source.read_bytes()))
    return path


# Learners

LEARNERS = {
    "experts-classes": (Experts(classes=["low", "middle", "high"]), Steady(0.4, burst=6)),
    "experts-label-range-qufur": (Experts(label_range=(-1, 1), seed=2), QuFUR(1.0, budget=40)),
    "experts-with-estimator": (Experts(also=[LinearRegression()]), Steady(30, 80)),
    "kernel-ridge-steady": (KernelRidge(RBF(0.7), regularization=0.1), Steady(30, 80)),
    "ridge-per-period": (Ridge(3, intercept=True), PerPeriod(8, 20)),
}
"""Combinations of which `tests/storage/states` has no file."""


def _labels(name):
    return CLASSES if "classes" in name else NUMBERS


def build_learner(name):
    """Return a learner with learned, pending, retracted and free labels; ids are texts and numbers."""
    learner = Learner(*LEARNERS[name], seed=4)
    y = _labels(name)
    for row in range(45):
        answer = learner.ask(X[row], id=f"row {row}" if row % 3 else None, domain=row // 20)
        if answer.query and row % 4:
            learner.tell(answer.id, y[row])
    for id in learner.outstanding[:1]:
        learner.retract(id)
    learner.learn(X[45:48], y[45:48])
    return learner


def continue_learner(name, learner):
    """Tell pending labels, ask about the remaining rows and predict."""
    y = _labels(name)
    pending = list(learner.outstanding)
    result = {"pending": pending, "predict first": learner.predict(X[:5]).tolist()}
    learner.tell_many(pending, y[: len(pending)])
    answers = []
    for row in range(48, 80):
        answer = learner.ask(X[row], domain=row // 20)
        answers.append(answer)
        if answer.query:
            learner.tell(answer.id, y[row])
    report = learner.report()
    return result | {
        "ids": [answer.id for answer in answers],
        "query": [bool(answer.query) for answer in answers],
        "uncertainty": [float(answer.uncertainty) for answer in answers],
        "probability": [float(answer.probability) for answer in answers],
        "predict": learner.predict(X[:5]).tolist(),
        "interval": [float(end) for end in report.interval],
        "spent": learner.spent,
        "left": learner.left,
    }


# Workbooks

WORKBOOKS = {
    "experts-numbers": "--budget 16 --horizon 60",
    "experts-classes": "--budget 20 --horizon 60 --classes low,middle,high",
    "kernel": "--budget 16 --horizon 60 --model kernel --label-range -1 1 --skip sky",
    "corrected": "--budget 24 --horizon 60 --model ridge --label-range -1 1 --seed 3",
    "learned-first": "--budget 14 --horizon 40",
    "added-column": "--budget 20 --horizon 60",
}
"""Options of `qufur ask` for the first table, where `tests/storage/workbooks` has no such file."""
SKY = np.array(["clear", "fog", "storm"])[np.random.default_rng(3).integers(0, 3, 80)]
FIRST = "--id flight --target delay"


def _write_table(path, rows, *, label=None, depth=False):
    """Write a table of flights as CSV."""
    columns = [
        "flight",
        "wind",
        "sky",
        *(["depth"] if depth else []),
        *(["delay"] if label is not None else []),
    ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            extra = [X[row, 2]] if depth else []
            label_cells = [label[row]] if label is not None else []
            writer.writerow([f"LH{row}", X[row, 0], SKY[row], *extra, *label_cells])


def _write_labels(path, ids, label):
    path.write_text("flight,delay\n" + "".join(f"{id},{label[int(id[2:])]}\n" for id in ids))


def _read(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


def _run(*arguments):
    done = call(list(map(str, arguments)))
    assert done.code == 0, (arguments, done.err)
    return done.out


def build_workbook(name, folder):
    """Leave the state file `s.qufur` in a folder, with learned and pending labels."""
    state, want, labels = folder / "s.qufur", folder / "want.csv", folder / "labels.csv"
    y, options, on_state = _labels(name), f"{FIRST} {WORKBOOKS[name]}".split(), ("--state", state)
    _write_table(folder / "first.csv", range(40))
    if name == "learned-first":
        _write_table(folder / "learn.csv", range(60, 70), label=y)
        _run("learn", folder / "learn.csv", *FIRST.split(), *on_state)
        return
    _run("ask", folder / "first.csv", "-o", want, *options, *on_state)
    pending = imports.outstanding_of_file(state)
    _write_labels(labels, pending[:-3], y)
    _run("tell", labels, *on_state)
    if name == "corrected":
        _write_labels(labels, pending[:2], -y)
        _run("tell", labels, "--replace", *on_state)
        _run("retract", pending[-1], *on_state)
        _run("forget-label", pending[3], *on_state)
        _run("budget", "--json", *on_state)
        _write_labels(labels, pending[-2:-1], y)
        _run("tell", labels, *on_state)
        _run("undo", *on_state)
    if name == "added-column":
        _write_table(folder / "second.csv", range(70, 80), depth=True)
        _run("ask", folder / "second.csv", "-o", want, "--add-column", "depth", "--force", *on_state)


def continue_workbook(name, folder):
    """Tell pending labels, ask about a further table, correct labels, undo a step and predict."""
    state, want, labels = folder / "s.qufur", folder / "more.csv", folder / "labels.csv"
    y, on_state = _labels(name), ("--state", state)
    result = {"digest": imports.digest_of_file(state), "pending": imports.outstanding_of_file(state)}
    _write_table(folder / "later.csv", range(40, 60), depth=name == "added-column")
    start = WORKBOOKS[name].split() if name == "learned-first" else []
    if result["pending"]:
        _write_labels(labels, result["pending"][1:], y)
        _run("tell", labels, *on_state)
    _run("ask", folder / "later.csv", "-o", want, "--force", *start, *on_state)
    result["asked"] = [row[0] for row in _read(want)]
    _write_labels(labels, result["asked"][:4], y)
    _run("tell", labels, *on_state)
    status = json.loads(_run("status", "--json", *on_state))
    result["status"] = {key: status[key] for key in sorted(status) if isinstance(status[key], int)}
    _run("undo", *on_state)
    _run("retract", *result["asked"][:1], *on_state)
    _run("predict", folder / "later.csv", "-o", want, "--force", *on_state)
    predicted = _read(want)
    number = (lambda cell: cell) if "classes" in name else float
    result["predict"] = [number(row[1]) for row in predicted]
    result["predicted ids"] = [row[0] for row in predicted]
    result["final pending"] = imports.outstanding_of_file(state)
    result["final digest"] = imports.digest_of_file(state)
    return result


# Stores of the service

VECTOR = {"dim": 3, "label_range": [-1, 1], "model": "ridge"}
RECORD = {"columns": {"wind": "number", "sky": "category"}}
STORES = {
    "ridge": {**VECTOR, "budget": 24, "horizon": 60},
    "ridge-horizon-added-budget": {**VECTOR, "budget": 20, "horizon": 60, "rule": "steady"},
    "experts-numbers": {"dim": 3, "budget": "40%"},
    "experts-classes": {"dim": 3, "budget": "40%", "classes": ["low", "middle", "high"]},
    "categories": {**RECORD, "budget": "40%"},
    "text-ids": {**VECTOR, "budget": "50%", "rule": "uniform", "seed": 5},
    "removed-labels": {**VECTOR, "budget": "50%", "rule": "steady"},
    "retracted-rows": {**VECTOR, "budget": "50%", "rule": "uniform"},
    "erased-rows": {**RECORD, "budget": "50%"},
    "deleted-stream": {**VECTOR, "budget": "40%", "rule": "steady"},
    "many-snapshots": {**VECTOR, "budget": "40%", "rule": "steady", "seed": 8},
    "classes-log-without-snapshot": {
        "dim": 3,
        "budget": "40%",
        "classes": ["low", "middle", "high"],
        "seed": 9,
    },
    "imported": {},
}
"""How the stream of each store is created; `imported` comes from a state file."""
STREAM = "/v1/streams/flights"


def _id(name, row):
    return f"Zürich/{row} → “A {row}”" if name == "text-ids" else f"r{row}"


def _row_of(name, id):
    return next(row for row in range(80) if _id(name, row) == id)


def _example(name, row):
    if name in {"categories", "erased-rows"}:
        sky = None if row % 9 == 4 else str(SKY[row]) if row % 7 else f"rare {row}"
        return {"record": {"wind": float(X[row, 0]), "sky": sky}}
    if name == "imported":
        return {"record": {"wind": float(X[row, 0]), "sky": str(SKY[row])}}
    return {"x": X[row].tolist()}


def _send(http, verb, path, body=None, **params):
    answer = http.request(verb, path, json=body, params=params)
    assert answer.is_success, (verb, path, answer.text)
    return answer.json()


def _ask(http, name, rows):
    body = [{"id": _id(name, row), **_example(name, row)} for row in rows]
    return _send(http, "POST", f"{STREAM}/examples", body)


def _tell(http, name, ids, **params):
    y = _labels(name)
    body = [{"id": id, "label": y[_row_of(name, id)].item()} for id in ids]
    _send(http, "POST", f"{STREAM}/labels", body, **params)


def _pending(http):
    return [row["id"] for row in _send(http, "GET", f"{STREAM}/queue", limit=1000)["rows"]]


def build_store(name, path):
    """Fill a store with one stream `flights` and close it; experts are fitted in the background."""
    if name == "imported":
        build_workbook("experts-numbers", path.parent)
        _run("import", path.parent / "s.qufur", "--store", f"sqlite:///{path}", "--name", "flights")
        return
    with imports.open_service(path, fits=True) as (http, fits_are_done):
        if name == "deleted-stream":
            _send(http, "POST", "/v1/streams", {"name": "flights", **VECTOR, "budget": "90%"})
            _ask(http, name, range(5))
            _send(http, "DELETE", STREAM)
        _send(http, "POST", "/v1/streams", {"name": "flights", **STORES[name]})
        for start in range(0, 40, 10):
            _ask(http, name, range(start, start + 10))
            _tell(http, name, _pending(http)[:-1])
            while not fits_are_done():
                pass
        _change(http, name)
        while not fits_are_done():
            pass
    if name == "many-snapshots":
        with imports.small_bundles():
            _reopen(name, path)
    if name == "classes-log-without-snapshot":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM snapshots")


def _change(http, name):
    """Do what a store is named for."""
    ids = [_id(name, row) for row in range(40)]
    if name == "ridge-horizon-added-budget":
        _send(http, "POST", f"{STREAM}/budget", {"labels": 7})
    if name == "removed-labels":
        labelled = [id for id in ids if _has_label(http, id)]
        for id in labelled[:4]:
            _send(http, "POST", f"{STREAM}/labels/remove", {"id": id})
        _tell(http, name, labelled[1:2])
        _send(http, "POST", f"{STREAM}/labels", [{"id": labelled[5], "label": 0.125}], replace="true")
    if name == "retracted-rows":
        _ask(http, name, range(70, 80))
        for id in _pending(http)[:2]:
            _send(http, "POST", f"{STREAM}/labels/decline", {"id": id})
        free = [{"id": f"free {row}", "x": X[row].tolist(), "label": float(NUMBERS[row])} for row in (60, 61)]
        _send(http, "POST", f"{STREAM}/learn", free)
    if name == "erased-rows":
        _send(http, "POST", f"{STREAM}/erase", {"ids": ids[7:15:7] + ids[1:4]})


def _has_label(http, id):
    """Return whether a label can be sent a second time, which changes nothing."""
    row = int(id[1:])
    body = [{"id": id, "label": float(NUMBERS[row])}]
    return http.post(f"{STREAM}/labels", json=body).is_success


def _reopen(name, path):
    """Stop and start the service several times, and copy the store while events follow the last snapshot."""
    for row in range(60, 66):
        with imports.open_service(path) as (http, _):
            _ask(http, name, [row])
    copy = path.with_name("copy.db")
    with imports.open_service(path) as (http, _):
        _ask(http, name, range(66, 72))
        _run("backup", f"sqlite:///{path}", copy)
    for old in path.parent.glob(f"{path.name}*"):
        old.unlink()
    copy.rename(path)


def continue_store(name, path):
    """Check the state and the log of a store, continue its stream and verify the log again."""
    result = {"snapshots": imports.snapshots(path), "verified": imports.verified_streams(path)}
    fields = "rows", "spent", "left", "outstanding", "told", "events", "rule", "model", "columns", "classes"
    with imports.open_service(path) as (http, _):
        state = _send(http, "GET", STREAM, digest="true")
        result["digest"] = state["digest"]
        result["state"] = {field: state[field] for field in fields}
        events = _send(http, "GET", f"{STREAM}/events", limit=1000)["events"]
        result["events"] = [[event["seq"], event["kind"], event["count"], event["hash"]] for event in events]
        result["pending"] = _pending(http)
        questions = [_example(name, row) for row in range(40, 50)]
        result["predict"] = [
            answer["prediction"] for answer in _send(http, "POST", f"{STREAM}/predict", questions)
        ]
        answers = _ask(http, name, range(40, 60))
        result["query"] = [answer["query"] for answer in answers]
        result["uncertainty"] = [answer["uncertainty"] for answer in answers]
        result["probability"] = [answer["probability"] for answer in answers]
        pending = _pending(http)
        _tell(http, name, [id for id in pending if id not in result["pending"]][:4])
        _send(http, "POST", f"{STREAM}/labels/decline", {"id": _pending(http)[0]})
        result["predict after labels"] = [
            answer["prediction"] for answer in _send(http, "POST", f"{STREAM}/predict", questions)
        ]
        result["final pending"] = _pending(http)
        final = _send(http, "GET", STREAM, digest="true")
        result["final state"] = {field: final[field] for field in fields}
        result["final digest"] = final["digest"]
    assert [stream[2] for stream in imports.verified_streams(path)] == [final["digest"]]
    return result


FILE_TYPES = {"learners": LEARNERS, "workbooks": WORKBOOKS, "stores": STORES}
