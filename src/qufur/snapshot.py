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
from qufur.models import Model
from qufur.models.capabilities import UsesEstimators
from qufur.pending import Pending, decisions
from qufur.rules import Rule
from qufur.rules.spending import Charge
from qufur.storage import container
from qufur.storage.container import Content, load_error, reason
from qufur.storage.schema import check_form, check_kept, check_value

if TYPE_CHECKING:
    from qufur.learner import Learner

VERSION = 2
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
    estimators = model.estimators() if isinstance(model, UsesEstimators) else {}
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
    ids, queries = list(learner.pending), learner.pending.values()
    header = {
        "version": VERSION,
        "model": _describe(learner.model, Model, learner.model.describe()),
        "rule": _describe(learner.rule, Rule, dataclasses.asdict(learner.rule)),  # type: ignore[call-overload]
        "dim": learner.dim,
        "state": values,
        "rng": _plain(learner.rng.bit_generator.state),
        "spending": learner.spending.save(),
        "ledger": ledger_values | {"open": ids},
        "next_id": learner.next_id,
        "ids": ids,
        "places": [query.charge.place for query in queries],
    }
    tensors = {f"state.{name}": array for name, array in arrays.items()}
    tensors |= {f"ledger.{name}": array for name, array in columns.items()}
    tensors["ledger.open"] = decisions(queries)
    copies = np.array([query.charge.copies for query in queries], dtype=bool)
    tensors["charges"] = copies.reshape(len(ids), len(learner.spending.charged))
    # safetensors writes raw memory and would silently transpose arrays in Fortran order.
    return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def decode(
    cls: type[Learner], content: Content, estimators: Mapping[str, Any] = MappingProxyType({})
) -> Learner:
    """Return the learner that `encode` serialised; `estimators` has the third-party ones by class name."""
    # Imported so that the classes of all models and rules are registered.
    import qufur.models._all
    import qufur.rules.per_period  # noqa: F401

    header, tensors = content
    # Files of older versions contain a block size (".busy") and no positions of queries; the position −1,
    # before the stream, preserves their charges.
    tensors = {name: array for name, array in tensors.items() if not name.endswith(".busy")}
    places = header.get("places", [-1] * len(header["ids"]))
    header = {**header, "places": places, "model": _up_to_date(header["model"])}
    if not is_integer(header["version"]) or header["version"] not in (1, VERSION):
        raise invalid("version", "the file", str(VERSION), repr(header["version"]))
    model_class, arguments = _parsed(header["model"], Model)
    model = model_class.from_description(arguments, estimators)
    rule_class, arguments = _parsed(header["rule"], Rule)
    rule = rule_class(**arguments)
    if header["version"] == 1:
        header, tensors = _upgraded(header, tensors, model)
    content = header, tensors
    learner = cls(model, rule, seed=_generator(header["rng"]))
    check_form(content, encode(learner))
    learner.state.restore(header["state"], strip_prefix("state.", tensors))
    learner.ledger.restore(header["ledger"], strip_prefix("ledger.", tensors))
    learner.spending.restore(header["spending"])
    learner.next_id = header["next_id"]
    learner.dim = header["dim"]
    charges = map(Charge, tensors["charges"], header["places"])
    columns = header["ids"], tensors["ledger.open"].tolist(), charges
    learner.pending = {
        id: Pending(prediction, probability, largest_loss, charge)
        for id, (prediction, probability, largest_loss), charge in zip(*columns, strict=True)
    }
    _check_agreement(learner)
    check_kept(content, encode(learner))
    return learner


def _upgraded(header: dict[str, Any], tensors: dict[str, Any], model: Model) -> Content:
    """Convert the content of version 1 to version 2, which stores largest losses instead of predictions.

    Version 1 lacks the sum of the probabilities; the number of labels bought approximates it.
    """
    added = {"begun": 1, "probability": float(header["spending"]["spent"])}
    header = {**header, "version": VERSION, "ledger": header["ledger"] | added}
    tensors = dict(tensors)
    for name in ("ledger.passed", "ledger.seen"):
        first, *others = tensors[name].T
        tensors[name] = np.column_stack([model.largest_loss(first), *others])
    largest = model.largest_loss(tensors["ledger.open"][:, 0])
    tensors["ledger.open"] = np.column_stack([tensors["ledger.open"], largest])
    return header, tensors


def _check_agreement(learner: Learner) -> None:
    ids = learner.pending.keys()
    are_valid = all(isinstance(id, str) or is_integer(id) for id in ids)
    if not (are_valid and ids == learner.state.pending.keys()):
        raise invalid("ids", "the file", "the outstanding queries", "others in the state of the model")
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
