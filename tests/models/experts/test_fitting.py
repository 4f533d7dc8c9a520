"""Experts that somebody else fits: the same as those fitted in place, and the same again from a log."""

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
from qufur.bookkeeping.class_growth import with_classes
from qufur.decisions import decisions_of
from qufur.models.experts.board import Board
from qufur.models.experts.fitting import Fitting
from qufur.streams import Arrays

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


def relearn(learner):
    """Let the last label have been another one."""
    rows, y = labels(learner)
    learner.state.relearn(rows, np.append(y[:-1], 2 - y[-1]))


def forget(learner):
    """Let the third label not have come."""
    rows, y = labels(learner)
    learner.state.forget([2], np.delete(rows, 2, axis=0), np.delete(y, 2))


def calls():
    """Yield what happens to a learner, call by call."""
    X, y = table()
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if t == 45:
            yield lambda learner: learner.widen(WIDENED)
        yield lambda learner, x=x[: 3 + (t >= 45)]: learner.ask(x)
        yield lambda learner, t=t, label=label: learner.tell(t, label) if t in learner.queries else None
        if t == 20:
            yield lambda learner: learner.learn(X[:9, :3], y[:9])
        if t in (30, 70):
            yield relearn
        if t == 35:
            yield forget


def started(model):
    learner = Learner(model, Uniform(0.6), seed=1)
    learner.fit_elsewhere()
    return learner


def waiting(model, count=30):
    """Return a learner some of whose labels are fitted and more have come, and inputs."""
    X, y = table()
    learner = started(model)
    learner.learn(X[:count], y[:count])
    catch_up(learner)
    learner.learn(X[count : count + 20], y[count : count + 20])
    return learner, X


def catch_up(learner):
    while fitting := learner.due_fit():
        assert learner.install_fit(fitting.run())


def assert_same(one, other):
    X = table()[0][:, : one.dim]
    assert same(one, other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    if one.model.classifies:
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_installed_at_once_all_is_as_if_they_were_fitted_in_place(model, monkeypatch):
    here = Learner(model, Uniform(0.6), seed=1)
    expected = [call(here) for call in calls()]
    noted, installed = Board.fit, []

    def at_once(board, speed, units):  # in the middle of a call: scaling that is set anew makes fits due
        noted(board, speed, units)
        while fitting := board.due_fit(units):
            installed.append(board.install(fitting.run()))

    monkeypatch.setattr(Board, "fit", at_once)
    there = started(model)
    assert [call(there) for call in calls()] == expected
    assert_same(there, here)
    assert len(installed) > 10
    assert all(installed)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("delay", [1, 7, 15])
def test_a_log_of_what_was_installed_when_gives_the_same_learner_again(model, delay):
    learner, log, answers, running = started(model), [], [], None
    for place, call in enumerate(calls()):
        log.append(call)
        answers.append(call(learner))
        if running is None and (fitting := learner.due_fit()):
            running = place + delay, fitting
        if running is not None and place >= running[0]:
            fitting, running = running[1], None
            if learner.install_fit(fitting.run()):
                log.append(json.dumps(fitting.values))
    assert sum(isinstance(entry, str) for entry in log) > 2
    again, repeated = started(model), []
    for entry in log:
        if isinstance(entry, str):
            again.refit(json.loads(entry))
        else:
            repeated.append(entry(again))
    assert repeated == answers
    assert_same(again, learner)


@pytest.mark.parametrize("together", [1, 10])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_recorded_decisions_are_taken_over_without_a_fit(model, together, monkeypatch):
    X, y = table()
    learner, again = (started(model) for _ in range(2))
    run_of = Fitting.run
    for start in range(0, len(X), together):
        rows = X[start : start + together]
        answers = learner.ask_many(rows) if together > 1 else learner.ask(rows[0])
        ids = answers.id if together > 1 else [answers.id]
        with monkeypatch.context() as patched:
            patched.delattr(Fitting, "run")
            again.replay(rows, ids, decisions_of(learner, answers))
        for id in learner.outstanding:
            for one in (learner, again):
                one.tell(id, y[id])
        if fitting := learner.due_fit():
            learner.install_fit(run_of(fitting))
            again.refit(fitting.values)
    assert_same(again, learner)


def test_a_log_of_labels_some_of_which_are_gone_gives_fits_to_the_others():
    learner, X = waiting(Refit(LinearRegression()))
    learner.refit(learner.due_fit().values | {"labels": 60})
    other, _ = waiting(Refit(LinearRegression()))
    catch_up(other)
    np.testing.assert_array_equal(learner.predict(X), other.predict(X))
    assert learner.state.board.fitted["slow"] == 50


def test_a_new_class_after_what_a_log_says():
    X, y = table()
    names = np.where(y > 0, "a", "b").tolist()
    learner, again = (started(Experts(classes=["a", "b"])) for _ in range(2))
    for one in (learner, again):
        one.learn(X[:30], names[:30])
    while fitting := learner.due_fit():
        learner.install_fit(fitting.run())
        again.refit(fitting.values)
    learner, again = (with_classes(one, ("a", "b", "c")) for one in (learner, again))
    np.testing.assert_array_equal(again.predict_proba(X), learner.predict_proba(X))


def widen(learner):
    learner.widen(WIDENED)


@pytest.mark.parametrize("change", [relearn, forget, widen], ids=["relearn", "forget", "widen"])
def test_what_a_log_says_is_fitted_to_the_labels_of_then_however_late(change):
    X, y = table()
    learner, again = (waiting(Experts(), 20)[0] for _ in range(2))
    for _ in range(2):
        learner.learn(X[:9], y[:9])
        again.learn(X[:9], y[:9])
        while fitting := learner.due_fit():
            assert learner.install_fit(fitting.run())
            again.refit(json.loads(json.dumps(fitting.values)))
    for one in (learner, again):
        relearn(one)
        change(one)
    X = np.hstack([X, np.full((len(X), 1), WIDENED)])[:, : learner.dim]
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))
    assert same(again, learner)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("change", [relearn, forget], ids=["relearn", "forget"])
