"""Deferred fits: equal to fits in place, and reproducible from a log."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from tests.refusals import refusal
from tests.same import same

from qufur import Experts, Learner, Refit, Ridge, Steady, Uniform, run
from qufur.models.ensemble.fits import FitJob, FitSchedule
from qufur.replay import record_decisions
from qufur.streams import Arrays
from qufur.workbook.classes import with_classes

pytestmark = pytest.mark.usefixtures("few_trees")
MODELS = {
    "numbers": Experts(),
    "classes": Experts(classes=[0, 1, 2]),
    "refit": Refit(LinearRegression()),
}
WIDENED = [5.0]


def table(count=90):
    """Return inputs whose last column is 5 at first, and labels that are classes as well."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(count, 4)) * [1, 100, 1e-3, 1] + [0, 1e4, 5, 0]
    X[: count // 2, 3] = WIDENED
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=count), [-0.5, 0.5]).astype(float)


def labels(learner):
    """Return the labelled rows and their labels."""
    sample = learner.state.labelled.first()
    return sample.X.copy(), sample.y.copy()


def correct_last_label(learner):
    """Replace the last label."""
    rows, y = labels(learner)
    learner.state.relabel(rows, np.append(y[:-1], 2 - y[-1]))


def remove_third_label(learner):
    """Remove the third label."""
    rows, y = labels(learner)
    learner.state.unlearn([2], np.delete(rows, 2, axis=0), np.delete(y, 2))


def calls():
    """Yield a sequence of calls to a learner."""
    X, y = table()
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if t == 45:
            yield lambda learner: learner.widen(WIDENED)
        yield lambda learner, x=x[: 3 + (t >= 45)]: learner.ask(x)
        yield lambda learner, t=t, label=label: learner.tell(t, label) if t in learner.pending else None
        if t == 20:
            yield lambda learner: learner.learn(X[:9, :3], y[:9])
        if t in (30, 70):
            yield correct_last_label
        if t == 35:
            yield remove_third_label


def deferring_learner(model):
    """Return a learner with deferred fits."""
    learner = Learner(model, Uniform(0.6), seed=1)
    learner.background_fits.defer()
    return learner


def learner_with_due_fit(model, count=30):
    """Return a learner with installed fits and 20 labels since, and inputs."""
    X, y = table()
    learner = deferring_learner(model)
    learner.learn(X[:count], y[:count])
    install_due_fits(learner)
    learner.learn(X[count : count + 20], y[count : count + 20])
    return learner, X


def install_due_fits(learner):
    """Run and install all due fits."""
    while job := learner.background_fits.next_job():
        assert learner.background_fits.install(job.run())


