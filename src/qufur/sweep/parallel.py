"""One function of many items, in the processes of this machine or of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from qufur.errors import invalid, missing_extra
from qufur.threads import one_thread

Item = TypeVar("Item")
Result = TypeVar("Result")
PROCESSES = "loky"
"""The backend of joblib that starts processes here."""
BATCH = 8
"""Items per job that a backend gets at a time if it hands out results only all at once."""


def spread(
    function: Callable[[Item], Result], items: Iterable[Item], jobs: int, backend: str = PROCESSES
) -> Iterator[Result]:
    """Call a function of every item, with one BLAS thread each, and yield what it returns as it comes.

    Parameters
    ----------
    function, items
        Both are sent to other processes if there are several jobs.
    jobs
        How many run at the same time. One job of the usual backend runs right here.
    backend
        A backend of joblib: "loky" for processes here, "ray" for those of a Ray cluster, any other that is
        registered.
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
    with one_thread():
        return function(item)


def _in_batches(parallel: Any, calls: Iterator[Any], size: int) -> Iterator[Any]:
    with parallel:  # its processes are kept from batch to batch
        while batch := list(islice(calls, size)):
            yield from parallel(batch)


def joblib_with(backend: str) -> Any:
    """Return joblib, in which the backend is known; complain of any other."""
    try:
        import joblib
    except ImportError:
        raise missing_extra("joblib", "sweep", "several jobs") from None
    known = {"ray", *joblib.parallel.BACKENDS, *joblib.parallel.EXTERNAL_BACKENDS}
    if backend not in known:
        remedy = "joblib.register_parallel_backend adds others."
        raise invalid("backend", "the jobs", f"one of {', '.join(sorted(known))}", repr(backend), remedy)
    if backend == "ray" and "ray" not in joblib.parallel.BACKENDS:
        try:
            from ray.util.joblib import register_ray
        except ImportError:
            raise missing_extra("ray", "ray", "the backend 'ray'") from None
        register_ray()
    return joblib
