"""The algorithms once more, slowly: plain loops over lists, written from the paper and sharing no code.

Every number is computed afresh by `numpy.linalg.solve`, so there is no state that could drift. A model or a
rule is read only for its parameters.
"""

import math

import numpy as np
from scipy.optimize import brentq


class Oracle:
    """A learner that keeps every row in a list and solves from scratch whenever it is looked at."""

    def __init__(self, model, rule, rng):
        self.model, self.rule, self.rng = model, rule, rng
        self.labelled = []  # (features, label in [-1, 1])
        self.pending = {}  # id -> features
        self.payers = {}  # id -> the copies that paid
        self.paid = [0] * copies(rule)
        self.spent = 0
        self.asked = 0

    @property
    def outstanding(self):
        return tuple(self.pending)

    @property
    def left(self):
        return None if self.rule.budget is None else self.rule.budget - self.spent

    def ask(self, x, id=None, domain=None):
        prediction, delta = self.prediction(x), self.uncertainty(x)
        probability, payers = self.decide(delta, domain)
        id = self.asked if id is None else id
        self.asked += 1
        if payers:
            self.pending[id] = self.features(x)
            self.payers[id] = payers
            self.spent += 1
            for i in payers:
                self.paid[i] += 1
        return id, prediction, delta, probability, bool(payers)

    def tell(self, id, label):
        self.labelled.append((self.pending.pop(id), self.scaled(label)))
        del self.payers[id]

    def retract(self, id):
        del self.pending[id]
        self.spent -= 1
        for i in self.payers.pop(id):
            self.paid[i] -= 1

    def learn(self, X, y):
        self.labelled += [(self.features(x), self.scaled(label)) for x, label in zip(X, y, strict=True)]

    def features(self, x):
        return np.append(x, 1.0) if self.model.intercept else np.array(x, dtype=float)

    def scaled(self, label):
        low, high = self.model.label_range
        return 2 * (label - low) / (high - low) - 1

    def matrix(self, rows):
        model = self.model
        penalty = 1 / model.norm_bound**2 if model.regularization is None else model.regularization
        M = penalty * np.eye(model.dim + model.intercept)
        if rows:
            X = np.array(rows)
            M += X.T @ X
        return M

    def prediction(self, x):
        rows = [row for row, _ in self.labelled]
        moment = np.zeros(self.model.dim + self.model.intercept)
        for row, label in self.labelled:
            moment += label * row
        score = float(np.linalg.solve(self.matrix(rows), moment) @ self.features(x))
        if self.model.clip:
            score = min(1.0, max(-1.0, score))
        low, high = self.model.label_range
        return low + (score + 1) * (high - low) / 2

    def uncertainty(self, x):
        rows = [row for row, _ in self.labelled] + list(self.pending.values())
        x = self.features(x)
        q = float(x @ np.linalg.solve(self.matrix(rows), x))
        return max(1.0, self.model.noise) ** 2 * (min(1.0, q) if self.model.cap else q)

    def decide(self, delta, domain):
        """Return the probability of a query and the copies that pay for it."""
        rule, kind = self.rule, type(self.rule).__name__
        if kind == "FixedBudget":
            return self.decide_copies(delta)
        active = rule.budget is None or self.paid[0] < rule.budget
        if kind == "Greedy":
            p = 1.0
        elif kind == "Threshold":
            p = 1.0 if delta >= rule.level * (1 - 1e-10) else 0.0
        elif kind == "QuFUR":
            p = min(1.0, (rule.alpha * delta) ** rule.power)
        elif kind == "Uniform":
            p = rule.rate
        elif kind == "DomainOracle":
            p = rates(rule.durations, rule.dims, rule.budget)[domain]
        else:
            raise NotImplementedError(kind)
        p = p if active else 0.0
        coin = 0.0 if kind in ("Greedy", "Threshold") else self.rng.random()
        return p, [0] if coin < p else []

    def decide_copies(self, delta):
        """Algorithm 2, copy by copy."""
        budget, horizon = self.rule.budget, self.rule.horizon
        none, payers = 1.0, []
        for i in range(copies(self.rule)):
            coin = self.rng.random()
            if self.paid[i] < budget // copies(self.rule):
                p = min(1.0, 2.0**i / horizon**2 * delta)
                none *= 1 - p
                if coin < p:
                    payers.append(i)
        return 1 - none, payers


RULES = ("DomainOracle", "FixedBudget", "Greedy", "QuFUR", "Threshold", "Uniform")


def copies(rule):
    """1, or ⌈3 log₂ T⌉ + 1 for `FixedBudget`."""
    if type(rule).__name__ != "FixedBudget":
        return 1
    k = 0
    while 2**k < rule.horizon**3:
        k += 1
    return k + 1


def rates(durations, dims, budget):
    """Return μ_u = min(1, C √(d_u/T_u)) with the C that spends the budget, found as a root."""
    if budget >= sum(durations):
        return [1.0] * len(dims)
    want = [math.sqrt(d / T) for T, d in zip(durations, dims, strict=True)]

    def overspent(C):
        return sum(T * min(1.0, C * w) for T, w in zip(durations, want, strict=True)) - budget

    C = brentq(overspent, 0, 1 / min(want), xtol=1e-15, rtol=1e-14)
    return [min(1.0, C * w) for w in want]


def play(oracle, X, y, delays, domain):
    """Return the answers to a whole stream; the label of t is there before example t + 1 + delay."""
    answers, due = [], {}
    for t, x in enumerate(X):
        for id in due.pop(t, []):
            oracle.tell(id, y[id])
        answers.append(oracle.ask(x, domain=None if domain is None else int(domain[t])))
        if answers[-1][4]:
            due.setdefault(t + 1 + int(delays[t]), []).append(t)
    for ids in due.values():
        for id in ids:
            oracle.tell(id, y[id])
    return answers
