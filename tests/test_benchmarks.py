import json
import sys
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from qufur import streams


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))


def main(*arguments):
    from benchmarks.__main__ import main

    main(arguments)


def quick(tmp_path, *parts):
    main(*parts, "--quick", "--json", str(tmp_path / "results.json"))
    return json.loads((tmp_path / "results.json").read_text())


def test_replay_prints_a_table_and_writes_json(tmp_path, capsys, monkeypatch):
    from benchmarks import workloads

    monkeypatch.setattr(workloads, "QUICK_ROWS", 30)
    wide = streams.HiddenDomains([2, 2, 2], [2, 3, 4], ambient=4096)
    monkeypatch.setitem(workloads.STREAMS, 4096, lambda: wide)
    found = quick(tmp_path, "replay")["replay"]
    out, err = capsys.readouterr()
    assert [(r["dim"], r["rate"]) for r in found] == [
        (dim, rate) for dim in (16, 88, 768, 4096) for rate in (0.02, 0.2, 0.6)
    ]
    for r in found:
        cost = {name: timing["median"] for name, timing in r["microseconds"].items()}
        assert r["faster_than_authors"]["qufur"] == cost["authors"] / cost["qufur"]
    assert "authors' loop" in out
    assert "share of the speed of GEMM" in out
    assert err == ""


def test_compiled_loop_is_measured_when_installed(monkeypatch):
    from benchmarks import compiled, limits, replay, workloads

    switches = []

    @contextmanager
    def switched(on):
        switches.append(on)
        yield

    monkeypatch.setattr(compiled, "missing", lambda: None)
    monkeypatch.setattr(compiled, "switched", switched)
    for dim, measured in ((16, True), (768, False)):
        switches.clear()
        found = replay._replay(workloads.stream(dim, quick=True), 0.2, limits.of(dim, 1), quick=True)
        assert ("compiled" in found["microseconds"]) == measured
        assert set(found["faster_than_authors"]) == ({"qufur", "compiled"} if measured else {"qufur"})
        assert (True in switches) == measured


def test_benchmark_parts_print_tables_and_write_json(tmp_path, capsys):
    results = quick(tmp_path, "limits", "single", "rules", "experts")
    out = capsys.readouterr().out
    assert list(results) == ["versions", "limits", "single", "rules", "experts"]
    assert {"copy", "daxpy"} < set(results["limits"])
    assert [r["dim"] for r in results["single"]] == [88, 768]
    cost = {name: timing["median"] for name, timing in results["single"][0]["microseconds"].items()}
    assert results["single"][0]["faster_than_river"] == cost["river"] / cost["ask"]
    assert results["single"][1]["faster_than_river"] is None
    for r in results["rules"]:
        assert r["slower"]["QuFUR"] == 1
        assert r["queries"]["Paced"] == r["queries"]["FixedBudget"]
    for r in results["experts"]:
        cost = {name: timing["median"] for name, timing in r["microseconds"].items()}
        assert r["slower"]["ask"] == cost["ask, experts"] / cost["ask, Ridge"]
    expected = ("linear experts", "GB/s to copy", "ask+tell", "FixedBudget / QuFUR", "against river with")
    for text in expected:
        assert text in out


def test_command_is_measured_on_a_second_table(tmp_path, monkeypatch, capsys):
    from benchmarks import command, ratios

    monkeypatch.setattr(command, "MODELS", {"Ridge": command.MODELS["Ridge"]})
    (found,) = quick(tmp_path, "command")["command"]
    assert (found["model"], found["rows"]) == ("Ridge", 600)
    assert "< 250 MB" in capsys.readouterr().out
    fast = found | {"rows": 10**6, "cpu_seconds": 19.0, "peak": 249.0}
    assert [r.kept for r in ratios.ratios({"command": [fast]})] == [True, True]
    slow = fast | {"cpu_seconds": 21.0, "peak": 251.0}
    assert [r.kept for r in ratios.ratios({"command": [slow]})] == [False, False]


def test_rules_are_compared_at_the_same_number_of_labels():
    from benchmarks import rules, workloads

    data = workloads.stream(88, quick=False)
    for rate in (0.2, 0.6):
        spent = workloads.play_rule(data, rules._fixed_budget(data, rate)).queries
        assert spent == pytest.approx(rate * data.horizon, rel=0.1)


