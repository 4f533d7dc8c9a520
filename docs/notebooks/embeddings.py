# %% [markdown]
# # Embeddings with shifting topics
#
# The stream has 2000 texts as embeddings of 64 numbers, one topic after another. The label of a text is
# a score. The data are synthetic: the embeddings of a topic lie near a subspace of a few dimensions, and
# the score is linear in the embedding, with the same coefficients for all topics.

# %%
import numpy as np
from matplotlib import pyplot as plt

from qufur import Learner, Paced, Ridge, Uniform, run, streams

rng = np.random.default_rng(0)
lengths, dims = [700, 150, 500, 150, 500], [6, 12, 4, 12, 8]
parts = []
for length, dim in zip(lengths, dims, strict=True):
    topic = np.linalg.qr(rng.normal(size=(64, dim)))[0]
    parts.append(rng.normal(size=(length, dim)) @ topic.T + 0.02 * rng.normal(size=(length, 64)))
X = np.concatenate(parts)
X /= np.linalg.norm(X, axis=1, keepdims=True)
scores = np.clip(X @ rng.normal(size=64) / 3 + 0.1 * rng.normal(size=2000), -1, 1)
texts = streams.Arrays(X, scores)

# %% [markdown]
# Labels are linear in the inputs, and inputs shift: this is the setting for `Ridge` and `Paced`.

# %%
rules = {"Paced": Paced(200, 2000), "at random": Uniform(0.1, budget=200)}
learners = {name: Learner(Ridge(64), rule, seed=0) for name, rule in rules.items()}
traces = {name: run(learner, texts) for name, learner in learners.items()}
for name, trace in traces.items():
    print(f"{name:9}  {trace.queries} labels, mean squared error {trace.loss.mean():.4f}; the noise has 0.01")

# %% [markdown]
# A new topic has a high uncertainty, so the rule buys labels when it starts. The report estimates where
# topics start.

# %%
print("topics began after", *np.cumsum(lengths)[:-1])
print("the report says   ", *learners["Paced"].report().shifts)
figure, panel = plt.subplots(layout="constrained")
for name, trace in traces.items():
    panel.plot(np.cumsum(trace.query), label=name)
for start in np.cumsum(lengths)[:-1]:
    panel.axvline(start, color="gray", linewidth=0.8)
panel.set(xlabel="texts", ylabel="labels bought")
panel.legend()
figure.savefig("embeddings.png")
