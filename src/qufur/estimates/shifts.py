"""Whether the domain has shifted, from uncertainties alone.

A learner's Δ falls while it gets to know a domain and jumps when one begins that it does not know. Every
eight examples are summed up by the mean ℓ of log Δ and by s², the variance of that: the variance of log Δ
among the eight over their number. Averages of both go along, ℓ̄ over about the last 8 blocks and s̄² over 16.
A cumulated sum (Page 1954) weighs the rises,

    S ← max(0, S + min((ℓ − ℓ̄)/√(max(s̄², s²/2) + 0.1²), 4) − 1.5),

and once S > 3 a domain is said to have begun where S left 0. While S > 0 the averages stand still, and for
three blocks after an alarm, as at the stream's start, ℓ̄ is just the latest ℓ. No single block suffices, as
4 − 1.5 < 3: one odd input raises no alarm. Nor do a few, where most inputs are far smaller: s² is then large
in their own blocks. Multiplying all Δ by a number changes nothing, nor does how the stream is cut.

*Zeros*, as of inputs that are 0, are left out of their block. A block of zeros alone lies below all others,
but no block counts as below a hundredth of the running level. Values below a billionth of the largest in
their block count as that.

*Choice.* Made on the design streams of `experiments.pacing` without the adversary, and on eight whose inputs
differ in norm, two or three seeds of each, with nine rules; figures on others are in the manual. How s²
is computed and used, and what zeros count, was chosen later, on two other seeds of all streams and on iid
inputs with zeros or norms that differ by factors: there were 2 to 13 false alarms per 1000 examples before,
with s² = 2 (log mean Δ − mean log Δ) / 7, no s²/2, and a thousandth of the largest for zeros.
Also tried on the design streams, with fewer settings:

- the same sum without noise, on (m − m̄)/(m + m̄) for the blocks' mean Δ: of the beginnings at which Δ rises by
  half it finds, at norm 1 and at others, 100 and 82 % with 10 false alarms per 1000 examples, or with higher
  thresholds 76 and 92 % with 3; all of these where norms differ;
- noise from the squared changes between blocks: 75 and 93 % with 0.5 false alarms, as Δ's fall counts as
  noise; with blocks of 16 57 and 76 %;
- mean Δ and its variance within blocks in place of logarithms: 100 and 90 % with 0.2 false alarms;
- averages that go on while S > 0: 99 and 85 % with 0.03.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats
from qufur.errors import invalid

BLOCK = 8
KEPT = 1000
_AT_ONCE = 4096
_YOUNG = 3
_LEVEL_BLOCKS, _NOISE_BLOCKS = 8, 16
_SMALLEST_SHARE = 1e-9
_LARGEST_FALL = math.log(100.0)
_LEAST_VARIANCE = 0.1**2
_LARGEST_RISE, _DRIFT, _ENOUGH = 4.0, 1.5, 3.0
_ZEROS = math.log(5e-324)
_NUMBERS = ("examples", "level", "variance", "rise", "evidence", "begun", "age")


class ShiftSignal:
    """Watches uncertainties for the beginning of domains that the learner does not know.

    Notes
    -----
    An example takes about 0.2 µs, in blocks or alone. Memory does not grow, but for the times, of which the
    latest 1000 are kept. No rate of false alarms is guaranteed.

    Examples
    --------
    >>> from qufur import Learner, QuFUR, Ridge, run, streams
    >>> stream = streams.HiddenDomains([400, 300, 300], [4, 8, 2], seed=0)
    >>> signal = ShiftSignal()
    >>> signal.update(run(Learner(Ridge(stream.dim), QuFUR(alpha=1.0)), stream).uncertainty)
    >>> signal.times
    [400, 696]
    """

    def __init__(self) -> None:
        self._buffer = np.empty(_AT_ONCE)
        self._count = 0
        self._times: list[int] = []
        self._examples = self._begun = 0
        self._level = self._variance = self._rise = self._evidence = 0.0
        self._age = -_YOUNG

    @property
    def examples(self) -> int:
        """How many uncertainties came."""
        return self._examples + self._count

    @property
    def ratio(self) -> float:
        """The level of Δ in the last whole block over its running level; NaN before the first block."""
        self._fold_whole_blocks()
        return math.exp(min(self._rise, 700.0)) if self._examples else math.nan

    @property
    def times(self) -> list[int]:
        """Where new domains seem to begin: positions from 0 on, multiples of 8, of which the latest 1000."""
        self._fold_whole_blocks()
        return list(self._times)

    def update(self, uncertainty: ArrayLike) -> None:
        """Take in the Δ ≥ 0 of the next examples, a vector or one number, in the order of the stream."""
        if isinstance(uncertainty, float) and 0 <= uncertainty < math.inf:
            if self._count == _AT_ONCE:
                self._fold_whole_blocks()
            self._buffer[self._count] = uncertainty
            self._count += 1
            return
        values, start = _checked(uncertainty), 0
        while start < len(values):
            if self._count == _AT_ONCE:
                self._fold_whole_blocks()
            part = values[start : start + _AT_ONCE - self._count]
            self._buffer[self._count : self._count + len(part)] = part
            self._count, start = self._count + len(part), start + len(part)

    def state(self) -> dict[str, Any]:
        """Return everything as values for JSON; `from_state` goes on from there bit for bit."""
        self._fold_whole_blocks()
        numbers = {name: getattr(self, f"_{name}") for name in _NUMBERS}
        return numbers | {"pending": self._buffer[: self._count].tolist(), "times": list(self._times)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ShiftSignal:
        """Return the signal whose `state` this is."""
        expected = {*_NUMBERS, "pending", "times"}
        if state.keys() != expected:
            raise invalid("state", "ShiftSignal", f"of keys {sorted(expected)}", sorted(state))
        signal = cls()
        signal._times = list(state["times"])
        signal._count = len(state["pending"])
        if signal._count >= BLOCK:
            raise invalid("pending", "ShiftSignal", f"fewer than {BLOCK} numbers", signal._count)
        signal._buffer[: signal._count] = state["pending"]
        for name in _NUMBERS:
            setattr(signal, f"_{name}", state[name])
        return signal

    def _fold_whole_blocks(self) -> None:
        whole = self._count // BLOCK * BLOCK
        if whole:
            means, variances = _summaries(self._buffer[:whole].reshape(-1, BLOCK))
            self._fold(means.tolist(), variances.tolist())
            self._buffer[: self._count - whole] = self._buffer[whole : self._count]
            self._count -= whole

    def _fold(self, means: list[float], variances: list[float]) -> None:
        # One loop over local names: calls and attributes would take most of its time.
        examples, level, noise, rise = self._examples, self._level, self._variance, self._rise
        evidence, begun, age = self._evidence, self._begun, self._age
        for found, variance in zip(means, variances, strict=True):
            least = level - _LARGEST_FALL if examples else found
            new = found if found > least else least
            rise = new - level if examples else 0.0
            if age >= 0:
                if evidence == 0:
                    begun = examples
                # A few odd inputs in a block make for a variance that the running one does not know of.
                weighed = rise / math.sqrt(
                    _LEAST_VARIANCE + (noise if noise > variance / 2 else variance / 2)
                )
                evidence += (weighed if weighed < _LARGEST_RISE else _LARGEST_RISE) - _DRIFT
                if evidence < 0:
                    evidence = 0.0
            if evidence > _ENOUGH:
                self._times = [*self._times[1 - KEPT :], begun]
                level, evidence, age = new, 0.0, -_YOUNG
            else:
                if evidence == 0:
                    # The mean of what there is at first, and then a lasting weight of the latest.
                    seen = examples // BLOCK + 1
                    noise += (variance - noise) / (seen if seen < _NOISE_BLOCKS else _NOISE_BLOCKS)
                    young = age + 2 if age > -1 else 1
                    level += (new - level) / (young if young < _LEVEL_BLOCKS else _LEVEL_BLOCKS)
                age += 1
            examples += BLOCK
        self._examples, self._level, self._variance, self._rise = examples, level, noise, rise
        self._evidence, self._begun, self._age = evidence, begun, age


def _summaries(blocks: Floats) -> tuple[Floats, Floats]:
    """Return ℓ and s² of each block."""
    largest = blocks.max(axis=1)
    some = np.where(largest > 0, largest, 1.0)
    there = blocks > 0
    count = np.maximum(there.sum(axis=1), 1)
    logs = np.log(np.maximum(blocks / some[:, None], _SMALLEST_SHARE))
    mean = np.where(there, logs, 0.0).sum(axis=1) / count
    squares = np.where(there, (logs - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.where(largest > 0, np.log(some) + mean, _ZEROS), squares / (np.maximum(count - 1, 1) * count)


def _checked(uncertainty: ArrayLike) -> Floats:
    try:
        array = np.atleast_1d(np.asarray(uncertainty, dtype=np.float64))
    except (TypeError, ValueError):
        received = f"{type(uncertainty).__name__} values"
        raise invalid("uncertainty", "ShiftSignal", "a vector or one number", received) from None
    if array.ndim != 1:
        raise invalid("uncertainty", "ShiftSignal", "a vector or one number", f"shape {array.shape}")
    odd = ~((array >= 0) & (array < math.inf))
    if odd.any():
        row = int(odd.argmax())
        raise invalid("uncertainty", "ShiftSignal", "finite and at least 0", f"{array[row]} at row {row}")
    return array
