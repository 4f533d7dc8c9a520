"""Fits of experts that another thread or process runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from qufur._internal.operation import Operation
from qufur.models.capabilities import FitsInBackground

if TYPE_CHECKING:
    from qufur.learner import Learner
    from qufur.models.ensemble.fits import FitJob, FitResult


class BackgroundFits:
    """Fits of the experts of a learner, in another thread or process; see `Learner.background_fits`.

    After `defer`, calls of the learner no longer block on long fits, and `next_job` returns the next one.
    The caller runs it where BLAS uses one thread; otherwise the last bits may depend on concurrent work.
    Until a fit is installed, the experts stay as they are, even after labels were replaced or removed. Files
    do not store this setting.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.linear_model import LinearRegression
    >>> from qufur import Learner, Refit, Uniform
    >>> learner = Learner(Refit(LinearRegression(), label_range=(0, 10)), Uniform(0.5))
    >>> fits = learner.background_fits
    >>> fits.defer()
    >>> learner.learn([[0.0], [1.0]], [5.0, 7.0])
    >>> job = fits.next_job()
    >>> job.values
    {'speed': 'slow', 'labels': 2, 'units': [[0.5], [0.5]]}
    >>> with ThreadPoolExecutor() as pool:
    ...     future = pool.submit(job.run)
    >>> learner.predict([[2.0]]), fits.install(future.result()), learner.predict([[2.0]])
    (array([5.]), True, array([9.]))
    """

    def __init__(self, learner: Learner, operation: Operation) -> None:
        self._learner, self._operation = learner, operation

    @property
    def _state(self) -> FitsInBackground:
        return cast(FitsInBackground, self._learner.state)

    def defer(self) -> None:
        """Defer the fits of experts to the caller of `next_job`.

        After `Learner.load` or `replay`, the slow experts are due again with the same number of labels as in
        their last fit, at the current values of the labels; until that fit is installed the fast experts
        predict for them. In that case, and after `Learner.widen`, the next prediction still blocks on the
        fast experts.
        """
        with self._operation:
            self._state.defer_fits()

    def next_job(self) -> FitJob | None:
        """Return the next fit that is due, or None; it stays due until it is installed.

        Returns
        -------
        FitJob or None
            `run` may be called in any thread; it shares no mutable state with the learner. `values` is the
            argument of `replay`. Fast experts come first.
        """
        self._operation.check_idle()
        return self._state.next_fit()

    def install(self, fitted: FitResult) -> bool:
        """Install a finished fit.

        Parameters
        ----------
        fitted
            The result of `FitJob.run`.

        Returns
        -------
        bool
            False if the fit is outdated and was discarded: labels, columns or classes changed since it was
            scheduled, or a later fit is installed. `next_job` returns what is due then.
        """
        with self._operation:
            return self._state.install_fit(fitted)

    def replay(self, values: Mapping[str, Any]) -> None:
        """Repeat a fit that another learner with deferred fits installed at this point of the same history.

        The experts are fitted at the next prediction, unless `defer` is called before. On the same machine
        the result is identical to the last bit.

        Parameters
        ----------
        values
            `FitJob.values` of that fit. Without `units`, the scaling of the inputs so far is used. If fewer
            labels have arrived in this learner, the experts are fitted to all of them; before the first input
            the call has no effect.
        """
        with self._operation:
            self._state.replay_fit(values)
