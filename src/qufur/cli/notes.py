"""What of a table does not count, which a person would not see otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from qufur.tables import Batch, Encoding

SHOWN = 5


def on_constant_columns(encoding: Encoding) -> list[str]:
    """Say which columns of the first table have no effect from now on."""
    if not encoding.constant:
        return []
    return [
        f"The same in all rows, so without effect, also later: {_few(map(repr, encoding.constant))}.",
        "What will vary needs a start with --categorical, or with a table in which it does.",
    ]


class NewCategories:
    """The categories that the first table did not have, gathered batch by batch."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._found: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, batch: Batch) -> None:
        """Look at a batch that was encoded."""
        for name, new in self._encoding.new_categories(batch).items():
            self._found[name] |= new

    def notes(self) -> list[str]:
        """Say what they are."""
        return [
            f"New in column {name!r} since the first table, so counted as none: {_few(new)}."
            for name, new in ((name, sorted(new, key=_order)) for name, new in self._found.items())
        ]


def _few(words: Iterable[str]) -> str:
    listed = list(words)
    return ", ".join(listed[:SHOWN]) + (", …" if len(listed) > SHOWN else "")


def _order(category: str) -> tuple[int, str]:
    return len(category), category  # which puts 9 before 10
