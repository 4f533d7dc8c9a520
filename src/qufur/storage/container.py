"""The file of a learner: JSON values and named arrays in safetensors, under a digest. Never pickle."""

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
LONGEST_HEADER = 100_000_000
"""Bytes of header that safetensors accepts."""


def write(path: str | os.PathLike[str], content: Content, load: Callable[[Content], object]) -> None:
    """Write a file whole or not at all; what `load` refuses to take back is not written."""
    _check_place(path)
    with replacing(path) as file:
        file.write(pack(content))
        try:
            file.seek(0)
            load(_content(path, file))
        except Exception as error:  # whatever is wrong with it
            remedy = "The file was left as it was."
            raise invalid("state", "Learner.save", "one that can be loaded", reason(error), remedy) from None


def pack(content: Content) -> bytes:
    """Return what a file with this content has in it."""
    header, tensors = content
    text = json.dumps({"digest": digest(header, tensors), **header})
    # Of a view safetensors would write the bytes that lie between its numbers, too.
    whole = {name: np.require(array, requirements="C") for name, array in tensors.items()}
    return save_tensors(whole, metadata={"qufur": text})


def read(path: str | os.PathLike[str]) -> Content:
    """Return what `write` wrote; anything else is refused.

    The digest is looked at before the content, whatever the version: a newer file has the same kind.
    """
    try:
        with open(path, "rb") as file:
            return _content(path, file)
    except OSError as error:
        reasons = {FileNotFoundError: "does not exist", IsADirectoryError: "is a folder"}
        why = reasons.get(type(error), f"cannot be read ({error.strerror})")
        raise refused(path, "is a folder" if os.path.isdir(path) else why, "Check the path.") from None


def unpack(packed: bytes, name: str) -> Content:
    """Return what was packed; `name` is what complaints call it."""
    return _content(name, io.BytesIO(packed))


def digest_in(path: str | os.PathLike[str]) -> str:
    """Return the digest that a file says it has: its content is not looked at."""
    with open(path, "rb") as file:
        return str(_values(path, _top(path, file)[8:])["digest"])


def _content(path: str | os.PathLike[str], file: BinaryIO) -> Content:
    """Return values and arrays; large files of another kind are not read to their end."""
    header = _values(path, _top(path, file)[8:])
    file.seek(0)
    raw = file.read()
    try:
        tensors = {name: np.require(a, requirements="W") for name, a in load_tensors(raw).items()}
        known = header.pop("digest")
        found = digest(header, tensors)
    except Exception:  # whatever is wrong with bytes from elsewhere, they are not what was written
        raise refused(path, "is damaged", "Load an earlier copy.") from None
    if known != found:
        raise refused(path, "is damaged", "Load an earlier copy.")
    return header, tensors


def digest(header: dict[str, Any], tensors: Tensors) -> str:
    """Return BLAKE2b of the values as sorted JSON, and of name, type, shape and bytes of each array.

    >>> one, other = digest({"a": 1, "b": 2}, {}), digest({"b": 2, "a": 1}, {})
    >>> one == other, len(one)
    (True, 64)
    """
    values = json.dumps(header, sort_keys=True).encode()
    found = hashlib.blake2b(b"%d:" % len(values) + values, digest_size=32)
    for name, array in sorted(tensors.items()):
        found.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def refused(path: str | os.PathLike[str], why: str, remedy: str) -> ValueError:
    """Build the complaint about a file that cannot be loaded."""
    received = f"{os.fspath(path)!r}, which {why}"
    return invalid("path", "Learner.load", "a file that Learner.save wrote", received, remedy)


def reason(error: Exception) -> str:
    """Return what is wrong, in one line."""
    kind = "" if isinstance(error, InvalidError) else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split()).rstrip(".")


def _top(path: str | os.PathLike[str], file: BinaryIO) -> bytes:
    size = file.read(8)
    if not size:
        raise refused(path, "is empty", "Load an earlier copy.")
    return size + file.read(min(int.from_bytes(size, "little"), LONGEST_HEADER))


def _values(path: str | os.PathLike[str], text: bytes) -> dict[str, Any]:
    try:
        values = json.loads(json.loads(text)["__metadata__"]["qufur"])
        return dict(values.items())
    except Exception:  # any bytes may stand here
        why = "is of another kind, or damaged at its start"
        raise refused(path, why, "Check the path, or load an earlier copy.") from None


def _check_place(path: str | os.PathLike[str]) -> None:
    name = os.fspath(path)
    if not name or os.path.isdir(name) or not os.path.isdir(os.path.dirname(os.path.realpath(name))):
        raise invalid("path", "Learner.save", "a file in a folder that exists", repr(name))