def test_labels_that_change_during_a_fit_make_another_one_due(model, change):
    learner, X = waiting(model)
    overtaken, before = learner.due_fit().run(), learner.predict(X)
    change(learner)
    assert not learner.install_fit(overtaken)
    if not model.classifies:  # the range of labels is the same
        np.testing.assert_allclose(learner.predict(X), before, atol=0.2)
    fitting = learner.due_fit()
    assert fitting.labels == len(learner.state.labelled)
    np.testing.assert_array_equal(fitting.sample.y, labels(learner)[1])
    catch_up(learner)
    assert set(learner.state.board.fitted.values()) == {fitting.labels}


def test_further_columns_during_a_fit_make_another_one_due():
    X, y = table()
    learner = started(Experts())
    learner.learn(X[:30, :3], y[:30])
    catch_up(learner)
    learner.learn(X[30:45, :3], y[30:45])
    overtaken = learner.due_fit().run()
    learner.widen(WIDENED)
    assert not learner.install_fit(overtaken)
    assert learner.due_fit().units.mean.shape == (4,)
    catch_up(learner)
    here = Learner(Experts(), Uniform(0.6), seed=1)
    here.learn(X[:30, :3], y[:30])
    here.learn(X[30:45, :3], y[30:45])
    here.widen(WIDENED)
    np.testing.assert_allclose(learner.predict(X), here.predict(X), rtol=1e-9)
    relearn(learner)
    learner.widen(WIDENED)
    assert learner.due_fit() is not None


def test_a_new_class_during_a_fit_makes_another_one_due():
    X, y = table()
    learner = started(Experts(classes=["a", "b"]))
    names = np.where(y > 0, "a", "b")
    learner.learn(X[:30], names[:30])
    catch_up(learner)
    before = learner.predict_proba(X)
    learner.learn(X[30:50], names[30:50])
    overtaken = learner.due_fit().run()
    learner = with_classes(learner, ("a", "b", "c"))
    assert not learner.install_fit(overtaken)
    said = learner.predict_proba(X)
    assert said.shape == (len(X), 3)
    np.testing.assert_allclose(said[:, :2], before, atol=0.05)
    learner.learn(X[:5], ["c"] * 5)
    catch_up(learner)
    here = Learner(Experts(classes=["a", "b", "c"]), Uniform(0.6), seed=1)
    here.learn(np.vstack([X[:50], X[:5]]), [*names[:50], *["c"] * 5])
    here.predict(X)  # which fits them
    said, expected = (one.state.board._panel for one in (learner, here))
    Z = learner.state.board._units.transform(X)
    np.testing.assert_allclose(said.predict(X, Z)[:, 5:], expected.predict(X, Z)[:, 5:])


