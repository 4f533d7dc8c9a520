"""One headline error on the card, the chart, the report, `qufur status` and HTTP, equal to the truth."""

import json

import numpy as np
import pytest
from sklearn import datasets

ROWS = 360
SOURCES = {"breast_cancer": True, "digits": True, "diabetes": False}
"""Tables in scikit-learn, and whether their labels are classes."""


def real_table(name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X, y = X[:ROWS], y[:ROWS]
    return X.tolist(), [f"class {label}" for label in y] if SOURCES[name] else y.tolist()


def config_from_workbook(name, X, y):
    if SOURCES[name]:
        return {"dim": len(X[0]), "classes": sorted(set(y)), "budget": 120, "horizon": len(X)}
    return {"dim": len(X[0]), "label_range": [0, 400], "budget": 120, "horizon": len(X)}


def send(server, stream, X, y, *, in_one_batch):
    """Send rows and the queried labels; return the losses of the predictions."""
    size, losses = len(X) if in_one_batch else 1, []
    for start in range(0, len(X), size):
        rows = range(start, min(start + size, len(X)))
        body = [{"id": str(row), "x": X[row]} for row in rows]
        answers = server.http.post(f"/v1/streams/{stream}/examples", json=body).json()
        labels = [{"id": one["id"], "label": y[int(one["id"])]} for one in answers if one["query"]]
        if labels:
            answer = server.http.post(f"/v1/streams/{stream}/labels?accept_outliers=true", json=labels)
            assert answer.status_code == 200, answer.text
        if start % 20 == 0:
            server.settle()  # experts are fitted in the background, slower than this test sends rows
        losses += [loss(one["prediction"], y[int(one["id"])]) for one in answers]
    return np.array(losses)


def loss(prediction, label):
    return float(prediction != label) if isinstance(label, str) else (prediction - label) ** 2


@pytest.mark.parametrize("in_one_batch", [False, True], ids=["one by one", "one batch"])
@pytest.mark.parametrize("name", SOURCES)
def test_headline_agrees_everywhere_and_with_the_truth(server, command, tmp_path, name, in_one_batch):
    X, y = real_table(name)
    stream = server.stream(**config_from_workbook(name, X, y))
    losses = send(server, stream, X, y, in_one_batch=in_one_batch)
    truth = losses.mean() if SOURCES[name] else np.sqrt(losses.mean())

    report = server.http.get(f"/v1/streams/{stream}/report").json()
    series = server.http.get(f"/v1/streams/{stream}/series").json()
    headline = report["headline"]
    error, low, high = (headline[key] for key in ("error", "low", "high"))
    assert low <= truth <= high
    assert abs(error - truth) < 0.35 * truth + 0.02
    assert (series["error"][-1], series["low"][-1], series["high"][-1]) == (error, low, high)
    assert report["error"][0].startswith(
        f"{float(f'{error:.3g}'):g}, the {headline['unit']} of all predictions"
    )

    url, file = str(server.store.url), tmp_path / "exported.qufur"
    assert command("export", stream, file, "--store", url)[0] == 0
    status = json.loads(command("status", "--state", file, "--json")[1])["headline"]
    assert [status[key] for key in ("error", "low", "high")] == pytest.approx([error, low, high])

    # With this few labels, the error of random labels is unknown.
    assert headline["at_random"] is None
    assert set(series["at_random"]) == {None}
    if not in_one_batch:
        assert "whether random labels would do as well is not known yet" in report["error"]