def test_peer_libraries_process_the_same_rows(tmp_path, monkeypatch, capsys):
    from benchmarks import peers

    monkeypatch.setattr(peers, "importable", lambda module: module != "vowpalwabbit")
    found = quick(tmp_path, "peers")["peers"]
    loss = {r["name"]: r["loss"] for r in found["peers"]}
    least_squares = [name for name in loss if "all labels" in name or "Bayesian" in name]
    assert len(least_squares) == 4
    for name in least_squares:  # river's prior is λ = 1, as is that of Ridge
        assert loss[name] == pytest.approx(loss["qufur, replay, all labels"], rel=1e-9)
    assert found["skipped"] == {"Vowpal Wabbit, defaults": "vowpalwabbit"}
    assert "skipped: needs vowpalwabbit" in capsys.readouterr().out


def test_vowpal_wabbit_predicts_before_it_learns():
    pytest.importorskip("vowpalwabbit")
    from benchmarks import peers, workloads

    from qufur.streams import Arrays

    data = workloads.stream(88, quick=True)
    predictions = peers.vowpal_wabbit(peers.Examples.of(data))
    assert predictions[0] == 0.0
    changed = Arrays(data.X, np.where(np.arange(data.horizon) == data.horizon - 1, -data.y, data.y))
    np.testing.assert_array_equal(peers.vowpal_wabbit(peers.Examples.of(changed)), predictions)


def test_growth_exponent_is_fitted_beyond_the_minimum_size(tmp_path):
    from benchmarks import growth

    points = [
        {
            "at": d,
            "microseconds": {"a": {"median": max(9.0, d**1.5)}} | ({"b": {"median": 1}} if d < 9 else {}),
        }
        for d in (2, 4, 8, 16, 32)
    ]
    assert growth._exponents(points, 8) == {"a": pytest.approx(1.5)}
    found = quick(tmp_path, "growth")["growth"]
    assert [p["at"] for p in found["curves"]["dim"]] == [16, 32, 64]
    assert (tmp_path / "growth.png").stat().st_size > 10_000


def test_benchmark_files_are_deleted_after_the_run(tmp_path, monkeypatch, capsys):
    from benchmarks import large
    from benchmarks.memory import ALPHA, SEED

    from qufur import Learner, QuFUR, Ridge, run

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = quick(tmp_path, "scale")["scale"]
    stream = large.Drawn(20_000, 8)
    trace = run(Learner(Ridge(8), QuFUR(ALPHA), seed=SEED), stream)
    for r in found:
        assert (r["rows"], r["queries"]) == (20_000, trace.queries)
        assert r["loss"] == pytest.approx(trace.total_loss / 20_000)
        assert 0 < r["began"] < max(memory for _, _, memory in r["samples"]) < r["peak"] + 1
        assert r["peak"] < 200 or r["loops"] == "compiled"
        assert [rows for rows, _, _ in r["samples"]][-1] == 20_000
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "scale.png", "scale.svg"}
    assert "from parquet" in capsys.readouterr().out


def test_drawn_rows_do_not_depend_on_chunking():
    from benchmarks import large

    from qufur.streams import Arrays

    whole = Arrays.of(large.Drawn(20_000, 3))
    parts = list(large.Drawn(20_000, 3).chunks(999))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), whole.X)
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), whole.y)
    assert max(len(part) for part in parts) == 999


def test_growing_memory_fails_the_target():
    from benchmarks import ratios, scale

    def verdict(growth):
        found = {"samples": [(t, 0.0, 80 + growth * t / 100) for t in range(100)]}
        row = {
            "rows": 10**6,
            "dim": 88,
            "format": "npy",
            "loops": "plain",
            "peak": 150.0,
            "growth": scale._growth(found),
        }
        (ratio,) = ratios.ratios({"scale": [row]})
        return ratio.kept

    assert verdict(0)
    assert not verdict(57)


def test_ratios_get_a_verdict():
    from benchmarks import ratios

    def replay(dim, rate, faster):
        found = {"dim": dim, "horizon": 9, "rate": rate, "no_compiled": "numba is not installed"}
        return found | {"faster_than_authors": {"qufur": faster}, "share_of_gemm": 0.7}

    found = [replay(dim, rate, 41) for dim in (88, 768, 4096) for rate in (0.02, 0.2, 0.6)]
    verdicts = {ratio.work[:16]: ratio.kept for ratio in ratios.ratios({"replay": found})}
    assert verdicts == {
        "replay, d = 88, ": True,
        "replay, d = 768,": True,
        "replay, d = 4096": False,
        "share of the spe": True,
    }
    (table,) = ratios.tables({"replay": found})
    assert "compiled extra: numba is not installed" in str(table)
    for r in found:
        r["faster_than_authors"]["compiled"] = 70
    compiled = ratios.ratios({"replay": found})[1]
    assert (compiled.measured, compiled.kept) == ("70 / 70 / 70", False)
    rules = [{"dim": d, "slower": {"FixedBudget": 1.3}} for d in (88, 384, 768)]
    assert [ratio.kept for ratio in ratios.ratios({"rules": rules})] == [True, False, False]
    single = {"dim": 768, "ratio": {"ask": 1.2, "ask+tell": 1.4}, "faster_than_river": 4.9}
    assert [ratio.kept for ratio in ratios.ratios({"single": [single]})] == [False, True, False]


