"""Small deterministic runs: decisions of every rule and model, and state digests of workbooks.

Predictions and uncertainties come from matrix products, whose last bit depends on the BLAS and the processor.
The digest of a workbook covers every bit. Digests of new workbooks are therefore compared only if
`platforms.fingerprint` equals the recorded fingerprint; decisions and six significant digits are compared on
every platform. Digests of saved files do not depend on the platform: `test_files.py` always compares those.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.golden import imports
from tests.golden.platforms import fingerprint

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
    hypotheses,
    run,
    streams,
)
from qufur.rules.per_period import PerPeriod
from qufur.workbook import Workbook

DIM, ROWS = 3, 90
RULES = {
    "qufur": QuFUR(2.0),
    "qufur with power and budget": QuFUR(2.0, power=0.5, budget=20),
    "qufur with floor": QuFUR(0.5, floor=0.1),
    "paced": Paced(20, ROWS),
    "paced rate": Paced(0.2, burst=8, floor=0.05),
    "steady": Steady(20, ROWS),
    "steady rate": Steady(0.3, burst=4),
    "fixed budget": FixedBudget(40, ROWS),
    "uniform": Uniform(0.3),
    "uniform with budget": Uniform(0.5, budget=15),
    "greedy": Greedy(25),
    "threshold": Threshold(0.05, budget=30),
    "domain oracle": DomainOracle(durations=[30, 60], dims=[2, 3], budget=30),
    "per period": PerPeriod(6, 30),
}
MODELS = {
    "ridge": Ridge(DIM, intercept=True, label_range=(-2, 2)),
    "ridge with half-life": Ridge(DIM, half_life=20),
    "ridge with importance": Ridge(DIM, importance=0.7),
    "kernel ridge": KernelRidge(RBF(0.7), regularization=0.1),
    "softmax": Softmax(DIM, 3),
    "fisher softmax": FisherSoftmax(DIM, 3),
    "confidence set": ConfidenceSet(hypotheses.LinearBall(DIM), horizon=ROWS),
    "experts, numbers": Experts(seed=1),
    "experts, classes": Experts(classes=[0, 1, 2], seed=1),
    "refit": Refit(LinearRegression()),
    "refit, classes": Refit(LogisticRegression(), classes=[0, 1, 2], seed=1),
}
WORKBOOK_MODELS = {
    name: model
    for name, model in MODELS.items()
    if name
    in {"ridge", "kernel ridge", "softmax", "experts, numbers", "experts, classes", "refit", "refit, classes"}
}
FEW_RULES = "qufur", "steady", "uniform"


def inputs():
    """Return inputs with a shift after a third, and the domain of each."""
    X = np.random.default_rng(5).normal(size=(ROWS, DIM)) / 2
    X[:30, 2] = 0
    X[7::9] = X[6]
    return X, (np.arange(ROWS) >= 30).astype(int)


def labels(model):
    """Return labels as a model takes them: numbers in [-1, 1], or classes 0, 1 and 2."""
    X, _ = inputs()
    numbers = np.clip(X @ [0.5, -0.3, 0.4] + 0.1 * np.random.default_rng(6).normal(size=ROWS), -1, 1)
    return numbers if getattr(model, "classes", None) is None else np.digitize(numbers, [-0.2, 0.2])


def rounded(values):
    """Return numbers of six significant digits; anything else unchanged."""
    return [
        float(f"{value:.5e}") if isinstance(value, float) else value for value in np.asarray(values).tolist()
    ]


def runs():
    """Return what `run` decides: each rule with Ridge, and each model with a few rules."""
    pairs = [("ridge", rule) for rule in RULES]
    pairs += [(model, rule) for model in MODELS if model != "ridge" for rule in FEW_RULES]
    return {f"{model} / {rule}": _run(MODELS[model], RULES[rule]) for model, rule in pairs}


def _run(model, rule):
    X, domain = inputs()
    learner = Learner(model, rule, seed=7)
    trace = run(learner, streams.Arrays(X, labels(model), domain=domain), delay=2)
    return {
        "query": "".join("01"[int(bit)] for bit in trace.query),
        "prediction": rounded(trace.prediction[-5:]),
        "uncertainty": rounded(trace.uncertainty[-5:]),
        "predict": rounded(learner.predict(X[:4])),
        "spent": learner.spent,
    }


def workbooks():
    """Return digests and decisions of a workbook of each model after a fixed sequence of operations."""
    return {
        "platform": fingerprint(),
        "steps": {name: _workbook(model) for name, model in WORKBOOK_MODELS.items()},
    }


def _workbook(model):
    X, _ = inputs()
    y = labels(model).astype(float)
    ids = [f"row {place}" for place in range(ROWS)]
    label = dict(zip(ids, y.tolist(), strict=True))
    workbook = imports.new_workbook(Learner(model, Steady(0.4, burst=6), seed=3), DIM)
    steps = []

    def note(operation, *decided):
        learner = workbook.learner
        steps.append(
            {
                "operation": operation,
                "decided": list(decided),
                "pending": list(learner.outstanding),
                "spent": learner.spent,
                "predict": rounded(learner.predict(X[:3])) if operation != "new" else [],
                "digest": imports.digest_of(workbook),
            }
        )

    def tell(queried, *, shift=False):
        values = [label[id] for id in queried]
        if shift:
            values = [y[(ids.index(id) + 1) % ROWS] for id in queried]
        imports.tell(workbook, queried, np.array(values), replace=shift)

    note("new")
    answers = imports.ask_rows(workbook, X[:40], ids[:40])
    note("ask", "".join("01"[int(bit)] for bit in answers.query))
    pending = list(workbook.learner.outstanding)
    tell(pending[:8])
    note("tell")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "workbook.qufur"
        workbook.save(file)
        tell(pending[8:10])
        note("tell more")
        workbook = Workbook.load(file)
    note("undo")
    imports.retract_rows(workbook, pending[9:11])
    note("retract")
    if not isinstance(model, Softmax):  # it stores no rows to learn again from
        tell(pending[2:5], shift=True)
        note("relabel")
        imports.forget(workbook, pending[1:2])
        note("forget")
    tell(pending[11:12])
    answers = imports.ask_rows(workbook, X[40:], ids[40:])
    note("ask again", "".join("01"[int(bit)] for bit in answers.query))
    return steps