def test_a_later_fit_overtakes_an_earlier_one():
    X, y = table()
    learner = started(Refit(LinearRegression()))
    learner.learn(X[:20], y[:20])
    early = learner.due_fit().run()
    learner.learn(X[20:40], y[20:40])
    assert learner.install_fit(learner.due_fit().run())
    assert not learner.install_fit(early)
    assert learner.state.board.fitted["slow"] == 40
    assert learner.due_fit() is None


def test_more_labels_during_a_fit_make_another_one_due():
    X, y = table()
    learner = started(Refit(LinearRegression()))
    learner.learn(X[:20], y[:20])
    early = learner.due_fit().run()
    for x, label in zip(X[20:23], y[20:23], strict=True):
        learner.learn([x], [label])
    assert learner.install_fit(early)
    assert learner.due_fit().labels == 23
    catch_up(learner)
    learner.learn(X[23:24], y[23:24])
    assert learner.due_fit() is None


def test_without_labels_nothing_is_due():
    learner, X = waiting(Experts())
    overtaken = learner.due_fit().run()
    learner.state.forget(range(50), np.empty((0, 4)), np.empty(0))
    assert learner.due_fit() is None
    assert not learner.install_fit(overtaken)
    np.testing.assert_array_equal(learner.predict(X), 0.0)


class Slow(RegressorMixin, BaseEstimator):
    """An estimator whose fits wait until they may go on."""

    begun, go_on = threading.Event(), threading.Event()

    def fit(self, X, y):
        self.begun.set()
        assert self.go_on.wait(60)
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_decisions_go_on_while_another_thread_fits():
    X, y = table()
    learner = started(Refit(Slow(), label_range=(-10, 10)))
    learner.learn(X[:20], y[:20])
    with ThreadPoolExecutor() as others:
        fitted = others.submit(learner.due_fit().run)
        assert Slow.begun.wait(60)
        try:
            for t, x in enumerate(X[20:]):
                answer = learner.ask(x)
                assert answer.prediction == 0.0
                if answer.query:
                    learner.tell(answer.id, y[20 + t])
            assert not fitted.done()
        finally:
            Slow.go_on.set()
        fitted.result()
        np.testing.assert_array_equal(learner.predict(X), 0.0)
        assert learner.install_fit(fitted.result())
    np.testing.assert_allclose(learner.predict(X), y[:20].mean())


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_file_from_before_a_fit_is_installed(model, tmp_path):
    learner, X = waiting(model)
    learner.save(tmp_path / "learner")
    again = Learner.load(tmp_path / "learner")
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))
    assert again.due_fit() is None
    again.fit_elsewhere()
    assert again.due_fit().values == learner.due_fit().values
    for one in (again, learner):
        catch_up(one)
    assert_same(again, learner)


def test_what_was_fitted_before_the_first_prediction_is_not_fitted_again(tmp_path, monkeypatch):
    learner, X = waiting(Experts())
    learner.save(tmp_path / "learner")
    again = Learner.load(tmp_path / "learner")
    again.fit_elsewhere()
    for one in (again, learner):
        catch_up(one)
    monkeypatch.delattr(Fitting, "run")
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))


def loaded(learner, folder):
    """Return a learner that goes on from a file, with fits elsewhere."""
    learner.save(folder / "learner")
    again = Learner.load(folder / "learner")
    again.fit_elsewhere()
    return again


def caught_up(model):
    learner, X = waiting(model)
    catch_up(learner)
    return learner, X


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_of_a_loaded_learner_slow_experts_are_due_where_quick_ones_can_speak(model, tmp_path, monkeypatch):
    learner, X = caught_up(model)
    again, made, run_of = loaded(learner, tmp_path), [], Fitting.run
    monkeypatch.setattr(Fitting, "run", lambda self: made.append(self.speed) or run_of(self))
    said = again.state.outputs(X)
    if isinstance(model, Refit):
        assert (made, again.due_fit()) == (["quick", "slow"], None)
    else:
        assert made == ["quick"]
        assert np.abs(said - learner.state.outputs(X)).max() > 0
        fitting = again.due_fit()
        assert (fitting.again, fitting.speed, fitting.labels) == (True, "slow", 50)
        assert again.install_fit(fitting.run())
        assert not again.install_fit(fitting.run())
    assert again.due_fit() is None
    assert_same(again, learner)