def test_benchmark_pages_match_the_recorded_numbers():
    from benchmarks import page

    sources = [path.read_text(encoding="utf-8") for path in page.pages_of()]
    stored = json.loads((page.DOCS / page.NUMBERS).read_text())
    assert [page.filled(source, stored) for source in sources] == sources
    shown = {block["part"] for source in sources for block in page.TABLE_BLOCK.finditer(source)}
    assert {"ratios"} < shown <= {"ratios", *page.TABLES}
    assert set(stored) == {"versions", "runs", *page.TABLES}
    assert {len(runs) for runs in stored["runs"].values()} == {page.RUNS}


def test_page_keeps_the_ratios_of_three_runs(tmp_path):
    from benchmarks import page

    shown = _docs(tmp_path, "<!-- bench: ratios -->\n<!-- end -->\n")
    for ratio, verdict in (
        (1.2, "| 1.20 | reached |"),
        (1.4, "| 1.40 | 1 of 2 |"),
        (1.5, "1.50 | 1 of 3 |"),
        (1.6, "1.60 | short |"),
    ):
        single = [{"dim": 768, "ratio": {"ask": ratio}, "faster_than_river": None}]
        page.update({"versions": {}, "single": single}, tmp_path)
        assert verdict in shown.read_text(encoding="utf-8")


def test_page_is_updated_part_by_part(tmp_path):
    from benchmarks import page

    text = "before\n<!-- bench: limits -->\nold\n<!-- end -->\nafter\n<!-- bench: scale -->\n<!-- end -->\n"
    shown = _docs(tmp_path, text)
    stored = json.loads((page.DOCS / page.NUMBERS).read_text())
    page.update({"versions": {"python": "3"}, "limits": stored["limits"]}, tmp_path)
    first = shown.read_text(encoding="utf-8")
    assert "| d = 768 |" in first
    assert "old" not in first
    samples = [(t, 0.1 * t, 80.0) for t in range(1, 9)]
    scale = [row | {"samples": samples} for row in stored["scale"][:1]]
    page.update({"versions": {"python": "4"}, "scale": scale, "drift": []}, tmp_path)
    second = shown.read_text(encoding="utf-8")
    assert second.startswith(first.partition("<!-- bench: scale")[0])
    assert "rows/s" in second
    numbers = json.loads((tmp_path / page.NUMBERS).read_text())
    assert numbers["versions"] == {"limits": {"python": "3"}, "scale": {"python": "4"}}
    assert "samples" not in numbers["scale"][0]
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")}
    assert files == {"page.md", page.NUMBERS, f"{page.PICTURES}/scale.png"}


def _docs(folder, text):
    """Create a manual of one page and return the page."""
    for name in ("studies", "figures"):
        (folder / name).mkdir()
    shown = folder / "page.md"
    shown.write_text(text)
    return shown


@pytest.mark.parametrize("dim", [16, 88])
@pytest.mark.parametrize("rate", [0.02, 0.2, 0.6])
def test_variants_agree_at_the_calibrated_rate(dim, rate):
    from benchmarks import loops, replay, workloads

    data = workloads.stream(dim, quick=False)
    alpha = workloads.calibrated(data, rate)
    trace = workloads.play(data, alpha)
    by_hand = {"numpy": loops.plain_numpy(data, alpha), "authors": loops.authors_loop(data, alpha)}
    replay.compare({"qufur": trace} | by_hand)
    assert trace.queries == pytest.approx(rate * data.horizon, abs=0.01 * data.horizon)


def test_loop_with_different_queries_is_detected(tmp_path, monkeypatch):
    from benchmarks import loops

    def timid(data, alpha):
        return plain(data, alpha / 2)

    plain = loops.plain_numpy
    monkeypatch.setattr(loops, "plain_numpy", timid)
    with pytest.raises(AssertionError, match="numpy and qufur differ in a query"):
        quick(tmp_path, "replay")


