"""The coverage study: its intervals are those of `predict`, and it counts them right."""

import numpy as np
from sklearn.linear_model import LinearRegression

from qufur import Learner, Refit, Uniform, run, streams
from qufur.experiments.real.coverage import coverage, half_widths, table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
STREAM = streams.Arrays(X, X @ [1.0, 2.0, 3.0] + RNG.normal(size=600))


def model():
    return Refit(LinearRegression())


def test_half_widths_are_those_that_predict_has_on_the_way():
    trace = run(Learner(model(), Uniform(0.3), seed=1), STREAM)
    learner, expected = Learner(model(), Uniform(0.3), seed=1), []
    for x, y in zip(STREAM.X, STREAM.y, strict=True):
        ends = [learner.predict(x, interval=level)[1:] for level in (0.5, 0.9)]
        expected.append([(high.item() - low.item()) / 2 for low, high in ends])
        answer = learner.ask(x)
        if answer.query:
            learner.tell(answer.id, y)
    np.testing.assert_allclose(half_widths(trace, STREAM.y, [0.5, 0.9]), expected, rtol=1e-6)


def test_normal_errors_are_covered_as_wanted():
    rows = coverage(
        {"normal": STREAM}, {"uniform": lambda stream: Uniform(0.3)}, model=model, levels=(0.8, 0.95)
    )
    assert [(row.stream, row.rule, row.level) for row in rows] == [
        ("normal", "uniform", 0.8),
        ("normal", "uniform", 0.95),
    ]
    for row, quantile in zip(rows, (1.28, 1.96), strict=True):
        # The first errors are larger than noise and stay in the window.
        assert row.level - 0.05 < row.covered < row.level + 0.12
        assert row.level - 0.05 < row.covered_late < row.level + 0.12
        assert quantile < row.half_width * STREAM.y.std() < 1.6 * quantile
        assert 0 < row.endless < 0.3
    assert table(rows).startswith("normal       uniform    ")
    assert f"0.8 → {rows[0].covered:.3f} / {rows[0].covered_late:.3f} (±" in table(rows)
    assert len(table(rows).splitlines()) == 1