def assert_same(one, other):
    X = table()[0][:, : one.dim]
    assert same(one, other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    if one.model.label_codec.classifies:
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_deferred_fits_installed_immediately_equal_fits_in_place(model, monkeypatch):
    in_place = Learner(model, Uniform(0.6), seed=1)
    expected = [call(in_place) for call in calls()]
    mark_due, installed = FitSchedule.fit, []

    # Within the call, because an update of the scaling makes fits due.
    def fit_immediately(schedule, speed, units):
        mark_due(schedule, speed, units)
        while job := schedule.due_fit(units):
            installed.append(schedule.install(job.run()))

    monkeypatch.setattr(FitSchedule, "fit", fit_immediately)
    deferred = deferring_learner(model)
    assert [call(deferred) for call in calls()] == expected
    assert_same(deferred, in_place)
    assert len(installed) > 10
    assert all(installed)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("delay", [1, 7, 15])
def test_replayed_log_of_installed_fits_gives_the_same_learner(model, delay):
    learner, log, answers, running = deferring_learner(model), [], [], None
    for step, call in enumerate(calls()):
        log.append(call)
        answers.append(call(learner))
        if running is None and (job := learner.background_fits.next_job()):
            running = step + delay, job
        if running is not None and step >= running[0]:
            job, running = running[1], None
            if learner.background_fits.install(job.run()):
                log.append(json.dumps(job.values))
    assert sum(isinstance(entry, str) for entry in log) > 2
    again, repeated = deferring_learner(model), []
    for entry in log:
        if isinstance(entry, str):
            again.background_fits.replay(json.loads(entry))
        else:
            repeated.append(entry(again))
    assert repeated == answers
    assert_same(again, learner)


@pytest.mark.parametrize("together", [1, 10])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_replay_of_recorded_decisions_runs_no_fit(model, together, monkeypatch):
    X, y = table()
    learner, again = (deferring_learner(model) for _ in range(2))
    run_of = FitJob.run
    for start in range(0, len(X), together):
        rows = X[start : start + together]
        answers = learner.ask_many(rows) if together > 1 else learner.ask(rows[0])
        ids = answers.id if together > 1 else [answers.id]
        with monkeypatch.context() as patched:
            patched.delattr(FitJob, "run")
            again.replay(rows, ids, record_decisions(learner, answers))
        for id in learner.outstanding:
            for one in (learner, again):
                one.tell(id, y[id])
        if job := learner.background_fits.next_job():
            learner.background_fits.install(run_of(job))
            again.background_fits.replay(job.values)
    assert_same(again, learner)


def test_logged_fit_uses_the_remaining_labels_when_some_are_missing():
    learner, X = learner_with_due_fit(Refit(LinearRegression()))
    learner.background_fits.replay(learner.background_fits.next_job().values | {"labels": 60})
    other, _ = learner_with_due_fit(Refit(LinearRegression()))
    install_due_fits(other)
    np.testing.assert_array_equal(learner.predict(X), other.predict(X))
    assert learner.state.schedule.fitted["slow"] == 50


def test_added_class_after_logged_fits_gives_the_same_probabilities():
    X, y = table()
    names = np.where(y > 0, "a", "b").tolist()
    learner, again = (deferring_learner(Experts(classes=["a", "b"])) for _ in range(2))
    for one in (learner, again):
        one.learn(X[:30], names[:30])
    while job := learner.background_fits.next_job():
        learner.background_fits.install(job.run())
        again.background_fits.replay(job.values)
    learner, again = (with_classes(one, ("a", "b", "c")) for one in (learner, again))
    np.testing.assert_array_equal(again.predict_proba(X), learner.predict_proba(X))


def widen(learner):
    learner.widen(WIDENED)


@pytest.mark.parametrize(
    "change",
    [correct_last_label, remove_third_label, widen],
    ids=["correct_last_label", "remove_third_label", "widen"],
)
def test_logged_fit_uses_the_labels_at_its_time_when_run_late(change):
    X, y = table()
    learner, again = (learner_with_due_fit(Experts(), 20)[0] for _ in range(2))
    for _ in range(2):
        learner.learn(X[:9], y[:9])
        again.learn(X[:9], y[:9])
        while job := learner.background_fits.next_job():
            assert learner.background_fits.install(job.run())
            again.background_fits.replay(json.loads(json.dumps(job.values)))
    for one in (learner, again):
        correct_last_label(one)
        change(one)
    X = np.hstack([X, np.full((len(X), 1), WIDENED)])[:, : learner.dim]
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))
    assert same(again, learner)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "change", [correct_last_label, remove_third_label], ids=["correct_last_label", "remove_third_label"]
)
def test_fit_is_outdated_when_labels_change_while_it_runs(model, change):
    learner, X = learner_with_due_fit(model)
    outdated, before = learner.background_fits.next_job().run(), learner.predict(X)
    change(learner)
    assert not learner.background_fits.install(outdated)
    if not model.label_codec.classifies:  # the range of labels is the same
        np.testing.assert_allclose(learner.predict(X), before, atol=0.2)
    job = learner.background_fits.next_job()
    assert job.labels == len(learner.state.labelled)
    np.testing.assert_array_equal(job.sample.y, labels(learner)[1])
    install_due_fits(learner)
    assert set(learner.state.schedule.fitted.values()) == {job.labels}


