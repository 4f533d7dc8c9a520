"""Reviews with ratings, in the format of the public 5-core files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from qufur._internal.progress import track
from qufur.data.fetch import fetch
from qufur.data.files import File, cache_folder, content_digest, record_of
from qufur.errors import invalid
from qufur.tables.text import TokenMeans

_SITE = "https://snap.stanford.edu/data/amazon/productGraph/categoryFiles/"


def _five_core(category: str) -> File:
    return File(f"amazon/reviews_{category}_5.json.gz", (f"{_SITE}reviews_{category}_5.json.gz",))


TOPICS = {
    "automotive": (_five_core("Automotive"), 300),
    "grocery": (_five_core("Grocery_and_Gourmet_Food"), 600),
    "games": (_five_core("Video_Games"), 1200),
}
"""File of each of the paper's three domains, and the number of reviews used from its beginning."""
EMBEDDED = File(
    "amazon/bert-base-uncased_768.npz",
    remedy="Create it with qufur data --download amazon, which needs the extra text.",
)


def read_reviews(path: Path) -> Iterator[tuple[float, str]]:
    """Yield rating and text of every review in a gzip file with one JSON object per line."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                review = json.loads(line)
                yield float(review["overall"]), str(review["reviewText"])
            except (ValueError, KeyError, TypeError):
                allowed = "a JSON object with overall and reviewText"
                raise invalid(f"line {number}", str(path), allowed, repr(line[:60].strip())) from None


def embed_reviews(embedder: TokenMeans | None = None) -> None:
    """Compute the paper's features: download the reviews, embed them by BERT-base and store the vectors.

    `transformers` downloads the model, about 440 MB, on first use.
    """
    embedder = embedder or TokenMeans.pretrained()
    reviews = [
        (domain, *review)
        for domain, (file, count) in enumerate(TOPICS.values())
        for review in islice(read_reviews(fetch(file).path), count)
    ]
    domain, ratings, texts = zip(*reviews, strict=True)
    vectors = track(embedder.embed(texts), len(texts), "Embedding reviews")
    target = cache_folder() / EMBEDDED.name
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"part-{target.name}")
    np.savez(part, X=np.array(list(vectors)), y=ratings, domain=domain, domain_names=list(TOPICS))
    record_of(target).write_text(f"{content_digest(part, packed=False)}\n")
    part.replace(target)
