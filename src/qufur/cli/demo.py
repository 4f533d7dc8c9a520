"""`qufur demo`: what this library is for, shown in a minute on data that pip brought."""

from __future__ import annotations

import sys
import textwrap
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from qufur.cli.comparison import ERROR_RATE, Comparison, Task
from qufur.cli.decision import Decision
from qufur.cli.demo_page import demo_page
from qufur.cli.options import Jobs, Out
from qufur.cli.outputs import check_folder
from qufur.cli.reproduce import Quick, versions
from qufur.experiments.demo import digits, study
from qufur.experiments.demo.drawing import draw_time
from qufur.experiments.demo.paper import FIGURE_1, FIGURE_3
from qufur.experiments.real.methods import OURS, SAME
from qufur.experiments.results import Result, reproduce
from qufur.figures import style
from qufur.rules.from_budget import labels_of
from qufur.storage.atomic import replacing

EXPERIMENTS = (study.EXPERIMENT, FIGURE_1, FIGURE_3)
PAGE = "index.html"
WIDTH = 100
NEAR = 16
"""Pictures within which a turn counts as noticed: two blocks of inputs."""
WAYS = {OURS: "chosen by Steady", SAME: "at random"}


def demo(jobs: Jobs = 2, quick: Quick = False, out: Out = Path("qufur-out")) -> None:
    """Show in a minute what choosing labels saves, on digits that turn without notice.

    Needs no data but what was installed. Writes index.html, with figures of that and of the paper.
    """
    check_folder(out, [PAGE])
    begin = time.perf_counter()
    print("A demonstration of about a minute on two cores.", file=sys.stderr)
    results = reproduce(EXPERIMENTS, out, seeds=None, quick=quick, jobs=jobs)
    shown = results[0]
    seeds = range(shown.table["seed"].n_unique())
    found = [digits.alarms(digits.turning_digits(seed).X) for seed in seeds]
    drawing = style.save(draw_time(shown.table, study.SHARE, found[0]), out, "demo-time")[1]
    said = [*_about(shown), *_told(shown), _shifts(found), _paper(results[1:])]
    seconds = f"{time.perf_counter() - begin:.0f} s with {jobs} processes, less what was there already"
    settings = {"command": "qufur demo" + " --quick" * quick, "time": seconds, **versions()}
    page = demo_page(results, drawing.read_text(), said, settings)
    with replacing(out / PAGE) as file:
        file.write(page.encode())
    print("\n".join(said))
    print(f"Figures, and where to go next: {out / PAGE}")
    print("Your own table: `qufur run FILE --target COLUMN --budget 5%`")


def _about(shown: Result) -> list[str]:
    """Say what is shown."""
    rows, seeds = digits.turning_digits().horizon, shown.table["seed"].n_unique()
    turns = ", ".join(digits.STRETCHES)
    return [
        f"{rows} pictures of the digits 0 to {digits.CLASSES - 1}, from scikit-learn: {turns}.",
        "Nobody says when. Each is predicted, then its label may be bought. Both ways have the same model,",
        f"`Experts`. Means over {seeds} orders of the pictures:",
    ]


def _told(shown: Result) -> list[str]:
    """Put both ways side by side, and say what choosing saved."""
    runs = study.runs(shown.table)
    budget = labels_of(study.SHARE, digits.turning_digits().horizon)
    at = runs.filter(runs["parameter"] == study.SHARE)
    header = f"{'labels':<18}{'spent':>8}{'mistaken':>11}   {', '.join(digits.STRETCHES)}"
    lines = []
    for rule, name in WAYS.items():
        rows = at.filter(at["rule"] == rule)
        parts = ", ".join(f"{part:.0%}" for part in study.in_stretches(shown.table, rule))
        bought, error = (float(np.mean(rows[key].to_numpy())) for key in ("queries", ERROR_RATE))
        lines.append(f"{name:<18}{f'{bought:.0f} of {budget}':>8}{error:>11.1%}   {parts}")
    task = Task("demo", digits.turning_digits, lambda _: study.experts(), ERROR_RATE)
    decision = Decision.of(Comparison(task, runs, {}, np.nan), OURS, study.SHARE)
    return [header, *lines, *textwrap.wrap(decision.finding(f"{budget} labels"), WIDTH)]


def _shifts(found: Sequence[Sequence[int]]) -> str:
    """Say where the turns were, and which of them the inputs betrayed."""
    true = np.array(digits.SHIFTS)
    near = [abs(np.subtract.outer(true, places)) <= NEAR for places in found]
    hits = sum(int(each.any(axis=1).sum()) for each in near)
    false = sum(int((~each.any(axis=0)).sum()) for each in near)
    turns = ", ".join(map(str, digits.SHIFTS))
    return (
        f"Turned after {turns} pictures. Noticed without labels, within {NEAR}: {hits} of "
        f"{len(true) * len(found)}; false alarms: {false}."
    )


def _paper(results: Sequence[Result]) -> str:
    """Count what becomes of the paper's statements."""
    holds = Counter(part.holds for result in results for part in result.statements)
    told = f"{holds[True]} hold, {holds[False]} do NOT, {holds[None]} are undecided"
    return f"The paper's figures 1 (synthetic data) and 3: of {holds.total()} statements {told}."