@pytest.mark.parametrize("change", [relearn, forget, widen], ids=["relearn", "forget", "widen"])
def test_slow_experts_are_fitted_as_they_were_also_if_things_change_meanwhile(change, tmp_path):
    learner, X = caught_up(Experts())
    again = loaded(learner, tmp_path)
    fitted = again.due_fit().run()
    again.predict(X)
    for one in (learner, again):
        change(one)
    assert again.install_fit(fitted)
    X = np.hstack([X, np.full((len(X), 1), WIDENED)])[:, : learner.dim]
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))
    assert same(again, learner)
    for one in (learner, again):
        catch_up(one)
    np.testing.assert_array_equal(again.predict(X), learner.predict(X))


def test_a_new_fit_overtakes_one_that_is_made_again(tmp_path):
    learner, X = caught_up(Experts())
    again, y = loaded(learner, tmp_path), table()[1]
    overtaken = again.due_fit().run()
    for one in (learner, again):
        one.learn(X[:20], y[:20])
        catch_up(one)
    assert not again.install_fit(overtaken)
    assert_same(again, learner)


def test_what_a_log_said_was_fitted_is_due_if_it_is_to_be_fitted_elsewhere():
    learner, X = waiting(Experts())
    again, _ = waiting(Experts())
    while fitting := learner.due_fit():
        learner.install_fit(fitting.run())
        again.refit(fitting.values)
    again.fit_elsewhere()
    assert np.abs(again.predict(X) - learner.predict(X)).max() > 0
    assert again.due_fit().again
    catch_up(again)
    assert_same(again, learner)


@pytest.mark.parametrize("model", [Experts(), Experts(classes=[0, 1, 2])], ids=["numbers", "classes"])
def test_blocks_are_the_same_where_fits_are_overdue(model):
    X, y = table()
    apart, blocks = (waiting(model)[0] for _ in range(2))
    trace = run(blocks, Arrays(X, y))
    for t, x in enumerate(X):
        answer = apart.ask(x)
        assert answer.query == trace.query[t]
        assert answer.prediction == pytest.approx(trace.prediction[t])
        if answer.query:
            apart.tell(answer.id, y[t])


def test_where_fits_are_elsewhere_experts_are_asked_about_a_batch_at_once(monkeypatch):
    learner, X = caught_up(Experts())
    asked, ask = [], Board.ask
    monkeypatch.setattr(Board, "ask", lambda self, rows: asked.append(len(rows)) or ask(self, rows))
    learner.state.scaling.next_position = 10_000  # the scaling is not set anew
    learner.ask_many(np.tile(X[:50], (4, 1)))
    assert asked == [200]


def test_models_without_experts_have_nothing_to_fit():
    learner = Learner(Ridge(4), Steady(0.5))
    learner.fit_elsewhere()
    learner.learn(*table())
    assert learner.due_fit() is None
    assert "one with experts" in refusal(lambda: learner.refit({}))


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
def test_what_is_refused(values, message):
    learner, _ = waiting(Experts())
    fitting = learner.due_fit()
    assert message in refusal(lambda: learner.refit(fitting.values | values))
    assert learner.due_fit().values == fitting.values


def test_before_the_first_input_there_is_nothing_to_fit():
    early, (learner, X) = started(Experts()), waiting(Experts())
    assert early.due_fit() is None
    assert not early.install_fit(learner.due_fit().run())
    early.refit(learner.due_fit().values)
    assert early.due_fit() is None
    assert early.ask(X[0]).prediction == 0.0


def test_slow_experts_say_what_quick_ones_do_until_their_first_fit():
    X, y = table()
    learner = started(Experts(label_range=(-1000.0, 2000.0)))
    learner.learn(X[:30], y[:30])
    fitting = learner.due_fit()
    assert fitting.speed == "quick"
    learner.install_fit(fitting.run())
    board = learner.state.board
    quick = sum(len(member.names) for member in board._panel.quick)
    said, weights = board.ask(X)[:, :, 0], board.aggregation.weights[:quick]
    np.testing.assert_allclose(
        said[:, quick:], (said[:, :quick] @ weights / weights.sum())[:, None] + 0 * said[:, quick:]
    )
    assert np.abs(learner.predict(X) - y).max() < 100  # and not drawn to 500, which they say before any label
    catch_up(learner)
    assert np.ptp(board.ask(X)[:, quick:, 0], axis=1).max() > 0
