"""The blocks of a dataset in order, from wherever it can be run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from qufur.cluster.sources import in_order


class Block(NamedTuple):
    """A block of encoded rows: the number of its first row, how many they are, and where it is."""

    first: int
    rows: int
    ref: Any


def blocks_of(dataset: Any, first: int) -> Iterator[Block]:
    """Yield the blocks of a dataset in order, as they are made; `first` is the number of the first row."""
    with in_order(dataset):
        for bundle in dataset.iter_internal_ref_bundles():
            for ref, about in zip(bundle.block_refs, bundle.metadata, strict=True):
                yield Block(first, about.num_rows, ref)
                first += about.num_rows


class Feed:
    """The blocks of a dataset, one after the other; Ray makes an actor of it.

    Parameters
    ----------
    dataset, first
        As `blocks_of` has them.
    """

    def __init__(self, dataset: Any, first: int) -> None:
        self._blocks = blocks_of(dataset, first)

    def next(self) -> Block | None:
        """Return the next block; None after the last."""
        return next(self._blocks, None)


@contextmanager
def feeding(ray: Any, dataset: Any, first: int) -> Iterator[Iterator[Block]]:
    """Give the blocks of a dataset, which is run here, or on the cluster if this process is outside of it.

    Ray runs no dataset in a process that is connected by ray://.
    """
    if not is_outside(ray):
        yield blocks_of(dataset, first)
        return
    feed = ray.remote(num_cpus=0, max_restarts=0)(Feed).remote(dataset, first)
    try:
        yield iter(lambda: ray.get(feed.next.remote()), None)
    finally:
        ray.kill(feed)


def is_outside(ray: Any) -> bool:
    """Return whether this process is connected to a cluster by ray://, and not a part of it."""
    return bool(ray.util.client.ray.is_connected())
