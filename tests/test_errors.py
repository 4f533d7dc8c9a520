"""Invalid input raises one line with the parameter, the allowed and the received value; nothing changes."""

import re
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from sklearn.gaussian_process.kernels import DotProduct
from tests.refusals import refusal

from qufur import (
    DomainOracle,
    FixedBudget,
    Greedy,
    KernelRidge,
    Learner,
    OutlierWarning,
    QuFUR,
    Ridge,
    Threshold,
    Uniform,
    run,
    streams,
)
from qufur.models._least_squares_state import LeastSquaresState
from qufur.snapshot import encode

NAN, INF = float("nan"), float("inf")
BUDGET = "must be an integer of at least 1, got {}."
COUNTS_LABELS = " It counts labels; a share of the stream is share * horizon."


# Models and rules


@pytest.mark.parametrize(
    ("build", "message"),
    [
        *[
            (
                lambda alpha=alpha: QuFUR(alpha),
                f"alpha of QuFUR must be a finite number above 0, got {alpha!r}.",
            )
            for alpha in (0, 0.0, -1.5, NAN, INF, -INF, "2", None, True, [1.0])
        ],
        *[
            (lambda p=p: QuFUR(1.0, power=p), f"power of QuFUR must be a finite number above 0, got {p!r}.")
            for p in (0, -1, NAN, INF, "2", None)
        ],
        *[
            (lambda rate=rate: Uniform(rate), f"rate of Uniform must be in (0, 1], got {rate!r}.")
            for rate in (0, -0.1, 1.0001, 2, NAN, INF, "0.5", None, True)
        ],
        *[
            (
                lambda level=level: Threshold(level),
                f"level of Threshold must be a finite number above 0, got {level!r}.",
            )
            for level in (0, -1, NAN, INF, "1", None)
        ],
        *[
            (lambda b=b: Greedy(b), "budget of Greedy " + BUDGET.format(repr(b)))
            for b in (0, -3, 2.0, 0.3, True, "5", None, NAN)
        ],
        *[
            (lambda b=b: QuFUR(1.0, budget=b), "budget of QuFUR " + BUDGET.format(repr(b)) + COUNTS_LABELS)
            for b in (0, -3, 2.0, 0.3, True, "5", NAN)
        ],
        (lambda: Uniform(0.5, budget=0), "budget of Uniform " + BUDGET.format(0) + COUNTS_LABELS),
        (lambda: Uniform(0.5, budget=0.1), "budget of Uniform " + BUDGET.format(0.1) + COUNTS_LABELS),
        (lambda: Threshold(0.5, budget=-1), "budget of Threshold " + BUDGET.format(-1) + COUNTS_LABELS),
        (lambda: Threshold(0.5, budget=True), "budget of Threshold " + BUDGET.format(True) + COUNTS_LABELS),
        *[
            (
                lambda T=T: FixedBudget(100, T),
                f"horizon of FixedBudget must be an integer of at least 1, got {T!r}.",
            )
            for T in (0, -1, 10.0, True, None, "10")
        ],
        *[
            (lambda b=b: FixedBudget(b, 10), "budget of FixedBudget " + BUDGET.format(repr(b)))
            for b in (0, -3, 20.0, True, "5", None)
        ],
        (
            lambda: FixedBudget(30, 1000),
            "budget of FixedBudget must be at least 31 for horizon 1000, got 30. "
            "A smaller budget gives no copy a label: use QuFUR(alpha, budget=30) instead.",
        ),
        (
            lambda: FixedBudget(1, 2),
            "budget of FixedBudget must be at least 4 for horizon 2, got 1. "
            "A smaller budget gives no copy a label: use QuFUR(alpha, budget=1) instead.",
        ),
        (
            lambda: DomainOracle(durations=[10], dims=[2], budget=0),
            "budget of DomainOracle must be an integer of at least 1, got 0.",
        ),
        (
            lambda: DomainOracle(durations=[10], dims=[2], budget=2.5),
            "budget of DomainOracle must be an integer of at least 1, got 2.5.",
        ),
    ],
)
def test_rules_reject_invalid_parameters(build, message):
    assert refusal(build) == message


@pytest.mark.parametrize(
    ("durations", "dims"),
    [
        ([10, 20], [1]),
        ([], []),
        ([10, 0], [1, 1]),
        ([10, 20], [1, -1]),
        ([10.5], [1]),
        ([10], [True]),
        (10, 1),
        ("ab", [1, 1]),
    ],
)
def test_domain_oracle_rejects_invalid_domains(durations, dims):
    message = refusal(lambda: DomainOracle(durations=durations, dims=dims, budget=5))
    assert re.fullmatch(
        r"(durations|dims|each of .*|durations and dims) of DomainOracle must be .+, got .+\.", message
    )


