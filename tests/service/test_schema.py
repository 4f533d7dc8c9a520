"""Requests generated from the OpenAPI document, which must not cause server errors."""

import collections
import io

import numpy as np
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.soak import cases

from qufur.service.openapi import document

CASES = cases(20_000, 2_000)
PLACES = 3
"""Streams that receive each request."""
SHARES = 4
"""Number of tests that share the operations, so that they can run in parallel."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
STREAMS = {
    "numbers": {"dim": 2, "model": "ridge", "label_range": [-1, 1], "budget": "100%", "rule": "uniform"},
    "limited": {"dim": 2, "model": "ridge", "label_range": [-1, 1], "budget": 20, "horizon": 100},
    "records": {"columns": {"temp": "number", "sky": "category"}, "budget": "100%", "rule": "uniform"},
    "classes": {"dim": 2, "classes": ["a", "b"], "budget": "100%", "rule": "uniform"},
}
NPY = "application/x-npy"

ids = st.sampled_from([f"row {number}" for number in range(30)])
labels = st.sampled_from([0.5, -0.5, 0, "a", "b"])
numbers = st.floats(-9, 9, allow_subnormal=False)
rows = st.one_of(
    st.fixed_dictionaries({"x": st.lists(numbers, min_size=2, max_size=2)}),
    st.fixed_dictionaries(
        {"record": st.fixed_dictionaries({"temp": numbers | st.none(), "sky": st.sampled_from("abcdé")})}
    ),
)
mostly = st.sampled_from([True] * 9 + [False])


def named(row, **more):
    """Return an object with an id and perhaps a label."""
    return st.builds(lambda row, **rest: {**row, **rest}, row, id=ids, **more)


configs = st.builds(
    lambda name, kind, **more: {"name": name, **STREAMS[kind], **more},
    st.sampled_from(["new-1", "new-2", "numbers"]),
    st.sampled_from(list(STREAMS)),
    seed=st.integers(0, 2),
)
BODIES = {
    "/v1/streams": configs,
    "/examples": named(rows) | st.lists(named(rows), max_size=5),
    "/predict": rows | st.lists(rows, max_size=5),
    "/learn": st.lists(named(rows, label=labels), max_size=3),
    "/labels": st.lists(st.fixed_dictionaries({"id": ids, "label": labels}), max_size=3),
    "/label": st.fixed_dictionaries({"label": labels}),
    "/lease": st.fixed_dictionaries({"person": st.sampled_from(["ada", "bob"]), "count": st.integers(1, 5)}),
    "/release": st.fixed_dictionaries({"person": st.just("ada"), "ids": st.lists(ids, max_size=3)}),
    "/erase": st.fixed_dictionaries({"ids": st.lists(ids, max_size=2)}),
    "/parse": st.fixed_dictionaries({"text": st.sampled_from(["1500", "1,500", "x"])}),
    "labels/decline": st.fixed_dictionaries({"id": ids}),
    "/remove": st.fixed_dictionaries({"id": ids}),
    "/budget": st.fixed_dictionaries({"labels": st.integers(1, 9)}),
}
"""Valid bodies, by the end of the path."""


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


matrices = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=3).map(lambda rows: npy(np.array(rows)))


def streams_for(operation):
    """Return the streams for an operation. Streams that other requests need are never deleted."""
    deletes = operation.method == "delete" and operation.path.endswith("{stream}")
    return ["new-1", "new-2", "new-3"] if deletes else list(STREAMS)


@st.composite
def cases(draw, operation):
    """Return a generated request in which existing names and ids often replace generated values."""
    case = draw(st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode]))
    if "stream" in (case.path_parameters or {}) and draw(mostly):
        case.path_parameters["stream"] = draw(st.sampled_from(streams_for(operation)))
    if "id" in (case.path_parameters or {}) and draw(mostly):
        case.path_parameters["id"] = draw(ids)
    ending = next((end for end in BODIES if operation.path.endswith(end)), None)
    if ending and operation.method != "delete" and draw(st.booleans()):
        case.body = draw(matrices if case.media_type == NPY else BODIES[ending])
    return case


@pytest.fixture(scope="module")
def seeded(server):
    """Service with streams and rows, and with fast experts."""
    patch = pytest.MonkeyPatch()
    patch.setattr("qufur.models.ensemble.experts.TREES", 3)
    for name, config in STREAMS.items():
        assert server.http.post("/v1/streams", json={"name": name, **config}).is_success
        row = {"record": {"temp": 1.0, "sky": "a"}} if "columns" in config else {"x": [1.0, 0.5]}
        some = [{"id": f"row {number}", **row} for number in range(20)]
        assert server.http.post(f"/v1/streams/{name}/examples", json=some).is_success
    yield server
    patch.undo()


def places(case):
    """Send a request to its own stream, then to others: generating a request takes longest."""
    own = (case.path_parameters or {}).get("stream")
    for name in [own, *(other for other in streams_for(case.operation) if other != own)][:PLACES]:
        if own is not None:
            case.path_parameters["stream"] = name
        yield


def operations(server):
    schema = schemathesis.openapi.from_dict(document(server.app.routes))
    all_operations = [result.ok() for result in schema.get_all_operations()]
    # Operations without parameters have only one request.
    return [one for one in all_operations if one.path.startswith("/v1") and one.label != "GET /v1/streams"]


@pytest.mark.parametrize("share", range(SHARES))
def test_generated_requests_never_cause_a_server_error(seeded, share):
    selected = operations(seeded)
    statuses, session = collections.Counter(), requests.Session()
    for operation in selected[share::SHARES]:

        @settings(
            max_examples=-(-CASES // (PLACES * len(selected))),
            phases=[Phase.generate],
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases(operation))
        def send(case):
            for _ in places(case):
                answer = case.call(base_url=seeded.url, session=session)
                statuses[answer.status_code] += 1
                case.validate_response(answer, checks=CHECKS)

        send()
    session.close()
    print(dict(sorted(statuses.items())))
    assert sum(statuses.values()) >= 0.9 * CASES * len(selected[share::SHARES]) / len(selected)
    assert statuses[200] > 0.1 * statuses.total()
    assert not {status for status in statuses if status >= 500}
