"""The algorithms once more, slowly: plain loops over lists, written from the paper and sharing no code.

Every number is computed afresh by `numpy.linalg.solve`, so there is no state that could drift. A model or a
rule is read only for its parameters.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax


class Oracle:
    """A learner that keeps every row in a list and solves from scratch whenever it is looked at."""

    def __init__(self, model, rule, rng):
        self.model, self.rule, self.rng = model, rule, rng
        self.labelled = []  # (features, label in [-1, 1], place in the stream)
        self.chances = []  # of all examples
        self.importance = {}  # id -> weight
        self.weights_of_labels = []
        self.pending = {}  # id -> features
        self.places = {}  # id -> place
        self.payers = {}  # id -> the copies that paid
        self.paid = [0] * copies(rule)
        self.spent = 0
        self.asked = 0
        self.pace = {"Paced": Pace, "Steady": Steadiness}.get(type(rule).__name__, lambda rule: None)(rule)

    @property
    def outstanding(self):
        return tuple(self.pending)

    @property
    def left(self):
        if self.pace and self.rule.horizon is None:
            return self.pace.left(self.spent)
        return None if self.rule.budget is None else self.rule.budget - self.spent

    def ask(self, x, id=None, domain=None):
        prediction, delta = self.prediction(x), self.uncertainty(x)
        probability, payers = self.decide(delta, domain)
        id = self.asked if id is None else id
        self.chances.append(probability)
        if payers and getattr(self.model, "importance", 0):
            mean = sum(self.chances) / len(self.chances)
            self.importance[id] = min(20.0, (mean / probability) ** self.model.importance)
        self.asked += 1
        if payers:
            self.pending[id] = self.features(x)
            self.places[id] = self.asked - 1
            self.payers[id] = payers
            self.spent += 1
            for i in payers:
                self.paid[i] += 1
        if self.pace:
            self.pace.note(delta, bool(payers), self.spent)
        return id, prediction, delta, probability, bool(payers)

    def tell(self, id, label):
        self.labelled.append((self.pending.pop(id), self.scaled(label), self.places[id]))
        self.weights_of_labels.append(self.importance.get(id, 1.0))
        del self.payers[id]

    def retract(self, id):
        del self.pending[id]
        self.spent -= 1
        for i in self.payers.pop(id):
            self.paid[i] -= 1
        if self.pace:
            self.pace.bought.discard(self.places[id])

    def learn(self, X, y):
        for x, label in zip(X, y, strict=True):
            self.labelled.append((self.features(x), self.scaled(label), self.asked))
            self.weights_of_labels.append(1.0)

    def weight(self, place):
        """Return 2^(−age/half_life), with the age counted in whole steps from the start of the stream."""
        if self.model.half_life is None:
            return 1.0
        step = max(1, self.model.half_life // 16)
        return 0.5 ** ((self.asked // step - place // step) * step / self.model.half_life)

    def features(self, x):
        return np.append(x, 1.0) if self.model.intercept else np.array(x, dtype=float)

    def scaled(self, label):
        low, high = self.model.label_range
        return 2 * (label - low) / (high - low) - 1

    @property
    def penalty(self):
        return (
            1 / self.model.norm_bound**2 if self.model.regularization is None else self.model.regularization
        )

    def matrix(self, rows):
        M = self.penalty * np.eye(self.model.dim + self.model.intercept)
        if self.model.intercept:
            M[-1, -1] *= self.model.intercept_penalty
        if rows:
            X = np.array([row for row, _ in rows])
            M += X.T @ (np.array([[self.weight(place)] for _, place in rows]) * X)
        return M

    def prediction(self, x):
        labelled = zip(self.labelled, np.sqrt(self.weights_of_labels), strict=True)
        labelled = [(root * row, root * label, place) for (row, label, place), root in labelled]
        rows = [(row, place) for row, _, place in labelled]
        moment = np.zeros(self.model.dim + self.model.intercept)
        for row, label, place in labelled:
            moment += self.weight(place) * label * row
        return self.in_range(float(np.linalg.solve(self.matrix(rows), moment) @ self.features(x)))

    def in_range(self, score):
        """Return a score as a prediction in the user's units."""
        if self.model.clip:
            score = min(1.0, max(-1.0, score))
        low, high = self.model.label_range
        return low + (score + 1) * (high - low) / 2

    def uncertainty(self, x):
        rows = [(row, place) for row, _, place in self.labelled]
        rows += [(row, self.places[id]) for id, row in self.pending.items()]
        x = self.features(x)
        return self.uncertainty_of(float(x @ np.linalg.solve(self.matrix(rows), x)))

    def uncertainty_of(self, q):
        return max(1.0, self.model.noise) ** 2 * (min(1.0, q) if self.model.cap else q)

    def decide(self, delta, domain):
        """Return the probability of a query and the copies that pay for it."""
        rule, kind = self.rule, type(self.rule).__name__
        if kind == "FixedBudget":
            return self.decide_copies(delta)
        if self.pace:
            p = self.pace.probability(delta) if self.pace.may_buy(self.spent) else 0.0
            return p, [0] if self.rng.random() < p else []
        active = rule.budget is None or self.paid[0] < rule.budget
        if kind == "Greedy":
            p = 1.0
        elif kind == "Threshold":
            p = 1.0 if delta >= rule.level * (1 - 2e-6) else 0.0
        elif kind == "QuFUR":
            p = max(rule.floor, min(1.0, (rule.alpha * delta) ** rule.power))
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