def test_fit_is_outdated_when_columns_are_added_while_it_runs():
    X, y = table()
    learner = deferring_learner(Experts())
    learner.learn(X[:30, :3], y[:30])
    install_due_fits(learner)
    learner.learn(X[30:45, :3], y[30:45])
    outdated = learner.background_fits.next_job().run()
    learner.widen(WIDENED)
    assert not learner.background_fits.install(outdated)
    assert learner.background_fits.next_job().units.mean.shape == (4,)
    install_due_fits(learner)
    in_place = Learner(Experts(), Uniform(0.6), seed=1)
    in_place.learn(X[:30, :3], y[:30])
    in_place.learn(X[30:45, :3], y[30:45])
    in_place.widen(WIDENED)
    np.testing.assert_allclose(learner.predict(X), in_place.predict(X), rtol=1e-9)
    correct_last_label(learner)
    learner.widen(WIDENED)
    assert learner.background_fits.next_job() is not None


def test_fit_is_outdated_when_a_class_is_added_while_it_runs():
    X, y = table()
    learner = deferring_learner(Experts(classes=["a", "b"]))
    names = np.where(y > 0, "a", "b")
    learner.learn(X[:30], names[:30])
    install_due_fits(learner)
    before = learner.predict_proba(X)
    learner.learn(X[30:50], names[30:50])
    outdated = learner.background_fits.next_job().run()
    learner = with_classes(learner, ("a", "b", "c"))
    assert not learner.background_fits.install(outdated)
    probabilities = learner.predict_proba(X)
    assert probabilities.shape == (len(X), 3)
    np.testing.assert_allclose(probabilities[:, :2], before, atol=0.05)
    learner.learn(X[:5], ["c"] * 5)
    install_due_fits(learner)
    in_place = Learner(Experts(classes=["a", "b", "c"]), Uniform(0.6), seed=1)
    in_place.learn(np.vstack([X[:50], X[:5]]), [*names[:50], *["c"] * 5])
    in_place.predict(X)  # fits the experts
    experts, expected = (one.state.schedule._experts for one in (learner, in_place))
    Z = learner.state.schedule._units.transform(X)
    np.testing.assert_allclose(experts.predict(X, Z)[:, 5:], expected.predict(X, Z)[:, 5:])


def test_fit_is_outdated_when_a_later_fit_is_installed():
    X, y = table()
    learner = deferring_learner(Refit(LinearRegression()))
    learner.learn(X[:20], y[:20])
    early = learner.background_fits.next_job().run()
    learner.learn(X[20:40], y[20:40])
    assert learner.background_fits.install(learner.background_fits.next_job().run())
    assert not learner.background_fits.install(early)
    assert learner.state.schedule.fitted["slow"] == 40
    assert learner.background_fits.next_job() is None


def test_fit_is_due_again_when_labels_arrive_while_it_runs():
    X, y = table()
    learner = deferring_learner(Refit(LinearRegression()))
    learner.learn(X[:20], y[:20])
    early = learner.background_fits.next_job().run()
    for x, label in zip(X[20:23], y[20:23], strict=True):
        learner.learn([x], [label])
    assert learner.background_fits.install(early)
    assert learner.background_fits.next_job().labels == 23
    install_due_fits(learner)
    learner.learn(X[23:24], y[23:24])
    assert learner.background_fits.next_job() is None


def test_no_fit_is_due_without_labels():
    learner, X = learner_with_due_fit(Experts())
    outdated = learner.background_fits.next_job().run()
    learner.state.unlearn(range(50), np.empty((0, 4)), np.empty(0))
    assert learner.background_fits.next_job() is None
    assert not learner.background_fits.install(outdated)
    np.testing.assert_array_equal(learner.predict(X), 0.0)


