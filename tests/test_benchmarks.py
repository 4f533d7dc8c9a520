import json
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))


def main(*arguments):
    from benchmarks.__main__ import main

    main(arguments)


def test_replay_prints_a_table_and_writes_json(tmp_path, capsys):
    main("replay", "--quick", "--json", str(tmp_path / "results.json"))
    out, err = capsys.readouterr()
    results = json.loads((tmp_path / "results.json").read_text())
    assert [(r["dim"], r["rate"]) for r in results["replay"]["replay"]] == [
        (dim, rate) for dim in (16, 88, 768) for rate in (0.02, 0.2, 0.6)
    ]
    assert all(r["faster_than_authors"] > 0 for r in results["replay"]["replay"])
    assert "authors' loop" in out
    assert "ask+tell" in out
    assert err == ""


@pytest.mark.parametrize("dim", [16, 88])
@pytest.mark.parametrize("rate", [0.02, 0.2, 0.6])
def test_variants_agree_at_the_calibrated_rate(dim, rate):
    from benchmarks import replay, workloads

    data = workloads.stream(dim, quick=False)
    queries = replay.compare(data, workloads.calibrated(data, rate))
    assert queries == pytest.approx(rate * data.horizon, abs=0.01 * data.horizon)


def test_a_loop_that_queries_otherwise_is_caught(monkeypatch):
    from benchmarks import loops, replay, workloads

    def timid(data, alpha):
        return plain(data, alpha / 2)

    plain = loops.plain_numpy
    monkeypatch.setattr(loops, "plain_numpy", timid)
    with pytest.raises(AssertionError, match="differ in a query"):
        replay.compare(workloads.stream(16, quick=True), 1.0)


def test_kernel_prints_an_exponent_and_a_verdict(tmp_path, capsys):
    main("kernel", "--quick", "--json", str(tmp_path / "results.json"))
    results = json.loads((tmp_path / "results.json").read_text())["kernel"]
    assert results["ladder"] == [125, 250, 500, 1000]
    for work in ("ask", "ask+tell"):
        costs = [timing["median"] for timing in results["microseconds"][work]]
        assert costs[-1] > costs[0] > 0
        assert results["exponent"][work]["value"] > 0
    assert "exponent fitted over Q >= 500" in capsys.readouterr().out


def test_a_kernel_step_in_the_cube_of_labels_falls_short():
    from benchmarks import kernel

    for power, verdict in ((2.0, "reached"), (3.0, "short")):
        seconds = 1e-9 * np.array(kernel.LADDER, dtype=float)[:, None] ** power * np.ones(3)
        fit = kernel._exponents(list(kernel.LADDER), seconds)
        assert fit["value"] == pytest.approx(power)
        timing = {"median": 1.0, "low": 1.0, "high": 1.0, "rounds": 3}
        results = {"dim": 1, "ladder": [125], "fitted": [125], "exponent": {"ask": fit}}
        assert kernel.render(results | {"microseconds": {"ask": [timing]}}).split()[-1] == verdict


def test_drift_of_the_variance_is_small_on_every_stream(tmp_path, capsys):
    main("drift", "--updates", "3000", "--json", str(tmp_path / "results.json"))
    results = json.loads((tmp_path / "results.json").read_text())["drift"]
    assert {r["block"] for r in results} == {1, 64}
    assert {r["form"] for r in results} == {"InverseGram", "FactorGram"}
    for r in results:
        assert r["variance"] < 1e-6, r["regime"]
    assert "solve in 60 digits" in capsys.readouterr().out


def test_drift_sees_a_wrong_gram(monkeypatch):
    from benchmarks import drift
    from benchmarks.text import Progress

    variance = drift.Gram.variance
    monkeypatch.setattr(drift.Gram, "variance", lambda self, X: variance(self, X) * (1 + 1e-5))
    assert not any(result["kept"] for result in drift.measure(20, Progress()))


def test_exact_sums_are_exact():
    from benchmarks.exact import FRACTION_BITS, ExactGram, on_grid

    rng = np.random.default_rng(0)
    X = on_grid(rng.standard_normal((50, 3)) * 10.0 ** rng.uniform(-6, 5, (50, 1)))
    y = on_grid(rng.standard_normal(50))
    gram = ExactGram(3)
    gram.add(X[:20], y[:20])
    gram.add(X[20:], y[20:])
    rows = [[Fraction(v) for v in row] for row in np.column_stack([X, y]).tolist()]
    expected = [[sum(row[i] * row[j] for row in rows) for j in range(4)] for i in range(4)]
    assert [[Fraction(v, 4**FRACTION_BITS) for v in row] for row in gram._sums.tolist()] == expected


def test_exact_solve_matches_a_small_case():
    from benchmarks.exact import ExactGram, relative_error

    gram = ExactGram(2)
    gram.add(np.array([[1.0, 0.0]]), np.array([1.0]))
    variances, predictions = gram.solve(np.array([[1.0, 0.0], [0.0, 2.0]]), 1.0)
    assert [float(v) for v in variances] == [0.5, 4.0]
    assert [float(p) for p in predictions] == [0.5, 0.0]
    assert relative_error(np.array([0.5, 4.4]), variances) == pytest.approx(0.1)
    assert relative_error(np.array([0.5, np.nan]), variances) == np.inf


def test_values_off_the_grid_are_refused():
    from benchmarks.exact import ExactGram

    with pytest.raises(ValueError, match="on the grid"):
        ExactGram(1).add(np.array([[1e-40]]), np.array([0.0]))


@pytest.mark.parametrize(
    "arguments", [["speed"], ["drift", "--updates", "0"], ["drift", "--updates", "many"]]
)
def test_bad_arguments_exit_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit:
        main(*arguments)
    assert exit.value.code == 2
    assert capsys.readouterr().err


def test_progress_is_for_terminals_only(monkeypatch, capsys):
    from benchmarks.text import Progress

    Progress().say("quiet")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Progress().say("seen")
    assert "seen" in capsys.readouterr().err


def test_sweep_prints_a_table_and_a_verdict(tmp_path, capsys):
    main("sweep", "--quick", "--json", str(tmp_path / "results.json"))
    results = json.loads((tmp_path / "results.json").read_text())["sweep"]
    assert (results["cells"], results["jobs"]) == (10, 2)
    assert all(results["faster_than_authors"][name] > 0 for name in ("fresh", "kept", "serial"))
    assert ">= 60x" in capsys.readouterr().out
