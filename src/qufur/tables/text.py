"""Columns of free text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from qufur.arrays import Floats
from qufur.tables.batch import Column
from qufur.tables.numeric import Numeric
from qufur.tables.text_vectors import text_vectors


@dataclass(frozen=True)
class Text(Numeric):
    """A text per cell, as the vector that a language model makes of it; its numbers are scaled like others.

    Parameters
    ----------
    model
        The name of the model, or its folder. The vectors of every table come from the same; it is not
        fetched again.
    """

    model: str = field(kw_only=True)
    kind: ClassVar[str] = "text"

    @property
    def allowed(self) -> str:
        return "text"

    @property
    def _read(self) -> Callable[[Column], Floats | None]:
        return partial(text_vectors, model=self.model, length=len(self.mean))
