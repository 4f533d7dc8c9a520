"""A rate that holds in every window: labels as tokens that come back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.rules.paced_spending import Pacing
from qufur.rules.spending import Charge
from qufur.rules.stretches import STRETCH

if TYPE_CHECKING:
    from qufur.rules.paced import Paced


MOST_TOKENS = 2**53
"""Beyond it a token more or less is rounded away."""


def usual_burst(rate: float) -> float:
    """Return the burst allowed unless told otherwise: the labels of a thousand examples, and a few."""
    return 1000 * rate + STRETCH


class Bucket(Pacing):
    """Labels as tokens: ρ come with every example, and at most `most` are kept.

    Tokens of a stretch come at its end, so that a window of n examples can meet those of 31 earlier ones:
    `most` is smaller than the promised burst by what they bring.

    A bucket that was full at some position and has had no limit since would have its own number of tokens by
    now; the tokens that there are, are the fewest over all positions. That holds for every set of queries, so
    that one can be taken back at any time: the buckets of the positions up to it have one token more.
    Positions that can no longer have the fewest, since a later one has as few, are dropped.
    """

    def __init__(self, rule: Paced) -> None:
        self.rate = rule.budget
        burst = usual_burst(self.rate) if rule.burst is None else rule.burst
        self.most = burst - (STRETCH - 1) * self.rate
        self._since, self._tokens = np.array([0]), np.array([self.most])
        super().__init__(rule)

    @property
    def tokens(self) -> float:
        """The tokens now."""
        return float(self._tokens[0])

    @property
    def left(self) -> int:
        """Labels that may be bought at once."""
        return int(self.tokens)

    @property
    def labels_left(self) -> Floats:
        return np.array([math.floor(self.tokens)], dtype=np.float64)

    def next_alpha(self) -> float:
        """Return 2ρ (most/2)^(tokens/most): it falls geometrically as tokens go."""
        return float(2 * self.rate * max(1.0, self.most / 2) ** (self.tokens / self.most))

    def take_in(self, uncertainty: Sequence[float]) -> None:
        tokens = self._tokens + self.rate * len(uncertainty)
        self._keep(np.append(self._since, self.seen + len(uncertainty)), np.append(tokens, self.most))

    def record(self, charged: Floats | int, spent: int, uncertainty: Sequence[float]) -> None:
        if spent:
            self._tokens = self._tokens - spent
        super().record(charged, spent, uncertainty)

    def refund(self, charge: Charge) -> None:
        super().refund(charge)
        self._keep(self._since, self._tokens + (self._since <= charge.place))

    def save(self) -> dict[str, Any]:
        *earlier, (_, tokens) = zip(self._since.tolist(), self._tokens.tolist(), strict=True)
        return super().save() | {"tokens": tokens, "earlier": [list(pair) for pair in earlier]}

    def restore(self, values: dict[str, Any]) -> None:
        super().restore(values)
        # Files of older versions know the tokens alone.
        since, tokens = zip(*values.get("earlier", []), (self.seen, values["tokens"]), strict=True)
        self._since, self._tokens = np.array(since), np.array(tokens)

    def _keep(self, since: Ints, tokens: Floats) -> None:
        """Keep the positions that have fewer tokens than all later ones."""
        fewest_later = np.minimum.accumulate(tokens[::-1])[::-1]
        kept = np.append(tokens[:-1] < fewest_later[1:], True)
        self._since, self._tokens = since[kept], tokens[kept]
