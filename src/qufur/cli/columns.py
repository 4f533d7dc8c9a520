"""What a person says of the columns of a table, and what becomes of them: the same in every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qufur.cli.loop import Rows
from qufur.errors import invalid
from qufur.tables import Encoding, Growth
from qufur.tables.embeddings import BERT
from qufur.tables.source import Source


@dataclass(frozen=True)
class Columns:
    """The options of a command, as they were given."""

    skip: Sequence[str] | None = None
    categorical: Sequence[str] | None = None
    embedding: str | None = None
    text: str | None = None
    text_model: str | None = None
    impute: bool = False
    add_column: Sequence[str] | None = None

    @property
    def said(self) -> dict[str, Any]:
        """The options by name, None where one was not given."""
        return {f"--{name.replace('_', '-')}": value or None for name, value in asdict(self).items()}

    def check(self, command: str) -> None:
        """Complain about options that do not go together, before a long table is looked at."""
        if self.text_model is not None and self.text is None:
            raise invalid("--text-model", command, "left out without --text", repr(self.text_model))
        if self.add_column:
            allowed = "left out for the first table, whose columns are inputs unless skipped"
            raise invalid("--add-column", command, allowed, repr(self.add_column[0]))

    @property
    def fixed(self) -> dict[str, Any]:
        """The options that only the first table takes; kinds of columns that are new may be said later."""
        added = set(self.add_column or ())
        later = {"--impute", "--add-column", "--text-model"}
        if added.issuperset(self.categorical or ()):
            later.add("--categorical")
        if self.embedding in added:
            later.add("--embedding")
        if self.text in added:
            later.add("--text")
        return {name: value for name, value in self.said.items() if name not in later}

    def fetch(self, encoding: Encoding) -> None:
        """Let the model of a column of text be fetched if it is named; that of a new one is anyway."""
        if self.text_model is not None and self.text is None:
            encoding.fetch(self.text_model)

    def rows(self, data: Source, *, quiet: bool) -> Rows:
        """Return the rows of a table that is looked at for the first time."""
        return Rows(data, None if quiet else "Looking at columns", text=self.text is not None)

    def encoding(
        self, rows: Rows, *, scale: bool, target: str | None, domain: str | None = None, id: str | None = None
    ) -> Encoding:
        """Return what becomes of the columns of a table, without those that are no inputs."""
        return Encoding.of(
            rows,
            skip=[*(self.skip or ()), *rows.file.aside(target, domain)],
            id=id,
            categorical=self.categorical or (),
            embedding=self.embedding,
            text=self.text,
            text_model=self.text_model or BERT,
            impute=self.impute,
            scale=scale,
        )

    def growth(self, encoding: Encoding, *, scale: bool, aside: Sequence[str]) -> Growth:
        """Return the pass over a later table that shows what it adds; columns `aside` are no inputs."""
        return Growth(
            encoding,
            add=self.add_column or (),
            categorical=self.categorical or (),
            embedding=self.embedding,
            text=self.text,
            text_model=self.text_model or BERT,
            impute=self.impute,
            scale=scale,
            aside=aside,
        )
