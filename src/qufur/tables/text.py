"""Text embeddings: means over pieces of the mean token embedding of a language model."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid, missing_extra
from qufur.tables.cells import Column, category, first_other, is_missing, listed

BERT = "bert-base-uncased"
"""The model of the paper's review features."""
CHARACTERS = 512
"""Length of the pieces that the authors' scripts cut reviews into."""


def pieces(text: str, size: int = CHARACTERS) -> list[str]:
    """Cut a text every `size` characters; an empty text is one empty piece.

    >>> pieces("abcdefg", 3), pieces("")
    (['abc', 'def', 'g'], [''])
    """
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


class TokenMeans:
    """Embedder of texts: mean over pieces of the mean over tokens of the last hidden state.

    The means include the special tokens of the tokenizer, as in the authors' scripts. A piece with more
    tokens than the model accepts is truncated.

    Parameters
    ----------
    model, tokenizer
        A `transformers` encoder and its tokenizer.
    batch
        Pieces embedded in one batch; the vectors depend on it by rounding only.
    """

    def __init__(self, model: Any, tokenizer: Any, *, batch: int = 32) -> None:
        self.model, self.tokenizer, self.batch = model.eval(), tokenizer, batch

    @classmethod
    def pretrained(cls, name: str = BERT, *, fetch: bool = True) -> TokenMeans:
        """Load a model by name or from a folder; with `fetch`, download it on first use."""
        try:
            import torch  # noqa: F401  # otherwise transformers fails later, with a long message
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise missing_extra("transformers and torch", "text", "embedding texts") from None
        with _quietly():
            loaders = AutoModel, AutoTokenizer
            return cls(*(loader.from_pretrained(name, local_files_only=not fetch) for loader in loaders))

    def embed(self, texts: Sequence[str]) -> Iterator[Floats]:
        """Yield a vector for every text."""
        for text in texts:
            yield self._batched_means(pieces(text)).mean(axis=0)

    def embed_together(self, texts: Sequence[str]) -> list[Floats]:
        """Return the same vectors up to rounding, in larger batches: 10 times as fast on a GPU."""
        cut = [pieces(text) for text in texts]
        means = self._batched_means(list(chain.from_iterable(cut)))
        ends = np.cumsum([len(text_pieces) for text_pieces in cut])[:-1]
        return [rows.mean(axis=0) for rows in np.split(means, ends)]

    def _batched_means(self, parts: list[str]) -> Floats:
        """Return the vectors of pieces, `batch` pieces at a time."""
        starts = range(0, len(parts), self.batch)
        return np.concatenate([self._means(parts[start : start + self.batch]) for start in starts])

    def _means(self, parts: list[str]) -> Floats:
        """Return the mean over tokens of the last hidden state, for each piece."""
        import torch

        limit = self.model.config.max_position_embeddings
        tokens = self.tokenizer(parts, padding=True, truncation=True, max_length=limit, return_tensors="pt")
        tokens = tokens.to(self.model.device)
        with torch.inference_mode():
            states = self.model(**tokens).last_hidden_state
        # Pieces are padded to the same length; padding is excluded from the mean.
        counts = tokens["attention_mask"].unsqueeze(-1)
        means: Floats = ((states * counts).sum(dim=1) / counts.sum(dim=1)).double().cpu().numpy()
        return means


@contextmanager
def _quietly() -> Iterator[None]:
    """Show progress bars on terminals only, and hide the retries of a failing download but not its error."""
    from transformers.utils import logging as bars

    hub, was_enabled = logging.getLogger("huggingface_hub"), bars.is_progress_bar_enabled()
    level = hub.level
    hub.setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        bars.disable_progress_bar()
    try:
        yield
    finally:
        hub.setLevel(level)
        if was_enabled:
            bars.enable_progress_bar()


MAX_CACHED_NUMBERS = 10_000_000
"""Size of the cache of vectors, 80 MB: the first table is read twice."""


class Vectors:
    """Vectors of a model, with a cache of the first ones."""

    def __init__(self, embedder: TokenMeans) -> None:
        self._embedder = embedder
        self._cache: dict[bytes, Floats] = {}
        self._together = False

    def __getitem__(self, text: str) -> Floats:
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key in self._cache:
            return self._cache[key]
        (vector,) = self._embedder.embed([text])
        if len(self._cache) * len(vector) < MAX_CACHED_NUMBERS:
            self._cache[key] = vector
        return vector

    def move(self, device: str) -> None:
        """Move the model to a torch device, and embed several texts per batch."""
        self._embedder.model.to(device)
        self._together = True

    def of(self, texts: Sequence[str]) -> Sequence[Floats]:
        """Return one vector per text; on a GPU the texts of a call are embedded in one batch."""
        together = self._together and len(texts) > 0
        return self._embedder.embed_together(texts) if together else [self[text] for text in texts]


LOADED: dict[str, Vectors] = {}
"""Cache of the last model: loading takes seconds."""


def vectors_of(model: str, *, fetch: bool) -> Vectors:
    """Return the vectors of a model; a model that is not on this machine is downloaded only with `fetch`."""
    if model in LOADED:
        return LOADED[model]
    LOADED.clear()
    try:
        vectors = LOADED[model] = Vectors(TokenMeans.pretrained(model, fetch=fetch))
        return vectors
    except (OSError, ValueError, KeyError) as error:  # the folder may have any content
        reason = str(error).partition("\n")[0]
        local, remedy = "", ""
        if not (fetch or os.path.isdir(model)):
            local = " and that is on this machine"
            remedy = f"A state file may be untrusted: `text_model={model!r}` allows the download."
        allowed = f"a model that transformers can load{local}, or a folder of one"
        raise invalid("text_model", "Encoding", allowed, f"{model!r} ({reason})", remedy) from None


def text_vectors(
    column: Column, model: str, length: int | None = None, *, fetch: bool = False
) -> Floats | None:
    """Return the vectors (n, length) of texts, NaN for missing cells; None if a cell is not text.

    Parameters
    ----------
    column, model
        The texts, and the name or folder of the model.
    length
        Expected length; a model with other vectors raises InvalidError.
    fetch
        Whether the model may be downloaded.
    """
    if first_other(column) is not None:
        return None
    vectors = vectors_of(model, fetch=fetch)
    texts = [category(cell) if isinstance(cell, int | float) else cell for cell in listed(column)]
    embedded = vectors.of([text for text in texts if text is not None])
    width = len(embedded[0]) if embedded else length or 1
    if length and width != length:
        received = f"{model!r}, which gives {width}"
        remedy = "Use the model of the first table."
        raise invalid("text_model", "Encoding", f"a model with vectors of {length} numbers", received, remedy)
    rows = np.full((len(texts), width), np.nan)
    rows[~is_missing(column)] = embedded if len(embedded) else 0.0
    return rows
