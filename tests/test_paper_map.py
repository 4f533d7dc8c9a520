"""The map of the paper has a row for every item of the paper, and every name in a row exists."""

import ast
import pkgutil
import re
import shlex
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.main import get_command

from qufur import theory
from qufur.cli import app
from qufur.experiments import PARTS as PAPER
from studies import STUDIES

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "docs" / "explanation" / name for name in ("paper-map.md", "paper-map-appendices.md")]
QUOTED = re.compile(r"`([^`]+)`")
ROW = re.compile(r"^\* \*\*(?P<item>.+?)\*\* (?P<code>.+?); (?P<checks>.+)$", re.M)

# Numbered items of the paper, with the last number of each.
NUMBERED = {
    "Algorithm {}": 4,
    "Theorem {}": 14,
    "Lemma {}": 12,
    "Definition {}": 3,
    "Equation ({})": 23,
}
# Items without a number, and figures by panel, in order.
NAMED = """
    Example of the introduction
    Realizable labels, Domain structure, Protocol, Queries Q, Regret R, Budget Q ≤ B
    Oblivious and adaptive adversaries, Norm in a matrix, clip, η̃
    Linear class, Least squares θ̂, All labels, Uniform queries, Domain-aware queries
    Program for the rates, Rates for small budgets, Rates for large budgets, Regret of the oracle
    Uncertainty Δ, Range of α, Remark: adaptive regret, Remark: uniform queries, Remark: the oracle
    Remark: fixed cost ratio, Remark: dependence on η, Remark: running time, Remark: kernels
    Grid of α, Comparison with the oracle
    Lower bound as a min-max, Upper bound as a max, Hidden-domain minimax optimality
    Confidence set, Uncertainty of a confidence set, Covering number, Linear class as a special case
    Strategies, Synthetic data, Amazon reviews, Rotated MNIST, Portraits, Realizability of the data
    Sweeps, Lowest at equal labels
    Figure 1: synthetic, Figure 1: Amazon reviews, Figure 1: rotated MNIST, Figure 1: portraits
    Figure 2, Figure 3, Figure 4a, Figure 4b, Figure 4c, Figure 4d, Figure 4e, Figure 4f
    Event E, Queried uncertainty, High and low risk, Complexity R_u
    Adversary of Theorem 3, Posterior mean, Constant 7500, Cost W, Regret Reg
    Uniform draw of predictors, Durations in a sample
    Kernel prediction, Kernel uncertainty, Effective dimension of RBF, Relaxed program
    Domains bought whole, Training of classifiers, Queries of classifiers
"""
ITEMS = [kind.format(i) for kind, last in NUMBERED.items() for i in range(1, last + 1)] + re.split(
    r",\s+|\n\s+", NAMED.strip()
)
COMMANDS = get_command(app).commands
PARTS = PAPER | STUDIES
EXPERIMENTS = {experiment.name for part in PARTS.values() for experiment in part}
# Experiments that are not in the paper.
BEYOND = {
    "libsvm",
    *(experiment.name for part in STUDIES.values() for experiment in part),
}


class Row(NamedTuple):
    item: str
    code: str
    checks: str


def rows(page):
    """Return the rows of the map."""
    return [Row(**line.groupdict()) for line in ROW.finditer(page)]


@cache
def problems(page):
    """Return a message for each problem of a page."""
    entries = rows(page)
    wrong = _about_items(Counter(row.item for row in entries))
    for row in entries:
        wrong += [f"{row.item}: {problem}" for problem in _about_row(row)]
    wrong += [f"no such test: {node}" for node in QUOTED.findall(page) if _is_test(node) and not _has(node)]
    named = {name for row in entries for name in QUOTED.findall(row.code + row.checks)}
    wrong += [f"theory.{name} is nowhere" for name in theory.__all__ if f"theory.{name}" not in named]
    wrong += [f"experiment {name} is nowhere" for name in EXPERIMENTS - BEYOND - named]
    return wrong


def _about_items(count):
    wrong = [f"missing: {item}" for item in ITEMS if not count[item]]
    wrong += [f"not in the paper: {item}" for item in count if item not in ITEMS]
    return wrong + [f"more than once: {item}" for item in count if count[item] > 1]


def _about_row(row):
    code, checks = QUOTED.findall(row.code), QUOTED.findall(row.checks)
    if not (code and checks):
        yield "code or checks name nothing"
    yield from (f"no such code: {name}" for name in code if not _exists(name))
    yield from (
        f"no such experiment: {name}" for name in checks if not _is_test(name) and name not in EXPERIMENTS
    )


