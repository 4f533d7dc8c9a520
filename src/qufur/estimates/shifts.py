"""Detector of domain shifts from uncertainties alone.

The Δ of a learner falls while it learns a domain and jumps when a domain begins that it does not know. Each
block of eight examples is summarised by the mean ℓ of log Δ and the variance s² of this mean: the variance of
log Δ within the block divided by eight. Running averages follow both: ℓ̄ over about the last 8 blocks and s̄²
over 16. A cumulative sum (CUSUM, Page 1954) adds up the rises,

    S ← max(0, S + min((ℓ − ℓ̄)/√(max(s̄², s²/2) + 0.1²), 4) − 1.5),

and when S > 3, an alarm reports a new domain that began where S left 0. While S > 0 the averages are frozen.
For three blocks after an alarm, as at the start of the stream, ℓ̄ is the latest ℓ. A single block never
suffices, since 4 − 1.5 < 3: one outlier raises no alarm. Neither do a few large inputs among far smaller
ones, since they make s² of their own blocks large. The result is invariant to the scale of Δ and to how the
stream is divided into calls.

*Zeros*, such as those of zero inputs, are excluded from their block. A block of zeros lies below all others,
but the level of a block is at least a hundredth of the running level. Values below a billionth of the largest
in their block count as that billionth.

*Selection of constants.* On the design streams of `experiments.pacing` without the adversary, and on eight
streams whose inputs differ in norm, with two or three seeds of each and nine rules; the manual has results on
other streams. The definition of s², its use and the treatment of zeros were selected later, on two other
seeds of all streams and on iid inputs with zeros or with norms that differ by factors. Before, with
s² = 2 (log mean Δ − mean log Δ) / 7, no s²/2, and a thousandth of the largest value for zeros, there were 2
to 13 false alarms per 1000 examples. Alternatives tried on the design streams, with fewer settings:

- the same sum without noise, on (m − m̄)/(m + m̄) for the mean Δ of the blocks: of the domains at whose start Δ
  rises by half, it detects 100 % at norm 1 and 82 % at other norms with 10 false alarms per 1000 examples, or
  76 and 92 % with 3 at higher thresholds; all false alarms are on streams whose norms differ;
- noise from the squared changes between blocks: 75 and 93 % with 0.5 false alarms, since the fall of Δ counts
  as noise; with blocks of 16, 57 and 76 %;
- mean Δ and its variance within blocks in place of logarithms: 100 and 90 % with 0.2 false alarms;
- averages that continue while S > 0: 99 and 85 % with 0.03.
"""

from __future__ import annotations

import math
from array import array
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats
from qufur.errors import invalid

BLOCK = 8
"""Examples in a block."""
MAX_TIMES = 1000
"""Maximum number of stored times, the latest ones."""
_BUFFER_SIZE = 4096
_YOUNG = 3
_LEVEL_BLOCKS, _NOISE_BLOCKS = 8, 16
_SMALLEST_SHARE = 1e-9
_LARGEST_FALL = math.log(100.0)
_LEAST_VARIANCE = 0.1**2
_LARGEST_RISE, _DRIFT, _ENOUGH = 4.0, 1.5, 3.0
_ZEROS = math.log(5e-324)
_NUMBERS = ("examples", "level", "variance", "rise", "evidence", "begun", "age")