class KernelOracle(Oracle):
    """`KernelRidge`: kᵀ(K + λI)⁻¹y, and (k(x, x) − kᵀ(K + λI)⁻¹k)/λ over the queries."""

    def features(self, x):
        return np.array(x, dtype=float)

    def solved(self, rows, x):
        """Return (K + λI)⁻¹k and k; with no rows, both of length 0."""
        X = np.reshape(rows, (-1, self.model.dim))
        k = self.model.kernel(X, x[None])[:, 0] if rows else np.zeros(0)
        K = self.model.kernel(X) if rows else np.zeros((0, 0))
        return np.linalg.solve(K + self.penalty * np.eye(len(rows)), k), k

    def prediction(self, x):
        weights, _ = self.solved([row for row, *_ in self.labelled], x)
        return self.in_range(float(weights @ [label for _, label, _ in self.labelled]))

    def uncertainty(self, x):
        weights, k = self.solved([row for row, *_ in self.labelled] + list(self.pending.values()), x)
        return self.uncertainty_of(float(self.model.kernel(x[None])[0, 0] - weights @ k) / self.penalty)


class SoftmaxOracle(Oracle):
    """`Softmax` and `FisherSoftmax`, trained from 0 by Newton's method with the whole Hessian."""

    def features(self, x):
        return np.array(x, dtype=float)

    def scaled(self, label):
        return int(label)

    def weights(self):
        """Return W (classes × dim); the same for every x, so it is kept until the next label."""
        if getattr(self, "trained", (0, None))[0] != len(self.labelled):
            self.trained = len(self.labelled), self.train()
        return self.trained[1] if self.labelled else np.zeros((self.model.classes, self.model.dim))

    def train(self):
        X = np.array([row for row, *_ in self.labelled])
        Y = np.eye(self.model.classes)[[label for _, label, _ in self.labelled]]
        W, penalty = np.zeros((Y.shape[1], X.shape[1])), self.model.training.penalty

        def value(W):
            return np.mean(logsumexp(X @ W.T, axis=1) - np.sum(Y * (X @ W.T), axis=1)) + penalty / 2 * np.sum(
                W**2
            )

        for _ in range(100):
            P = softmax(X @ W.T, axis=1)
            gradient = (P - Y).T @ X / len(X) + penalty * W
            if np.linalg.norm(gradient) < 1e-14:
                break
            bend = P[:, :, None] * np.eye(Y.shape[1]) - P[:, :, None] * P[:, None, :]
            H = np.einsum("nkl,ni,nj->kilj", bend, X, X).reshape(W.size, W.size) / len(X)
            step = np.linalg.solve(H + penalty * np.eye(W.size), gradient.ravel()).reshape(W.shape)
            length = 1.0
            while value(W - length * step) > value(W) + 1e-13 and length > 1e-9:
                length /= 2
            W = W - length * step
        return W

    def probabilities(self, x):
        return softmax(self.weights() @ x)

    def prediction(self, x):
        """Return the first class among those that the training cannot tell apart."""
        scores = self.weights() @ x
        margin = 4 * self.model.training.tolerance * np.linalg.norm(x)
        return float(np.flatnonzero(scores >= scores.max() - margin)[0])

    def uncertainty(self, x):
        rows = [row for row, *_ in self.labelled] + list(self.pending.values())
        spreads = [np.ones(1)] * (len(rows) + 1)
        if type(self.model).__name__ == "FisherSoftmax":
            spreads = [p * (1 - p) for p in map(self.probabilities, [*rows, x])]
        q = 0.0
        for k, spread in enumerate(spreads[-1]):
            M = self.penalty * np.eye(self.model.dim)
            for row, s in zip(rows, spreads[:-1], strict=True):
                M += s[k] * np.outer(row, row)
            q += spread * float(x @ np.linalg.solve(M, x))
        return self.uncertainty_of(q)


def oracle_of(model, rule, rng):
    kinds = {"Ridge": Oracle, "KernelRidge": KernelOracle}
    return kinds.get(type(model).__name__, SoftmaxOracle)(model, rule, rng)


