"""Tests of the views under each form of a Gram matrix, against a dense M⁻¹."""

import numpy as np
import pytest

from qufur.models.gram.gram import Gram
from qufur.models.gram.posterior import ByBasis, ByFactor, ByHalves

FORMS = {  # conversion from the low-rank form, number of columns, expected class of the view
    "few rows": (lambda form: form, 12, ByBasis),
    "inverse": (lambda form: form.inverted(), 150, ByHalves),
    "factor": (lambda form: form.factored(), 12, ByFactor),
}


@pytest.fixture(params=FORMS)
def gram_and_rows(request):
    """Return a Gram matrix, its inverse, rows, and the expected class of their view."""
    convert, dim, view_class = FORMS[request.param]
    rng = np.random.default_rng(1)
    rows_in_M, X = rng.standard_normal((5, dim)), rng.standard_normal((100, dim))
    gram = Gram(dim, regularization=0.5)
    gram.add(rows_in_M, np.ones(len(rows_in_M)))
    gram.form = convert(gram.form)
    return gram, np.linalg.inv(0.5 * np.eye(dim) + rows_in_M.T @ rows_in_M), X, view_class


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-11)


def test_covariances_equal_those_of_the_full_inverse(gram_and_rows):
    gram, inverse, X, view_class = gram_and_rows
    selected = np.array([1, 4, 5, 8])
    view = gram.view(X)
    assert type(view) is view_class
    assert_close(view.variance, np.einsum("ij,jk,ik->i", X, inverse, X))
    assert_close(view.among(selected), X[selected] @ inverse @ X[selected].T)
    assert_close(view.solved(selected), X[selected] @ inverse)


def test_toward_later_gives_covariances_with_all_later_rows(gram_and_rows):
    gram, inverse, X, _ = gram_and_rows
    view, rows, queried = gram.view(X), np.arange(0, 100, 2), np.array([0, 2, 6, 80])
    assert_close(view.among(rows), X[rows] @ inverse @ X[rows].T)
    queries = view.update(queried, np.eye(4))
    assert_close(queries.W, X[queried] @ inverse)
    K, later = view.toward_later(queries, queried), queried[:, None] <= np.arange(100)
    assert_close(K[later], (X[queried] @ inverse @ X.T)[later])