RANGE = "label_range of Ridge must be two finite numbers (low, high) with low < high, got {}."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *[
            ({"dim": d}, f"dim of Ridge must be an integer of at least 1, got {d!r}.")
            for d in (0, -2, 2.0, True, "3", None)
        ],
        *[
            ({"norm_bound": c}, f"norm_bound of Ridge must be a finite number above 0, got {c!r}.")
            for c in (0, -1.0, NAN, INF, "1", None)
        ],
        *[
            ({"regularization": r}, f"regularization of Ridge must be a finite number above 0, got {r!r}.")
            for r in (0, -1.0, NAN, INF, "1")
        ],
        *[
            ({"label_range": r}, RANGE.format(r))
            for r in ((5, 1), (1, 1), (NAN, 1), (0, INF), (1, 2, 3), (1,), None, 5)
        ],
        ({"label_range": ("a", "b")}, RANGE.format(("a", "b"))),
        *[
            ({"half_life": h}, f"half_life of Ridge {BUDGET.format(repr(h))} None never forgets.")
            for h in (0, -1, 1.5, 16.0, True, NAN, INF, "16")
        ],
    ],
)
def test_ridge_rejects_invalid_parameters(options, message):
    assert refusal(lambda: Ridge(**{"dim": 3, **options})) == message


@pytest.mark.parametrize("noise", [-1, -0.5, NAN, INF, "1", None])
def test_ridge_rejects_invalid_noise(noise):
    assert re.fullmatch(
        rf"noise of Ridge must be a finite number of at least 0, got {re.escape(repr(noise))}\.",
        refusal(lambda: Ridge(3, noise=noise)),
    )


@pytest.mark.parametrize("norm_bound", [1e-200, 1e200])
def test_norm_bound_is_rejected_when_its_regularization_overflows(norm_bound):
    assert "norm_bound of Ridge must be" in refusal(lambda: Ridge(3, norm_bound=norm_bound))


# Calls of a learner


@pytest.fixture
def learner():
    learner = Learner(Ridge(3), QuFUR(3.0, budget=9), seed=1)
    learner.ask_many(np.eye(3), ids=["a", "b", "c"])
    learner.ask([1.0, 1, 1], id="d")
    learner.tell("a", 0.5)
    assert learner.outstanding == ("b", "c", "d")
    return learner


@pytest.fixture
def oracle():
    learner = Learner(Ridge(3), DomainOracle(durations=[5, 5], dims=[1, 2], budget=5), seed=1)
    learner.ask_many(np.eye(3), domain=[0, 1, 1])
    return learner


def assert_rejected(learner, call, message):
    """Check that a call raises this message and leaves the learner unchanged, bit for bit."""
    header, arrays = encode(learner)
    assert refusal(call) == message
    after = encode(learner)
    assert after[0] == header
    assert after[1].keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(after[1][name], array)


HOLE = [[0.0, 0, 0], [0, NAN, 0]]
SPARSE = scipy.sparse.csr_matrix(np.eye(3))
NUMERIC = "X of Learner must be a numeric array of shape (n, dim) or (dim,), got {} values."

BAD_INPUTS = [
    (np.zeros(2), "X of Learner must be of 3 columns, got shape (1, 2)."),
    (np.zeros((2, 4)), "X of Learner must be of 3 columns, got shape (2, 4)."),
    (np.zeros((1, 2, 3)), "X of Learner must be of 3 columns, got shape (1, 2, 3)."),
    (5.0, "X of Learner must be of 3 columns, got shape ()."),
    (HOLE, "X of Learner must be finite, got nan at row 1, column 1."),
    ([0, 0, INF], "X of Learner must be finite, got inf at row 0, column 2."),
    ([-INF, 0, 0], "X of Learner must be finite, got -inf at row 0, column 0."),
    ([INF, -INF, 0], "X of Learner must be finite, got inf at row 0, column 0."),
    (SPARSE, "X of Learner must be dense, got a sparse csr_matrix. Pass X.toarray()."),
    (
        scipy.sparse.coo_array(np.eye(3)),
        "X of Learner must be dense, got a sparse coo_array. Pass X.toarray().",
    ),
    (["a", "b", "c"], NUMERIC.format("list")),
    ("abc", NUMERIC.format("str")),
    (None, NUMERIC.format("NoneType")),
    ([[1, 2, 3], [1]], NUMERIC.format("list")),
    (np.array(["1", "2", "3"]), NUMERIC.format("<U1")),
    (np.array([1, 2, 3], dtype=object), NUMERIC.format("object")),
    (np.array([1, 2, 3j]), NUMERIC.format("complex128")),
]


