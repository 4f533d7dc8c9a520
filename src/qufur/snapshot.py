"""A learner as JSON values and named arrays, and back; a file says what to build, never how."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import is_whole, under
from qufur.errors import invalid
from qufur.estimates.query import Query, decisions
from qufur.models import Model
from qufur.registry import class_named, name_of
from qufur.rules import Rule
from qufur.rules.spending import Charge
from qufur.storage import container
from qufur.storage.container import Content, reason, refused
from qufur.storage.forms import check_form, check_kept, check_value

if TYPE_CHECKING:
    from qufur.learner import Learner

VERSION = 2
RENAMED = {"ConfidenceSet": {"delta": "failure_probability"}}
"""Arguments of models that files of older versions call otherwise, and what they are called now."""
FORMER: dict[str, dict[str, Any]] = {"Ridge": {"intercept_penalty": 1.0}}
"""What it means that a file leaves out an argument of a model which there was not when it was written."""
GENERATORS = {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}


def save(learner: Learner, path: str | os.PathLike[str]) -> None:
    """Write everything that decides how the learner goes on, in place of what was there, or not at all."""
    name = type(learner.rng.bit_generator).__name__
    if name not in GENERATORS:
        remedy = "Use another generator to save the learner."
        raise invalid("seed", "Learner.save", f"a generator over one of {sorted(GENERATORS)}", name, remedy)
    given = learner.model.estimators()
    container.write(path, encode(learner), lambda content: decode(type(learner), content, given))


def load(kind: type[Learner], path: str | os.PathLike[str], estimators: Mapping[str, Any]) -> Learner:
    """Read a learner back; what is not the file of a learner is refused."""
    content = container.read(path)
    version: Any = content[0].get("version")
    if is_whole(version) and version > VERSION:
        raise refused(path, f"is of version {version}, after {VERSION}", "Update qufur to read it.")
    try:
        return decode(kind, content, estimators)
    except Exception as error:  # content from elsewhere can be wrong in any way
        remedy = "Load another file, or see that all of the learner's classes are imported."
        raise refused(path, f"holds no such learner ({reason(error)})", remedy) from None


def encode(learner: Learner) -> Content:
    """Return everything that decides how the learner goes on, as JSON values and named arrays."""
    # So that no class of the user's has the name of one of them.
    import qufur.models.listed
    import qufur.rules.per_period  # noqa: F401

    values, arrays = learner.state.save()
    noted, columns = learner.ledger.save()
    ids, queries = list(learner.queries), learner.queries.values()
    header = {
        "version": VERSION,
        "model": _describe(learner.model, Model, learner.model.describe()),
        "rule": _describe(learner.rule, Rule, dataclasses.asdict(learner.rule)),  # type: ignore[call-overload]
        "dim": learner.dim,
        "state": values,
        "rng": _plain(learner.rng.bit_generator.state),
        "spending": learner.spending.save(),
        "ledger": noted | {"open": ids},
        "next_id": learner.next_id,
        "ids": ids,
        "places": [query.charge.place for query in queries],
    }
    tensors = {f"state.{name}": array for name, array in arrays.items()}
    tensors |= {f"ledger.{name}": array for name, array in columns.items()}
    tensors["ledger.open"] = decisions(queries)
    copies = np.array([query.charge.copies for query in queries], dtype=bool)
    tensors["charges"] = copies.reshape(len(ids), len(learner.spending.charged))
    # safetensors writes the memory as it lies, and would silently transpose Fortran order.
    return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def decode(
    kind: type[Learner], content: Content, estimators: Mapping[str, Any] = MappingProxyType({})
) -> Learner:
    """Return the learner that `encode` described; `estimators` are those that a file can only name."""
    # A file may be of any model and rule.
    import qufur.models.listed
    import qufur.rules.per_period  # noqa: F401

    header, tensors = content
    # Files of older versions say how their next block was best computed, and not where queries were made:
    # a place before the stream keeps what they cost.
    tensors = {name: array for name, array in tensors.items() if not name.endswith(".busy")}
    places = header.get("places", [-1] * len(header["ids"]))
    header = {**header, "places": places, "model": _up_to_date(header["model"])}
    if not is_whole(header["version"]) or header["version"] not in (1, VERSION):
        raise invalid("version", "the file", str(VERSION), repr(header["version"]))
    kind_of_model, description = _parsed(header["model"], Model)
    model = kind_of_model.from_description(description, estimators)
    kind_of_rule, description = _parsed(header["rule"], Rule)
    rule = kind_of_rule(**description)
    if header["version"] == 1:
        header, tensors = _upgraded(header, tensors, model)
    content = header, tensors
    learner = kind(model, rule, seed=_generator(header["rng"]))
    check_form(content, encode(learner))
    learner.state.restore(header["state"], under("state.", tensors))
    learner.ledger.restore(header["ledger"], under("ledger.", tensors))
    learner.spending.restore(header["spending"])
    learner.next_id = header["next_id"]
    learner.dim = header["dim"]
    charges = map(Charge, tensors["charges"], header["places"])
    columns = header["ids"], tensors["ledger.open"].tolist(), charges
    learner.queries = {
        id: Query(prediction, probability, largest_loss, charge)
        for id, (prediction, probability, largest_loss), charge in zip(*columns, strict=True)
    }
    _check_agreement(learner)
    check_kept(content, encode(learner))
    return learner


def _upgraded(header: dict[str, Any], tensors: dict[str, Any], model: Model) -> Content:
    """Return what a file of version 1 says, in the form of version 2: largest losses for predictions.

    It does not have the sum of the probabilities, which the number of labels bought is about equal to.
    """
    own = {"begun": 1, "probability": float(header["spending"]["spent"])}
    header = {**header, "version": VERSION, "ledger": header["ledger"] | own}
    tensors = dict(tensors)
    for name in ("ledger.passed", "ledger.seen"):
        first, *others = tensors[name].T
        tensors[name] = np.column_stack([model.largest_loss(first), *others])
    largest = model.largest_loss(tensors["ledger.open"][:, 0])
    tensors["ledger.open"] = np.column_stack([tensors["ledger.open"], largest])
    return header, tensors


def _check_agreement(learner: Learner) -> None:
    ids = learner.queries.keys()
    sound = all(isinstance(id, str) or is_whole(id) for id in ids)
    if not (sound and ids == learner.state.pending.keys()):
        raise invalid("ids", "the file", "the outstanding queries", "others in another place")
    dim, known = learner.dim, learner.model.dim
    if known not in (None, dim) or not (dim is None or is_whole(dim)):
        raise invalid("dim", "the file", "what the model has" if known else "an integer", dim)


def _describe(part: Any, base: type[Any], arguments: dict[str, Any]) -> dict[str, Any]:
    name = name_of(type(part), base, base.__name__.lower(), "Learner.save")
    return {"type": name, **_plain(arguments)}


def _up_to_date(description: dict[str, Any]) -> dict[str, Any]:
    names, former = (changes.get(str(description["type"]), {}) for changes in (RENAMED, FORMER))
    return former | {names.get(field, field): value for field, value in description.items()}


def _parsed(description: dict[str, Any], base: type[Any]) -> tuple[Any, dict[str, Any]]:
    """Return the class of a model or rule, any that is defined by now, and the arguments of it.

    A file cannot bring in code of its own.
    """
    kind = class_named(description["type"], base, base.__name__.lower(), "Learner.load")
    return kind, {field: value for field, value in description.items() if field != "type"}


def _plain(value: Any) -> Any:
    """Turn values into JSON ones; numbers of 128 bits stay exact."""
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
    # NumPy takes any position in the words that were drawn, and would read the memory beyond them.
    for place, words in ((state["state"].get("pos"), "key"), (state.get("buffer_pos"), "buffer")):
        most = len((state | state["state"]).get(words, ()))
        if place is not None and not 0 <= place <= most:
            raise invalid("rng", "the file", f"at a position from 0 to {most}", place)
    bits.state = state
    return np.random.Generator(bits)
