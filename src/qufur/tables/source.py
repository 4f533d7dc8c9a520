"""A table as a person names it, with what they say of its cells."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qufur.errors import invalid
from qufur.tables.formats.dialect import Dialect

if TYPE_CHECKING:
    from qufur.tables.formats.base import TableFile

_TAB = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class Source(os.PathLike[str]):
    r"""Where a table is, and how it is written where that is not to be found out.

    Parameters
    ----------
    path
        As `qufur.tables.read` takes it.
    separator
        What stands between the cells of a CSV file; `tab` is one too.
    decimal
        The point or the comma in its numbers.
    usual
        How the tables before were written, which holds where nothing else is said or plain to see.
    opened
        The table itself, if it is in no file of this machine.

    Examples
    --------
    >>> Source(Path("days.csv"), "tab").separator
    '\t'
    """

    path: Path
    separator: str | None = None
    decimal: str | None = None
    usual: Dialect | None = None
    opened: TableFile | None = None

    def __post_init__(self) -> None:
        separator = _TAB.get(self.separator or "", self.separator)
        if separator is not None and (len(separator) != 1 or separator in '"\r\n\0'):
            raise invalid("--sep", "qufur", "one character, or tab", repr(separator))
        if self.decimal not in (None, ".", ","):
            raise invalid("--decimal", "qufur", "a point or a comma", repr(self.decimal))
        object.__setattr__(self, "separator", separator)

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Source:
        """Return a path of which nothing is said, and a source as it is."""
        return path if isinstance(path, Source) else cls(Path(path))

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """What the table is called."""
        return self.path.name