@pytest.mark.parametrize(("X", "message"), BAD_INPUTS, ids=[message for _, message in BAD_INPUTS])
@pytest.mark.parametrize("method", ["ask", "ask_many", "predict", "uncertainty"])
def test_invalid_inputs_are_rejected(learner, method, X, message):
    assert_rejected(learner, lambda: getattr(learner, method)(X), message)


@pytest.mark.parametrize(("X", "message"), BAD_INPUTS, ids=[message for _, message in BAD_INPUTS])
def test_invalid_inputs_of_free_labels_are_rejected(learner, X, message):
    assert_rejected(learner, lambda: learner.learn(X, [0.0]), message)


@pytest.mark.parametrize("call", ["ask", "ask_many", "predict", "uncertainty"])
@pytest.mark.parametrize("number", [-1e160, -np.nextafter(1e50, 2e50)])
def test_inputs_above_1e50_are_rejected(learner, call, number):
    message = f"X of Learner must be at most 1e+50 in magnitude, got {number} at row 0, column 1."
    assert_rejected(learner, lambda: getattr(learner, call)([0.0, number, 0.0]), message)
    assert np.isfinite(learner.predict([[1e50, 1e50, 0]])).all()


def test_input_of_largest_numbers_is_accepted(learner):
    """The fast check of one input uses ‖x‖², which may exceed the limit although every entry is valid."""
    assert np.isfinite(learner.ask(np.full(3, 1e50)).uncertainty)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("ask_many", "‖x‖² of Learner must be finite, got inf at row 99. Scale the inputs."),
        (
            "ask",
            "kernel of KernelRidge must be positive definite, got DotProduct(sigma_0=1) ** 7, which is not "
            "on these inputs. Choose another kernel.",
        ),
    ],
)
def test_inputs_that_overflow_a_kernel_are_rejected_before_any_charge(call, message):
    learner = Learner(KernelRidge(DotProduct(1.0) ** 7), QuFUR(1.0))
    X = np.ones((1, 2)) if call == "ask" else np.ones((100, 2))
    X[-1] = 1e49
    with np.errstate(over="ignore"):
        assert_rejected(learner, lambda: getattr(learner, call)(X), message)


def test_infinite_uncertainty_raises_and_charges_nothing():
    learner = Learner(Ridge(2), QuFUR(1.0))
    message = (
        "x of Learner must be small enough for a finite prediction and uncertainty, got 0.0 and inf. "
        "Scale the inputs."
    )
    with mock.patch.object(LeastSquaresState, "predict_next", return_value=(0.0, INF)):
        assert_rejected(learner, lambda: learner.ask([1.0, 2.0]), message)
        assert_rejected(learner, lambda: learner.ask_many([1.0, 2.0]), message)


MASKED = np.ma.array([1.0, 99.0, 0.0], mask=[False, True, False])


@pytest.mark.parametrize("call", ["ask", "ask_many", "predict", "uncertainty"])
def test_masked_values_are_rejected(learner, call):
    message = "X of Learner must be without masked values, got some. Fill them or drop the rows."
    assert_rejected(learner, lambda: getattr(learner, call)(MASKED), message)
    getattr(learner, call)(np.ma.array(np.zeros(3)))


BAD_LABELS = [
    (NAN, "label of Learner must be finite, got nan at row 0."),
    (-INF, "label of Learner must be finite, got -inf at row 0."),
    (1e160, "label of Learner must be at most 1e+50 in magnitude, got 1e+160 at row 0."),
    (
        np.ma.masked,
        "label of Learner must be without masked values, got some. Fill them or drop the rows.",
    ),
    ("good", "label of Learner must be numeric, got str values."),
    (None, "label of Learner must be numeric, got NoneType values."),
    ([1.0, 2.0], "label of Learner must be of shape (1,), one per row of X, got shape (2,)."),
    ([], "label of Learner must be of shape (1,), one per row of X, got shape (0,)."),
    ([[1.0]], "label of Learner must be of shape (1,), one per row of X, got shape (1, 1)."),
]


