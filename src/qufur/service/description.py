"""What a stream is created with, and the workbook that it starts as."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.models.base import Model
from qufur.rules import Rule, Steady, Uniform
from qufur.rules.from_budget import as_amount, rule_from_budget
from qufur.tables import Encoding
from qufur.tables.categories import Categorical, OneHot
from qufur.tables.columns import Kind, Numeric
from qufur.workbook import Workbook

OWNER = "the stream"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
VECTOR = "x"
"""What the column of numbers is called, for streams that have no columns."""
MOST_COLUMNS = 4096
MOST_CLASSES = 1000
LONGEST = 200
"""Characters in the name of a column or class."""
KINDS = {"number", "category"}
ANY = "any"
"""The kind of columns that a state file brought, of which its encoding knows what a cell may be."""
MODELS = {"experts", "ridge"}
RULES = {"steady", "paced", "uniform"}


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a stream is created with; all but the name and one of `dim` and `columns` may be left out.

    Attributes
    ----------
    dim, columns
        How many numbers an example has; or what its record has, by name, each "number" or "category".
    label_range, classes
        The lowest and the highest label, or the classes by name. Without either, labels are numbers.
    budget, horizon
        A count of labels, for so many rows; or a share such as 0.05 or "5%".
    model, rule
        "experts" or "ridge"; "steady", "paced" or "uniform".
    seed
        Of the generator that decides by chance.
    """

    name: str
    dim: int | None = None
    columns: dict[str, str] | None = None
    label_range: tuple[float, float] | None = None
    classes: list[str] | None = None
    budget: int | float | str = "5%"
    horizon: int | None = None
    model: str = "experts"
    rule: str | None = None
    seed: int = 0

    def check(self) -> None:
        """Refuse what cannot be a stream."""
        check_name(self.name)
        if (self.dim is None) == (self.columns is None):
            raise invalid("dim", OWNER, "given, or columns in its place", "both" if self.dim else "neither")
        if self.dim is not None and not 1 <= self.dim <= MOST_COLUMNS:
            raise invalid("dim", OWNER, f"from 1 to {MOST_COLUMNS}", self.dim)
        if self.columns is not None:
            _check_columns(self.columns)
        if self.classes is not None:
            _check_classes(self.classes)
        if not 0 <= self.seed < 2**63:
            raise invalid("seed", OWNER, "at least 0 and below 2⁶³", self.seed)
        if self.horizon is not None and not 1 <= self.horizon <= 10**12:
            raise invalid("horizon", OWNER, "from 1 to 10¹²", self.horizon)
        _check_named("model", self.model, MODELS)
        if self.rule is not None:
            _check_named("rule", self.rule, RULES)

    def workbook(self) -> Workbook:
        """Return the workbook of which nothing is asked yet; descriptions that make no sense are refused."""
        self.check()
        encoding = self.encoding()
        learner = Learner(self._model(encoding.dim), self._rule(), seed=self.seed)
        return Workbook(learner, encoding, "id", "label")

    def encoding(self) -> Encoding:
        """Return how rows become inputs: numbers as they are, and categories as they come."""
        if self.dim is not None:
            zero, one = (0.0,) * self.dim, (1.0,) * self.dim
            return Encoding((Numeric(VECTOR, zero, one, vector=True, scaled=False),), aside=("id",))
        kinds: list[Kind] = [
            Numeric(name, (0.0,), (1.0,), scaled=False) if kind == "number" else Categorical(name, ())
            for name, kind in (self.columns or {}).items()
        ]
        return Encoding(tuple(kinds), impute=True, aside=("id",))

    def _model(self, dim: int) -> Model:
        if self.classes is not None and self.label_range is not None:
            raise invalid("label_range", OWNER, "left out where labels are classes", list(self.label_range))
        if self.model == "experts":
            from qufur.models import Experts

            classes = None if self.classes is None else tuple(self.classes)
            return Experts(dim or None, label_range=self.label_range, classes=classes)
        if self.classes is not None:
            raise invalid("model", OWNER, "'experts' where labels are classes", repr(self.model))
        if self.label_range is None:
            raise invalid("label_range", OWNER, "given with the model 'ridge'", "none", "Such as [0, 100].")
        if self.columns is not None and "category" in self.columns.values():
            raise invalid("model", OWNER, "'experts' where columns are categories", repr(self.model))
        return Ridge(dim, intercept=True, label_range=self.label_range)

    def _rule(self) -> Rule:
        name = self.rule or ("steady" if self.model == "experts" else "paced")
        amount = as_amount(self.budget, OWNER)
        remedy = "Give a horizon, the number of rows that it is for."
        made = rule_from_budget(
            amount, rows=self.horizon, owner=OWNER, remedy=remedy, steady=name == "steady"
        )
        if isinstance(made, Steady) or name != "uniform":
            return made
        return Uniform(made.share or 1.0, budget=made.limit)


def described(name: str, book: Workbook) -> Description:
    """Return the description of a stream that goes on with a workbook from elsewhere."""
    dim = len(book.encoding.columns[0].names) if _is_vector(book.encoding) else None
    rule, model = book.learner.rule, book.learner.model
    columns: dict[str, str] = {}
    for entry in book.encoding.columns:
        columns.setdefault(entry.name, _kind_of(entry))
    return Description(
        name,
        dim=dim,
        columns=None if dim is not None else columns,
        label_range=model.given_range,
        classes=None if book.classes is None else list(book.classes),
        budget=rule.limit or rule.share or "100%",
        model=type(model).__name__.lower(),
        rule=type(rule).__name__.lower(),
    )


def _is_vector(encoding: Encoding) -> bool:
    """Return whether inputs are the numbers of rows as they came, as in streams that have no columns."""
    first, *others = encoding.columns
    plain = type(first) is Numeric and first.vector and not (first.scaled or first.tells_missing)
    return plain and first.name == VECTOR and not others


def _kind_of(entry: Kind) -> str:
    if isinstance(entry, OneHot):
        return "category"
    return "number" if type(entry) is Numeric and entry.is_single else ANY


def _check_columns(columns: dict[str, str]) -> None:
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise invalid("columns", OWNER, f"from 1 to {MOST_COLUMNS}", len(columns))
    for name, kind in columns.items():
        check_text("a column", name)
        _check_named(f"column {_short(name)}", kind, KINDS)


def _check_classes(classes: list[str]) -> None:
    if not 2 <= len(classes) <= MOST_CLASSES or len(set(classes)) < len(classes):
        allowed = f"from 2 to {MOST_CLASSES} different names"
        raise invalid("classes", OWNER, allowed, f"{len(set(classes))} different of {len(classes)}")
    for name in classes:
        check_text("a class", name)


def check_name(name: str) -> None:
    """Refuse what no stream can be called."""
    if not NAME.fullmatch(name):
        allowed = "up to 64 letters, digits, '-', '_' and '.', the first a letter or digit"
        raise invalid("name", OWNER, allowed, _short(name))


def check_text(what: str, text: str) -> None:
    """Refuse names that are empty, long, or cannot be stored."""
    if text.isascii() and text.isprintable() and 0 < len(text) <= LONGEST and text[0] != " ":
        return  # by far the most usual
    storable = "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)
    if not (storable and 1 <= len(text) <= LONGEST and text.strip()):
        raise invalid(what, OWNER, f"from 1 to {LONGEST} characters, not all blank", _short(text))


def _check_named(parameter: str, value: str, known: set[str]) -> None:
    if value not in known:
        raise invalid(parameter, OWNER, " or ".join(map(repr, sorted(known))), _short(value))


def _short(text: Any) -> str:
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:77]}…"
