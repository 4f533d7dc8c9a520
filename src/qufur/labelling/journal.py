"""The record of all calls of a labeller: each is on the disk before it is made, and its answer right after.

It is a file beside the state file, one JSON object per line, to which lines are only ever added. Whoever goes
on after a crash finds there what was paid for, and which calls have no answer: they are made again under
their old key. A call counts as paid from the moment that it is on record.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, NamedTuple

from qufur.errors import invalid
from qufur.models.base import Id
from qufur.storage.atomic import force

VERSION = 1


class Request(NamedTuple):
    """One call: for which row, what the labeller gets, the how manieth opinion it is, and its key."""

    id: Id
    item: Any
    vote: int
    key: str


class Money(NamedTuple):
    """What a call costs, and how much all of them may cost; None for no limit."""

    cost: Decimal = Decimal(0)
    limit: Decimal | None = None


class Journal:
    r"""Calls and answers, in memory and on the disk.

    Parameters
    ----------
    path
        The file; it is made by the first call.
    money
        What calls cost from now on.

    Attributes
    ----------
    answers
        What the labeller said, by key, in the order in which it came.
    opinions
        The same by row, in the order of votes.
    calls, spent
        How many calls were made, and what they cost.
    start
        With what the work began, if it began here.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder, "calls"), Money(Decimal("0.10"), Decimal("0.25")))
    ...     requests = [journal.request("LH1", {"wind": 4}, 1), journal.request("LH2", {"wind": 9}, 1)]
    ...     journal.begin(requests)
    ...     journal.end(requests[0], "12.5")
    ...     journal.close()
    ...     again = Journal(Path(folder, "calls"), journal.money)
    ...     again.opinions, again.calls, str(again.spent), again.affords(1)
    ({'LH1': {1: '12.5'}}, 2, '0.20', False)
    """

    def __init__(self, path: Path, money: Money | None = None) -> None:
        self.path, self.money = Path(os.path.realpath(path)), money or Money()
        self.answers: dict[str, str] = {}
        self.opinions: dict[Id, dict[int, str]] = {}
        self.calls, self.spent = 0, Decimal(0)
        self.start: dict[str, Any] | None = None
        self._token = ""
        self._asked: dict[str, tuple[Id, int]] = {}
        self._file: IO[bytes] | None = None
        for number, line in enumerate(self._whole_lines(), 1):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
                allowed, remedy = "a line of `qufur label`", "Put the file right, or remove it to forget it."
                raise invalid(f"line {number}", str(path), allowed, "another", remedy) from None

    def request(self, id: Id, item: Mapping[str, Any], vote: int) -> Request:
        """Return a call; the same row, cells and vote have the same key as long as the file is there."""
        self._token = self._token or secrets.token_hex(16)
        named = json.dumps([self._token, id, item, vote], sort_keys=True, default=str)
        return Request(id, item, vote, hashlib.blake2b(named.encode(), digest_size=16).hexdigest())

    def affords(self, calls: int) -> bool:
        """Return whether there is money for so many calls more."""
        return self.money.limit is None or self.spent + calls * self.money.cost <= self.money.limit

    def remember(self, start: dict[str, Any]) -> None:
        """Note with what the work began."""
        self._write([{"start": start}])

    def begin(self, requests: Iterable[Request]) -> None:
        """Put calls on record that are going to be made."""
        at, cost = int(time.time()), str(self.money.cost)
        self._write(
            {"call": request.key, "id": request.id, "vote": request.vote, "cost": cost, "at": at}
            for request in requests
        )

    def end(self, request: Request, answer: str) -> None:
        """Put an answer on record."""
        self._write([{"answer": request.key, "label": answer}])

    def fail(self, request: Request, why: str) -> None:
        """Put on record that a call had no answer."""
        self._write([{"failed": request.key, "why": why}])

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self, entry: dict[str, Any]) -> None:
        if "token" in entry:
            self._token = entry["token"]
        elif "start" in entry:
            self.start = entry["start"]
        elif "call" in entry:
            self.calls += 1
            self.spent += Decimal(entry["cost"])
            self._asked[entry["call"]] = entry["id"], entry["vote"]
        elif "answer" in entry:
            key, label = entry["answer"], entry["label"]
            id, vote = self._asked[key]
            self.answers[key] = label
            self.opinions[id] = dict(sorted([*self.opinions.get(id, {}).items(), (vote, label)]))
        elif "failed" not in entry:
            raise KeyError

    def _write(self, entries: Iterable[dict[str, Any]]) -> None:
        entries = list(entries)
        file = self._file or self._opened()
        file.write(b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))
        file.flush()
        os.fsync(file.fileno())
        for entry in entries:
            self._take(entry)

    def _opened(self) -> IO[bytes]:
        new = not self._whole_lines()
        self._file = file = self.path.open("ab")
        # Half a line is of a call that was not made yet, or of an answer that will come again.
        file.truncate(sum(map(len, self._whole_lines())))
        if new:
            self._token = self._token or secrets.token_hex(16)
            self._write([{"journal": VERSION, "token": self._token}])
            force(self.path.parent)
        return file

    def _whole_lines(self) -> list[bytes]:
        lines = self.path.read_bytes().splitlines(keepends=True) if self.path.is_file() else []
        return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines


def journal_of(state: str | os.PathLike[str]) -> Path:
    """Return the record of calls of a state file: beside the one that links lead to."""
    return Path(f"{os.path.realpath(state)}.calls")
