"""The public surface as JSON: command line options, OpenAPI document, public names and signatures."""

import copy
import importlib
import inspect
import re
import tempfile
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import get_type_hints

import typer
from tests.golden.imports import openapi_document

from qufur import Converged, Learner, PaperAdam
from qufur.cli import app
from qufur.models import Model
from qufur.rules import Rule

PACKAGES = [
    "qufur",
    "qufur.adapters.sklearn",
    "qufur.cluster",
    "qufur.data",
    "qufur.hypotheses",
    "qufur.labelling",
    "qufur.models",
    "qufur.planning",
    "qufur.rules",
    "qufur.service",
    "qufur.streams",
    "qufur.sweep",
    "qufur.theory",
]
"""Packages whose `__all__` is public."""
DOCUMENTED = [
    "qufur.adapters.river.QuFURClassifier",
    "qufur.adapters.river.QuFURRegressor",
    "qufur.adapters.skactiveml.PacedBudgetManager",
    "qufur.adapters.skactiveml.SteadyBudgetManager",
    "qufur.adapters.skactiveml.StreamQuFUR",
    "qufur.checks.combinations",
    "qufur.estimates.input_blocks.InputBlocks",
    "qufur.estimates.input_shifts.input_shifts",
    "qufur.estimates.report.Report",
    "qufur.estimates.shifts.ShiftSignal",
    "qufur.online_to_batch.Mixture",
    "qufur.online_to_batch.online_to_batch",
    "qufur.rules.per_period.PerPeriod",
    "qufur.run.run",
    "qufur.service.client.Client",
    "qufur.sweep.equal_labels.at_equal_labels",
    "qufur.trace.Totals",
]
"""Import paths of `docs/reference/api` that no `__all__` lists."""
NEEDS = {"qufur.adapters.river": "river", "qufur.adapters.skactiveml": "skactiveml"}
"""Modules that need a library which may be missing."""
INTERNAL = {"background_fits", "device", "replay", "widen"}
"""Members of `Learner` for `run`, workbooks and the service, which belong to the contract as well."""
TEXT = {"description", "summary", "title"}
CLICK_TYPES = {"text": "str", "integer": "int", "boolean": "bool", "path": "Path", "file": "Path"}


# Command line


def command_line():
    """Return the parameters of the program and of each command, in the order of the help."""
    return _command(typer.main.get_command(app))


def _command(command):
    # typer itself adds the options for shell completion
    parameters = [each for each in command.params if not each.name.endswith("_completion")]
    result = {"parameters": sorted(map(_parameter, parameters), key=lambda entry: entry["strings"])}
    arguments = [each.name for each in command.params if each.param_type_name == "argument"]
    if arguments:
        result["arguments"] = arguments
    commands = getattr(command, "commands", None)
    if commands:
        result["order"] = list(commands)
        result["commands"] = {name: _command(each) for name, each in commands.items()}
    return result


def _parameter(parameter):
    result = {
        "parameter": parameter.param_type_name,
        "strings": sorted(parameter.opts),
        "type": _type(parameter),
        "required": parameter.required,
        "default": _default(parameter.default),
    }
    optional = {
        "secondary": sorted(parameter.secondary_opts),
        "metavar": parameter.metavar,
        "flag": getattr(parameter, "is_flag", False),
        "multiple": getattr(parameter, "multiple", False),
        "nargs": parameter.nargs if parameter.nargs != 1 else None,
        "hidden": getattr(parameter, "hidden", False),
        "envvar": parameter.envvar,
    }
    return result | {name: value for name, value in optional.items() if value}


def _type(parameter):
    """Return the type of a parameter; releases of typer store it in one of two ways."""
    descriptor = getattr(parameter, "type_descriptor", None)
    holder = parameter if descriptor is not None else parameter.type
    name = _annotation(descriptor.annotation) if descriptor is not None else _click_type(parameter)
    bounds = [getattr(holder, end, None) for end in ("min", "max")]
    return name if bounds == [None, None] else f"{name} {bounds}"


def _annotation(annotation):
    parts = getattr(annotation, "__args__", ())
    if parts:
        return f"{annotation.__origin__.__name__}[{', '.join(map(_annotation, parts))}]"
    if issubclass(annotation, Enum):
        return "|".join(str(choice.value) for choice in annotation)
    return annotation.__name__


def _click_type(parameter):
    name = _click_name(parameter.type)
    return f"list[{name}]" if parameter.multiple or parameter.nargs == -1 else name


def _click_name(click_type):
    if hasattr(click_type, "func"):  # a parser: the first type that it returns lists the choices
        return _annotation(get_type_hints(click_type.func)["return"].__args__[0])
    if hasattr(click_type, "choices"):
        return "|".join(str(getattr(choice, "value", choice)) for choice in click_type.choices)
    if hasattr(click_type, "types"):
        return f"tuple[{', '.join(map(_click_name, click_type.types))}]"
    name = click_type.name.removesuffix(" range")
    return CLICK_TYPES.get(name, name)


def _default(value):
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    return None if value in ((), []) else value


# HTTP


