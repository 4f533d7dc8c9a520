"""Input shifts against alarms of Δ, both as reported by `qufur status`, on streams and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.estimates.input_blocks import InputBlocks
from qufur.estimates.input_shifts import input_shifts
from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.cached_streams import missing_among, named, stream_of, why_missing
from qufur.figures.style import subplots
from qufur.learner import Learner
from qufur.rules import Steady
from qufur.streams import Arrays, Stream
from qufur.sweep.statistics import jackknife
from qufur.sweep.tasks import Row
from studies.real import tables
from studies.shifts import real
from studies.shifts.scores import WITHIN, beginnings, counts, rate
from studies.shifts.streams import FAMILIES, NO_BEGINNINGS

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

SYNTHETIC, DOMAINS, ORDERED, SHUFFLED = (
    "synthetic",
    "real data by domains",
    "tables in order",
    "tables shuffled",
)
MOST_FALSE = 1e-4
"""Largest number of false alarms per example."""
BEFORE, AFTER = "Δ", "inputs"


@dataclass(frozen=True)
class Source:
    """Stream of the study: its group, design or held-out, its constructor, and its shifts.

    `shifts` are the rows of the shifts; if None, they follow from the domains of the stream.
    """

    group: str
    part: str
    make: Callable[[int], Stream]
    shifts: tuple[int, ...] | None = None


def _shuffled(make: Callable[[int], Stream]) -> Callable[[int], Stream]:
    def shuffled(seed: int) -> Arrays:
        table = Arrays.of(stream_of(make, 0))
        order = np.random.default_rng(seed).permutation(table.horizon)
        return Arrays(table.X[order], table.y[order])

    return shuffled


IN_ORDER = {
    "portraits, 5 periods in order": Source(ORDERED, "", tables.portraits, tuple(range(1000, 5000, 1000))),
    "reviews (stand-in data), 3 topics in order": Source(ORDERED, "", tables.reviews, (300, 900)),
    "digits, turned every 1000": Source(ORDERED, "", tables.turning_digits, tuple(range(1000, 6000, 1000))),
    "bike rentals by the hour": Source(ORDERED, "", tables.bike, ()),
}
SOURCES = {name: Source(SYNTHETIC, family.part, family.stream) for name, family in FAMILIES.items()}
SOURCES |= {panel.title: Source(DOMAINS, "", panel.stream) for panel in real.PANELS.values()}
SOURCES |= IN_ORDER
SOURCES |= {
    f"{name.split(',')[0]}, shuffled": Source(SHUFFLED, "", _shuffled(source.make), ())
    for name, source in IN_ORDER.items()
}


def cells(seeds: int) -> list[Cell]:
    """Return a cell per stream with available data and seed; tables in original order have one seed."""
    return [
        {"stream": name, "title": named(name, source.make) if source.group == DOMAINS else name}
        | {"group": source.group, "set": source.part, "seed": seed}
        for name, source in SOURCES.items()
        if source.group == SYNTHETIC or why_missing(source.make) is None
        for seed in range(1 if source.group == ORDERED else seeds)
    ]


def play(cell: Cell) -> Row:
    """Ask for a whole stream with a budget of 5 % and no labels, as `qufur ask` does; score both signals."""
    source = SOURCES[cell["stream"]]
    stream = Arrays.of(source.make(cell["seed"]))
    starts, changes = _truth(source, stream)
    alarms, block = _alarms(stream.X)
    within = max(WITHIN, 2 * block)
    rows = [_score(np.array(alarm_rows), starts, changes, within) for alarm_rows in alarms]
    totals = {"examples": stream.horizon, "beginnings": len(starts)}
    return totals | {"signal": [BEFORE, AFTER]} | {name: [row[name] for row in rows] for name in rows[0]}


def _truth(source: Source, stream: Arrays) -> tuple[list[int], list[int]]:
    """Return the rows at which new domains begin, and those of all changes of domain."""
    if source.shifts is not None:
        return list(source.shifts), list(source.shifts)
    domain: Ints = np.zeros(stream.horizon, dtype=np.int64) if stream.domain is None else stream.domain
    return beginnings(domain), (np.flatnonzero(np.diff(domain)) + 1).tolist()


def _alarms(X: Floats) -> tuple[tuple[list[int], list[int]], int]:
    """Return the rows of the alarms of Δ and of the inputs, and the size of a block of inputs."""
    from qufur.models import Experts

    learner = Learner(Experts(X.shape[1]), Steady(len(X) // 20, len(X)))
    blocks = InputBlocks()
    for start in range(0, len(X), 4096):
        learner.ask_many(X[start : start + 4096])
        blocks.update(X[start : start + 4096])
    hits = input_shifts(blocks, [""] * X.shape[1])
    return (learner.ledger.shifts.times, [shift.row for shift in hits]), blocks.block


def _score(alarms: Ints, starts: list[int], changes: list[int], within: int) -> dict[str, int]:
    """Count detected starts, alarms and false alarms; a return to a seen domain is a change, too."""

    def near(row: int, rows: list[int] | Ints) -> bool:
        return len(rows) > 0 and bool(np.abs(np.asarray(rows) - row).min() <= within)

    return {
        "found": sum(near(start, alarms) for start in starts),
        "alarms": len(alarms),
        "false": sum(not near(alarm, changes) for alarm in alarms.tolist()),
    }


def missing() -> dict[str, str]:
    """Return the missing data, each with the reason."""
    return missing_among({name: s.make for name, s in SOURCES.items() if s.group != SYNTHETIC})


def judge(table: pl.DataFrame) -> list[Statement]:
    """Evaluate whether input alarms are rare enough and detect real shifts."""
    inputs = table.filter(table["signal"] == AFTER)
    parts = (
        (_is_quiet, "held-out streams", inputs.filter(inputs["set"] == "held-out")),
        (_is_quiet, "real tables, shuffled", inputs.filter(inputs["group"] == SHUFFLED)),
        (_finds, "real tables in order", inputs.filter(inputs["group"] == ORDERED)),
    )
    return [statement(rows, f"shifts of inputs, {name}") for statement, name, rows in parts if len(rows)]


def _is_quiet(table: pl.DataFrame, source: str) -> Statement:
    false = jackknife(rate, counts(table, "false", "examples"))
    return Statement(
        source,
        "there is at most 1 false alarm in 10,000 examples",
        f"{1e4 * false.value:.2f} ± {1e4 * (false.high - false.value):.2f}",
        false.within(-float("inf"), MOST_FALSE),
    )


def _finds(table: pl.DataFrame, source: str) -> Statement:
    hits, shifts = (int(table[name].sum()) for name in ("found", "beginnings"))
    claim = "at least nine of ten shifts are detected"
    return Statement(source, claim, f"{hits} of {shifts}", hits >= 0.9 * shifts)


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return the rates of both signals, by type of synthetic stream and by real dataset."""
    types: dict[tuple[str, str, str], list[str]] = {}
    for name, family in FAMILIES.items():
        types.setdefault((family.beginnings, family.norms, family.part), []).append(name)
    synthetic = [
        [f"{'never' if begin == NO_BEGINNINGS else begin}, {norms}, {part}", *_both(table, names)]
        for (begin, norms, part), names in types.items()
    ]
    others = [name for name, source in SOURCES.items() if source.group != SYNTHETIC]
    titles = dict(zip(table["stream"], table["title"], strict=True))
    by_name = [[titles[name], *_both(table, [name])] for name in others if name in titles]
    return [
        Listing("Alarms of Δ and shifts of inputs, synthetic streams", ["domains begin", *HEADER], synthetic),
        Listing("Alarms of Δ and shifts of inputs, real data", ["data", *HEADER], by_name),
    ]