def _is_test(name):
    return name.startswith("tests/") and "::" in name


def _has(node):
    path, _, name = node.partition("::")
    return (ROOT / path).is_file() and name in _tests_of(ROOT / path)


@cache
def _tests_of(path):
    body = ast.parse(path.read_text()).body
    inside = [(f"{c.name}::", c.body) for c in body if isinstance(c, ast.ClassDef)]
    return {
        prefix + node.name
        for prefix, nodes in [("", body), *inside]
        for node in nodes
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def _exists(name):
    """Return whether a name is a valid command or a name in `qufur`."""
    if name.startswith("qufur "):
        return _can_be_called(shlex.split(name)[1:])
    try:
        pkgutil.resolve_name(f"qufur.{name}")
    except (AttributeError, ImportError, ValueError):
        return False
    return True


def _can_be_called(arguments):
    command = COMMANDS.get(arguments[0])
    try:
        return command is not None and bool(command.make_context(arguments[0], list(arguments[1:])))
    except Exception as error:  # the exception classes of typer are private
        if hasattr(error, "format_message"):
            return False
        raise


def whole_map():
    return "".join(page.read_text() for page in PAGES)


def test_paper_map_is_complete_and_correct():
    assert problems(whole_map()) == []


def test_paper_items_are_distinguished():
    assert max(Counter(ITEMS).values()) == 1


DOCTORED = {
    "a theorem is missing": (r"\* \*\*Theorem 9\*\* .*\n", "", ["missing: Theorem 9"]),
    "an equation is missing": (r"\* \*\*Equation \(22\)\*\* .*\n", "", ["missing: Equation (22)"]),
    "a display is missing": (
        r"\* \*\*Range of α\*\* .*\n",
        "",
        ["missing: Range of α", "theory.alpha_range is"],
    ),
    "a theorem too many": (r"\*Theorem 14\*", "*Theorem 15*", ["missing: Theorem 14", "not in the paper"]),
    "twice the same": (r"(\* \*\*Lemma 3\*\* .*\n)", r"\1\1", ["more than once: Lemma 3"]),
    "a name misspelt": (r"`theory\.qufur_order`", "`theory.qufur_odrer`", ["no such code: theory.qufur_odr"]),
    "a method misspelt": (r"`Learner\.ask`", "`Learner.aks`", ["Protocol: no such code: Learner.aks"]),
    "a module misspelt": (r"`models\.gram\.", "`models.gramm.", ["no such code: models.gramm.gram.Gram"]),
    "no command": ("`qufur reproduce fig1`", "`qufur produce fig1`", ["no such code: qufur produce fig1"]),
    "no figure": ("`qufur reproduce fig1`", "`qufur reproduce fig9`", ["no such code: qufur reproduce fig9"]),
    "no option": ("reproduce fig1`", "reproduce fig1 --pane`", ["no such code: qufur reproduce fig1 --pane"]),
    "a test misspelt": (
        "::test_predictions_are_clipped",
        "::test_predictions_are_cliped",
        ["no such test: tests/models/test_ridge.py::test_predictions_are_cliped"],
    ),
    "a helper for a test": (
        "::test_predictions_are_clipped",
        "::learned",
        ["no such test: tests/models/test_ridge.py::learned"],
    ),
    "a file misspelt": (
        "models/test_ridge.py::test_predictions_are_clipped",
        "test_rigde.py::test_predictions_are_clipped",
        ["no such test: tests/tes"],
    ),
    "an experiment misspelt": ("`tradeoff`", "`trade`", ["no such experiment: trade", "tradeoff is nowhere"]),
    "no check": (r"(\*\*Lemma 9\*\* .*;).*\n", r"\1 proof\n", ["Lemma 9: code or checks name nothing"]),
    "an excuse": (
        r"(\*\*Lemma 9\*\* ).*\n",
        r"\1not yet; not yet\n",
        ["Lemma 9: code or checks name nothing"],
    ),
}


@pytest.mark.parametrize("case", DOCTORED)
def test_wrong_paper_map_is_detected(case):
    pattern, put, expected = DOCTORED[case]
    page = whole_map()
    doctored = re.sub(pattern, put, page)
    assert doctored != page
    new = set(problems(doctored)) - set(problems(page))
    for problem in expected:
        assert any(problem in line for line in new), new