def test_kernel_prints_an_exponent_and_a_verdict(tmp_path, capsys):
    main("kernel", "--quick", "--json", str(tmp_path / "results.json"))
    results = json.loads((tmp_path / "results.json").read_text())["kernel"]
    assert results["ladder"] == [125, 250, 500, 1000]
    for work in ("ask", "ask+tell"):
        costs = [timing["median"] for timing in results["microseconds"][work]]
        assert costs[-1] > costs[0] > 0
        assert results["exponent"][work]["value"] > 0
    assert "exponent is fitted to Q >= 500" in capsys.readouterr().out


def test_cubic_kernel_step_fails_the_target():
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


def test_drift_detects_a_wrong_gram_matrix(monkeypatch):
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


def test_values_off_the_grid_are_rejected():
    from benchmarks.exact import ExactGram

    with pytest.raises(ValueError, match="on the grid"):
        ExactGram(1).add(np.array([[1e-40]]), np.array([0.0]))


@pytest.mark.parametrize(
    "arguments",
    [["speed"], ["drift", "--updates", "0"], ["drift", "--updates", "many"], ["limits", "--quick", "--docs"]],
)
def test_bad_arguments_exit_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit:
        main(*arguments)
    assert exit.value.code == 2
    assert capsys.readouterr().err


def test_progress_is_shown_in_terminals_only(monkeypatch, capsys):
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
    cost = results["seconds"]
    ratios = {name: cost["authors"] / cost[name] for name in ("fresh", "kept", "serial")}
    assert results["faster_than_authors"] == ratios
    assert "≥ 60" in capsys.readouterr().out


def test_short_measurements_are_repeated_until_long_enough(monkeypatch):
    from benchmarks import timing

    clock, calls = [0.0], {"short": 0, "long": 0}

    def work(name, seconds):
        calls[name] += 1
        clock[0] += seconds

    monkeypatch.setattr(timing.time, "process_time", lambda: clock[0])
    variants = {"short": lambda: work("short", 0.004), "long": lambda: work("long", 0.5)}
    found = timing.interleaved(variants, 1000, rounds=3, shortest=0.01)
    assert calls == {"short": 1 + 3 + 3, "long": 3}
    assert [found[name].median for name in variants] == pytest.approx([4.0, 500.0])


def test_blocks_on_a_gpu_are_measured(tmp_path, capsys):
    pytest.importorskip("torch", reason="torch is not installed: qufur[gpu]")
    found = quick(tmp_path, "gpu")["gpu"]
    sources = [cell["source"] for cell in found["cells"] if "failed" not in cell]
    assert sources == ["card", "host", "npy", "parquet"]
    for cell in found["cells"]:
        assert cell["cpu"]["equal"]
        assert cell["cpu"]["equal_late"]
    assert "as the CPU's" in capsys.readouterr().out


def test_failed_cell_does_not_stop_the_benchmark(monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed: qufur[gpu]")
    from benchmarks import gpu
    from benchmarks.text import Progress

    monkeypatch.delattr(gpu.Data, "host")
    found = gpu.measure(True, Progress(), sources=("host", "card"), rules=("paced", "steady"))
    assert ["failed" in cell for cell in found["cells"]] == [True, False] * 2
    assert [cell["rule"] for cell in found["cells"]] == ["paced"] * 2 + ["steady"] * 2
    assert [cell["queries"] for cell in found["cells"] if "queries" in cell] == [150, 150]
    assert "AttributeError" in gpu.render(found)


def test_pool_selection_is_measured(tmp_path, monkeypatch, capsys):
    from benchmarks import pool, ratios

    monkeypatch.setattr(pool, "WRITERS", {"csv": pool.WRITERS["csv"]})
    monkeypatch.setattr(pool, "QUICK_ROWS", 200)
    (found,) = quick(tmp_path, "pool")["pool"]
    assert (found["format"], found["rows"]) == ("csv", 200)
    assert "200 × 100 from csv" in capsys.readouterr().out
    verdicts = [ratios.ratios({"pool": [found | {"cpu_seconds": seconds}]}) for seconds in (59.0, 61.0)]
    assert [ratio.kept for (ratio,) in verdicts] == [True, False]


def test_service_under_load_answers_everything_and_restarts():
    from benchmarks import leases, restart, service
    from benchmarks.text import Progress

    (batches,) = [case for case in service.CASES if case.name == "batches"]
    found = service._case("Ridge", batches, 20 * batches.batch, 2)
    assert found["told"] > 0
    assert "Ridge" in service.render([found])
    assert "600" in restart.render(restart.measure(True, Progress()))
    assert "100 rows leased" in leases.render(leases.measure(True, Progress()))
