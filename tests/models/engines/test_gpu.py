"""Tests of blocks on a torch device: same decisions as NumPy. The CPU device of torch replaces a GPU."""

import sys

import numpy as np
import pytest
from tests.same import same

from qufur import (
    FixedBudget,
    Greedy,
    KernelRidge,
    Learner,
    Paced,
    QuFUR,
    Ridge,
    Softmax,
    Steady,
    Threshold,
    Uniform,
    run,
)
from qufur.errors import DeviceWarning
from qufur.estimates.ledger import Ledger
from qufur.models import _device as devices
from qufur.models.engines.covariance import CovarianceEngine
from qufur.models.engines.gpu import GpuEngine
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.torch_block import TorchBlock
from qufur.models.gram.torch_inverse import TorchGram
from qufur.models.lookahead import NO_ARRIVALS
from qufur.streams import Arrays, HiddenDomains

torch = pytest.importorskip("torch", reason="torch is not installed: qufur[gpu]")

DIM, HORIZON = 24, 1200
TORCH = torch.device("cpu")
RULES = [
    QuFUR(2.0),
    QuFUR(3.0, budget=100),
    FixedBudget(150, HORIZON),
    Paced(150, HORIZON),
    Steady(150, HORIZON),
    Uniform(0.2),
    Threshold(0.2, budget=120),
    Greedy(70),
]
MODELS = [
    Ridge(DIM, norm_bound=3.0),
    Ridge(DIM, intercept=True, label_range=(1, 5)),
    Ridge(DIM, regularization=0.1, importance=0.7),
]


