# %% [markdown]
# # The paper's Figure 1 in ten lines
#
# Regret against the number of labels on the synthetic stream of 20 hidden domains from the authors'
# scripts. `qufur reproduce fig1` draws all panels, with more seeds.

# %%
from matplotlib import pyplot as plt

from qufur import Greedy, QuFUR, Ridge, Uniform, streams
from qufur.figures.curves import draw_curves
from qufur.sweep import sweep

grid = {
    "QuFUR": (lambda alpha, stream: QuFUR(alpha), [0.03, 0.1, 0.3, 1, 3]),
    "Uniform": (lambda rate, stream: Uniform(rate), [0.05, 0.1, 0.2, 0.4]),
    "Greedy": (lambda rate, stream: Greedy(round(rate * stream.horizon)), [0.05, 0.1, 0.2, 0.4]),
}
table = sweep(streams.HiddenDomains.scripts, lambda stream: Ridge(stream.dim), grid, seeds=range(5))
figure, panel = plt.subplots(layout="constrained")
draw_curves(panel, table, "regret", "regret", "Synthetic domains")
panel.legend()
figure.savefig("figure1.png")
print(table.group_by("rule", "parameter", maintain_order=True).mean().select("rule", "queries", "regret"))
