"""Learner files of older versions load and give the recorded answers.

`python tests/storage/test_states.py` saves the files of this version and leaves older ones unchanged.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LinearRegression, LogisticRegression

from qufur import (
    ConfidenceSet,
    DomainOracle,
    Experts,
    FisherSoftmax,
    FixedBudget,
    Greedy,
    KernelRidge,
    Learner,
    Paced,
    QuFUR,
    Refit,
    Ridge,
    Softmax,
    Steady,
    Threshold,
    Uniform,
)
from qufur.hypotheses import FiniteLinear, LinearBall
from qufur.models import MODELS, PaperAdam
from qufur.rules import RULES
from qufur.snapshot import VERSION

FOLDER = Path(__file__).parent / "states"
ANSWERS = FOLDER / "answers.json"
CASES = {
    "ridge-qufur": (Ridge(3), QuFUR(2.0, power=0.5, budget=30)),
    "ridge-fixed-budget": (Ridge(3, intercept=True, label_range=(1, 5)), FixedBudget(60, 60)),
    "ridge-importance-qufur": (Ridge(3, importance=0.7), QuFUR(2.0, floor=0.1)),
    "ridge-forgetting-paced": (Ridge(3, half_life=20), Paced(20, 60)),
    "ridge-huge-inputs-greedy": (Ridge(3, clip=False, cap=False), Greedy(25)),
    "kernel-ridge-paced-rate": (KernelRidge(RBF(0.7), regularization=0.1), Paced(0.2, burst=12)),
    "ridge-steady": (Ridge(3), Steady(20, 60)),
    "ridge-steady-rate": (Ridge(3), Steady(0.3, burst=4)),
    "finite-threshold": (ConfidenceSet(FiniteLinear(np.eye(3)), radius=0.2), Threshold(0.01)),
    "linear-ball-uniform": (ConfidenceSet(LinearBall(3), horizon=60), Uniform(0.5)),
    "softmax-domain-oracle": (Softmax(3, 3), DomainOracle(durations=[30, 30], dims=[2, 3], budget=20)),
    "softmax-adam-uniform": (Softmax(3, 2, training=PaperAdam(batch=8)), Uniform(0.4, budget=15)),
    "fisher-qufur": (FisherSoftmax(3, 3), QuFUR(4.0, floor=0.1)),
    "refit-steady": (Refit(LinearRegression()), Steady(20, 60)),
    "refit-classes-steady": (Refit(LogisticRegression(), classes=[0, 1, 2], seed=1), Steady(0.4)),
    "experts-steady": (Experts(), Steady(20, 60)),
}


def stream(name):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 3)) / 2
    if "huge" in name:
        X[:40] *= 1e5
    return X, np.clip(X @ [0.5, -0.3, 0.1], -1, 1)


def used_learner(name):
    """Return a learner in use, with received, outstanding, retracted and free labels."""
    model, rule = CASES[name]
    X, y = stream(name)
    y = model.label_codec.examples(y)
    learner = Learner(model, rule, seed=3)
    for t in range(40):
        answer = learner.ask(X[t], domain=int(t >= 30), id=f"t{t}" if t % 5 == 0 else None)
        if answer.query and t % 4:
            learner.tell(answer.id, y[t])
    for id in learner.outstanding[:1]:
        learner.retract(id)
    learner.learn(X[40:42], y[40:42])
    return learner


def continued(learner, name):
    """Return the next answers, and the predictions after outstanding and new labels."""
    X, y = stream(name)
    y = learner.model.label_codec.examples(y)
    outstanding = learner.outstanding
    learner.tell_many(outstanding, y[: len(outstanding)])
    answers = []
    for t in range(42, 60):
        answer = learner.ask(X[t], domain=1)
        answers.append([answer.id, answer.query, answer.prediction, answer.uncertainty, answer.probability])
        if answer.query:
            learner.tell(answer.id, y[t])
    after = {"predictions": learner.predict(X[:5]).tolist(), "interval": list(learner.report().interval)}
    return {"outstanding": list(outstanding), "answers": answers, "spent": learner.spent, **after}


def assert_close(results, recorded, *, grows_trees=False):
    assert (results["outstanding"], results["spent"]) == (recorded["outstanding"], recorded["spent"])
    assert [answer[:2] for answer in results["answers"]] == [answer[:2] for answer in recorded["answers"]]
    decisions = [[answer[3:] for answer in each["answers"]] for each in (results, recorded)]
    np.testing.assert_allclose(*decisions, rtol=1e-9, atol=1e-9)
    if grows_trees:  # trees differ between versions of scikit-learn
        return
    for part in ("predictions", "interval"):
        np.testing.assert_allclose(results[part], recorded[part], rtol=1e-9, atol=1e-9)
    predictions = [[answer[2] for answer in each["answers"]] for each in (results, recorded)]
    np.testing.assert_allclose(*predictions, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::qufur.errors.OtherVersionWarning")
@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.gz")), ids=lambda file: file.name)
def test_states_of_older_versions_load_and_continue_as_recorded(tmp_path, file):
    path = tmp_path / "learner.qufur"
    path.write_bytes(gzip.decompress(file.read_bytes()))
    name = file.name.removesuffix(".qufur.gz")
    if "refit-classes" in name and sklearn.__version__ < "1.8":
        pytest.skip("LogisticRegression was saved with a parameter that this scikit-learn does not know")
    results = continued(Learner.load(path), name)
    assert_close(results, json.loads(ANSWERS.read_text())[name], grows_trees="experts" in name)


def test_rate_of_an_older_file_refunds_no_query_of_unknown_position(tmp_path):
    path = tmp_path / "learner.qufur"
    path.write_bytes(gzip.decompress((FOLDER / "1-kernel-ridge-paced-rate.qufur.gz").read_bytes()))
    learner = Learner.load(path)
    before = learner.spent, learner.spending.tokens
    learner.retract(learner.outstanding[0])
    assert (learner.spent + 1, learner.spending.tokens) == before


def test_stored_states_cover_every_model_and_rule():
    assert {f"{VERSION}-{name}.qufur.gz" for name in CASES} <= {path.name for path in FOLDER.iterdir()}
    assert {type(model) for model, _ in CASES.values()} == set(MODELS)
    assert {type(rule) for _, rule in CASES.values()} == set(RULES)


def test_stored_states_are_small():
    assert max(path.stat().st_size for path in FOLDER.glob("*.gz")) < 10_000


def write():
    """Save the states of this version and their next answers."""
    FOLDER.mkdir(exist_ok=True)
    recorded = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name in CASES:
        path = FOLDER / f"{VERSION}-{name}.qufur"
        learner = used_learner(name)
        learner.save(path)
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
        recorded[path.stem] = continued(learner, name)
    lines = (f"  {json.dumps(name)}: {json.dumps(answers)}" for name, answers in sorted(recorded.items()))
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
