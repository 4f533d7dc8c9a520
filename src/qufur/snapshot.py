"""A learner as a file: named arrays in safetensors, the rest as JSON in its header. Never pickle."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from qufur.classes import class_named
from qufur.errors import invalid
from qufur.models import Model
from qufur.rules import Rule

if TYPE_CHECKING:
    from qufur.learner import Learner

VERSION = 1


def save(learner: Learner, path: str | os.PathLike[str]) -> None:
    """Write everything that decides how the learner goes on."""
    header, tensors = encode(learner)
    save_file(tensors, os.fspath(path), metadata={"qufur": json.dumps(header)})


def encode(learner: Learner) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return everything that decides how the learner goes on, as JSON values and named arrays."""
    values, arrays = learner.state.save()
    noted, columns = learner.ledger.save()
    ids = list(learner.charges)
    header = {
        "version": VERSION,
        "model": _describe(learner.model, learner.model.describe()),
        "rule": _describe(learner.rule, dataclasses.asdict(learner.rule)),  # type: ignore[call-overload]
        "dim": learner.dim,
        "state": values,
        "rng": _plain(learner.rng.bit_generator.state),
        "spending": learner.spending.save(),
        "ledger": noted,
        "next_id": learner.next_id,
        "ids": ids,
    }
    tensors = {f"state.{name}": array for name, array in arrays.items()}
    tensors |= {f"ledger.{name}": array for name, array in columns.items()}
    tensors["charges"] = np.array(list(learner.charges.values()), dtype=bool).reshape(
        len(ids), len(learner.spending.charged)
    )
    # safetensors writes the memory as it lies, and would silently transpose Fortran order.
    return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def load(kind: type[Learner], path: str | os.PathLike[str]) -> Learner:
    """Read a learner back."""
    header, tensors = _read(path)
    model, rule = _build(header["model"], Model), _build(header["rule"], Rule)
    learner = kind(model, rule, seed=_generator(header["rng"]))
    learner.state.restore(header["state"], _under("state.", tensors))
    learner.ledger.restore(header["ledger"], _under("ledger.", tensors))
    learner.spending.restore(header["spending"])
    learner.next_id = header["next_id"]
    learner.dim = header["dim"]
    learner.charges = dict(zip(header["ids"], tensors["charges"], strict=True))
    return learner


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {})["qufur"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        received = f"{os.fspath(path)!r} ({type(error).__name__})"
        raise invalid("path", "Learner.load", "a file that Learner.save wrote", received) from None
    if header["version"] > VERSION:
        received = f"version {header['version']}"
        raise invalid("path", "Learner.load", f"of version {VERSION}", received, "Update qufur to read it.")
    return header, tensors


def _under(prefix: str, tensors: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    return {name.removeprefix(prefix): a for name, a in tensors.items() if name.startswith(prefix)}


def _describe(part: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": type(part).__name__, **_plain(arguments)}


def _build(description: dict[str, Any], base: type[Any]) -> Any:
    """Make a model or rule of any class that is defined by now; a file cannot bring in code of its own."""
    kind = class_named(description["type"], base, base.__name__.lower(), "Learner.load")
    return kind(**{field: value for field, value in description.items() if field != "type"})


def _plain(value: Any) -> Any:
    """Turn values into JSON ones; numbers of 128 bits stay exact."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _generator(state: dict[str, Any]) -> np.random.Generator:
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)
