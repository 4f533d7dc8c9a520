"""Grid × seeds → one table, in parallel and resumable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from qufur.errors import invalid, missing_extra
from qufur.learner import Learner
from qufur.models import Model
from qufur.rules import Rule
from qufur.run import run
from qufur.streams import Arrays, Chunk, Stream
from qufur.sweep.fingerprint import Fingerprint, IndistinctError, fingerprint
from qufur.sweep.parallel import PROCESSES
from qufur.sweep.tasks import Row, Task, key_of, perform
from qufur.threads import one_thread
from qufur.trace import Trace

if TYPE_CHECKING:
    import polars as pl

StreamOf = Callable[[int], Stream]
ModelOf = Callable[[Stream], Model]
RuleOf = Callable[[float, Stream], Rule]
Grid = Mapping[str, tuple[RuleOf, Sequence[float]]]
LARGEST_HELD = 2**28
"""Bytes of inputs up to which a process keeps the stream it is at; a larger one is made anew for each run."""


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
    backend: str = PROCESSES,
    known: Chunk | None = None,
) -> pl.DataFrame:
    """Run every rule of a grid at every parameter on the streams of all seeds.

    All rules meet the same streams and throw the same coins. The numbers do not depend on `jobs` and
    `backend`, nor on whether the sweep was interrupted. It goes seed by seed: a process draws a stream once.

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
        A JSON-lines file to which each run is added as it ends. Runs that are in it already are not done
        again, if all that can change a row is the same: the examples with truth and domains, model, rule,
        and the code of all three. What cannot be compared, such as a model that holds a lock, is refused.
    backend
        Where the processes are: a backend of joblib, "loky" for this machine, "ray" for a Ray cluster.
    known
        Examples whose labels every learner has before it begins.

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
    keys = {cell: repr(cell) for cell in cells}
    if out is not None:
        with one_thread():
            keys = _keys(cells, stream, model, grid, known)
    name = uuid4().hex
    # The more labels, the longer a run: no process is to be left with a long one at the end.
    order = sorted(cells, key=lambda cell: (seeds.index(cell.seed), -cell.parameter))
    tasks = [
        Task(keys[cell], _play, (cell, name, stream, model, grid[cell.rule][0], known)) for cell in order
    ]
    rows = dict(zip(order, perform(tasks, jobs=jobs, out=out, backend=backend), strict=True))
    _held.clear()
    return pl.DataFrame([rows[cell] for cell in cells])


def play(model: Model, rule: Rule, stream: Stream, seed: int, known: Chunk | None = None) -> Trace:
    """Run a fresh learner on the stream of a seed; its coins are not the numbers that made the stream."""
    learner = Learner(model, rule, seed=np.random.default_rng([seed, 1]))
    if known is not None:
        learner.learn(known.X, known.y)
    return run(learner, stream)


_held: dict[tuple[str, int], tuple[Stream, Stream]] = {}


def _made(sweep: str, seed: int, make: StreamOf) -> tuple[Stream, Stream]:
    """Return the stream of a seed, and the same with its examples in memory if they fit.

    A process holds the last one, by the name of the sweep: a function that was sent is never the same again.
    """
    made = _held.get((sweep, seed))  # looked up once: the jobs may be threads
    if made is None:
        _held.clear()
        stream = make(seed)
        if isinstance(stream, Arrays) and isinstance(stream.X, np.memmap):
            return stream, stream  # it is there anyway, and joblib waits until nobody holds what it shares
        made = _held[sweep, seed] = stream, _in_memory(stream)
    return made


def _in_memory(stream: Stream) -> Stream:
    large = 8 * stream.horizon * stream.dim > LARGEST_HELD
    return stream if _adaptive(stream) or large or isinstance(stream, Arrays) else Arrays.of(stream)


def _adaptive(stream: Stream) -> bool:
    return type(stream).against is not Stream.against


def _play(
    cell: Cell, sweep: str, stream_of: StreamOf, model_of: ModelOf, rule_of: RuleOf, known: Chunk | None
) -> Row:
    stream, held = _made(sweep, cell.seed, stream_of)
    totals = play(model_of(stream), rule_of(cell.parameter, stream), held, cell.seed, known).totals
    sums = {"loss": totals.loss, "regret": totals.regret, "excess": totals.excess}
    return {**asdict(cell), "horizon": totals.examples, "queries": totals.queries, **sums}


def _keys(
    cells: Sequence[Cell], stream_of: StreamOf, model_of: ModelOf, grid: Grid, known: Chunk | None
) -> dict[Cell, str]:
    """Tell runs apart by all that can change a row: a stale file is never taken for this sweep."""
    keys: dict[Cell, str] = {}
    try:
        for seed in dict.fromkeys(cell.seed for cell in cells):
            stream = stream_of(seed)
            shared = fingerprint(model_of(stream)), _content_of(stream), *_parts(known)
            for cell in cells:
                if cell.seed == seed:
                    keys[cell] = key_of(cell, grid[cell.rule][0](cell.parameter, stream), shared)
    except IndistinctError as reason:
        allowed = "None where a model, rule or adversary cannot be told apart from another"
        remedy = "Without a file, nothing stale can be taken for this sweep."
        raise invalid("out", "sweep", allowed, f"a file, with {reason} in one of them", remedy) from None
    return keys


def _content_of(stream: Stream) -> str:
    """Return a digest of all examples, or of an adversary as it is before it has met anybody."""
    if _adaptive(stream):
        return fingerprint(stream)
    digest = Fingerprint()
    for chunk in stream.chunks(4096):
        digest.add(_parts(chunk))
    return digest.hexdigest()


def _parts(chunk: Chunk | None) -> tuple[Any, ...]:
    return () if chunk is None else (chunk.X, chunk.y, chunk.truth, chunk.domain)
