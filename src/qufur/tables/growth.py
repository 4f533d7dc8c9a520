"""What later tables add to an encoding: entries at its end, never in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.column_growth import ColumnGrowth, NumberGrowth, growth_of
from qufur.tables.columns import Kind, Numeric
from qufur.tables.embeddings import BERT
from qufur.tables.plain import numbers_in_text
from qufur.tables.survey import Survey, TextSurvey

if TYPE_CHECKING:
    from qufur.tables.encoding import Encoding


class Growth:
    """One pass over a later table; what it adds to an encoding shows at the end.

    * A category that is new gets a column of x, up to 100 in all.
    * A column with its first missing cell gets an indicator; the number itself is the mean.
    * A scaled column that begins to vary gets a column of x.
    * A column that is named becomes an input.

    All of this is appended, so that an older encoding is a prefix of a newer one; for rows of before these
    columns of x have the values `before`.

    Parameters
    ----------
    encoding
        That of the tables so far.
    add
        New columns that become inputs.
    categorical, embedding, text
        What the user says of these.
    text_model
        The model that makes vectors of the text of a new column, which is fetched if need be.
    impute
        Whether cells may be missing from now on.
    scale
        Whether numbers of new columns are scaled.
    aside
        Columns that are no inputs for good, such as that of labels.

    Attributes
    ----------
    known
        The encoding of the tables so far, in which cells may be missing from now on if that is said.
    columns
        What is found in the columns that are inputs.
    added, offered
        Columns that become inputs, and those that are new and do not.

    Examples
    --------
    >>> from qufur.tables import Encoding
    >>> encoding = Encoding.of([Batch({"wind": [1, 3], "sky": ["fog", "storm"]})])
    >>> later = Batch({"wind": [None, 3], "sky": ["fog", "hail"], "gate": [2, 4]})
    >>> growth = Growth(encoding, add=["gate"], impute=True)
    >>> growth.add(later)
    >>> growth.grown.names[3:], growth.before
    (['wind missing', 'sky=hail', 'gate', 'gate known'], [0.0, 0.0, 0.0, 0.0])
    >>> growth.grown.encode(later)
    array([[ 0.,  1.,  0.,  1.,  0., -1.,  1.],
           [ 1.,  0.,  0.,  0.,  1.,  1.,  1.]])
    """

    def __init__(
        self,
        encoding: Encoding,
        *,
        add: Sequence[str] = (),
        categorical: Sequence[str] = (),
        embedding: str | None = None,
        text: str | None = None,
        text_model: str = BERT,
        impute: bool = False,
        scale: bool = True,
        aside: Sequence[str] = (),
    ) -> None:
        self.known = replace(encoding, impute=encoding.impute or impute)
        self._scale = scale
        entries: dict[str, list[Kind]] = {}
        for entry in encoding.columns:
            entries.setdefault(entry.name, []).append(entry)
        self.columns = [growth_of(found, self.known.impute) for found in entries.values()]
        self.added = [name for name in dict.fromkeys(add) if name not in entries]
        for name in self.added:
            if name in aside:
                raise invalid("column to add", "Growth", "neither of ids nor of labels", repr(name))
        self._aside = {*aside, *self.added}
        self._said = {
            name: {"categorical": name in categorical, "embedding": name == embedding} for name in self.added
        }
        self._text, self._text_model = text, text_model
        self._surveys: list[Survey] | None = None
        self.offered: list[str] = []

    @property
    def needs_no_look(self) -> bool:
        """Whether nothing that a table may have in its columns adds anything."""
        return not self.added and all(column.needs_no_look for column in self.columns)

    def add(self, batch: Batch) -> None:
        """Look at a batch of the table."""
        if self._surveys is None:
            self._surveys = [self._survey(name, batch.file) for name in self.added]
            self.offered = [name for name in self.known.new_columns(batch) if name not in self._aside]
        settled = self._add_numbers(batch)
        for column in self.columns:
            if column not in settled:
                column.add(batch)
        for survey in self._surveys:
            survey.add(batch)

    def _survey(self, name: str, file: str) -> Survey:
        if name == self._text:
            return TextSurvey(name, file, self._text_model, added=True)
        return Survey(name, file, added=True, **self._said[name])

    def _add_numbers(self, batch: Batch) -> list[ColumnGrowth]:
        """Take in numbers, all at once where that can be; return the columns that need no closer look."""
        there = [c for c in self.columns if isinstance(c, NumberGrowth) and batch.has(c.name)]
        settled: list[ColumnGrowth] = [column for column in there if column.needs_no_look]
        others = [column for column in there if column not in settled]
        values = numbers_in_text(batch, [column.name for column in others])
        if values is None:
            return settled
        for column, found in zip(others, values.T, strict=True):
            column.add_numbers(found[:, None])
        return [*settled, *others]

    @property
    def grown(self) -> Encoding:
        """The encoding with all that is new at its end."""
        impute = self.known.impute
        kinds = (survey.kind(impute=impute) for survey in self._surveys or ())
        new = [entry for column in self.columns for entry in column.new]
        new += [self._as_added(kind) if isinstance(kind, Numeric) else kind for kind in kinds]
        return replace(self.known, columns=(*self.known.columns, *new))

    @property
    def before(self) -> list[float]:
        """What the columns of x that are new were for rows of before."""
        new = self.grown.columns[len(self.known.columns) :]
        return [value for entry in new for value in entry.before]

    def _as_added(self, kind: Numeric) -> Numeric:
        # Rows of before are like missing cells, so that one indicator is for both.
        return replace(kind, scaled=self._scale, added=True, blanks=False)