@pytest.fixture(scope="module")
def stream():
    """Return a stream of three domains, so that Δ drops twice within a block."""
    return Arrays.of(HiddenDomains([HORIZON // 3] * 3, [10, 14, 20], ambient=DIM, seed=3))


def learner(model=MODELS[0], rule=RULES[0], device=TORCH):
    return Learner(model, rule, seed=1, device=device)


def assert_same_decisions(a, b):
    assert a.query.tolist() == b.query.tolist()
    for name in ("prediction", "uncertainty", "probability"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=1e-9)


def is_on_device(learner):
    return isinstance(learner.state.labelled.form, TorchGram)


CASES = [(rule, model, 0) for rule in RULES for model in MODELS]
CASES += [(rule, model, 40) for rule in (RULES[1], RULES[3]) for model in MODELS]


@pytest.mark.parametrize(("rule", "model", "delay"), CASES)
def test_runs_decide_as_on_the_cpu(stream, rule, model, delay):
    expected = run(learner(model, rule, "cpu"), stream, delay=delay)
    assert 0 < expected.queries < HORIZON
    for block in (None, 300):
        on_device = learner(model, rule)
        assert_same_decisions(run(on_device, stream, delay=delay, block=block), expected)
        # An intercept without labels may cost too many digits at first.
        assert is_on_device(on_device) or model.intercept


def test_delays_may_differ_and_blocks_may_be_short(stream):
    delays = np.random.default_rng(0).integers(0, 200, HORIZON)
    short = Arrays(stream.X[:300], stream.y[:300])
    for block in (1, 7):
        expected = run(learner(device="cpu"), short, delay=delays)
        assert_same_decisions(run(learner(), short, delay=delays, block=block), expected)


@pytest.mark.parametrize("tries", [2, GpuEngine.tries])
@pytest.mark.parametrize("max_candidates", [16, GpuEngine.max_candidates])
def test_candidates_are_settled_together_or_in_turn(stream, monkeypatch, tries, max_candidates):
    calls = {"together": 0, "turns": 0}

    def counted(name, original):
        def counting(*arguments):
            calls[name] += 1
            return original(*arguments)

        return counting

    monkeypatch.setattr(GpuEngine, "_choose", counted("together", GpuEngine._choose))
    monkeypatch.setattr(CovarianceEngine, "_choose", counted("turns", CovarianceEngine._choose))
    monkeypatch.setattr(GpuEngine, "tries", tries)
    monkeypatch.setattr(GpuEngine, "max_candidates", max_candidates)
    trace = run(learner(), stream, block=200)
    assert calls["together"] > 10 or max_candidates > 16
    assert (0 < calls["turns"] < calls["together"]) if tries == 2 else calls["turns"] == 0
    monkeypatch.undo()
    assert_same_decisions(trace, run(learner(device="cpu"), stream))


def test_candidates_are_few_after_the_first_are_settled(monkeypatch):
    monkeypatch.setattr(GpuEngine, "max_candidates", 16)
    X = np.tile(np.eye(DIM)[0], (200, 1))
    X[150] = np.eye(DIM)[1]
    traces = [
        run(learner(rule=Threshold(0.2), device=device), Arrays(X, X[:, 0]), block=200)
        for device in (TORCH, "cpu")
    ]
    assert_same_decisions(*traces)
    assert traces[0].query[150]
    assert not traces[0].query[16:150].any()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("block", [100, None])
def test_device_prefetches_a_block_before_the_last_is_recorded(stream, monkeypatch, intercept, block):
    views, used, views_at_record = [], [], []
    begin, fetch, record = TorchBlock.__init__, TorchBlock.fetch, Ledger.record
    arrived = run.__globals__["_finished_inputs"]
    monkeypatch.setattr(TorchBlock, "__init__", lambda self, *a: (views.append(self), begin(self, *a))[1])
    monkeypatch.setattr(TorchBlock, "fetch", lambda self: (used.append(self), fetch(self))[1])
    monkeypatch.setattr(Ledger, "record", lambda *a: (views_at_record.append(len(views)), record(*a))[1])
    monkeypatch.setitem(
        run.__globals__, "_finished_inputs", lambda coming: coming.result() and arrived(coming)
    )
    run(learner(Ridge(DIM, intercept=intercept, intercept_penalty=1.0)), stream, block=block)
    assert used == views  # every view was used
    assert views_at_record == [*range(2, len(views) + 1), len(views)]


@pytest.mark.parametrize("learned", [0, 100])
def test_other_inputs_after_a_prefetch_are_decided_correctly(stream, learned):
    uncertainties = []
    for each, X in ((learner(), torch.tensor(stream.X)), (learner(device="cpu"), stream.X)):
        run(each, Arrays(stream.X[:300], stream.y[:300]))
        expected, others = X[300:500], X[500:700]
        each.state.prefetch(expected)
        if learned:
            each.learn(stream.X[-learned:], stream.y[-learned:])
        block, _ = each._run_block(expected if learned else others, None, lambda block: NO_ARRIVALS)
        uncertainties.append(block.uncertainty)
    np.testing.assert_allclose(*uncertainties, rtol=0, atol=1e-9)


def test_inverse_is_refreshed_in_time(stream):
    on_device = learner(rule=QuFUR(4.0))
    trace = run(on_device, stream)
    form = on_device.state.labelled.form
    assert form.since_refresh < 16 * DIM < trace.queries
    M = on_device.model.penalty * np.eye(DIM) + stream.X[trace.query].T @ stream.X[trace.query]
    np.testing.assert_allclose(np.triu(form.inverse), np.triu(np.linalg.inv(M)), atol=1e-12)
    np.testing.assert_allclose(np.triu(form.gram), np.triu(M), atol=1e-10)


def test_report_equals_that_of_the_cpu(stream):
    learners = learner(), learner(device="cpu")
    for each in learners:
        run(each, stream)
    a, b = (each.report() for each in learners)
    assert a.interval == pytest.approx(b.interval, abs=1e-9)
    assert a.fit.noise == pytest.approx(b.fit.noise, rel=1e-9)
    assert (a.fit.misfit, a.fit.tested) == (b.fit.misfit, b.fit.tested)
    tests = (each.state.labelled.tested().array() for each in learners)
    np.testing.assert_allclose(*tests, rtol=1e-6)


@pytest.mark.parametrize("rule", [RULES[0], RULES[3]], ids=["QuFUR", "Paced"])
def test_single_asks_and_batches_mix(stream, rule):
    answers = []
    for each in (learner(MODELS[0], rule), learner(MODELS[0], rule, "cpu")):
        X = torch.tensor(stream.X) if each.device else stream.X
        batches = [each.ask_many(X[:500])]
        queried_id = batches[0].id[batches[0].query.nonzero()[0][0]]
        each.retract(queried_id)
        each.tell_many(
            [id for id in each.outstanding if id % 2], np.ones(sum(id % 2 for id in each.outstanding))
        )
        each.learn(stream.X[500:520], stream.y[500:520])
        batches += [each.ask(x) for x in stream.X[520:540]]
        each.tell(each.outstanding[-1], 0.5)
        batches.append(each.ask_many(X[540:]))
        answers.append(
            [
                np.hstack([getattr(part, name) for part in batches])
                for name in ("query", "prediction", "uncertainty")
            ]
        )
        answers[-1] += [each.predict(stream.X[:9]), each.uncertainty(stream.X[:9])]
    for a, b in zip(*answers, strict=True):
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=0, atol=1e-9)


@pytest.mark.parametrize("before", [TORCH, "cpu"], ids=["torch", "cpu"])
@pytest.mark.parametrize("after", [TORCH, "cpu"], ids=["torch", "cpu"])
@pytest.mark.parametrize("delay", [0, 10**6])
def test_learner_loads_on_any_device(stream, tmp_path, before, after, delay):
    first, rest = Arrays(stream.X[:600], stream.y[:600]), Arrays(stream.X[600:], stream.y[600:])
    saved = learner(MODELS[2], device=before)
    for part in range(0, 600, 200):
        answers = saved.ask_many(first.X[part : part + 200])
        if not delay:
            saved.tell_many(saved.outstanding, np.ones(len(saved.outstanding)))
    saved.save(tmp_path / "state")
    loaded = Learner.load(tmp_path / "state", device=after)
    assert len(answers) == 200
    assert loaded.device == (None if after == "cpu" else TORCH)
    assert same(saved, loaded)
    assert_same_decisions(run(loaded, rest), run(saved, rest))
    if before == after:
        assert same(saved, loaded)


def test_widened_learner_stays_on_its_device(stream):
    widened = [learner(), learner(device="cpu")]
    for each in widened:
        run(each, Arrays(stream.X[:500], stream.y[:500]))
        each.widen([0.0])
    X = np.column_stack([stream.X, stream.X[:, 0]])[500:]
    traces = [run(each, Arrays(X, stream.y[500:])) for each in widened]
    assert_same_decisions(*traces)
    assert is_on_device(widened[0])


def test_ill_conditioned_inputs_continue_on_the_cpu():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 5)) * 10.0 ** rng.uniform(-4, 4, (300, 1))
    stream, model = Arrays(X, rng.uniform(-1, 1, 300)), Ridge(5)
    on_device = learner(model)
    assert_same_decisions(run(on_device, stream), run(learner(model, device="cpu"), stream))
    assert isinstance(on_device.state.labelled.form, FactorGram)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inputs_may_be_tensors_or_in_a_file(stream, tmp_path, dtype):
    X = stream.X.astype(dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = run(learner(device="cpu"), Arrays(X.astype(float), stream.y))
    for inputs in (X, mapped, torch.tensor(X)):
        for device in (TORCH, "cpu"):
            assert_same_decisions(run(learner(device=device), Arrays(inputs, stream.y)), expected)


def test_invalid_inputs_raise_on_any_device(stream, tmp_path):
    X = stream.X[:200].copy()
    X[150, 3] = np.nan
    np.save(tmp_path / "X.npy", X)
    for inputs in (torch.tensor(X), np.load(tmp_path / "X.npy", mmap_mode="r")):
        for device in (TORCH, "cpu"):
            with pytest.raises(
                ValueError, match=r"X of the stream must be finite, got nan at row 150, column 3"
            ):
                run(learner(device=device), Arrays(inputs, stream.y[:200]))
    on_device = learner()
    with pytest.raises(ValueError, match=r"X of Learner must be finite, got nan at row 150"):
        on_device.ask_many(torch.tensor(X))
    with pytest.raises(ValueError, match=r"of 24 columns, got shape \(200, 3\)"):
        on_device.ask_many(torch.tensor(X[:, :3]))
    assert on_device.spent == 0


# Choice of the device


def test_learner_warns_and_runs_on_the_cpu_without_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.warns(DeviceWarning, match="torch finds no GPU with CUDA: the learner runs on the CPU"):
        assert learner(device="cuda").device is None
    assert learner(Ridge(1000), device="auto").device is None


def test_auto_uses_a_gpu_when_it_is_faster(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**12, 10**12))
    chosen = [
        learner(Ridge(dim), device="auto").device for dim in (devices.MIN_GPU_DIM - 1, devices.MIN_GPU_DIM)
    ]
    assert chosen == [None, torch.device("cuda")]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert learner(device="cuda:1").device == torch.device("cuda:1")
    with pytest.raises(ValueError, match="one of 2 GPUs, got 'cuda:2'"):
        learner(device="cuda:2")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**6, 10**12))
    with pytest.warns(DeviceWarning, match=r"cuda has 0\.0 GB free, and .* GB are needed"):
        assert learner(device="cuda").device is None


