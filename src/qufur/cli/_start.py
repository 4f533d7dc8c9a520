"""First table to workbook: the model, the rule and the label column that the options describe."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from inspect import signature
from typing import Any, NamedTuple, cast

import numpy as np

from qufur import models
from qufur._internal import entry_points
from qufur.arrays import Bools, Floats
from qufur.cli import _options as opt
from qufur.cli._classes import describe_labels, infer_labels, parse_classes
from qufur.cli._columns import GrowingColumns, describe_first_table, grow
from qufur.cli._flags import flag, reject_options
from qufur.cli._options import ModelName, ModelOptions, RuleOptions
from qufur.cli._periods import FirstPeriods, LaterPeriods
from qufur.errors import InvalidError, invalid
from qufur.learner import Learner
from qufur.models.base import Model
from qufur.rules import FixedBudget, Rule, Uniform
from qufur.rules.from_budget import as_amount, labels_of, rule_from_budget
from qufur.tables.source import Source
from qufur.tables.writers import column_heading
from qufur.workbook import Workbook
from qufur.workbook.classes import NONE_YET, choose_rule

CHANGES = {"budget": "`qufur budget --add` increases it.", "per": "`qufur budget --per` changes it."}
"""Remedies for the start options that can be changed later."""
KERNEL_PENALTY = 0.1
"""Default λ of the kernel model: noise of about a sixth of the label range."""
LABEL_NAMES = frozenset(["label", "labels", "target", "targets", "class", "y", "outcome"])
"""Common names of label columns."""
MIN_LEAK_LABELS, LEAK_CORRELATION = 20, 0.999
"""Minimum labels to test for leakage, and the correlation above which a column leaks the label."""
MIN_CLASS_LABELS = 3
"""Minimum labels inside and outside a class to test it; with fewer, a column may match it by chance."""


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """Options that the first table sets. Later calls accept equal values."""

    model: ModelOptions
    rule: RuleOptions
    target: opt.FirstTarget = None
    new: opt.FirstNew = False
    classes: opt.FirstClasses = None
    id: opt.FirstId = None
    columns: GrowingColumns
    seed: opt.FirstSeed = None

    def given(self) -> dict[str, Any]:
        """Return the options that were given as JSON values, by name."""
        classes = self.classes and ",".join(name.strip() for name in self.classes.split(","))
        own = {"target": self.target, "id": self.id, "seed": self.seed, "new": self.new, "classes": classes}
        values = asdict(self.model) | asdict(self.rule) | self.columns.fixed | own
        given = {name: value for name, value in values.items() if value is not None and value is not False}
        return cast(dict[str, Any], json.loads(json.dumps(given)))


class StartedWorkbook(NamedTuple):
    """New workbook, the number of rows of its first table, and notes to print."""

    workbook: Workbook
    rows: int
    notes: list[str]


def start_workbook(
    command: str, data: Source, options: StartOptions, *, labelled: bool = False, quiet: bool
) -> StartedWorkbook:
    """Create the workbook for a first table.

    Parameters
    ----------
    command, data, options
        Name of the command for messages, the table, and the options.
    labelled
        Whether the table has labels to learn. The rule is then defined later, by `qufur ask`.
    quiet
        Whether to hide the progress bar.
    """
    # Validate the options before reading a long table.
    columns, classes = options.columns, parse_classes(options.classes, command)
    if ":" in options.model.name:
        remedy = "Later commands find the model of a state file by its entry point."
        raise invalid("--model", command, "the name of an installed model", repr(options.model.name), remedy)
    check_model(options.model, command, classes)
    rule = periods = None
    if not labelled:
        rule, periods = _rule_and_periods(command, options.rule, options.model, options.target or "label")
    # Without --also: whether a name is a regressor or a classifier may depend on the table.
    model = model_from_options(replace(options.model, also=None), 1, command, classes)
    columns.check(command)
    check_target(options.id, options.target or "label", command)
    rows = columns.rows(data, quiet=quiet)
    names = [*rows.columns, *rows.file.numbers]
    target = options.target or (rows.file.target if labelled else None) or "label"
    notes = []
    if labelled:
        rows.file.check(target)
    else:
        ignored = {options.id, *(columns.skip or ()), *rows.file.aside()}
        inputs = [name for name in names if name == target or name not in ignored]
        notes = check_new(command, options.target, inputs, data.name, new=options.new)
    existing_target = target if target in names else None
    if periods is not None:
        rows.watch(periods.add)
    survey = infer_labels(rows, existing_target, classes, numbers=options.model.label_range is not None)
    scale = not model.tags.scales_inputs
    encoding = columns.encoding(rows, scale=scale, target=existing_target, id=options.id)
    model = model_from_options(options.model, encoding.dim, command, classes or survey.classes())
    learner = Learner(model, rule(rows.count) if rule else NONE_YET, seed=options.seed or 0)
    workbook = Workbook(learner, encoding, options.id, target, has_rule=rule is not None)
    workbook.start_options = options.given()
    notes += describe_labels(survey, classes)
    if periods is not None:
        notes += periods.apply(workbook)
    return StartedWorkbook(workbook, rows.count, [*notes, *describe_first_table(encoding)])


def prepare_table(
    workbook: Workbook | None, data: Source, options: StartOptions, *, quiet: bool
) -> StartedWorkbook:
    """Create the workbook for a table of `qufur ask`, or extend an existing one by what the table adds."""
    if workbook is None:
        return start_workbook("qufur ask", data, options, quiet=quiet)
    check_start_options(workbook, options.given())
    check_target(workbook.id, workbook.target)
    options.columns.fetch(workbook.encoding)
    return extend_workbook("qufur ask", workbook, data, options, quiet=quiet)


def extend_workbook(
    command: str, workbook: Workbook, data: Source, options: StartOptions, *, quiet: bool
) -> StartedWorkbook:
    """Extend a workbook by the columns, rows and periods of a table."""
    rule: Callable[[int], Rule] | None = None
    periods: FirstPeriods | LaterPeriods | None = None
    if not workbook.has_rule:  # `qufur learn` creates a workbook without a rule
        model = ModelOptions(name_of(workbook.learner.model))
        rule, periods = _rule_and_periods(command, options.rule, model, workbook.target)
    periods = periods or LaterPeriods(workbook)
    total, notes = grow(workbook, data, options.columns, quiet=quiet, observer=periods.add)
    if rule is not None:
        choose_rule(workbook, rule(total))
    return StartedWorkbook(workbook, total, notes + periods.apply(workbook))


def check_start_options(
    workbook: Workbook, given: Mapping[str, Any], recorded: Mapping[str, Any] | None = None
) -> None:
    """Raise if an option is given with another value than with the first table; record the first of a rule.

    Parameters
    ----------
    workbook
        The workbook.
    given
        Options by name, from `StartOptions.given`.
    recorded
        Options of the first table, for a workbook that does not record them.
    """
    current = {"target": workbook.target, "id": workbook.id, "model": name_of(workbook.learner.model)}
    if workbook.classes is not None:
        current["classes"] = ",".join(workbook.classes)
    values = {**(recorded or {}), **workbook.start_options, **current}
    for name, value in given.items():
        if name in _RULE_OPTIONS and not workbook.has_rule:
            workbook.start_options[name] = value
        elif values.get(name) != value:
            old = values.get(name)
            unset = "was not set" if recorded or workbook.start_options else "is set"
            before = unset if old is None else f"was set to {_as_typed(old)!r}"
            message = (
                f"{flag(name)} {before} by the first table and cannot be changed to {_as_typed(value)!r}."
            )
            raise InvalidError(f"{message} {CHANGES.get(name, 'Use another --state to start over.')}")


def _as_typed(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


_RULE_OPTIONS = {field.name for field in fields(RuleOptions)}


# Rule


def _rule_and_periods(
    command: str, options: RuleOptions, model: ModelOptions, target: str
) -> tuple[Callable[[int], Rule], FirstPeriods | None]:
    """Return the rule as in `rule_from_options` and, with --per, the periods of the first table."""
    if options.per is not None:
        periods = FirstPeriods(options, target)
        return periods.rule, periods
    if options.time is not None:
        raise invalid("--time", command, "omitted without --per", repr(options.time))
    return rule_from_options(command, options, model), None


def rule_from_options(command: str, options: RuleOptions, model: ModelOptions) -> Callable[[int], Rule]:
    """Return the rule as a function of the number of rows of the first table, the default horizon of a count.

    More tables may follow, so a share refers to `--horizon` rows, or is a rate without it.

    >>> rule_from_options("qufur ask", RuleOptions(budget="50"), ModelOptions())(1000)
    Steady(budget=50, horizon=1000, burst=10.0)
    >>> rule_from_options("qufur ask", RuleOptions(budget="5%", at_random=True), ModelOptions())(1000)
    Uniform(rate=0.05, budget=None)
    """
    for_ridge = {"alpha": options.alpha, "fixed_budget": options.fixed_budget}
    reject_for_experts(model, command, for_ridge)
    horizon, alpha, burst = options.horizon, options.alpha, {"burst": options.burst}
    budget = _amount(command, "--budget", options.budget)
    fixed = _amount(command, "--fixed-budget", options.fixed_budget)
    if options.at_random:
        reject_options(command, "--at-random", for_ridge | burst)
    if horizon is not None or not isinstance(budget, float):
        reject_options(command, "a count of labels, or a share with --horizon", burst)
    if fixed is not None:
        reject_options(command, "--fixed-budget", {"budget": budget, "alpha": alpha})
        return lambda rows: FixedBudget(labels_of(fixed, horizon or rows), horizon or rows)
    if alpha is not None and not isinstance(budget, float):
        reject_options(command, "--alpha", {"horizon": horizon})
    if budget is None and alpha is None:
        remedy = "Alternatives are --per and, with --model ridge, --alpha and --fixed-budget."
        raise invalid("--budget", command, "given for the first table", "none", remedy)

    def build(rows: int | None) -> Rule:
        rule = rule_from_budget(
            budget,
            alpha,
            rows=rows,
            owner=command,
            parameter="--budget",
            remedy="--horizon sets the number of rows.",
            steady=model.is_experts,
            burst=options.burst,
        )
        return Uniform(rule.share or 1.0, budget=rule.limit) if options.at_random else rule

    if alpha is None and isinstance(budget, int):
        return lambda rows: build(horizon or rows)
    rule = build(horizon)
    return lambda rows: rule


def _amount(command: str, option: str, budget: str | None) -> int | float | None:
    return None if budget is None else as_amount(budget, command, option)


# Model


def custom_model(options: ModelOptions, command: str) -> type[Model] | None:
    """Return the class of a model that another package defines; None for a model of this package."""
    if isinstance(options.name, ModelName):
        return None
    return entry_points.class_given(options.name, Model, entry_points.MODELS, "--model", command)


def takes_label_range(options: ModelOptions, command: str) -> bool:
    """Return whether the model must know the label range: ridge, kernel, and others with this parameter."""
    custom = custom_model(options, command)
    return not options.is_experts if custom is None else "label_range" in signature(custom).parameters


def name_of(model: Model) -> ModelName:
    """Return the command-line name of a model; one of another package has the options of ridge."""
    if isinstance(model, models.Experts):
        return ModelName.experts
    return ModelName.kernel if isinstance(model, models.KernelRidge) else ModelName.ridge


def reject_for_experts(model: ModelOptions, command: str, values: Mapping[str, Any]) -> None:
    """Raise if an option that only ridge and kernel accept is given with experts."""
    if model.is_experts:
        reject_options(command, "--model experts, the default", values, "--model ridge accepts it.")


def check_model(options: ModelOptions, command: str, classes: Sequence[str] | None = None) -> None:
    """Raise if an option conflicts with the model or with classes.

    >>> check_model(ModelOptions(ModelName.ridge, also=["svr"]), "docs")
    Traceback (most recent call last):
        ...
    qufur.errors.InvalidError: --also of docs must be omitted with --model ridge, got ['svr']. ...
    """
    reject_for_experts(options, command, {"regularization": options.regularization})
    conflict = f"--model {options.name}"
    if options.name is not ModelName.ridge:
        reject_options(command, conflict, {"half_life": options.half_life}, "--model ridge accepts it.")
    if not options.is_experts:
        reject_options(command, conflict, {"also": options.also}, "--model experts accepts it.")
    if classes and not options.is_experts and custom_model(options, command) is None:
        remedy = "Omit --model; for numeric labels, name another --target."
        raise invalid("--model", command, "experts if labels are classes", options.name, remedy)
    if classes and options.label_range is not None:
        received = "a range with labels that are classes"
        raise invalid("--label-range", command, "given for numeric labels only", received, "Omit it.")


def model_from_options(
    options: ModelOptions, dim: int, command: str, classes: tuple[Any, ...] | None = None
) -> Model:
    """Build the model that the options describe, for `dim` inputs.

    The class of another package receives `dim` and, if given, `label_range`, `regularization` and `classes`.

    >>> options = ModelOptions(ModelName.ridge, half_life=50, label_range=(0, 9))
    >>> model_from_options(options, 3, "docs").half_life
    50
    """
    check_model(options, command, classes)
    label_range, penalty = options.label_range, options.regularization
    if options.is_experts:
        also = estimators_named(options.also or (), command, classifies=classes is not None)
        return models.Experts(dim, label_range=label_range, classes=classes, also=also)
    custom = custom_model(options, command)
    if custom is not None:
        values = {"dim": dim, "label_range": label_range, "regularization": penalty, "classes": classes}
        values = {name: value for name, value in values.items() if value is not None}
        try:
            signature(custom).bind(**values)
        except TypeError as error:
            allowed = f"a class with the parameters {', '.join(values)}, and defaults for all others"
            raise invalid("--model", command, allowed, f"{custom.__name__}: {error}") from None
        return custom(**values)
    if label_range is None:
        remedy = "Give the lowest and the highest label, such as --label-range 0 100."
        raise invalid("--label-range", command, f"given with --model {options.name}", "none", remedy)
    if options.model is ModelName.ridge:
        half_life = options.half_life
        return models.Ridge(
            dim, intercept=True, label_range=label_range, regularization=penalty, half_life=half_life
        )
    return _kernel(dim, label_range, KERNEL_PENALTY if penalty is None else penalty)


def boosting(dim: int, classes: tuple[Any, ...] | None) -> Model:
    """Return histogram gradient boosting alone, as a baseline."""
    # Imported directly: a lookup by name would import all of scikit-learn.
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    estimator = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    return models.Refit(estimator(), dim=dim, classes=classes)


def _kernel(dim: int, label_range: tuple[float, float], penalty: float) -> Model:
    """Return a constant plus a Gaussian kernel, for scaled rows.

    Its length scale is √dim, about the distance between two such rows.
    """
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    kernel = ConstantKernel(1.0) + RBF(math.sqrt(dim))
    return models.KernelRidge(kernel, dim=dim, regularization=penalty, label_range=label_range)


# scikit-learn estimators by name


def estimators_named(names: Sequence[str], command: str, *, classifies: bool) -> list[Any]:
    """Return an estimator with default parameters for each name; spelling may be kebab or camel case.

    >>> estimators_named(["hist-gradient-boosting", "SVR"], "docs", classifies=False)
    [HistGradientBoostingRegressor(), SVR()]
    """
    if not names:
        return []
    by_name = _estimator_classes(classifies)
    by_key = {_key(name): cls for name, cls in by_name.items()}
    for name in names:
        if _key(name) not in by_key:
            short = [kebab for kebab in by_name if not kebab.endswith(("-regressor", "-classifier"))]
            matches = difflib.get_close_matches(_kebab(name), short, n=3, cutoff=0.5)
            similar = f"Did you mean {' or '.join(matches)}?" if matches else ""
            allowed = f"the name of a scikit-learn {'classifier' if classifies else 'regressor'}"
            remedy = similar or "An example is hist-gradient-boosting."
            raise invalid("--also", command, allowed, repr(name), remedy)
    return [by_key[_key(name)]() for name in names]


@cache
def _estimator_classes(classifies: bool) -> dict[str, Any]:
    """Return the estimator classes without required parameters, by kebab-case name."""
    from sklearn.utils import all_estimators

    estimators = all_estimators(type_filter="classifier" if classifies else "regressor")
    usable = [(name, cls) for name, cls in estimators if not _has_required_parameters(cls)]
    short = {_kebab(re.sub(r"(Regressor|Classifier)$", "", name) or name): cls for name, cls in usable}
    return short | {_kebab(name): cls for name, cls in usable}


def _has_required_parameters(cls: Any) -> bool:
    parameters = signature(cls).parameters.values()
    return any(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters)


def _kebab(name: str) -> str:
    """Convert a name to kebab case.

    >>> _kebab("HistGradientBoosting"), _kebab("SVR"), _kebab("SGDOneClassSVM")
    ('hist-gradient-boosting', 'svr', 'sgd-one-class-svm')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def _key(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()


# Label column


def check_target(id: str | None, target: str, command: str = "qufur ask") -> None:
    """Raise if the id column and the label column are the same."""
    if id is not None and column_heading(id) == column_heading(target):
        raise invalid("--target", command, "another column than --id", repr(target))


def check_new(command: str, target: str | None, columns: Iterable[str], file: str, *, new: bool) -> list[str]:
    """Raise if the label column is missing in the first table and another column may be meant.

    Parameters
    ----------
    command, target, columns, file
        Name of the command, value of --target, names of the input columns, and name of the table.
    new
        Whether --new declares that the table has no label column yet.

    Returns
    -------
    list
        Notes on an input whose name is that of a typical label column, although --target names another one.
    """
    names = list(columns)
    typical = next((name for name in names if column_heading(name).lower() in LABEL_NAMES), None)
    is_given, target = target is not None, target or "label"
    if target in names:
        if new:
            received = f"{target!r}, which exists in {file}"
            raise invalid("--target", command, "a new column with --new", received, "Omit --new.")
        return []
    similar = next((name for name in names if _is_similar(name, target)), None if is_given else typical)
    if similar is not None and not new:
        received = f"{target!r}: the table has no column {target!r} but has {similar!r}"
        remedy = (
            f"Use --target {similar}; or --new if the table has no labels, with --skip {similar} if that "
            "column contains labels."
        )
        raise invalid("--target", command, f"a column of {file}, or --new", received, remedy)
    if typical is None or new:
        return []
    return [f"Column {typical!r} is an input. If it contains labels, start over with --skip {typical}."]


def _is_similar(first: str, second: str) -> bool:
    """Return whether two names differ by one typing error: a missing, extra, wrong or swapped letter.

    >>> [_is_similar("load", name) for name in ("laod", "Load", "lod", "loads", "road", "lag", "lead_time")]
    [True, True, True, True, True, False, False]
    >>> _is_similar("delay", "day"), _is_similar("x1", "x2")
    (False, False)
    """
    a, b = (re.sub("[ _-]", "", column_heading(name).casefold()) for name in (first, second))
    if min(len(a), len(b)) < 3:
        return False
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[same:], b[same:]
    has_wrong_letter = a[1:] == b[1:]
    has_extra_letter = a[1:] == b or a == b[1:]
    has_swapped_letters = a[:2] == b[:2][::-1] and a[2:] == b[2:]
    return has_wrong_letter or has_extra_letter or has_swapped_letters


def describe_leaks(workbook: Workbook) -> list[str]:
    """Describe the columns that determine the label almost exactly, if there are enough labels."""
    dim = workbook.encoding.dim
    # Rows of a linear model end with a constant.
    records = [record for record in workbook.labels.values() if len(record.row) >= dim]
    if len(records) < MIN_LEAK_LABELS:
        return []
    X = np.array([record.row[:dim] for record in records])
    y = np.array([record.label for record in records])
    inputs = [column.name for column in workbook.encoding.columns for _ in column.names]
    leaks = np.flatnonzero(_leaking(X, y, len(workbook.classes or ())))
    return [
        f"Column {name!r} determines the label almost exactly in all {len(y)} labelled rows. If its value is "
        "unknown before the label, leave its cells empty in later tables (--impute), or start over with "
        f"--skip {name}."
        for name in dict.fromkeys(inputs[number] for number in leaks)
    ]


def _leaking(X: Floats, y: Floats, classes: int) -> Bools:
    """Return which inputs correlate with the label, its rank, or membership in a class."""
    if not classes:
        ranks = np.apply_along_axis(_ranks, 0, X)
        return np.fmax(_correlation(X, y), _correlation(ranks, _ranks(y))) > LEAK_CORRELATION
    leaks = np.zeros(X.shape[1], bool)
    for number in range(classes):
        member = (y == number).astype(np.float64)
        if min(member.sum(), len(y) - member.sum()) >= MIN_CLASS_LABELS:
            leaks |= _correlation(X, member) > LEAK_CORRELATION
    return leaks


def _ranks(values: Floats) -> Floats:
    """Return the ranks of a vector; equal values share the mean rank.

    >>> _ranks(np.array([30.0, 10.0, 30.0]))
    array([2.5, 1. , 2.5])
    """
    _, index, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[index], dtype=np.float64)


def _correlation(X: Floats, y: Floats) -> Floats:
    """Return |correlation| of each column with y; 0 if one of the two is constant."""
    A, b = X - X.mean(axis=0), y - y.mean()
    # Divide by the largest value first: squares of large numbers overflow.
    A, b = A / (np.abs(A).max(axis=0) + (A == 0).all(axis=0)), b / (np.abs(b).max() or 1.0)
    norms = np.sqrt((A**2).sum(axis=0) * (b**2).sum())
    return np.asarray(np.abs(A.T @ b) / np.where(norms > 0, norms, 1.0))
