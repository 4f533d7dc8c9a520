"""Checks of the content of a state file against a learner of the same model and rule."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from qufur.errors import invalid
from qufur.storage.container import Content


def check_form(content: Content, fresh: Content) -> None:
    """Check types and shapes of values and arrays against the content of an empty learner.

    Lists and axes that are empty in `fresh` may have any length. Every other length must match.

    Raises
    ------
    InvalidError
        For the first value or array that differs.
    """
    (header, tensors), (values, arrays) = content, fresh
    ids = {id for id in header["ids"] if isinstance(id, str)}
    for part in ("dim", "state", "spending", "ledger", "next_id", "ids", "places"):
        check_value(part, header[part], values[part], ids)
    for name, array in tensors.items():
        _check_array(name, array, arrays.get(name))


def check_kept(content: Content, again: Content) -> None:
    """Check that the loaded learner saves the same content again; it does not if an id occurs twice."""
    (header, tensors), (values, arrays) = content, again
    different = [part for part, value in header.items() if not _contains(values.get(part), value)]
    different += [
        name
        for name, array in tensors.items()
        if name not in arrays or not np.array_equal(arrays[name], array)
    ]
    if different:
        raise _error(different[0], "the content that the loaded learner saves", "other content")


def check_value(name: str, value: Any, fresh: Any, ids: Collection[str] = ()) -> None:
    """Check that a value has the type of the one in a fresh learner; strings in lists must be in `ids`."""
    if isinstance(fresh, dict):
        if not isinstance(value, dict) or not value.keys() <= fresh.keys():
            raise _error(name, f"an object of keys {sorted(fresh)}", _brief(value))
        for key, item in value.items():
            check_value(f"{name}.{key}", item, fresh[key], ids)
    elif isinstance(fresh, list):
        fits = isinstance(value, list) and len(fresh) in (0, len(value))
        if not fits or not all(_is_item(item, ids) for item in value):
            raise _error(name, "a list of numbers or ids of the right length", _brief(value))
    elif not _is_like(value, fresh):
        raise _error(name, f"like {fresh!r}", _brief(value))


def _check_array(name: str, array: np.ndarray[Any, Any], fresh: np.ndarray[Any, Any] | None) -> None:
    like = np.empty((0,) * array.ndim) if fresh is None else fresh
    fits = array.ndim == like.ndim and all(b in (0, a) for a, b in zip(array.shape, like.shape, strict=True))
    if array.dtype != like.dtype or not fits:
        raise _error(name, f"{like.dtype} like {like.shape}", f"{array.dtype} of shape {array.shape}")
    # A stored bool may be any byte, and NumPy would sum it as that number.
    is_invalid_bool = array.dtype == bool and (array.view(np.uint8) > 1).any()
    if is_invalid_bool or not np.isfinite(array).all():
        raise _error(name, "finite", "other values")


def _is_number(value: Any) -> bool:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return is_integer or (isinstance(value, float) and not math.isnan(value))


def _is_item(value: Any, ids: Collection[str]) -> bool:
    if isinstance(value, list):
        return all(_is_item(item, ids) for item in value)
    return _is_number(value) or (isinstance(value, str) and value in ids)


def _is_like(value: Any, fresh: str | float | None) -> bool:
    """Return whether a value has the type of `fresh`.

    A number must be an integer if `fresh` is one. If `fresh` is None, any number and None are allowed.
    """
    if isinstance(fresh, str | bool):
        return type(value) is type(fresh)
    if value is fresh:
        return True
    return _is_number(value) and (isinstance(value, int) or not isinstance(fresh, int))


def _contains(whole: Any, part: Any) -> bool:
    """Return whether all values of `part` are in `whole`; files of later versions may have more."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(_contains(whole.get(key), part[key]) for key in part)
    return bool(whole == part)


def _brief(value: Any) -> str:
    return type(value).__name__ if isinstance(value, dict | list) else repr(value)[:40]


def _error(name: str, allowed: str, received: str) -> ValueError:
    return invalid(name, "the file", allowed, received)
