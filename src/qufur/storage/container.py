"""File format of learners: JSON values and named arrays in safetensors, with a digest. Never pickle."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from qufur.errors import InvalidError, invalid
from qufur.storage.atomic import replacing

Tensors = dict[str, np.ndarray[Any, Any]]
Content = tuple[dict[str, Any], Tensors]
MAX_HEADER_BYTES = 100_000_000
"""Longest header that safetensors accepts."""


def write(path: str | os.PathLike[str], content: Content, load: Callable[[Content], object]) -> None:
    """Write a file atomically, after `load` has read the content back without an error.

    Raises
    ------
    InvalidError
        If `load` rejects the content; the previous file is unchanged.
    """
    name = os.fspath(path)
    if not name or os.path.isdir(name) or not os.path.isdir(os.path.dirname(os.path.realpath(name))):
        raise invalid("path", "Learner.save", "a file in a folder that exists", repr(name))
    with replacing(path) as file:
        file.write(pack(content))
        try:
            file.seek(0)
            load(_content(path, file))
        except Exception as error:  # `load` may raise anything
            remedy = "The file was not changed."
            raise invalid("state", "Learner.save", "one that can be loaded", reason(error), remedy) from None


def pack(content: Content) -> bytes:
    """Return the bytes of a file with this content."""
    header, tensors = content
    text = json.dumps({"digest": digest(header, tensors), **header})
    # safetensors would also write the bytes between the numbers of a strided view.
    contiguous = {name: np.require(array, requirements="C") for name, array in tensors.items()}
    return save_tensors(contiguous, metadata={"qufur": text})


def read(path: str | os.PathLike[str]) -> Content:
    """Read a file that `write` wrote, and verify its digest.

    The digest is verified before the content is interpreted, and its format does not depend on the version.

    Raises
    ------
    InvalidError
        If the file is missing, damaged or of another format.
    """
    try:
        with open(path, "rb") as file:
            return _content(path, file)
    except OSError as error:
        reasons = {FileNotFoundError: "does not exist", IsADirectoryError: "is a folder"}
        why = reasons.get(type(error), f"cannot be read ({error.strerror})")
        raise load_error(path, "is a folder" if os.path.isdir(path) else why, "Check the path.") from None


def unpack(packed: bytes, name: str) -> Content:
    """Read the bytes that `pack` returned; error messages call them `name`."""
    return _content(name, io.BytesIO(packed))


def digest_in(path: str | os.PathLike[str]) -> str:
    """Return the digest that a file states, without reading its arrays."""
    with open(path, "rb") as file:
        return str(_values(path, _top(path, file)[8:])["digest"])


def _content(path: str | os.PathLike[str], file: BinaryIO) -> Content:
    """Return values and arrays; a large file of another format is rejected by its header alone."""
    header = _values(path, _top(path, file)[8:])
    file.seek(0)
    raw = file.read()
    try:
        tensors = {name: np.require(a, requirements="W") for name, a in load_tensors(raw).items()}
        is_sound = header.pop("digest") == digest(header, tensors)
    except Exception:  # damaged bytes may raise anything
        is_sound = False
    if not is_sound:
        raise load_error(path, "is damaged", "Load an earlier copy.")
    return header, tensors


def digest(header: dict[str, Any], tensors: Tensors) -> str:
    """Return BLAKE2b of the values as sorted JSON, and of name, type, shape and bytes of each array.

    >>> first, second = digest({"a": 1, "b": 2}, {}), digest({"b": 2, "a": 1}, {})
    >>> first == second, len(first)
    (True, 64)
    """
    values = json.dumps(header, sort_keys=True).encode()
    blake2b = hashlib.blake2b(b"%d:" % len(values) + values, digest_size=32)
    for name, array in sorted(tensors.items()):
        blake2b.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        blake2b.update(np.ascontiguousarray(array).data)
    return blake2b.hexdigest()


def load_error(path: str | os.PathLike[str], why: str, remedy: str) -> ValueError:
    """Build the error for a file that cannot be loaded."""
    received = f"{os.fspath(path)!r}, which {why}"
    return invalid("path", "Learner.load", "a file that Learner.save wrote", received, remedy)


def reason(error: Exception) -> str:
    """Return the message of an error in one line."""
    prefix = "" if isinstance(error, InvalidError) else f"{type(error).__name__}: "
    return " ".join(f"{prefix}{error}".split()).rstrip(".")


def _top(path: str | os.PathLike[str], file: BinaryIO) -> bytes:
    size = file.read(8)
    if not size:
        raise load_error(path, "is empty", "Load an earlier copy.")
    return size + file.read(min(int.from_bytes(size, "little"), MAX_HEADER_BYTES))


def _values(path: str | os.PathLike[str], text: bytes) -> dict[str, Any]:
    try:
        values = json.loads(json.loads(text)["__metadata__"]["qufur"])
        return dict(values.items())
    except Exception:  # the bytes may be anything
        why = "is of another format, or damaged at its start"
        raise load_error(path, why, "Check the path, or load an earlier copy.") from None