@pytest.mark.parametrize(("label", "message"), BAD_LABELS, ids=[message for _, message in BAD_LABELS])
def test_invalid_labels_are_rejected(learner, label, message):
    assert_rejected(learner, lambda: learner.tell_many(["c"], label), message)
    assert_rejected(learner, lambda: learner.learn([[1.0, 0, 0]], label), message)


@pytest.mark.parametrize("label", [NAN, INF, "good", None, [1.0, 2.0], [], np.ones(2)], ids=repr)
def test_tell_rejects_anything_but_one_finite_number(learner, label):
    header = encode(learner)[0]
    assert re.fullmatch(r"label of Learner must be .+, got .+\.", refusal(lambda: learner.tell("b", label)))
    assert encode(learner)[0] == header


def test_invalid_label_in_a_batch_is_named_and_no_label_is_learned(learner):
    message = "label of Learner must be finite, got inf at row 1."
    assert_rejected(learner, lambda: learner.tell_many(["b", "c"], [1.0, INF]), message)
    assert_rejected(learner, lambda: learner.learn(np.eye(3)[:2], [1.0, INF]), message)
    assert_rejected(
        learner,
        lambda: learner.tell_many(["b", "c"], [1.0]),
        "label of Learner must be of shape (2,), one per row of X, got shape (1,).",
    )


def test_finite_label_outside_the_range_is_accepted(learner):
    with pytest.warns(OutlierWarning):
        learner.tell("b", 1e3)
    assert learner.predict([[0.0, 1, 0]]) == [1]


OUTSTANDING = " Outstanding: 'b', 'c', 'd'."


@pytest.mark.parametrize("id", ["a", "e", 0, -1, "B", None, 1.5, ("b",)], ids=repr)
def test_tell_and_retract_reject_ids_that_are_not_outstanding(learner, id):
    message = f"id of Learner must be outstanding, got {id!r}." + OUTSTANDING
    assert_rejected(learner, lambda: learner.tell(id, 1.0), message)
    assert_rejected(learner, lambda: learner.retract(id), message)
    assert_rejected(learner, lambda: learner.tell_many(["b", id], [1.0, 1.0]), message)


@pytest.mark.parametrize("id", [["b"], {"b": 1}, np.array([1])], ids=repr)
def test_ids_of_unhashable_types_are_rejected(learner, id):
    header = encode(learner)[0]
    assert refusal(lambda: learner.tell(id, 1.0)).startswith("id of Learner must be ")
    assert refusal(lambda: learner.retract(id)).startswith("id of Learner must be ")
    assert encode(learner)[0] == header


def test_id_is_rejected_after_its_query_is_closed(learner):
    learner.retract("b")
    message = "id of Learner must be outstanding, got 'b'. Outstanding: 'c', 'd'."
    assert_rejected(learner, lambda: learner.retract("b"), message)
    learner.tell_many(["c", "d"], [0.1, 0.2])
    message = "id of Learner must be outstanding, got 'c'. Outstanding: none."
    assert_rejected(learner, lambda: learner.tell("c", 0.1), message)


def test_error_lists_at_most_five_outstanding_ids():
    learner = Learner(Ridge(1), Greedy(100))
    learner.ask_many(np.ones((100, 1)))
    message = "id of Learner must be outstanding, got 'x'. Outstanding: 0, 1, 2, 3, 4."
    assert refusal(lambda: learner.tell("x", 1.0)) == message


def test_tell_many_rejects_duplicate_ids(learner):
    message = "ids of Learner must be distinct, got 'b' more than once."
    assert_rejected(learner, lambda: learner.tell_many(["b", "b"], [1.0, 1.0]), message)


@pytest.mark.parametrize("id", [1.5, True, ["x"], ("x",), b"x"], ids=repr)
def test_ids_other_than_int_or_str_are_rejected(learner, id):
    message = f"id of Learner must be an int or a str, got {id!r}."
    assert_rejected(learner, lambda: learner.ask(np.zeros(3), id=id), message)
    assert_rejected(learner, lambda: learner.ask_many(np.zeros((2, 3)), ids=["x", id]), message)


def test_numeric_ids_have_at_most_1000_digits(learner, tmp_path):
    message = "id of Learner must be a number of at most 1000 digits, got an integer of 3322 bits."
    assert_rejected(learner, lambda: learner.ask(np.zeros(3), id=10**1000), message)
    learner.ask(np.eye(3)[0], id=10**1000 - 1)
    learner.ask_many(np.eye(3))
    run(learner, streams.Arrays(np.eye(3), np.zeros(3)))
    learner.save(tmp_path / "state")
    again = Learner.load(tmp_path / "state")
    again.tell_many(again.outstanding, np.zeros(len(again.outstanding)))


