"""Sweeps over a grid of rules and seeds, in parallel and resumable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from qufur._internal.threads import single_blas_thread
from qufur.errors import import_extra, invalid
from qufur.learner import Learner
from qufur.models import Model
from qufur.rules import Rule
from qufur.run import run
from qufur.streams import Arrays, Chunk, Stream
from qufur.sweep.parallel import PROCESSES
from qufur.sweep.tasks import Fingerprint, IndistinctError, Row, Task, fingerprint, key_of, perform
from qufur.trace import Trace

if TYPE_CHECKING:
    import polars as pl

StreamOf = Callable[[int], Stream]
ModelOf = Callable[[Stream], Model]
RuleOf = Callable[[float, Stream], Rule]
Grid = Mapping[str, tuple[RuleOf, Sequence[float]]]
MAX_CACHED_BYTES = 2**28
"""Bytes of inputs up to which a process caches its current stream; a larger one is rebuilt for each run."""


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: a rule at a parameter, on the stream of a seed."""

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

    All rules get the same streams and the same random draws. The numbers do not depend on `jobs` and
    `backend`, nor on whether the sweep was interrupted. Runs are ordered by seed: a process draws a stream
    once.

    Parameters
    ----------
    stream
        Function that creates the stream of a seed.
    model
        Function that creates the model for a stream.
    grid
        Rule names with, for each, a function of parameter and stream, and the parameters to try.
    seeds
        Seeds of the streams and of the query draws.
    jobs
        Number of processes.
    out
        JSON-lines file to which each finished run is appended. Its runs are not repeated if everything
        that can change its row is the same: the examples with truth and domains, model, rule, and the code
        of all three. Values that cannot be compared, such as a model that holds a lock, are rejected.
    backend
        Joblib backend: "loky" for processes on this machine, "ray" for a Ray cluster.
    known
        Labelled examples that every learner learns before it starts.

    Returns
    -------
    polars.DataFrame
        One row per run: rule, parameter, seed, horizon, queries, loss, regret, excess.

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
    import_extra("polars", "sweep", "sweep")
    import polars as pl

    seeds = list(seeds)
    if not seeds:
        raise invalid("seeds", "sweep", "at least one", "none")
    cells = [Cell(name, float(v), s) for name, (_, values) in grid.items() for v in values for s in seeds]
    keys = {cell: repr(cell) for cell in cells}
    if out is not None:
        with single_blas_thread():
            keys = _keys(cells, stream, model, grid, known)
    name = uuid4().hex
    # Runs with more labels take longer: they start first, so that no process ends with a long one.
    order = sorted(cells, key=lambda cell: (seeds.index(cell.seed), -cell.parameter))
    tasks = [
        Task(keys[cell], _play, (cell, name, stream, model, grid[cell.rule][0], known)) for cell in order
    ]
    rows = dict(zip(order, perform(tasks, jobs=jobs, out=out, backend=backend), strict=True))
    _cached.clear()
    return pl.DataFrame([rows[cell] for cell in cells])


def play(model: Model, rule: Rule, stream: Stream, seed: int, known: Chunk | None = None) -> Trace:
    """Run a new learner on the stream of a seed; its draws are independent of those of the stream."""
    learner = Learner(model, rule, seed=np.random.default_rng([seed, 1]))
    if known is not None:
        learner.learn(known.X, known.y)
    return run(learner, stream)


_cached: dict[tuple[str, int], tuple[Stream, Stream]] = {}


def _stream_of_seed(sweep: str, seed: int, make: StreamOf) -> tuple[Stream, Stream]:
    """Return the stream of a seed, and the same stream in memory if it fits.

    A process caches the last one by the name of the sweep: `make` is a new object after each unpickling.
    """
    pair = _cached.get((sweep, seed))  # one lookup: the jobs may be threads
    if pair is None:
        _cached.clear()
        stream = make(seed)
        if isinstance(stream, Arrays) and isinstance(stream.X, np.memmap):
            return stream, stream  # already on disk; joblib waits until its shared arrays are released
        pair = _cached[sweep, seed] = stream, _in_memory(stream)
    return pair


def _in_memory(stream: Stream) -> Stream:
    large = 8 * stream.horizon * stream.dim > MAX_CACHED_BYTES
    return stream if _adaptive(stream) or large or isinstance(stream, Arrays) else Arrays.of(stream)


def _adaptive(stream: Stream) -> bool:
    return type(stream).against is not Stream.against


def _play(
    cell: Cell, sweep: str, stream_of: StreamOf, model_of: ModelOf, rule_of: RuleOf, known: Chunk | None
) -> Row:
    stream, held = _stream_of_seed(sweep, cell.seed, stream_of)
    totals = play(model_of(stream), rule_of(cell.parameter, stream), held, cell.seed, known).totals
    sums = {"loss": totals.loss, "regret": totals.regret, "excess": totals.excess}
    return {**asdict(cell), "horizon": totals.examples, "queries": totals.queries, **sums}


def _keys(
    cells: Sequence[Cell], stream_of: StreamOf, model_of: ModelOf, grid: Grid, known: Chunk | None
) -> dict[Cell, str]:
    """Return a key per run from everything that can change its row, so that stale rows are never reused."""
    keys: dict[Cell, str] = {}
    try:
        for seed in dict.fromkeys(cell.seed for cell in cells):
            stream = stream_of(seed)
            shared = fingerprint(model_of(stream)), _content_of(stream), *_parts(known)
            for cell in cells:
                if cell.seed == seed:
                    keys[cell] = key_of(cell, grid[cell.rule][0](cell.parameter, stream), shared)
    except IndistinctError as reason:
        allowed = "None if a model, rule or adversary cannot be fingerprinted"
        remedy = "Without a file, the sweep cannot reuse stale rows."
        raise invalid("out", "sweep", allowed, f"a file, with {reason} in one of them", remedy) from None
    return keys


def _content_of(stream: Stream) -> str:
    """Return a digest of all examples, or of an adaptive adversary in its initial state."""
    if _adaptive(stream):
        return fingerprint(stream)
    digest = Fingerprint()
    for chunk in stream.chunks(4096):
        digest.add(_parts(chunk))
    return digest.hexdigest()


def _parts(chunk: Chunk | None) -> tuple[Any, ...]:
    return () if chunk is None else (chunk.X, chunk.y, chunk.truth, chunk.domain)
