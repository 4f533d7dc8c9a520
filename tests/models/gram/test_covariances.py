"""What each form of a Gram matrix says about rows, against M⁻¹ written out."""

import numpy as np
import pytest

from qufur.models.gram.covariances import ByBasis, ByFactor, ByHalves
from qufur.models.gram.gram import Gram

FORMS = {  # how a form comes from that of few rows, in how many columns, and what it should use there
    "few rows": (lambda form: form, 12, ByBasis),
    "inverse": (lambda form: form.inverted(), 150, ByHalves),
    "factor": (lambda form: form.factored(), 12, ByFactor),
}


@pytest.fixture(params=FORMS)
def seen(request):
    """A Gram matrix, its inverse, rows, and the class through which they should be seen."""
    become, dim, kind = FORMS[request.param]
    rng = np.random.default_rng(1)
    known, X = rng.standard_normal((5, dim)), rng.standard_normal((100, dim))
    gram = Gram(dim, regularization=0.5)
    gram.add(known, np.ones(len(known)))
    gram.form = become(gram.form)
    return gram, np.linalg.inv(0.5 * np.eye(dim) + known.T @ known), X, kind


def close(actual, wanted):
    np.testing.assert_allclose(actual, wanted, rtol=1e-11, atol=1e-11)


def test_rows_look_as_through_the_whole_inverse(seen):
    gram, inverse, X, kind = seen
    some = np.array([1, 4, 5, 8])
    covariances = gram.form.covariances(X)
    assert type(covariances) is kind
    close(covariances.variance, np.einsum("ij,jk,ik->i", X, inverse, X))
    close(covariances.among(some), X[some] @ inverse @ X[some].T)
    close(covariances.solved(some), X[some] @ inverse)


def test_queries_look_toward_all_rows_after_them(seen):
    gram, inverse, X, _ = seen
    view, rows, queried = gram.view(X), np.arange(0, 100, 2), np.array([0, 2, 6, 80])
    close(view.among(rows), X[rows] @ inverse @ X[rows].T)
    queries = view.update(queried, np.eye(4))
    close(queries.W, X[queried] @ inverse)
    K, later = view.toward_later(queries, queried), queried[:, None] <= np.arange(100)
    close(K[later], (X[queried] @ inverse @ X.T)[later])
