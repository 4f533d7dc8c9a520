"""Parallel map over the processes of this machine or of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from qufur._internal.threads import single_blas_thread
from qufur.errors import import_extra, invalid, missing_extra

Item = TypeVar("Item")
Result = TypeVar("Result")
PROCESSES = "loky"
"""Joblib backend that starts processes on this machine."""
BATCH = 8
"""Items per job and batch for a backend that returns results only per batch."""


def parallel_map(
    function: Callable[[Item], Result], items: Iterable[Item], jobs: int, backend: str = PROCESSES
) -> Iterator[Result]:
    """Call a function on every item, with one BLAS thread each, and yield results as they complete.

    Parameters
    ----------
    function, items
        Pickled and sent to other processes if `jobs` is above 1.
    jobs
        Number of parallel calls. One job of the default backend runs in this process.
    backend
        Joblib backend: "loky" for processes on this machine, "ray" for a Ray cluster, or any registered one.
    """
    if jobs == 1 and backend == PROCESSES:
        return (_call(function, item) for item in items)
    joblib = joblib_with(backend)
    with joblib.parallel_config(backend=backend, n_jobs=jobs):
        active, _ = joblib.parallel.get_active_backend()
        streaming = active.supports_return_generator
        parallel = joblib.Parallel(return_as="generator_unordered" if streaming else "list")
    calls = (joblib.delayed(_call)(function, item) for item in items)
    return iter(parallel(calls)) if streaming else _in_batches(parallel, calls, BATCH * jobs)


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    with single_blas_thread():
        return function(item)


def _in_batches(parallel: Any, calls: Iterator[Any], size: int) -> Iterator[Any]:
    with parallel:  # keeps its processes between batches
        while batch := list(islice(calls, size)):
            yield from parallel(batch)


def joblib_with(backend: str) -> Any:
    """Import joblib with this backend registered; raise if there is no such backend."""
    joblib = import_extra("joblib", "sweep", "several jobs")
    backends = {"ray", *joblib.parallel.BACKENDS, *joblib.parallel.EXTERNAL_BACKENDS}
    if backend not in backends:
        remedy = "joblib.register_parallel_backend adds others."
        raise invalid("backend", "the jobs", f"one of {', '.join(sorted(backends))}", repr(backend), remedy)
    if backend == "ray" and "ray" not in joblib.parallel.BACKENDS:
        try:
            from ray.util.joblib import register_ray
        except ImportError:
            raise missing_extra("ray", "ray", "the backend 'ray'") from None
        register_ray()
    return joblib
