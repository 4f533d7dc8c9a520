"""Journal of all calls of a labeller: each call is on disk before it starts, its answer right after.

The journal is an append-only file beside the state file, one JSON object per line. After a crash it shows
what was paid for and which calls have no answer; these are repeated with their old key. A call counts
as paid as soon as it is in the journal.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, NamedTuple

from qufur.errors import invalid
from qufur.ids import Id
from qufur.storage.atomic import force

VERSION = 1


class Request(NamedTuple):
    """One call: id of the row, item for the labeller, number of the vote, and idempotency key."""

    id: Id
    item: Any
    vote: int
    key: str


class Money(NamedTuple):
    """Cost of a call and spending limit of all calls; None for no limit."""

    cost: Decimal = Decimal(0)
    limit: Decimal | None = None


class CallLog:
    """Log of calls in memory, without a spending limit.

    Attributes
    ----------
    opinions
        Answers by row and number of the vote.
    calls
        Number of calls.
    """

    def __init__(self) -> None:
        self.opinions: dict[Id, dict[int, Any]] = {}
        self.calls = 0

    def request(self, id: Id, item: Any, vote: int) -> Request:
        """Return a request with a key that is unique in this log."""
        return Request(id, item, vote, f"{id}/{vote}")

    def affords(self, calls: int) -> bool:
        """Return whether the spending limit allows this many more calls."""
        return True

    def begin(self, requests: Iterable[Request]) -> None:
        """Record calls before they start."""
        self.calls += len(list(requests))

    def end(self, request: Request, answer: Any) -> None:
        """Record an answer."""
        self.opinions.setdefault(request.id, {})[request.vote] = answer

    def fail(self, request: Request, why: str) -> None:
        """Record a failed call; only a `Journal` stores its error."""


class Journal(CallLog):
    r"""Calls and answers, in memory and on disk.

    Parameters
    ----------
    path
        The file; the first call creates it.
    money
        Cost of new calls and spending limit.

    Attributes
    ----------
    answers
        Answers of the labeller by key, in order of arrival.
    opinions
        Answers by row, in the order of votes.
    calls, spent
        Number of calls and their total cost.
    start
        Options with which the run started; None if it did not start with this journal.

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
        super().__init__()
        self.path, self.money = Path(os.path.realpath(path)), money or Money()
        self.answers: dict[str, str] = {}
        self.spent = Decimal(0)
        self.start: dict[str, Any] | None = None
        self._token = ""
        self._calls: dict[str, tuple[Id, int]] = {}
        self._file: IO[bytes] | None = None
        for number, line in enumerate(self._whole_lines(), 1):
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
                remedy = "Repair the file, or remove it to discard its calls."
                allowed = "an entry of `qufur label`"
                raise invalid(f"line {number}", str(path), allowed, "another", remedy) from None

    def request(self, id: Id, item: Any, vote: int) -> Request:
        """Return a request; equal row, cells and vote have equal keys as long as the file exists."""
        self._token = self._token or secrets.token_hex(16)
        identity = json.dumps([self._token, id, item, vote], sort_keys=True, default=str)
        return Request(id, item, vote, hashlib.blake2b(identity.encode(), digest_size=16).hexdigest())

    def affords(self, calls: int) -> bool:
        return self.money.limit is None or self.spent + calls * self.money.cost <= self.money.limit

    def remember(self, start: dict[str, Any]) -> None:
        """Record the options with which the run starts."""
        self._write([{"start": start}])

    def begin(self, requests: Iterable[Request]) -> None:
        at, cost = int(time.time()), str(self.money.cost)
        self._write(
            {"call": request.key, "id": request.id, "vote": request.vote, "cost": cost, "at": at}
            for request in requests
        )

    def end(self, request: Request, answer: str) -> None:
        self._write([{"answer": request.key, "label": answer}])

    def fail(self, request: Request, why: str) -> None:
        self._write([{"failed": request.key, "why": why}])

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _apply(self, entry: dict[str, Any]) -> None:
        if "token" in entry:
            self._token = entry["token"]
        elif "start" in entry:
            self.start = entry["start"]
        elif "call" in entry:
            self.calls += 1
            self.spent += Decimal(entry["cost"])
            self._calls[entry["call"]] = entry["id"], entry["vote"]
        elif "answer" in entry:
            key, label = entry["answer"], entry["label"]
            id, vote = self._calls[key]
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
            self._apply(entry)

    def _opened(self) -> IO[bytes]:
        new = not self._whole_lines()
        self._file = file = self.path.open("ab")
        # A partial line belongs to a call that did not start, or to an answer that will be repeated.
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
    """Return the path of a state file's journal, beside the file that symbolic links resolve to."""
    return Path(f"{os.path.realpath(state)}.calls")
