"""Texts as vectors of a language model."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.tables.batch import Column
from qufur.tables.cells import category, first_other, is_missing, listed
from qufur.tables.embeddings import TokenMeans

MOST_KEPT = 10_000_000
"""Numbers kept of texts already embedded, 80 MB: the first table is read twice."""


class Vectors:
    """The vectors of a model, with the first ones kept."""

    def __init__(self, embedder: TokenMeans) -> None:
        self._embedder = embedder
        self._kept: dict[bytes, Floats] = {}
        self._together = False

    def __getitem__(self, text: str) -> Floats:
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key in self._kept:
            return self._kept[key]
        (vector,) = self._embedder.embed([text])
        if len(self._kept) * len(vector) < MOST_KEPT:
            self._kept[key] = vector
        return vector

    def move(self, device: str) -> None:
        """Let vectors be made on a device of torch from now on, and those of several texts together."""
        self._embedder.model.to(device)
        self._together = True

    def of(self, texts: Sequence[str]) -> Sequence[Floats]:
        """Return the vectors of some texts."""
        together = self._together and len(texts) > 0
        return self._embedder.embed_together(texts) if together else [self[text] for text in texts]


LOADED: dict[str, Vectors] = {}
"""The model that was used last: loading takes seconds."""


def vectors_of(model: str, *, fetch: bool) -> Vectors:
    """Return the vectors of a model; one that is not here is fetched only if the user has named it."""
    if model not in LOADED:
        LOADED.clear()
        LOADED[model] = _load(model, fetch)
    return LOADED[model]


def _load(model: str, fetch: bool) -> Vectors:
    try:
        return Vectors(TokenMeans.pretrained(model, fetch=fetch))
    except (OSError, ValueError, KeyError) as error:  # whatever stands in a folder, or does not
        reason = str(error).partition("\n")[0]
        here, remedy = "", ""
        if not (fetch or os.path.isdir(model)):
            here = " and that is here"
            remedy = f"A state file may come from anywhere: --text-model {model} says that it may be fetched."
        allowed = f"a model that transformers can load{here}, or a folder of one"
        raise invalid("text_model", "Encoding", allowed, f"{model!r} ({reason})", remedy) from None


def text_vectors(
    column: Column, model: str, length: int | None = None, *, fetch: bool = False
) -> Floats | None:
    """Return the vectors (n, length) of texts, NaN where they are missing; None if one is not text.

    Parameters
    ----------
    column, model
        The texts, and the name or folder of the model.
    length
        What it must be; a model that makes other vectors is refused.
    fetch
        Whether the model may be downloaded.
    """
    if first_other(column) is not None:
        return None
    vectors = vectors_of(model, fetch=fetch)
    texts = [category(cell) if isinstance(cell, int | float) else cell for cell in listed(column)]
    made = vectors.of([text for text in texts if text is not None])
    found = len(made[0]) if made else length or 1
    if length and found != length:
        received = f"{model!r}, which makes {found}"
        remedy = "It is not the one that the first table was embedded with."
        raise invalid("text_model", "Encoding", f"one that makes {length} numbers", received, remedy)
    rows = np.full((len(texts), found), np.nan)
    rows[~is_missing(column)] = made if len(made) else 0.0
    return rows