def openapi():
    """Return paths, methods, parameters, bodies and status codes, with every schema in its place.

    Free text and the names of schemas are left out: `openapi_names` has those.
    """
    document = _document()
    schemas = document["components"].pop("schemas")
    result = {name: document[name] for name in ("components", "openapi", "paths", "security")}
    return _inlined(_without_text(result), _without_text(schemas, names=True))


def openapi_names():
    """Return the names of schemas, and the operation id and tags of each method and path."""
    document = _document()
    ids = {
        f"{method.upper()} {path}": [operation["operationId"], *operation.get("tags", ())]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    return {"schemas": sorted(document["components"]["schemas"]), "operations": ids}


def _document():
    with tempfile.TemporaryDirectory() as folder:
        return copy.deepcopy(openapi_document(Path(folder)))


def _without_text(value, *, names=False):
    """Remove text; `names` tells that the keys of a value name schemas or fields and are no keywords."""
    if isinstance(value, list):
        return [_without_text(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_text(entry, names=key == "properties" and not names)
        for key, entry in value.items()
        if names or not (key in {"operationId", "tags"} or (key in TEXT and isinstance(entry, str)))
    }


def _inlined(value, schemas):
    """Return a document in which schemas replace the references to them."""
    if isinstance(value, list):
        return [_inlined(entry, schemas) for entry in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(schemas[value["$ref"].rpartition("/")[2]], schemas)
    return {key: _inlined(entry, schemas) for key, entry in value.items()}


# Python


def public_names():
    """Return signatures of public functions, constructors and methods by import path.

    Models and rules are listed with their constructors alone: `contract` has their members.
    """
    result, paths = {}, {}
    for path, value in _public():
        if id(value) in paths:
            result[path] = f"same as {paths[id(value)]}"
            continue
        if inspect.isclass(value) or callable(value):
            paths[id(value)] = path
        result[path] = _described(value)
    return result


def packages():
    """Return the names in `__all__` of each public package."""
    return {name: sorted(importlib.import_module(name).__all__) for name in PACKAGES}


def contract():
    """Return the public members of models and rules, and members of `Learner` that users do not call.

    Authors of models and rules implement or call them. An intended change of that contract rewrites this
    record alone.
    """
    result = {
        path: _members(value)
        for path, value in _public()
        if path.startswith(("qufur.models.", "qufur.rules.")) and _is_part_of_contract(value)
    }
    learner = {name: member for name, member in _members(Learner).items() if name in INTERNAL}
    return result | {"qufur.Learner": learner}


def _public():
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield from ((f"{name}.{public}", getattr(package, public)) for public in sorted(package.__all__))
    for path in DOCUMENTED:
        module, _, name = path.rpartition(".")
        if find_spec(NEEDS.get(module, "qufur")):
            yield path, getattr(importlib.import_module(module), name)


def is_available(path):
    """Return whether the library that a documented path needs is installed."""
    return find_spec(NEEDS.get(path.rpartition(".")[0], "qufur")) is not None


def _is_part_of_contract(value):
    return inspect.isclass(value) and issubclass(value, (Model, Rule, Converged, PaperAdam))


def _described(value):
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value) and issubclass(value, BaseException):
        return {"exception": [base.__name__ for base in value.__mro__[1:-2]]}
    if inspect.isclass(value):
        members = {} if _is_part_of_contract(value) else _members(value)
        if value is Learner:
            members = {name: member for name, member in members.items() if name not in INTERNAL}
        return {"constructor": _signature(value), "members": members}
    if callable(value):
        return {"function": _signature(value)}
    return {type(value).__name__: [getattr(entry, "__name__", str(entry)) for entry in value]}


def _members(cls):
    """Return the public members that classes of this project define, also by inheritance."""
    bases = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "qufur"]
    names = {name for base in bases for name in vars(base) if not name.startswith("_")}
    return {name: _member(inspect.getattr_static(cls, name)) for name in sorted(names)}


def _member(value):
    if isinstance(value, (classmethod, staticmethod)):
        return {type(value).__name__: _signature(value.__func__)}
    if inspect.isfunction(value):
        return {"method": _signature(value)}
    is_property = isinstance(value, property) or type(value).__name__ in {
        "cached_property",
        "member_descriptor",
    }
    return "property" if is_property or type(value).__name__ == "_tuplegetter" else "attribute"


def _signature(value):
    """Return parameters as text in the order of declaration, such as "x", "*", "id=None"."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return None
    result, keywords = [], False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            result.append("*")
        keywords |= parameter.kind in {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL}
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={_plain(parameter.default)}"
        result.append(f"{stars}{parameter.name}{default}")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            result.append("/")
    return result


def _plain(default):
    """Return a default by `repr`, without module paths and addresses."""
    if inspect.isclass(default) or inspect.isfunction(default):
        return default.__name__
    return re.sub(
        r"(<[^>]*) at 0x[0-9a-f]+", r"\1", re.sub(r"\b(\w+\.)+(?=[A-Za-z_]\w*\b)", "", repr(default))
    )


SURFACES = {
    "command_line": command_line,
    "openapi": openapi,
    "openapi_names": openapi_names,
    "packages": packages,
    "public_names": public_names,
    "contract": contract,
}