def test_learner_continues_on_the_cpu_when_gpu_memory_is_exhausted(stream, monkeypatch):
    calls, view = [], TorchGram.view

    def out_of_memory(*arguments):
        calls.append(1)
        if len(calls) > 3:
            raise torch.cuda.OutOfMemoryError
        return view(*arguments)

    monkeypatch.setattr(TorchGram, "view", out_of_memory)
    on_device = learner()
    with pytest.warns(DeviceWarning, match="out of memory: the learner continues on the CPU"):
        trace = run(on_device, stream, block=100)
    assert_same_decisions(trace, run(learner(device="cpu"), stream))
    assert on_device.device is None


def test_prefetch_without_memory_is_harmless(stream, monkeypatch):
    def out_of_memory(*arguments):
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(TorchGram, "prefetch", out_of_memory)
    on_device = learner()
    assert_same_decisions(run(on_device, stream), run(learner(device="cpu"), stream))
    assert on_device.device is TORCH


@pytest.mark.parametrize("model", [Ridge(3, half_life=9), Softmax(3, 2)], ids=["forgetting", "softmax"])
def test_models_without_gpu_support_warn(model):
    with pytest.warns(DeviceWarning, match=f"{type(model).__name__}.* cannot run on a GPU"):
        assert learner(model).device is None


def test_kernel_ridge_warns_without_gpu_support():
    from sklearn.gaussian_process.kernels import RBF

    with pytest.warns(DeviceWarning, match="KernelRidge"):
        assert learner(KernelRidge(RBF())).device is None


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cuda:", 0, None, torch.device("meta")])
def test_unsupported_devices_raise(device):
    with pytest.raises(ValueError, match="device of Learner must be"):
        learner(device=device)


def test_missing_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device='cuda' needs torch.*\[gpu\]"):
        learner(device="cuda")
    assert learner(Ridge(1000), device="auto").device is None