class Pace:
    """What `Paced` knows: all uncertainties so far, and α as of the last of its positions."""

    def __init__(self, rule):
        self.rule, self.deltas = rule, []
        rate = rule.budget
        burst = (1000 * rate + 32 if rule.burst is None else rule.burst) if rule.horizon is None else math.inf
        self.most = burst - 31 * rate
        self.bought = set()  # places in the stream; a query that is taken back was never made
        self.position = 0
        self.positions = []
        self.alpha = self.next_alpha(0)

    def left(self, spent):
        return math.floor(self.tokens)

    def may_buy(self, spent):
        return self.tokens >= 1 if self.rule.horizon is None else spent < self.rule.budget

    def probability(self, delta):
        power = 1.0 if self.rule.horizon is None else 1.5
        if self.alpha == math.inf:
            return 1.0
        return max(self.rule.floor, min(1.0, self.alpha * delta**power))

    @property
    def tokens(self):
        """Fill the bucket once more from the start of the stream: no more than `most` are ever in it."""
        tokens, start = self.most, 0
        for end in self.positions:
            tokens -= sum(start <= place < end for place in self.bought)
            tokens = min(self.most, tokens + self.rule.budget * (end - start))
            start = end
        return tokens - sum(place >= start for place in self.bought)

    def note(self, delta, bought, spent):
        if bought:
            self.bought.add(len(self.deltas))
        self.deltas.append(delta)
        if len(self.deltas) == self.next_position():
            self.position = len(self.deltas)
            self.positions.append(self.position)
            self.alpha = self.next_alpha(spent)

    def next_position(self):
        return position_after(self.position, self.rule.horizon, 32)

    def next_alpha(self, spent):
        if self.rule.horizon is None:
            return 2 * self.rule.budget * max(1, self.most / 2) ** (self.tokens / self.most)
        B, T, t = self.rule.budget, self.rule.horizon, self.position
        left, examples = B - spent, max(T - t, 1)
        if left >= examples - (self.next_position() - t) + 1:
            return math.inf
        falling = 2 * left / examples * max(1, left / 2) ** (1 - spent / B)
        level = self.level()
        if level <= 0 or left == 0:
            return falling
        n = max(spent, 1)
        pace = left / examples * max(1, (B**3 - n**3) / (3 * n * n * left)) / level
        alpha = (pace * falling) ** 0.5
        if examples <= 0.1 * T or left >= examples / 2:
            alpha = max(alpha, 1.05 * left / examples / level**0.75)
        return alpha

    def level(self):
        level, T = 0.0, self.rule.horizon
        for t, delta in enumerate(self.deltas):
            level += (1 if t == 0 else max(4 / (t + 4), 1 / (max(T - t, 0) / 2 + 1))) * (delta**2 - level)
        return level


class Steadiness:
    """What `Steady` knows: all uncertainties so far, and r and their mean as of the last of its positions."""

    def __init__(self, rule):
        self.rule, self.deltas, self.bought = rule, [], set()
        self.set_at(0, 0)

    def set_at(self, position, spent):
        self.position, self.mean = position, 0.0
        for t, delta in enumerate(self.deltas, 1):
            weight = max(1 / t, 0.01)
            self.mean = (1 - weight) * self.mean + weight * delta
        self.rate = self.next_rate(spent) if position else math.inf

    def next_position(self):
        longest = 32
        if self.rule.horizon is None:
            longest = max(1, int(self.rule.burst / (4 * self.rule.budget)))
        return position_after(self.position, self.rule.horizon, min(32, longest))

    def next_rate(self, spent):
        B, T, t = self.rule.budget, self.rule.horizon, self.position
        if T is None:
            ahead = self.rule.burst / B
            return min(4 * B, (B * (t + ahead) - spent) / ahead)
        examples = max(T - t, 1)
        if B - spent > examples - (self.next_position() - t):
            return math.inf
        return (B - spent) / examples * (1 + 3 * math.exp(-8 * spent / B))

    def left(self, spent):
        return math.floor(self.rule.budget * self.position + self.rule.burst) - spent

    def may_buy(self, spent):
        return self.left(spent) >= 1 if self.rule.horizon is None else spent < self.rule.budget

    def probability(self, delta):
        if self.rate == math.inf or self.mean < 1e-150:
            return min(1.0, self.rate)
        return min(1.0, self.rate * (0.5 + 0.5 * delta / self.mean))

    def note(self, delta, bought, spent):
        self.deltas.append(delta)
        if len(self.deltas) == self.next_position():
            self.set_at(len(self.deltas), spent)


def position_after(t, horizon, longest):
    """1, 2, 4, 8, 16, 32 and every 32nd from there; where the end is known, the last 32 one by one."""
    usual = t + max(1, min(t, longest))
    if horizon is None or t >= horizon:
        return usual
    return min(usual, horizon - 32) if t < horizon - 32 else t + 1


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