def test_invalid_ids_of_a_batch_are_rejected(learner):
    X = np.zeros((2, 3))
    cases = [
        (["b", "x"], "id of Learner must be new while its label is outstanding, got 'b'."),
        (["x", "x"], "ids of Learner must be distinct, got 'x' more than once."),
        (["x"], "ids of Learner must be 2 ids, one per input, got 1."),
        ([], "ids of Learner must be 2 ids, one per input, got 0."),
    ]
    for ids, message in cases:
        assert_rejected(learner, lambda ids=ids: learner.ask_many(X, ids=ids), message)


def test_ask_rejects_anything_but_one_input(learner):
    message = "x of Learner must be one input, got 2 rows. Use ask_many for a batch."
    assert_rejected(learner, lambda: learner.ask(np.zeros((2, 3))), message)
    message = "x of Learner must be one input, got 0 rows. Use ask_many for a batch."
    assert_rejected(learner, lambda: learner.ask(np.zeros((0, 3))), message)


def test_invalid_domains_are_rejected(oracle):
    x = np.zeros(3)
    cases = [
        (None, "domain of DomainOracle must be given for every example, got None."),
        (2, "domain of DomainOracle must be between 0 and 1, got 2."),
        (-1, "domain of DomainOracle must be between 0 and 1, got -1."),
        (1.0, "domain of Learner must be 1 integers, one per input, got float64 of shape (1,)."),
        ("0", "domain of Learner must be 1 integers, one per input, got <U1 of shape (1,)."),
    ]
    for domain, message in cases:
        assert_rejected(oracle, lambda domain=domain: oracle.ask(x, domain=domain), message)
    message = "domain of Learner must be 2 integers, one per input, got int64 of shape (3,)."
    assert_rejected(oracle, lambda: oracle.ask_many([x, x], domain=[0, 1, 1]), message)
    message = "domain of DomainOracle must be between 0 and 1, got 7."
    assert_rejected(oracle, lambda: oracle.ask_many([x] * 200, domain=[0] * 199 + [7]), message)


# Runs


STREAM = streams.Arrays(np.eye(3), [0.1, 0.2, 0.3])
DELAY = "delay of run must be an integer of at least 0, or an array of them, got {}."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *[
            ({"block": b}, f"block of run must be an integer of at least 1, got {b!r}.")
            for b in (0, -1, 2.0, True, "8")
        ],
        *[
            ({"delay": d}, DELAY.format(repr(d)))
            for d in (-1, 1.5, [0, -1, 0], [0.5, 1, 1], [[1, 2, 3]], "3", None, True)
        ],
    ],
)
def test_run_rejects_invalid_options(learner, options, message):
    assert_rejected(learner, lambda: run(learner, STREAM, **options), message)


@pytest.mark.parametrize("delay", [[0], [0, 1], []], ids=repr)
def test_run_rejects_too_few_delays_before_it_starts(learner, delay):
    received = f"{len(delay)} numbers for a longer stream"
    message = f"delay of run must be one number, or one for every example, got {received}."
    assert_rejected(learner, lambda: run(learner, STREAM, delay=np.array(delay, dtype=int)), message)


@pytest.mark.parametrize("dim", [2, 4])
@pytest.mark.parametrize("block", [1, None])
def test_run_rejects_a_stream_of_another_dimension(learner, dim, block):
    header = encode(learner)[0]
    message = refusal(lambda: run(learner, streams.Arrays(np.eye(dim), np.zeros(dim)), block=block))
    assert re.fullmatch(rf"\S+ of \S+ must be .*\b3\b.*, got .*\b{dim}\b.*", message)
    assert encode(learner)[0] == header


def test_run_rejects_a_stream_without_domains_when_the_rule_requires_them(oracle):
    message = "domain of DomainOracle must be given for every example, got None."
    assert_rejected(oracle, lambda: run(oracle, STREAM), message)


def test_run_rejects_domains_unknown_to_the_rule(oracle):
    stream = streams.Arrays(np.eye(3), np.zeros(3), domain=[0, 1, 2])
    message = "domain of DomainOracle must be between 0 and 1, got 2."
    assert_rejected(oracle, lambda: run(oracle, stream), message)


@pytest.mark.parametrize("seed", [-1, 1.5, "a"], ids=repr)
def test_invalid_seeds_are_rejected(seed):
    assert refusal(lambda: Learner(Ridge(1), Greedy(1), seed=seed)).startswith("seed of Learner must be ")
