"""A fit of experts that can be made anywhere: in place, in another process, or once more from a log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from qufur.models.experts.labelled import Sample
from qufur.models.experts.panel import Panel
from qufur.models.experts.scaling import Units

if TYPE_CHECKING:
    from qufur.models.experts.committee import Committee


@dataclass(frozen=True, eq=False)
class Fitting:
    """The quick or the slow experts of a model, to be fitted to the first labelled rows.

    Nothing that it holds is ever changed by its learner, which may go on meanwhile.

    Attributes
    ----------
    model
        Whose experts they are.
    panel
        The experts before any label; they stay so.
    speed
        "quick" or "slow".
    sample
        The rows.
    units
        In which quick experts are given them.
    labelling
        A token of the labels that the rows have: once they have others, it is another one.
    again
        Whether it was installed before, by the learner that this one goes on from: no log has to say so.
    """

    model: Committee
    panel: Panel
    speed: str
    sample: Sample
    units: Units
    labelling: object
    again: bool = False

    @property
    def labels(self) -> int:
        """How many labelled rows there are."""
        return len(self.sample.y)

    @property
    def values(self) -> dict[str, Any]:
        """What `Learner.refit` needs to make the same fit from the same labels, as JSON values."""
        units = [self.units.mean.tolist(), self.units.deviation.tolist()]
        return {"speed": self.speed, "labels": self.labels, "units": units}

    def alone(self) -> Fitting:
        """Return the same with nothing that a fit does without, for another process."""
        return replace(self, panel=self.panel.only(self.speed), labelling=None)

    def run(self) -> Fitted:
        """Fit them; any thread may do so, any number of times, and gets the same."""
        if not (self.labels and self.panel.members(self.speed)):
            return Fitted(self, self.panel)
        Z, targets = self.units.transform(self.sample.X), self.model.targets(self.sample.y)
        return Fitted(self, self.panel.fitted(self.speed, self.sample, Z, targets))


class Fitted(NamedTuple):
    """Experts that were fitted, for `Learner.install_fit`."""

    fitting: Fitting
    panel: Panel
