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


@pytest.mark.parametrize("some", [[2, 7], [0, 1, 3, 4, 5, 8]], ids=["few", "most"])
@pytest.mark.parametrize("form", FORMS)
def test_queries_look_toward_all_rows(form, some):
    gram, inverse = gram_and_inverse(form)
    X = np.random.default_rng(3).standard_normal((9, 12))
    view, chosen = gram.view(X), np.array([1])
    covariances = view.among(np.array(some))
    covariances[:] = np.nan  # those who take turns write over them
    update = view.update(chosen, np.eye(1))
    close(update.W, X[some][chosen] @ inverse)
    close(view.toward_all(chosen), X[some][chosen] @ inverse @ X.T)