class BlockingRegressor(RegressorMixin, BaseEstimator):
    """Estimator whose fits block until an event is set."""

    started_fit, proceed = threading.Event(), threading.Event()

    def fit(self, X, y):
        self.started_fit.set()
        assert self.proceed.wait(60)
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_decisions_continue_while_another_thread_fits():
    X, y = table()
    learner = deferring_learner(Refit(BlockingRegressor(), label_range=(-10, 10)))
    learner.learn(X[:20], y[:20])
    with ThreadPoolExecutor() as others:
        fitted = others.submit(learner.background_fits.next_job().run)
        assert BlockingRegressor.started_fit.wait(60)
        try:
            for t, x in enumerate(X[20:]):
                answer = learner.ask(x)
                assert answer.prediction == 0.0
                if answer.query:
                    learner.tell(answer.id, y[20 + t])
            assert not fitted.done()
        finally:
            BlockingRegressor.proceed.set()
        fitted.result()
        np.testing.assert_array_equal(learner.predict(X), 0.0)
        assert learner.background_fits.install(fitted.result())
    np.testing.assert_allclose(learner.predict(X), y[:20].mean())


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_file_saved_before_an_installed_fit_has_the_same_fit_due(model, tmp_path):
    learner, X = learner_with_due_fit(model)
    learner.save(tmp_path / "learner")
    again = Learner.load(tmp_path / "learner")
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))
    assert again.background_fits.next_job() is None
    again.background_fits.defer()
    assert again.background_fits.next_job().values == learner.background_fits.next_job().values
    for one in (again, learner):
        install_due_fits(one)
    assert_same(again, learner)


def test_fit_before_the_first_prediction_is_not_repeated(tmp_path, monkeypatch):
    learner, X = learner_with_due_fit(Experts())
    learner.save(tmp_path / "learner")
    again = Learner.load(tmp_path / "learner")
    again.background_fits.defer()
    for one in (again, learner):
        install_due_fits(one)
    monkeypatch.delattr(FitJob, "run")
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))


def loaded(learner, folder):
    """Save and load a learner, and defer its fits."""
    learner.save(folder / "learner")
    again = Learner.load(folder / "learner")
    again.background_fits.defer()
    return again


def learner_without_due_fit(model):
    learner, X = learner_with_due_fit(model)
    install_due_fits(learner)
    return learner, X


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_slow_fit_is_due_after_load_when_quick_experts_can_substitute(model, tmp_path, monkeypatch):
    learner, X = learner_without_due_fit(model)
    again, speeds, run_of = loaded(learner, tmp_path), [], FitJob.run
    monkeypatch.setattr(FitJob, "run", lambda self: speeds.append(self.speed) or run_of(self))
    outputs = again.state.outputs(X)
    if isinstance(model, Refit):
        assert (speeds, again.background_fits.next_job()) == (["quick", "slow"], None)
    else:
        assert speeds == ["quick"]
        assert np.abs(outputs - learner.state.outputs(X)).max() > 0
        job = again.background_fits.next_job()
        assert (job.is_repeat, job.speed, job.labels) == (True, "slow", 50)
        assert again.background_fits.install(job.run())
        assert not again.background_fits.install(job.run())
    assert again.background_fits.next_job() is None
    assert_same(again, learner)


@pytest.mark.parametrize(
    "change",
    [correct_last_label, remove_third_label, widen],
    ids=["correct_last_label", "remove_third_label", "widen"],
)
def test_repeated_slow_fit_is_installed_when_the_learner_changes_meanwhile(change, tmp_path):
    learner, X = learner_without_due_fit(Experts())
    again = loaded(learner, tmp_path)
    fitted = again.background_fits.next_job().run()
    again.predict(X)
    for one in (learner, again):
        change(one)
    assert again.background_fits.install(fitted)
    X = np.hstack([X, np.full((len(X), 1), WIDENED)])[:, : learner.dim]
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))
    assert same(again, learner)
    for one in (learner, again):
        install_due_fits(one)
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))


def test_repeated_fit_is_outdated_when_a_new_fit_is_installed(tmp_path):
    learner, X = learner_without_due_fit(Experts())
    again, y = loaded(learner, tmp_path), table()[1]
    outdated = again.background_fits.next_job().run()
    for one in (learner, again):
        one.learn(X[:20], y[:20])
        install_due_fits(one)
    assert not again.background_fits.install(outdated)
    assert_same(again, learner)


