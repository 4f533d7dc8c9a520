"""Configuration of a stream, and the workbook created from it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.models.base import Model
from qufur.rules import Rule, Uniform
from qufur.rules.from_budget import as_amount, rule_from_budget
from qufur.tables import Encoding
from qufur.tables.categorical import Categorical, OneHot
from qufur.tables.columns import Kind, Numeric
from qufur.workbook import Workbook

OWNER = "the stream"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
VECTOR = "x"
"""Name of the vector column of streams without named columns."""
MAX_COLUMNS = 4096
MAX_CLASSES = 1000
MAX_NAME_LENGTH = 200
"""Characters in the name of a column or class, at most."""
COLUMN_TYPES = {"number", "category"}
ANY = "any"
"""Type of the columns of an imported state file; its encoding validates their cells."""
MODELS = {"experts", "ridge"}
RULES = {"steady", "paced", "uniform"}


class StreamConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Configuration of a stream. Required: `name`, and one of `dim` and `columns`.

    Attributes
    ----------
    dim, columns
        Number of inputs of an example; or the type of each column by name, "number" or "category".
    label_range, classes
        Smallest and largest label, or the names of the classes. Without either, labels are numbers.
    budget, horizon
        Number of labels, and the number of rows they are for; or a share such as 0.05 or "5%".
    model, rule
        "experts" or "ridge"; "steady", "paced" or "uniform".
    seed
        Seed of the random generator.
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
        """Raise `InvalidError` for the first invalid field."""
        check_name(self.name)
        if (self.dim is None) == (self.columns is None):
            raise invalid("dim", OWNER, "given, or columns in its place", "both" if self.dim else "neither")
        if self.dim is not None and not 1 <= self.dim <= MAX_COLUMNS:
            raise invalid("dim", OWNER, f"from 1 to {MAX_COLUMNS}", self.dim)
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
        """Create the workbook; raise `InvalidError` for an invalid configuration."""
        self.check()
        encoding = self.encoding()
        learner = Learner(self._model(encoding.dim), self._rule(), seed=self.seed)
        return Workbook(learner, encoding, "id", "label")

    def encoding(self) -> Encoding:
        """Return the initial encoding: unscaled numbers, and categories without any value yet."""
        if self.dim is not None:
            zero, one = (0.0,) * self.dim, (1.0,) * self.dim
            return Encoding((Numeric(VECTOR, zero, one, vector=True, scaled=False),), aside=("id",))
        entries: list[Kind] = [
            Numeric(name, (0.0,), (1.0,), scaled=False) if column_type == "number" else Categorical(name, ())
            for name, column_type in (self.columns or {}).items()
        ]
        return Encoding(tuple(entries), impute=True, aside=("id",))

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
        rule = rule_from_budget(
            amount, rows=self.horizon, owner=OWNER, remedy=remedy, steady=name == "steady"
        )
        return Uniform(rule.share or 1.0, budget=rule.limit) if name == "uniform" else rule


def config_from_workbook(name: str, workbook: Workbook) -> StreamConfig:
    """Return the configuration of a stream that continues an imported workbook."""
    dim = len(workbook.encoding.columns[0].names) if _is_vector(workbook.encoding) else None
    rule, model = workbook.learner.rule, workbook.learner.model
    columns: dict[str, str] = {}
    for entry in workbook.encoding.columns:
        columns.setdefault(entry.name, _column_type(entry))
    return StreamConfig(
        name,
        dim=dim,
        columns=None if dim is not None else columns,
        label_range=model.label_codec.bounds,
        classes=None if workbook.classes is None else list(workbook.classes),
        budget=rule.limit or rule.share or "100%",
        model=type(model).__name__.lower(),
        rule=type(rule).__name__.lower(),
    )


def _is_vector(encoding: Encoding) -> bool:
    """Return whether inputs are the unscaled numbers of rows, as in streams without named columns."""
    first, *others = encoding.columns
    plain = type(first) is Numeric and first.vector and not (first.scaled or first.indicators)
    return plain and first.name == VECTOR and not others


def _column_type(entry: Kind) -> str:
    if isinstance(entry, OneHot):
        return "category"
    return "number" if type(entry) is Numeric and entry.is_single else ANY


def _check_columns(columns: dict[str, str]) -> None:
    if not 1 <= len(columns) <= MAX_COLUMNS:
        raise invalid("columns", OWNER, f"from 1 to {MAX_COLUMNS}", len(columns))
    for name, column_type in columns.items():
        check_text("a column", name)
        _check_named(f"column {_short(name)}", column_type, COLUMN_TYPES)


def _check_classes(classes: list[str]) -> None:
    if not 2 <= len(classes) <= MAX_CLASSES or len(set(classes)) < len(classes):
        allowed = f"from 2 to {MAX_CLASSES} different names"
        raise invalid("classes", OWNER, allowed, f"{len(set(classes))} different of {len(classes)}")
    for name in classes:
        check_text("a class", name)


def check_name(name: str) -> None:
    """Raise `InvalidError` unless this is a valid name of a stream."""
    if not NAME.fullmatch(name):
        allowed = "up to 64 letters, digits, '-', '_' and '.', the first a letter or digit"
        raise invalid("name", OWNER, allowed, _short(name))


def check_text(parameter: str, text: str) -> None:
    """Raise `InvalidError` for a name that is blank, too long, or cannot be stored."""
    if text.isascii() and text.isprintable() and 0 < len(text) <= MAX_NAME_LENGTH and text[0] != " ":
        return  # fast path of most names
    storable = "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)
    if not (storable and 1 <= len(text) <= MAX_NAME_LENGTH and text.strip()):
        allowed = f"from 1 to {MAX_NAME_LENGTH} characters, not all blank"
        raise invalid(parameter, OWNER, allowed, _short(text))


def _check_named(parameter: str, value: str, allowed: set[str]) -> None:
    if value not in allowed:
        raise invalid(parameter, OWNER, " or ".join(map(repr, sorted(allowed))), _short(value))


def _short(text: Any) -> str:
    escaped = ascii(text)
    return escaped if len(escaped) <= 80 else f"{escaped[:77]}…"