HEADER = ("beginnings", "Δ: found", "false per 10,000", "inputs: found", "false per 10,000")


def _both(table: pl.DataFrame, names: list[str]) -> list[str]:
    rows = table.filter(table["stream"].is_in(names))
    cells = [f"{rows.filter(rows['signal'] == AFTER)['beginnings'].sum()}"]
    for signal in (BEFORE, AFTER):
        part = rows.filter(rows["signal"] == signal)
        hits, false = (rate(counts(part, *two)) for two in (("found", "beginnings"), ("false", "examples")))
        cells += [f"{hits:.0%}", f"{1e4 * false:.2f}"]
    return ["–" if "nan" in text else text for text in cells]


def draw(table: pl.DataFrame) -> Figure:
    """Draw false alarms per 10,000 examples against the share of detections, a point per stream."""
    figure, (panel,) = subplots(1, 1)
    for signal, marker in ((BEFORE, "x"), (AFTER, "o")):
        rows = table.filter((table["signal"] == signal) & (table["beginnings"] > 0))
        points = [part for _, part in rows.group_by("stream", maintain_order=True)]
        hits = [rate(counts(part, "found", "beginnings")) for part in points]
        false = [1e4 * rate(counts(part, "false", "examples")) for part in points]
        panel.plot(false, hits, ls="none", marker=marker, ms=5, alpha=0.6, label=signal)
    panel.set(
        xscale="symlog", xlabel="false alarms per 10,000 examples", ylabel="share of beginnings detected"
    )
    panel.legend(frameon=False)
    return figure


def in_brief(cell: Cell) -> bool:
    """Select a few short streams for a quick run."""
    return cell["stream"] in (
        "homogeneous",
        "iid",
        "overlapping subspaces",
        "reviews (stand-in data), 3 topics in order",
    )


EXPERIMENT = Experiment(
    "shifts-inputs",
    "Shifts of the inputs, detected without labels",
    cells,
    play,
    draw,
    judge,
    seeds=3,
    in_brief=in_brief,
    missing=missing,
    listings=listings,
)
