"""`qufur demo`: a one-minute demonstration on the digits of scikit-learn, with an HTML page."""

from __future__ import annotations

import sys
import textwrap
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from qufur.cli import _options as opt
from qufur.cli._compare import ERROR_RATE, Comparison, Decision, Task
from qufur.cli._table_out import check_folder
from qufur.experiments import demo as study
from qufur.experiments.commands.reproduce import Quick, versions
from qufur.experiments.fixed_budget import OURS, SAME
from qufur.experiments.page import STYLE, statement_table
from qufur.experiments.results import Result, reproduce, skipped
from qufur.figures import style
from qufur.figures.html import document, figure, plain_table, with_code
from qufur.rules.from_budget import labels_of
from qufur.storage.atomic import replacing

TITLE = "qufur: demonstration"
EXTRA_STYLE = """
pre { background: #f7f7f7; padding: 0.8rem 1rem; border-radius: 6px; overflow-x: auto; font-size: 0.85rem }
code { background: #f2f2f2; padding: 0 0.2em; border-radius: 3px }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1.5rem }
figure svg, figcaption { max-width: 60rem } figure.narrow svg { max-width: 36rem }
figcaption { color: #555; font-size: 0.9rem; margin-top: 0.4rem }
"""
CAPTIONS = {
    "demo": "Error rate against labels bought, over all images. Bands are 95 % intervals of the mean.",
    "time": "Errors and labels over time, at the budget of the demonstration. Dashed: rotations. "
    "Triangles: shifts detected from the inputs alone, in the first order.",
    "demo-fig1": "Regret against labels on 20 hidden domains; left: the stream of the authors' scripts, "
    "right: the stream of the paper's text. Bars are standard deviations, as in the paper.",
    "demo-fig3": "Query probability over time on rotated MNIST, the published run. Dashed: shifts.",
}
NEXT = {
    "Compare the rules on your own labelled table:": "qufur run FILE --target COLUMN --budget 5%",
    "Choose which rows of your own table to label:": (
        "qufur ask FILE --target COLUMN --budget 300 --state work.qufur -o to_label.csv"
    ),
    "Label with a program, such as a language model:": "qufur label --help",
    "Reproduce the paper, with a verdict on every claim:": "qufur reproduce",
}
PAPER = "https://arxiv.org/abs/2006.14481"


def demo_page(results: Sequence[Result], time: str, lines: Sequence[str], settings: Mapping[str, str]) -> str:
    """Return the HTML page.

    Parameters
    ----------
    results
        Results of the demonstration, then of the paper's figures.
    time
        Figure of errors over time, as SVG.
    lines
        Lines that the command prints.
    settings
        Command, time and versions, by name.
    """
    demonstration, *paper = results
    steps = "".join(f"<p>{escape(goal)}<br>{with_code(f'`{command}`')}</p>" for goal, command in NEXT.items())
    return document(
        TITLE,
        STYLE + EXTRA_STYLE,
        [
            f"<h1>{TITLE}</h1>",
            f"<pre>{escape(chr(10).join(lines))}</pre>",
            f'<div class="plots">{_plot(demonstration.drawing, "demo")}{_plot(time, "time")}</div>',
            statement_table(demonstration.statements),
            _files(demonstration),
            *(_section(result) for result in paper if result.files),
            *(
                f"<p>Skipped: {escape(', '.join(parts))}. {escape(reason)}</p>"
                for reason, parts in skipped(paper).items()
            ),
            "<h2>Next steps</h2>",
            steps,
            f'<p>The paper: <a href="{PAPER}">Active Online Learning with Hidden Shifting Domains</a>.</p>',
            "<h2>Settings</h2>",
            plain_table(("", ""), list(settings.items())),
        ],
    )


def _plot(drawing: str, name: str) -> str:
    return figure(drawing).replace("</figure>", f"<figcaption>{escape(CAPTIONS[name])}</figcaption></figure>")


def _section(result: Result) -> str:
    return "\n".join(
        [
            f"<h2>{escape(result.experiment.title)}</h2>",
            _plot(result.drawing, result.experiment.name),
            statement_table(result.statements),
            _files(result),
        ]
    )


def _files(result: Result) -> str:
    links = ", ".join(f'<a href="{path.name}">{path.name}</a>' for path in result.files)
    return f'<p class="note">All runs and the figure: {links}</p>'


PAGE = "index.html"
WIDTH = 100
NEAR = 16
"""Maximum distance in images between a rotation and its detection: two blocks of inputs."""
METHODS = {OURS: "chosen by Steady", SAME: "random"}
"""Methods in the table that the command prints."""


