"""A learner as a file: named arrays in safetensors, the rest as JSON in its header. Never pickle."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from qufur.models import MODELS
from qufur.rules import RULES

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
    ids = list(learner.charges)
    header = {
        "version": VERSION,
        "model": _describe(learner.model),
        "rule": _describe(learner.rule),
        "state": values,
        "rng": _plain(learner.rng.bit_generator.state),
        "spent": learner.spending.spent,
        "next_id": learner.next_id,
        "ids": ids,
    }
    tensors = {f"state.{name}": array for name, array in arrays.items()}
    tensors["charged"] = learner.spending.charged
    tensors["charges"] = np.array(list(learner.charges.values()), dtype=bool).reshape(
        len(ids), len(learner.spending.charged)
    )
    # safetensors writes the memory as it lies, and would silently transpose Fortran order.
    return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def load(kind: type[Learner], path: str | os.PathLike[str]) -> Learner:
    """Read a learner back."""
    with safe_open(os.fspath(path), framework="numpy") as file:
        header = json.loads(file.metadata()["qufur"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    model, rule = _build(header["model"], MODELS), _build(header["rule"], RULES)
    learner = kind(model, rule, seed=_generator(header["rng"]))
    state = {name.removeprefix("state."): a for name, a in tensors.items() if name.startswith("state.")}
    learner.state.restore(header["state"], state)
    learner.spending.charged = tensors["charged"]
    learner.spending.spent = header["spent"]
    learner.next_id = header["next_id"]
    learner.charges = dict(zip(header["ids"], tensors["charges"], strict=True))
    return learner


def _describe(part: Any) -> dict[str, Any]:
    return {"type": type(part).__name__, **dataclasses.asdict(part)}


def _build(description: dict[str, Any], kinds: tuple[type[Any], ...]) -> Any:
    name = description.pop("type")
    return {kind.__name__: kind for kind in kinds}[name](**description)


def _plain(value: Any) -> Any:
    """Turn a bit generator's state into JSON values; numbers of 128 bits stay exact."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _generator(state: dict[str, Any]) -> np.random.Generator:
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)
