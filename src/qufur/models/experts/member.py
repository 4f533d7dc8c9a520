"""What an expert is, or a few that share their work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from qufur.arrays import Floats
from qufur.models.experts.labelled import Sample


class Member(ABC):
    """Experts that are fitted together: each says one number, or a probability for each class.

    Attributes
    ----------
    names
        Of its experts, as reports have them.
    """

    names: Sequence[str]

    @abstractmethod
    def rest(self, output: Floats) -> None:
        """Say the same of all inputs, until it is fitted."""

    @abstractmethod
    def fit(self, sample: Sample, Z: Floats, targets: Floats) -> None:
        """Fit it to labelled rows, of which there is at least one.

        Parameters
        ----------
        sample
            The rows as they came, their labels, and on which terms they were bought.
        Z
            The same rows, scaled: squares sum up to about 1.
        targets
            What is to be said of each row.
        """

    @abstractmethod
    def predict(self, X: Floats, Z: Floats) -> Floats:
        """Return what experts say of rows, given as they came and scaled: (rows, experts, outputs)."""


def described(kind: str, importance: float, half_life: float, at_random: bool = False) -> str:
    """Return the name of an expert.

    >>> described("linear λ=1", 0.5, 80)
    'linear λ=1, weights κ=0.5, half-life 80 labels'
    """
    parts = [kind]
    if importance:
        parts.append(f"weights κ={importance:g}")
    if half_life < float("inf"):
        parts.append(f"half-life {half_life:g} labels")
    if at_random:
        parts.append("labels at random")
    return ", ".join(parts)
