"""Error of a scikit-learn pipeline on a stream whose domain shifts, at several label budgets.

Run it with  python examples/sklearn_pipeline.py
"""

import numpy as np
from sklearn.linear_model import Ridge as Batch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from qufur import Ridge
from qufur.adapters.sklearn import QuFURRegressor

ROWS, TEST = 2000, 500


def machine_hours(rng, rows):
    """Return temperature, load and speed of a machine, and its power. The second half is in winter."""
    winter = np.arange(rows) >= rows // 2
    temperature = rng.normal(np.where(winter, 2.0, 22.0), 4.0)
    load, speed = rng.uniform(0.2, 1.0, rows), rng.uniform(10, 60, rows)
    power = 40 + 30 * load + 0.4 * load * speed + 0.02 * (temperature - 18) ** 2 + rng.normal(size=rows)
    return np.column_stack([temperature, load, speed]), power


def error(model, X, y):
    """Return the root mean squared error."""
    return np.sqrt(np.mean((model.predict(X) - y) ** 2))


def main():
    """Print the error on new rows for each budget, also with as many random labels and first labels."""
    rng = np.random.default_rng(0)
    X, y = machine_hours(rng, ROWS)
    X_new, y_new = machine_hours(rng, TEST)

    print("labels  bought by qufur  at random  the first ones")
    for budget in (30, 60, 120, 240, ROWS):
        squares = PolynomialFeatures(2, include_bias=False)
        linear = QuFURRegressor(model=Ridge, budget=budget, random_state=1)
        bought = make_pipeline(squares, linear).fit(X, y)
        errors = [error(bought, X_new, y_new)]
        for rows in (rng.permutation(ROWS)[:budget], np.arange(budget)):
            batch = make_pipeline(squares, StandardScaler(), Batch()).fit(X[rows], y[rows])
            errors.append(error(batch, X_new, y_new))
        print("{:6}  {:15.2f}  {:9.2f}  {:14.2f}".format(bought[-1].n_queries_, *errors))


if __name__ == "__main__":
    main()
