"""Serialisation of a learner to JSON values and named arrays; a file contains data, never code."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur._internal.registry import class_named, name_of
from qufur.arrays import is_integer, strip_prefix
from qufur.errors import invalid
from qufur.file_upgrades import upgraded
from qufur.models import Model
from qufur.models.capabilities import HasExperts
from qufur.pending import restore_pending, save_pending
from qufur.rules import Rule
from qufur.storage import container
from qufur.storage.container import Content, load_error, reason
from qufur.storage.schema import check_form, check_kept, check_value

if TYPE_CHECKING:
    from qufur.learner import Learner

VERSION = 3
RENAMED = {"ConfidenceSet": {"delta": "failure_probability"}}
"""Parameters of models under the names that older versions wrote, and their current names."""
FORMER: dict[str, dict[str, Any]] = {"Ridge": {"intercept_penalty": 1.0}}
"""Values of parameters that are missing in files of versions without them."""
GENERATORS = {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}


def save(learner: Learner, path: str | os.PathLike[str]) -> None:
    """Save a learner atomically; the file replaces an existing one."""
    name = type(learner.rng.bit_generator).__name__
    if name not in GENERATORS:
        remedy = "Use another generator to save the learner."
        raise invalid("seed", "Learner.save", f"a generator over one of {sorted(GENERATORS)}", name, remedy)
    model = learner.model
    estimators = model.estimators() if isinstance(model, HasExperts) else {}
    container.write(path, encode(learner), lambda content: decode(type(learner), content, estimators))


def load(cls: type[Learner], path: str | os.PathLike[str], estimators: Mapping[str, Any]) -> Learner:
    """Load a learner; raise `InvalidError` for a file that does not contain one."""
    content = container.read(path)
    version: Any = content[0].get("version")
    if is_integer(version) and version > VERSION:
        raise load_error(path, f"is of version {version}, after {VERSION}", "Update qufur to read it.")
    try:
        return decode(cls, content, estimators)
    except Exception as error:  # untrusted content can fail in any way
        remedy = "Load another file, or install or import all of the learner's classes first."
        raise load_error(path, f"contains no valid learner ({reason(error)})", remedy) from None


def encode(learner: Learner) -> Content:
    """Return the whole state of a learner as JSON values and named arrays."""
    # Imported so that a user's class with the name of one of ours is rejected.
    import qufur.models._all
    import qufur.rules.per_period  # noqa: F401

    values, arrays = learner.state.save()
    ledger_values, columns = learner.ledger.save()
    queries = learner.pending.values()
    header = {
        "version": VERSION,
        "model": _describe(learner.model, Model, learner.model.describe()),
        "rule": _describe(learner.rule, Rule, dataclasses.asdict(learner.rule)),  # type: ignore[call-overload]
        "dim": learner.dim,
        "state": values,
        "rng": _plain(learner.rng.bit_generator.state),
        "spending": learner.spending.save(),
        "ledger": ledger_values,
        "next_id": learner.next_id,
        "ids": list(learner.pending),
        "places": [query.charge.place for query in queries],
    }
    groups = {
        "state": arrays,
        "ledger": columns,
        "pending": save_pending(queries, copies=len(learner.spending.charged)),
    }
    # safetensors writes raw memory and would silently transpose arrays in Fortran order.
    return header, {
        f"{group}.{name}": np.ascontiguousarray(array)
        for group, named in groups.items()
        for name, array in named.items()
    }


def decode(
    cls: type[Learner], content: Content, estimators: Mapping[str, Any] = MappingProxyType({})
) -> Learner:
    """Return the learner that `encode` serialised; `estimators` has the third-party ones by class name."""
    # Imported so that the classes of all models and rules are registered.
    import qufur.models._all
    import qufur.rules.per_period  # noqa: F401

    header, tensors = content
    header = {**header, "model": _up_to_date(header["model"])}
    if not is_integer(header["version"]) or header["version"] not in range(1, VERSION + 1):
        raise invalid("version", "the file", str(VERSION), repr(header["version"]))
    model_class, arguments = _parsed(header["model"], Model)
    model = model_class.from_description(arguments, estimators)
    rule_class, arguments = _parsed(header["rule"], Rule)
    rule = rule_class(**arguments)
    if header["version"] < VERSION:
        header, tensors = upgraded(header, tensors, model)
    content = header, tensors
    if isinstance(model, HasExperts):
        content = header, tensors = model.with_current_experts(content)
    learner = cls(model, rule, seed=_generator(header["rng"]))
    check_form(content, encode(learner))
    pending = restore_pending(header["ids"], header["places"], strip_prefix("pending.", tensors))
    learner.pending.update(pending)
    learner.state.restore(header["state"], strip_prefix("state.", tensors))
    learner.ledger.restore(header["ledger"], strip_prefix("ledger.", tensors))
    learner.spending.restore(header["spending"])
    learner.next_id = header["next_id"]
    learner.dim = header["dim"]
    _check_agreement(learner)
    check_kept(content, encode(learner))
    return learner


def _check_agreement(learner: Learner) -> None:
    if not all(isinstance(id, str) or is_integer(id) for id in learner.pending):
        raise invalid("ids", "the file", "integers and strings", "others")
    dim, model_dim = learner.dim, learner.model.dim
    if model_dim not in (None, dim) or not (dim is None or is_integer(dim)):
        raise invalid("dim", "the file", "that of the model" if model_dim else "an integer", dim)


def _describe(instance: Any, base: type[Any], arguments: dict[str, Any]) -> dict[str, Any]:
    name = name_of(type(instance), base, base.__name__.lower(), "Learner.save")
    return {"type": name, **_plain(arguments)}


def _up_to_date(description: dict[str, Any]) -> dict[str, Any]:
    """Rename and add the parameters of a model that older versions wrote differently."""
    model = str(description["type"])
    names, defaults = RENAMED.get(model, {}), FORMER.get(model, {})
    return defaults | {names.get(field, field): value for field, value in description.items()}


def _parsed(description: dict[str, Any], base: type[Any]) -> tuple[Any, dict[str, Any]]:
    """Return an imported or installed class of models or rules, and its arguments."""
    name = base.__name__.lower()
    # A file never names code to import: qufur.models and qufur.rules list the classes of installed packages.
    cls = class_named(description["type"], base, name, "Learner.load", group=f"qufur.{name}s")
    return cls, {field: value for field, value in description.items() if field != "type"}


def _plain(value: Any) -> Any:
    """Convert a value to JSON types; 128-bit integers stay exact."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _generator(state: dict[str, Any]) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in GENERATORS:
        raise invalid("rng", "the file", f"one of {sorted(GENERATORS)}", repr(name))
    bits = getattr(np.random, name)()
    check_value("rng", state, _plain(bits.state))
    # NumPy accepts any position in the buffer and would read beyond its end.
    for position, buffer in ((state["state"].get("pos"), "key"), (state.get("buffer_pos"), "buffer")):
        length = len((state | state["state"]).get(buffer, ()))
        if position is not None and not 0 <= position <= length:
            raise invalid("rng", "the file", f"at a position from 0 to {length}", position)
    bits.state = state
    return np.random.Generator(bits)
