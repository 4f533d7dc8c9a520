"""What each form of a Gram matrix says about rows, against M⁻¹ written out."""

import numpy as np
import pytest

from qufur.models.gram import Gram

FORMS = {
    "few rows": lambda form: form,
    "inverse": lambda form: form.inverted(),
    "factor": lambda form: form.factored(),
}


def gram_and_inverse(form, dim=12, count=5):
    rows = np.random.default_rng(1).standard_normal((count, dim))
    gram = Gram(dim, regularization=0.5)
    gram.add(rows, np.ones(count))
    gram.form = FORMS[form](gram.form)
    return gram, np.linalg.inv(0.5 * np.eye(dim) + rows.T @ rows)


def close(actual, wanted):
    np.testing.assert_allclose(actual, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_rows_look_as_through_the_whole_inverse(form):
    gram, inverse = gram_and_inverse(form)
    X = np.random.default_rng(2).standard_normal((9, 12))
    some = np.array([1, 4, 5, 8])
    covariances = gram.form.covariances(X)
    close(covariances.variance, np.einsum("ij,jk,ik->i", X, inverse, X))
    close(covariances.among(some), X[some] @ inverse @ X[some].T)
    close(covariances.solved(some), X[some] @ inverse)


@pytest.mark.parametrize("count", [9, 100])
@pytest.mark.parametrize("form", FORMS)
def test_queries_look_toward_all_rows_after_them(form, count):
    gram, inverse = gram_and_inverse(form)
    X = np.random.default_rng(3).standard_normal((count, 12))
    view, rows, chosen = gram.view(X), np.arange(0, count, 2), np.array([0, 1, 3])
    queried = rows[chosen]
    close(view.among(rows), X[rows] @ inverse @ X[rows].T)
    close(view.update(chosen, np.eye(3)).W, X[queried] @ inverse)
    K, later = view.toward_all(chosen), queried[:, None] <= np.arange(count)
    close(K[later], (X[queried] @ inverse @ X.T)[later])
