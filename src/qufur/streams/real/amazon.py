"""Amazon reviews: ratings whose domains are product categories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.data import Dataset, Edition, File
from qufur.data.reviews import EMBEDDED, embed_reviews
from qufur.errors import invalid
from qufur.streams.base import independent_seeds
from qufur.streams.real.recorded import Recorded, frozen

ORIGINAL = Edition((EMBEDDED,), "original reviews, BERT-base embeddings", make=embed_reviews)
STAND_IN = Edition(
    (
        File(
            "amazon_standin/streamB_mpnet_768.npz",
            sha256="900ff55071789bc36cbd83c40918c4b2519db9ee3fafc2ac730570c47524217f",
        ),
    ),
    "STAND-IN (reviews of automotive, pet supplies and sports goods, embeddings of all-mpnet-base-v2)",
    stand_in=True,
)


class AmazonReviews(Recorded):
    """Ratings from 1 to 5 of reviews in three domains (section "Experiments", Amazon reviews).

    300 reviews of automotive goods, 600 of groceries, 1200 of video games, each as the mean of its BERT-base
    token embeddings (`qufur.tables.text`). The paper does not specify the order inside a domain; the seed
    shuffles it. The authors' scripts were meant to play the domains in order but shuffle every run by
    mistake; this stream follows the paper.

    The command `qufur data` computes the embeddings from the public reviews. If only the stand-in
    exists, with other products and another model, it is used, and `stand_in` and `provenance` report it.

    Parameters
    ----------
    domains
        Order of the domains: a permutation of 0, 1 and 2, where 0 is the smallest domain.
    shuffled
        Whether to shuffle the reviews of all domains together instead.
    seed
        Seed of the shuffling, an integer of at least 0.

    Attributes
    ----------
    topics
        The name of each domain.
    """

    dataset = Dataset(
        "amazon",
        "Amazon reviews",
        "snap.stanford.edu/data/amazon/productGraph, embedded by bert-base-uncased",
        (ORIGINAL, STAND_IN),
    )
    label_range = (1.0, 5.0)

    def __init__(self, domains: Sequence[int] = (0, 1, 2), *, shuffled: bool = False, seed: int = 0) -> None:
        if sorted(domains) != [0, 1, 2]:
            raise invalid("domains", "AmazonReviews", "0, 1 and 2 in any order", repr(domains))
        (shuffle,) = independent_seeds(seed, 1, "AmazonReviews")
        copy = self.dataset.get()
        X, y, domain, self.topics = _read(copy.paths[0])
        rng = np.random.default_rng(shuffle)
        parts = [rng.permutation(np.flatnonzero(domain == u)) for u in domains]
        rows = np.concatenate(parts)
        rows = rng.permutation(rows) if shuffled else rows
        durations = [len(rows)] if shuffled else [len(part) for part in parts]
        super().__init__(X[rows], y[rows], domain[rows], durations=durations, copy=copy)

    @classmethod
    def main(cls, seed: int = 0) -> AmazonReviews:
        """Return the stream of Figure 1: 300 automotive, 600 grocery, 1200 games."""
        return cls(seed=seed)

    @classmethod
    def reversed(cls, seed: int = 0) -> AmazonReviews:
        """Return the domains in reverse: 1200 games, 600 grocery, 300 automotive."""
        return cls((2, 1, 0), seed=seed)

    @classmethod
    def shuffled(cls, seed: int = 0) -> AmazonReviews:
        """Return the reviews of all domains shuffled together."""
        return cls(shuffled=True, seed=seed)


@cache
def _read(path: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], tuple[str, ...]]:
    """Return inputs, labels, domains and the name of each domain."""
    with np.load(path) as content:
        stored, names = content["domain"], content["domain_names"]
        # The stand-in numbers its largest domain 0.
        by_size = np.argsort(np.bincount(stored))
        rank = np.argsort(by_size)
        topics = tuple(names[by_size].tolist())
        return frozen(content["X"]), content["y"], rank[stored], topics
