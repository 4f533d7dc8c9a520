"""Targets, compared with the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.text import Table

FASTER = {
    (88, "qufur"): (15, 20, 40),
    (88, "compiled"): (30, 60, 100),
    (768, "qufur"): (40, 30, 30),
    (4096, "qufur"): (300, 300, 300),
}
"""Required speed-up of a replay over the authors' loop, at the three query rates."""
NAMES = {"qufur": "NumPy and SciPy only", "compiled": "with the compiled extra"}
EXPERTS = {20: 4, 88: 4, 768: 8}
"""Largest cost of the linear experts relative to one `Ridge`, by d."""
SLOWER = {88: 1.4, 384: 1.1, 768: 1.1}
"""Largest cost of `FixedBudget` relative to `QuFUR`."""
BARE_CALLS = 1.3
"""Largest cost of a call relative to bare BLAS calls."""
RIVER = 5.0
"""Required speed-up of one `ask` over river with uncertainty."""
SHARE_OF_GEMM = 0.65
MEGABYTES, GROWTH = 200.0, 20.0
"""Limits of a run over a file, in MB: peak memory, and growth of memory during the run."""
ASKED = {"Ridge": 50_000, "Experts": 12_000}
"""Required rows per CPU second of `qufur ask`."""
MEGABYTES_OF_COMMAND = 250.0
SECONDS_TO_CHOOSE = 60.0
"""Limit of the CPU time of `qufur choose` on a million rows."""


@dataclass(frozen=True)
class Ratio:
    """Target and its measurement.

    Parameters
    ----------
    work
        Name of the measured work; the key of earlier runs in the stored results.
    target, measured
        Target and measured value as text.
    kept
        Whether the measurement reaches the target.
    """

    work: str
    target: str
    measured: str
    kept: bool


def ratios(results: dict[str, Any]) -> list[Ratio]:
    """Return the targets of the parts that were measured."""
    return [ratio for part, check in CHECKS.items() if part in results for ratio in check(results[part])]


def tables(results: dict[str, Any]) -> list[Table]:
    """Return all targets in one table; a verdict also covers the stored earlier runs."""
    measured, runs = ratios(results), results.get("runs", {})
    kept = [[kept for _, kept in runs.get(r.work, [[r.measured, r.kept]])] for r in measured]
    rows = [
        [r.work, r.target, r.measured, _verdict(verdicts)] for r, verdicts in zip(measured, kept, strict=True)
    ]
    why = next((r["no_compiled"] for r in results.get("replay", [])), None)
    note = f"Not measured: replay, d = 88, {NAMES['compiled']}: {why}." if why else ""
    return [Table("Targets", ["work", "target", "measured", "verdict"], rows, note)] if rows else []


def _verdict(kept: list[bool]) -> str:
    if all(kept):
        return "reached"
    return f"{sum(kept)} of {len(kept)}" if any(kept) else "short"


def _replay(result: list[dict[str, Any]]) -> Iterator[Ratio]:
    for (dim, name), target in FASTER.items():
        faster = [r["faster_than_authors"].get(name) for r in result if r["dim"] == dim]
        if None not in faster:
            horizon = next(r["horizon"] for r in result if r["dim"] == dim)
            yield Ratio(
                f"replay, d = {dim}, T = {horizon}, against the authors' loop, {NAMES[name]}",
                "≥ " + " / ".join(map(str, target)),
                " / ".join(f"{value:.0f}" for value in faster),
                all(value >= least for value, least in zip(faster, target, strict=True)),
            )
    share = next(r["share_of_gemm"] for r in result if (r["dim"], r["rate"]) == (768, 0.6))
    name = "share of the speed of GEMM, d = 768, at 60 %"
    yield Ratio(name, f"≥ {SHARE_OF_GEMM:.0%}", f"{share:.0%}", share >= SHARE_OF_GEMM)


def _rules(result: list[dict[str, Any]]) -> Iterator[Ratio]:
    for dim, most in SLOWER.items():
        slower = [r["slower"]["FixedBudget"] for r in result if r["dim"] == dim]
        measured = " / ".join(f"{value:.2f}" for value in slower)
        yield Ratio(f"FixedBudget against QuFUR, d = {dim}", f"≤ {most}", measured, max(slower) <= most)


def _experts(result: list[dict[str, Any]]) -> Iterator[Ratio]:
    for r in result:
        most = EXPERTS[r["dim"]]
        for way, slower in r["slower"].items():
            name = f"linear experts against one Ridge, {way}, d = {r['dim']}"
            yield Ratio(name, f"≤ {most}", f"{slower:.1f}", slower <= most)


def _single(result: list[dict[str, Any]]) -> Iterator[Ratio]:
    for r in result:
        if r["faster_than_river"]:
            work = f"one ask, d = {r['dim']}, against river with uncertainty"
            faster = r["faster_than_river"]
            yield Ratio(work, f"≥ {RIVER:g}", f"{faster:.1f}", faster >= RIVER)
    for work, ratio in result[-1]["ratio"].items():
        name = f"one {work}, d = {result[-1]['dim']}, against bare BLAS calls"
        yield Ratio(name, f"≤ {BARE_CALLS}", f"{ratio:.2f}", ratio <= BARE_CALLS)


def _scale(result: list[dict[str, Any]]) -> Iterator[Ratio]:
    for r in result:
        if r["dim"] == 88 and r["loops"] == "plain":
            yield Ratio(
                f"memory, T = {r['rows']:,}, d = 88, from {r['format']}",
                f"< {MEGABYTES:.0f} MB, flat",
                f"{r['peak']:.0f} MB, grows by {r['growth']:.0f} MB",
                r["peak"] < MEGABYTES and r["growth"] <= GROWTH,
            )


def _command(result: list[dict[str, Any]]) -> Iterator[Ratio]:
    for r in result:
        speed, work = r["rows"] / r["cpu_seconds"], f"qufur ask, {r['rows']:,} rows, {r['model']}"
        least, most = ASKED[r["model"]], MEGABYTES_OF_COMMAND
        yield Ratio(work, f"≥ {least:,} rows/s", f"{speed:,.0f}", speed >= least)
        yield Ratio(f"{work}, memory", f"< {most:.0f} MB", f"{r['peak']:.0f} MB", r["peak"] < most)


def _sweep(result: dict[str, Any]) -> Iterator[Ratio]:
    faster = result["faster_than_authors"]["fresh"]
    work = f"sweep of {result['cells']} runs, d = {result['dim']}, two processes, against the authors' loop"
    yield Ratio(work, f"≥ {result['target']}", f"{faster:.0f}", faster >= result["target"])


def _pool(result: list[dict[str, Any]]) -> Iterator[Ratio]:
    for r in result:
        work, seconds = f"qufur choose, {r['rows']:,} × 100 from {r['format']}, CPU", r["cpu_seconds"]
        yield Ratio(work, f"< {SECONDS_TO_CHOOSE:.0f} s", f"{seconds:.0f} s", seconds < SECONDS_TO_CHOOSE)


CHECKS = {
    "replay": _replay,
    "rules": _rules,
    "experts": _experts,
    "single": _single,
    "scale": _scale,
    "command": _command,
    "sweep": _sweep,
    "pool": _pool,
}