class ShiftSignal:
    """Detector of new domains in a stream of uncertainties.

    Notes
    -----
    An example takes about 0.2 µs, in blocks or alone. Memory is bounded; the latest 1000 times are stored. No
    rate of false alarms is guaranteed.

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
        self._buffer = array("d")
        self._times: list[int] = []
        self._examples = self._begun = 0
        self._level = self._variance = self._rise = self._evidence = 0.0
        self._age = -_YOUNG

    @property
    def examples(self) -> int:
        """Number of uncertainties so far."""
        return self._examples + len(self._buffer)

    @property
    def ratio(self) -> float:
        """Level of Δ in the last complete block over its running level; NaN before the first block."""
        self._fold_whole_blocks()
        return math.exp(min(self._rise, 700.0)) if self._examples else math.nan

    @property
    def times(self) -> list[int]:
        """Estimated starts of new domains: positions from 0, multiples of 8, the latest 1000."""
        self._fold_whole_blocks()
        return list(self._times)

    def update(self, uncertainty: ArrayLike) -> None:
        """Add the Δ ≥ 0 of the next examples, a vector or one number, in stream order."""
        if isinstance(uncertainty, float) and 0 <= uncertainty < math.inf:
            self._buffer.append(uncertainty)
        else:
            self._buffer.frombytes(_checked(uncertainty).tobytes())
        if len(self._buffer) >= _BUFFER_SIZE:
            self._fold_whole_blocks()

    def state(self) -> dict[str, Any]:
        """Return the state as JSON values; `from_state` restores it bit for bit."""
        self._fold_whole_blocks()
        numbers = {name: getattr(self, f"_{name}") for name in _NUMBERS}
        return numbers | {"pending": self._buffer.tolist(), "times": list(self._times)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ShiftSignal:
        """Return the signal with this `state`."""
        expected = {*_NUMBERS, "pending", "times"}
        if state.keys() != expected:
            raise invalid("state", "ShiftSignal", f"of keys {sorted(expected)}", sorted(state))
        signal = cls()
        signal._times = list(state["times"])
        signal._buffer = array("d", state["pending"])
        if len(signal._buffer) >= BLOCK:
            raise invalid("pending", "ShiftSignal", f"fewer than {BLOCK} numbers", len(signal._buffer))
        for name in _NUMBERS:
            setattr(signal, f"_{name}", state[name])
        return signal

    def _fold_whole_blocks(self) -> None:
        whole = len(self._buffer) // BLOCK * BLOCK
        if whole:
            means, variances = _summaries(np.array(self._buffer[:whole]).reshape(-1, BLOCK))
            self._fold(means.tolist(), variances.tolist())
            del self._buffer[:whole]

    def _fold(self, means: list[float], variances: list[float]) -> None:
        # One loop over local variables: calls and attribute access would dominate its time.
        examples, level, noise, rise = self._examples, self._level, self._variance, self._rise
        evidence, begun, age = self._evidence, self._begun, self._age
        for mean, variance in zip(means, variances, strict=True):
            lowest = level - _LARGEST_FALL if examples else mean
            new = mean if mean > lowest else lowest
            rise = new - level if examples else 0.0
            if age >= 0:
                if evidence == 0:
                    begun = examples
                # A few outliers in a block increase its variance, which the running one does not reflect yet.
                standardised = rise / math.sqrt(
                    _LEAST_VARIANCE + (noise if noise > variance / 2 else variance / 2)
                )
                evidence += (standardised if standardised < _LARGEST_RISE else _LARGEST_RISE) - _DRIFT
                if evidence < 0:
                    evidence = 0.0
            if evidence > _ENOUGH:
                self._times = [*self._times[1 - MAX_TIMES :], begun]
                level, evidence, age = new, 0.0, -_YOUNG
            else:
                if evidence == 0:
                    # A plain mean at first, then a constant weight of the latest block.
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
    scale = np.where(largest > 0, largest, 1.0)
    positive = blocks > 0
    count = np.maximum(positive.sum(axis=1), 1)
    logs = np.log(np.maximum(blocks / scale[:, None], _SMALLEST_SHARE))
    mean = np.where(positive, logs, 0.0).sum(axis=1) / count
    squares = np.where(positive, (logs - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.where(largest > 0, np.log(scale) + mean, _ZEROS), squares / (np.maximum(count - 1, 1) * count)


def _checked(uncertainty: ArrayLike) -> Floats:
    try:
        values = np.atleast_1d(np.asarray(uncertainty, dtype=np.float64))
    except (TypeError, ValueError):
        received = f"{type(uncertainty).__name__} values"
        raise invalid("uncertainty", "ShiftSignal", "a vector or one number", received) from None
    if values.ndim != 1:
        raise invalid("uncertainty", "ShiftSignal", "a vector or one number", f"shape {values.shape}")
    invalid_rows = ~((values >= 0) & (values < math.inf))
    if invalid_rows.any():
        row = int(invalid_rows.argmax())
        raise invalid("uncertainty", "ShiftSignal", "finite and at least 0", f"{values[row]} at row {row}")
    return values
