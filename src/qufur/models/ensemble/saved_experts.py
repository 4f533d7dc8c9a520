"""Saved weights and losses of experts, matched by name to the experts of this version."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qufur.arrays import Floats
from qufur.models.ensemble.losses import CURVE, RECORD
from qufur.storage.container import Tensors

WEIGHTS = "aggregation"
"""Prefix of the saved arrays of the weights."""


def match_experts(arrays: Tensors, stored: Sequence[str], names: Sequence[str]) -> Tensors:
    """Return the saved arrays of a `FitSchedule` for other experts than it was saved with.

    Weights and losses follow the names. A new expert counts as having predicted what the ensemble predicted:
    it starts without weight or regret and with the ensemble's loss, so predictions do not change, and it
    gains weight as soon as it predicts better. A learning curve needs the losses of its experts from the
    first label on: it is discarded if one of them is new.
    """
    columns, count = _columns(stored, names), len(stored)
    matched = {name: array for name, array in arrays.items() if not name.startswith(f"{CURVE}.")}
    for name in (f"{WEIGHTS}.weights", f"{WEIGHTS}.sums"):
        if name in arrays:
            matched[name] = _with_zero(arrays[name])[..., columns]
    weights = matched[f"{WEIGHTS}.weights"]
    if not weights.any():  # the experts with weight are gone
        weights = np.ones(len(names))
    matched[f"{WEIGHTS}.weights"] = weights / weights.sum()
    total, losses, leads, labels = np.split(arrays[f"{RECORD}.sums"], [1, count + 2, 2 * count + 2])
    parts = total, losses[columns], losses[-1:], _with_zero(leads)[columns], labels
    matched[f"{RECORD}.sums"] = np.concatenate(parts)
    old, new = ([name for name in each if is_at_random(name)] for each in (stored, names))
    if f"{CURVE}.labels" in arrays and set(new) <= set(old):
        kept = _columns(old, new)
        matched[f"{CURVE}.labels"] = arrays[f"{CURVE}.labels"]
        matched |= {name: arrays[name][:, kept] for name in (f"{CURVE}.first", f"{CURVE}.second")}
    return matched


def match_outputs(outputs: Floats, stored: Sequence[str], names: Sequence[str]) -> Floats:
    """Return the outputs of pending queries, (queries, experts + 1, outputs), for other experts."""
    return outputs[:, [*_columns(stored, names), len(stored)]]


def is_at_random(name: str) -> bool:
    """Return whether an expert uses only uniformly sampled labels."""
    return "labels at random" in name


def _columns(stored: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the index of each expert among the stored ones; of a new one, the index after the last."""
    # Names are numbered, as two estimators of a class have the same name.
    old, new = ([(name, each[:i].count(name)) for i, name in enumerate(each)] for each in (stored, names))
    return [old.index(name) if name in old else len(old) for name in new]


def _with_zero(values: Floats) -> Floats:
    return np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
