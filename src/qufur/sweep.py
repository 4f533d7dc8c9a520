"""Grid × seeds → one table, in parallel and resumable."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.errors import invalid, missing_extra
from qufur.learner import Learner
from qufur.models import Model
from qufur.progress import track
from qufur.rules import Greedy, Rule
from qufur.run import run
from qufur.streams import Stream

if TYPE_CHECKING:
    import polars as pl

StreamOf = Callable[[int], Stream]
ModelOf = Callable[[Stream], Model]
RuleOf = Callable[[float, Stream], Rule]
Grid = Mapping[str, tuple[RuleOf, Sequence[float]]]


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: which rule at which parameter, on the stream of which seed."""

    rule: str
    parameter: float
    seed: int


def sweep(
    stream: StreamOf,
    model: ModelOf,
    grid: Grid,
    *,
    seeds: Iterable[int],
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
) -> pl.DataFrame:
    """Run every rule of a grid at every parameter on the streams of all seeds.

    All rules meet the same streams and throw the same coins. The numbers do not depend on `jobs`, nor on
    whether the sweep was interrupted.

    Parameters
    ----------
    stream
        Makes the stream of a seed.
    model
        Makes the model for a stream.
    grid
        Rule names with, for each, a function of parameter and stream, and the parameters to try.
    seeds
        Seeds of streams and coins.
    jobs
        Number of processes.
    out
        A JSON-lines file to which each run is added as it ends. Runs that are in it already, with the same
        stream, model and rule, are not done again.

    Returns
    -------
    polars.DataFrame
        A row per run: rule, parameter, seed, horizon, queries, loss, regret, excess.

    Examples
    --------
    >>> from qufur import QuFUR, Ridge, streams
    >>> table = sweep(
    ...     lambda seed: streams.HiddenDomains([50, 50], [4, 2], seed=seed),
    ...     lambda stream: Ridge(stream.dim),
    ...     {"QuFUR": (lambda alpha, stream: QuFUR(alpha), [0.5, 2.0])},
    ...     seeds=range(2),
    ... )
    >>> table["queries"].to_list()
    [21, 18, 44, 40]
    """
    try:
        import polars as pl
    except ImportError:
        raise missing_extra("polars", "sweep", "sweep") from None

    seeds = list(seeds)
    if not seeds:
        raise invalid("seeds", "sweep", "at least one", "none")
    cells = [Cell(name, float(v), s) for name, (_, values) in grid.items() for v in values for s in seeds]
    keys = [repr(cell) for cell in cells]
    if out is not None:
        settings = {seed: _Setting.of(stream(seed), model) for seed in seeds}
        keys = [settings[cell.seed].key(cell, grid[cell.rule][0]) for cell in cells]
    rows = _read(out)
    missing = [(cell, key) for cell, key in zip(cells, keys, strict=True) if key not in rows]
    for key, row in track(_play(missing, stream, model, grid, jobs), len(missing), "Running"):
        rows[key] = row
        _append(out, key, row)
    return pl.DataFrame([rows[key] for key in keys])


def _play(
    missing: Sequence[tuple[Cell, str]], stream: StreamOf, model: ModelOf, grid: Grid, jobs: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    if jobs == 1:
        return (_play_one(cell, key, stream, model, grid[cell.rule][0]) for cell, key in missing)
    try:
        import joblib
    except ImportError:
        raise missing_extra("joblib", "sweep", "sweep with several jobs") from None
    tasks = (joblib.delayed(_play_one)(cell, key, stream, model, grid[cell.rule][0]) for cell, key in missing)
    played: Iterator[tuple[str, dict[str, Any]]] = joblib.Parallel(
        n_jobs=jobs, return_as="generator_unordered"
    )(tasks)
    return played


def _play_one(
    cell: Cell, key: str, stream_of: StreamOf, model_of: ModelOf, rule_of: RuleOf
) -> tuple[str, dict[str, Any]]:
    stream = stream_of(cell.seed)
    rule = rule_of(cell.parameter, stream)
    # The coins must not be the numbers that made the stream.
    learner = Learner(model_of(stream), rule, seed=np.random.default_rng([cell.seed, 1]))
    totals = run(learner, stream).totals
    sums = {"loss": totals.loss, "regret": totals.regret, "excess": totals.excess}
    return key, {**asdict(cell), "horizon": totals.examples, "queries": totals.queries, **sums}


@dataclass(frozen=True)
class _Setting:
    """What all runs of a seed share, told apart by a digest: a stale file is never taken for this sweep."""

    stream: Stream
    digest: str

    @classmethod
    def of(cls, stream: Stream, model_of: ModelOf) -> _Setting:
        model = model_of(stream)
        # An adaptive adversary needs somebody to play against before it shows anything.
        played = stream.against(Learner(model, Greedy(1)))
        digest = hashlib.sha256(repr(model).encode())
        for chunk in played.chunks(4096):
            digest.update(chunk.X.tobytes() + chunk.y.tobytes())
        return cls(stream, digest.hexdigest())

    def key(self, cell: Cell, rule_of: RuleOf) -> str:
        text = f"{cell} {rule_of(cell.parameter, self.stream)!r} {self.digest}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read(path: str | os.PathLike[str] | None) -> dict[str, dict[str, Any]]:
    if path is None or not Path(path).exists():
        return {}
    rows: dict[str, dict[str, Any]] = {}
    for line in Path(path).read_text().splitlines():
        try:
            rows.update([json.loads(line)])
        except json.JSONDecodeError:  # the blank first line, or one cut off: that run is done again
            continue
    return rows


def _append(path: str | os.PathLike[str] | None, key: str, row: dict[str, Any]) -> None:
    if path is not None:
        with open(path, "a") as file:
            # The line break comes first: it also ends a line that an interruption cut off.
            file.write("\n" + json.dumps([key, row]))
