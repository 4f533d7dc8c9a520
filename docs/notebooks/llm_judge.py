# %% [markdown]
# # An LLM judge with a budget in money
#
# A language model rates reviews, but only those that the rule selects. The judge is simulated. Like a real
# one, it is called through `async` code and is sometimes slow, wrong or silent.

# %%
import asyncio

import numpy as np
from matplotlib import pyplot as plt

from qufur import Learner, Paced, Ridge, Uniform
from qufur.labelling import buy

REVIEWS, PARTS = 2000, 5
PRICE, MONEY, CALLS = 0.002, 0.80, 2.5  # of a call; for all calls; calls per label, roughly
BUDGET = int(MONEY / (PRICE * CALLS))

# %% [markdown]
# A review is represented by the counts of ten positive, ten negative and six neutral words. The first half
# reviews games, the second half groceries, which use other words.

# %%
rng = np.random.default_rng(4)
games, groceries = (np.r_[rng.dirichlet(np.full(20, 0.3)), np.full(6, 0.05)] for _ in range(2))
half = REVIEWS // 2
counts = rng.poisson(6 * np.repeat([games, groceries], half, axis=0))
weights = np.r_[np.linspace(0.9, 0.3, 10), np.linspace(-0.9, -0.3, 10), np.zeros(6)]
stars = np.clip(3 + counts @ weights + 0.3 * rng.normal(size=REVIEWS), 1, 5)
X = counts / 4


def judge_of(seed):
    """Return a simulated judge with its own random generator."""
    mood = np.random.default_rng(seed)

    async def judge(id, x):
        await asyncio.sleep(0.002 if mood.random() < 0.1 else 0.0)
        if mood.random() < 0.05:
            raise TimeoutError("no answer")
        if mood.random() < 0.02:
            return None  # the judge skips this review
        return float(np.clip(round(stars[id]) + mood.choice([0, 0, 0, 0, 0, 1, -1]), 1, 5))

    return judge


# %% [markdown]
# `buy` passes the reviews to a learner and calls the judge for each query, with eight concurrent calls. It
# requests two votes per review, and a third if they differ.


# %%
def judged(rule):
    """Yield labels and money spent, the share of agreement, and the error on all reviews after each part."""
    learner, judge = Learner(Ridge(26, intercept=True, label_range=(1, 5)), rule), judge_of(7)
    calls = agreed = rows_with_votes = 0
    for part in np.array_split(np.arange(REVIEWS), PARTS):
        bought = buy(learner, X[part], judge, jobs=8, votes=3, pause=0.01)
        calls += bought.calls
        agreed += bought.agreed
        rows_with_votes += bought.judged_twice
        error = np.sqrt(np.mean((learner.predict(X) - stars) ** 2))
        yield learner.spent, calls * PRICE, agreed / max(rows_with_votes, 1), error


chosen = np.array(list(judged(Paced(BUDGET, REVIEWS))))
random = np.array(list(judged(Uniform(BUDGET / REVIEWS, budget=BUDGET))))
print("labels   spent  agreed   error   error of labels at random")
for (labels, spent, share, error), (*_, other) in zip(chosen, random, strict=True):
    print(f"{labels:6.0f} {spent:7.3f} {share:7.2f} {error:7.3f} {other:7.3f}")

# %% [markdown]
# Choosing is better early, because `Paced` buys early: over eight such streams its error was 0.82 of that
# with random labels after 400 reviews, and 1.05 of it after all purchases: the judge is noisy, so random
# labels are as good.

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
reviews = np.arange(1, PARTS + 1) * REVIEWS // PARTS
titles = ["spent, $", "share of rows on which judges agree", "RMSE over all reviews, stars"]
for axis, title, ours, baseline in zip(axes, titles, chosen.T[1:], random.T[1:], strict=True):
    axis.plot(reviews, ours, "-o", label="chosen", markersize=4)
    axis.plot(reviews, baseline, "--s", label="at random", markersize=4)
    axis.set(xlabel="reviews", ylim=(0, None))
    axis.set_title(title, fontsize=10)
axes[2].axvline(half, color="gray", linewidth=0.8, label="groceries begin")
axes[2].legend(frameon=False)
figure.savefig("llm_judge.png", dpi=120)
