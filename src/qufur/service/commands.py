"""What the writer is given to do; commands that are alike are done together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from qufur.service.decided import Said
from qufur.service.examples import Rows
from qufur.service.service import Service

Result = tuple[Any, Any]
"""Who waits, and what came of it: an exception where something went wrong."""


@dataclass(frozen=True)
class Call:
    """Something to be done with the service, by itself."""

    do: Callable[[Service], Any]
    waiter: Any = field(default_factory=Future)
    turn: ClassVar[int] = 2

    @property
    def alike(self) -> Hashable:
        """Nothing is like it."""
        return id(self)


@dataclass(frozen=True)
class Ask:
    """Examples to be answered."""

    stream: str
    rows: Rows
    actor: str
    waiter: Any = field(default_factory=Future)
    turn: ClassVar[int] = 0

    @property
    def alike(self) -> Hashable:
        """Those of the same stream and sender are."""
        return Ask, self.stream, self.actor

    def do(self, service: Service) -> list[Said]:
        """Answer them."""
        return service.ask(self.stream, self.rows, self.actor)

    @staticmethod
    def joined(asks: Sequence[Ask]) -> Ask:
        """Return the examples of all as one command."""
        ids, parts, X = zip(*(ask.rows for ask in asks), strict=True)
        numbers = None if X[0] is None else np.concatenate(X)
        rows = Rows([id for one in ids for id in one], [part for one in parts for part in one], numbers)
        return Ask(asks[0].stream, rows, asks[0].actor)

    @staticmethod
    def split(asks: Sequence[Ask], said: list[Said]) -> list[Result]:
        """Return to each what was answered to all."""
        results, start = [], 0
        for ask in asks:
            results.append((ask.waiter, said[start : start + len(ask.rows)]))
            start += len(ask.rows)
        return results


@dataclass(frozen=True)
class Tell:
    """Labels to be learned."""

    stream: str
    labels: dict[str, float]
    actor: str
    replace: bool = False
    accept_outliers: bool = False
    waiter: Any = field(default_factory=Future)
    turn: ClassVar[int] = 1

    @property
    def alike(self) -> Hashable:
        """Those of the same stream, sender and options are."""
        return Tell, self.stream, self.actor, self.replace, self.accept_outliers

    def do(self, service: Service) -> dict[str, bool]:
        """Learn them, all or none; return which were new."""
        options = {"replace": self.replace, "accept_outliers": self.accept_outliers}
        return service.tell(self.stream, self.labels, self.actor, **options)

    @staticmethod
    def joined(tells: Sequence[Tell]) -> Tell:
        """Return the labels of all as one command; of two labels for the same example none is left out."""
        first = tells[0]
        labels: dict[str, float] = {}
        for tell in tells:
            if not labels.keys().isdisjoint(tell.labels):
                raise OverlapError
            labels |= tell.labels
        return Tell(first.stream, labels, first.actor, first.replace, first.accept_outliers)

    @staticmethod
    def split(tells: Sequence[Tell], new: dict[str, bool]) -> list[Result]:
        """Return to each which of its labels were new."""
        return [(tell.waiter, {id: new[id] for id in tell.labels}) for tell in tells]


class OverlapError(Exception):
    """Commands that cannot be done as one."""


Command = Call | Ask | Tell