def test_logged_fit_is_due_when_fits_are_deferred():
    learner, X = learner_with_due_fit(Experts())
    again, _ = learner_with_due_fit(Experts())
    while job := learner.background_fits.next_job():
        learner.background_fits.install(job.run())
        again.background_fits.replay(job.values)
    again.background_fits.defer()
    assert np.abs(again.predict(X) - learner.predict(X)).max() > 0
    assert again.background_fits.next_job().is_repeat
    install_due_fits(again)
    assert_same(again, learner)


@pytest.mark.parametrize("model", [Experts(), Experts(classes=[0, 1, 2])], ids=["numbers", "classes"])
def test_blocks_equal_single_rows_when_fits_are_overdue(model):
    X, y = table()
    apart, blocks = (learner_with_due_fit(model)[0] for _ in range(2))
    trace = run(blocks, Arrays(X, y))
    for t, x in enumerate(X):
        answer = apart.ask(x)
        assert answer.query == trace.query[t]
        assert answer.prediction == pytest.approx(trace.prediction[t])
        if answer.query:
            apart.tell(answer.id, y[t])


def test_experts_predict_a_batch_in_one_call_with_deferred_fits(monkeypatch):
    learner, X = learner_without_due_fit(Experts())
    batches, predict = [], FitSchedule.predict
    monkeypatch.setattr(
        FitSchedule, "predict", lambda self, rows: batches.append(len(rows)) or predict(self, rows)
    )
    learner.state.scaling.next_position = 10_000  # no update of the scaling
    learner.ask_many(np.tile(X[:50], (4, 1)))
    assert batches == [200]


def test_models_without_experts_have_no_background_fits():
    assert Learner(Ridge(4), Steady(0.5)).background_fits is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"speed": "fast"}, "speed of a fit must be 'quick' or 'slow', got 'fast'"),
        ({"labels": 29}, "labels of a fit must be an integer of at least 30, got 29"),
        ({"labels": None}, "labels of a fit must be an integer of at least 30, got None"),
        ({"units": [[0.0], [1.0]]}, "the units of a fit must be of 4 columns, got shape (2, 1)"),
        ({"units": [[0.0] * 4] * 3}, "units of a saved state must be of shape (2, 4), got (3, 4)"),
        ({"units": "none"}, "the units of a fit must be a numeric array"),
    ],
)
def test_invalid_fit_values_raise_and_change_nothing(values, message):
    learner, _ = learner_with_due_fit(Experts())
    job = learner.background_fits.next_job()
    assert message in refusal(lambda: learner.background_fits.replay(job.values | values))
    assert learner.background_fits.next_job().values == job.values


def test_no_fit_is_due_before_the_first_input():
    early, (learner, X) = deferring_learner(Experts()), learner_with_due_fit(Experts())
    assert early.background_fits.next_job() is None
    assert not early.background_fits.install(learner.background_fits.next_job().run())
    early.background_fits.replay(learner.background_fits.next_job().values)
    assert early.background_fits.next_job() is None
    assert early.ask(X[0]).prediction == 0.0


def test_slow_experts_predict_the_quick_mean_until_their_first_fit():
    X, y = table()
    learner = deferring_learner(Experts(label_range=(-1000.0, 2000.0)))
    learner.learn(X[:30], y[:30])
    job = learner.background_fits.next_job()
    assert job.speed == "quick"
    learner.background_fits.install(job.run())
    schedule = learner.state.schedule
    quick = sum(len(expert.names) for expert in schedule._experts.quick)
    outputs, weights = schedule.predict(X)[:, :, 0], schedule.aggregation.weights[:quick]
    np.testing.assert_allclose(
        outputs[:, quick:], (outputs[:, :quick] @ weights / weights.sum())[:, None] + 0 * outputs[:, quick:]
    )
    assert np.abs(learner.predict(X) - y).max() < 100  # not drawn to 500, the output before any label
    install_due_fits(learner)
    assert np.ptp(schedule.predict(X)[:, quick:, 0], axis=1).max() > 0
