"""Files that earlier versions saved still load, and go on as they did then.

`python tests/storage/test_states.py` saves those of the present version; older ones stay as they are.
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
KINDS = {
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


def made(name):
    """Return a learner in the middle of its work: labels told, outstanding, retracted and free."""
    model, rule = KINDS[name]
    X, y = stream(name)
    y = model.example_labels(y)
    learner = Learner(model, rule, seed=3)
    for t in range(40):
        answer = learner.ask(X[t], domain=int(t >= 30), id=f"t{t}" if t % 5 == 0 else None)
        if answer.query and t % 4:
            learner.tell(answer.id, y[t])
    for id in learner.outstanding[:1]:
        learner.retract(id)
    learner.learn(X[40:42], y[40:42])
    return learner


def gone_on(learner, name):
    """Return the next answers, and what is learned from outstanding and new labels."""
    X, y = stream(name)
    y = learner.model.example_labels(y)
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


def assert_alike(found, recorded, *, grows_trees=False):
    assert (found["outstanding"], found["spent"]) == (recorded["outstanding"], recorded["spent"])
    assert [answer[:2] for answer in found["answers"]] == [answer[:2] for answer in recorded["answers"]]
    decided = [[answer[3:] for answer in one["answers"]] for one in (found, recorded)]
    np.testing.assert_allclose(*decided, rtol=1e-9, atol=1e-9)
    if grows_trees:  # another version of scikit-learn may grow others
        return
    for part in ("predictions", "interval"):
        np.testing.assert_allclose(found[part], recorded[part], rtol=1e-9, atol=1e-9)
    said = [[answer[2] for answer in one["answers"]] for one in (found, recorded)]
    np.testing.assert_allclose(*said, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::qufur.errors.OtherVersionWarning")
@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.gz")), ids=lambda file: file.name)
def test_saved_states_load_and_go_on(tmp_path, file):
    path = tmp_path / "learner.qufur"
    path.write_bytes(gzip.decompress(file.read_bytes()))
    name = file.name.removesuffix(".qufur.gz")
    if "refit-classes" in name and sklearn.__version__ < "1.8":
        pytest.skip("LogisticRegression was saved with a parameter that this scikit-learn does not know")
    found = gone_on(Learner.load(path), name)
    assert_alike(found, json.loads(ANSWERS.read_text())[name], grows_trees="experts" in name)


def test_a_rate_in_an_older_file_refunds_no_query_whose_place_it_does_not_know(tmp_path):
    path = tmp_path / "learner.qufur"
    path.write_bytes(gzip.decompress((FOLDER / "1-kernel-ridge-paced-rate.qufur.gz").read_bytes()))
    learner = Learner.load(path)
    before = learner.spent, learner.spending.tokens
    learner.retract(learner.outstanding[0])
    assert (learner.spent + 1, learner.spending.tokens) == before


def test_there_is_a_state_of_every_kind():
    assert {f"{VERSION}-{name}.qufur.gz" for name in KINDS} <= {path.name for path in FOLDER.iterdir()}
    assert {type(model) for model, _ in KINDS.values()} == set(MODELS)
    assert {type(rule) for _, rule in KINDS.values()} == set(RULES)


def test_states_are_small():
    assert max(path.stat().st_size for path in FOLDER.glob("*.gz")) < 10_000


def write():
    """Save the states of this version and what they answer next."""
    FOLDER.mkdir(exist_ok=True)
    recorded = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name in KINDS:
        path = FOLDER / f"{VERSION}-{name}.qufur"
        learner = made(name)
        learner.save(path)
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
        recorded[path.stem] = gone_on(learner, name)
    lines = (f"  {json.dumps(name)}: {json.dumps(answers)}" for name, answers in sorted(recorded.items()))
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
