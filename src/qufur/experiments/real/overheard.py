"""Experts that can be listened to: a trace has their classes, and not how probable they were."""

from __future__ import annotations

from dataclasses import dataclass, field

from qufur.arrays import Floats
from qufur.models import Experts


@dataclass(frozen=True)
class Overheard(Experts):
    """Experts whose probabilities are kept, row by row."""

    said: list[Floats] = field(default_factory=list, kw_only=True, compare=False)

    def predictions(self, outputs: Floats) -> Floats:
        self.said.append(outputs)
        return super().predictions(outputs)