def demo(jobs: opt.Jobs = 2, quick: Quick = False, out: opt.Out = Path("qufur-out")) -> None:
    """Show how many labels the query rule saves, in a minute.

    The stream is images of digits that rotate, from scikit-learn; nothing is downloaded. Writes index.html
    with figures of the demonstration and of the paper.

    Example:
      qufur demo --out demo
    """
    check_folder(out, [PAGE])
    begin = time.perf_counter()
    print("This takes about a minute on two cores.", file=sys.stderr)
    results = reproduce(study.EXPERIMENTS, out, seeds=None, quick=quick, jobs=jobs)
    demonstration = results[0]
    seeds = range(demonstration.table["seed"].n_unique())
    alarms = [study.alarms(study.turning_digits(seed).X) for seed in seeds]
    drawing = style.save(study.draw_time(demonstration.table, alarms[0]), out, "demo-time")[1]
    lines = [
        *_describe(demonstration),
        *_compare(demonstration),
        _describe_shifts(alarms),
        _count_statements(results[1:]),
    ]
    seconds = f"{time.perf_counter() - begin:.0f} s with {jobs} processes, without runs finished earlier"
    command = "qufur demo --quick" if quick else "qufur demo"
    settings = {"command": command, "time": seconds, **versions()}
    page = demo_page(results, drawing.read_text(), lines, settings)
    with replacing(out / PAGE) as file:
        file.write(page.encode())
    print("\n".join(lines))
    print(f"Figures and next steps: {out / PAGE}")
    print("With your own table: `qufur run FILE --target COLUMN --budget 5%`")


def _describe(result: Result) -> list[str]:
    """Describe the task and the data."""
    images, seeds = study.turning_digits().horizon, result.table["seed"].n_unique()
    rotations = ", ".join(study.SEGMENTS)
    return [
        f"{images} images of the digits 0 to {study.CLASSES - 1}, from scikit-learn: {rotations}.",
        "The model is not told when. It predicts each image, then a rule decides whether to buy the label.",
        f"Both methods use the model `Experts`. Means over {seeds} orders of the images:",
    ]


def _compare(result: Result) -> list[str]:
    """Return a table of both methods, and the labels that the rule saves."""
    runs = study.runs(result.table)
    budget = labels_of(study.SHARE, study.turning_digits().horizon)
    at = runs.filter(parameter=study.SHARE)
    header = f"{'labels':<18}{'spent':>8}{'error rate':>12}   {', '.join(study.SEGMENTS)}"
    lines = []
    for rule, name in METHODS.items():
        rows = at.filter(rule=rule)
        parts = ", ".join(f"{part:.0%}" for part in study.segment_errors(result.table, rule))
        bought, error = (float(np.mean(rows[key].to_numpy())) for key in ("queries", ERROR_RATE))
        lines.append(f"{name:<18}{f'{bought:.0f} of {budget}':>8}{error:>12.1%}   {parts}")
    task = Task("demo", study.turning_digits, lambda _: study.experts(), ERROR_RATE)
    decision = Decision.of(Comparison(task, runs, {}, np.nan), OURS, study.SHARE)
    # `textwrap` keeps a number and its % on one line if a no-break space joins them.
    finding = decision.finding(f"{budget} labels").replace(" %", "\u00a0%")
    return [header, *lines, *(line.replace("\u00a0", " ") for line in textwrap.wrap(finding, WIDTH))]


def _describe_shifts(alarms: Sequence[Sequence[int]]) -> str:
    """Report the positions of the rotations and how many of them were detected from the inputs.

    `alarms` are the rows of the alarms of each seed; the counts are summed over seeds.
    """
    shifts = np.array(study.SHIFTS)
    near = [abs(np.subtract.outer(shifts, positions)) <= NEAR for positions in alarms]
    hits = sum(int(matches.any(axis=1).sum()) for matches in near)
    false_alarms = sum(int((~matches.any(axis=0)).sum()) for matches in near)
    positions = ", ".join(map(str, study.SHIFTS))
    return (
        f"Rotated after {positions} images. Detected without labels, within {NEAR} images: {hits} of "
        f"{len(shifts) * len(alarms)}; false alarms: {false_alarms}."
    )


def _count_statements(results: Sequence[Result]) -> str:
    """Count the verdicts on the paper's statements."""
    holds = Counter(statement.holds for result in results for statement in result.statements)
    verdicts = f"{holds[True]} hold, {holds[False]} do NOT, {holds[None]} are undecided"
    return f"The paper's figures 1 (synthetic data) and 3: of {holds.total()} statements {verdicts}."
