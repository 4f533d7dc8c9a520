"""A language model judges reviews, and is asked for those alone that are worth its price.

The judge here is a stand-in: like a real one it is sometimes slow, wrong or silent, and it is called through
`async` code. Run it with the name of a file to get a figure: python llm_judge.py judge.png
"""

import asyncio
import sys

import numpy as np

from qufur import Learner, Paced, Ridge, Uniform
from qufur.labelling import buy

GOOD = ["great", "love", "perfect", "fun", "fresh", "tasty", "smooth", "works", "quick", "fair"]
BAD = ["broken", "boring", "stale", "slow", "awful", "refund", "bland", "crash", "late", "worse"]
WORDS = [*GOOD, *BAD, "game", "level", "console", "tea", "sauce", "box"]
PRICE, REVIEWS, BUDGET, PARTS = 0.002, 2000, 160, 5

rng = np.random.default_rng(4)
about_tea = np.arange(REVIEWS) >= REVIEWS // 2  # reviews of games first, then of groceries
likely = np.where(
    about_tea[:, None], *(np.r_[rng.dirichlet(np.full(20, 0.3), 2)[k], np.full(6, 0.05)] for k in (0, 1))
)
counts = rng.poisson(6 * likely).astype(float)
weights = np.r_[np.linspace(0.9, 0.3, 10), np.linspace(-0.9, -0.3, 10), np.zeros(6)]
stars = np.clip(3 + counts @ weights + 0.3 * rng.normal(size=REVIEWS), 1, 5)
X = counts / 4


def reader(seed):
    """Return a judge of its own moods."""
    mood = np.random.default_rng(seed)

    async def judge(id, x):
        await asyncio.sleep(0.002 if mood.random() < 0.1 else 0.0)
        if mood.random() < 0.05:
            raise TimeoutError("no answer")
        if mood.random() < 0.02:
            return None  # it will not say
        return float(np.clip(round(stars[id]) + mood.choice([0, 0, 0, 0, 0, 1, -1]), 1, 5))

    return judge


def judged(rule):
    """Return what was spent, how often judges agreed, and the error on all reviews, part by part."""
    learner, judge = Learner(Ridge(len(WORDS), intercept=True, label_range=(1, 5)), rule), reader(7)
    calls = agreed = twice = 0
    for part in np.array_split(np.arange(REVIEWS), PARTS):
        bought = buy(learner, X[part], judge, jobs=8, votes=3, pause=0.01)
        calls, agreed, twice = calls + bought.calls, agreed + bought.agreed, twice + bought.judged_twice
        error = np.sqrt(np.mean((learner.predict(X) - stars) ** 2))
        yield learner.spent, calls * PRICE, agreed / max(twice, 1), error


def draw(file, chosen, random):
    """Draw spend, agreement and error against the reviews that went by."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    place = np.arange(1, PARTS + 1) * REVIEWS // PARTS
    for name, rows, style in (("chosen", chosen, "-o"), ("at random", random, "--s")):
        for axis, column in zip(axes, rows.T[1:], strict=True):
            axis.plot(place, column, style, label=name, markersize=4)
    for axis, title in zip(
        axes, ["spent, $", "share of rows on which judges agree", "RMSE over all reviews, stars"], strict=True
    ):
        axis.set(title=title, xlabel="reviews", ylim=(0, None))
        axis.title.set_fontsize(10)
    axes[2].axvline(REVIEWS // 2, color="gray", linewidth=0.8, label="groceries begin")
    axes[2].legend(frameon=False)
    figure.savefig(file, dpi=120)


chosen = np.array(list(judged(Paced(BUDGET, REVIEWS))))
random = np.array(list(judged(Uniform(BUDGET / REVIEWS, budget=BUDGET))))
print("labels   spent  agreed   error   error of labels at random")
for (labels, spent, share, error), (*_, other) in zip(chosen, random, strict=True):
    print(f"{labels:6.0f} {spent:7.3f} {share:7.2f} {error:7.3f} {other:7.3f}")
if len(sys.argv) > 1:
    draw(sys.argv[1], chosen, random)
