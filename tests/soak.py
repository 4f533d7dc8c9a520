"""How much to try of what is random or a large grid: all under `make soak`, a part under `make test`."""

import os

SOAK = float(os.environ.get("QUFUR_SOAK") or 0)
"""1 under `make soak`, 0 under `make test`; with 10 the soak tries ten times as much."""


def times(count):
    """Return how often to repeat a random test: `count` under `make soak`, a hundredth under `make test`."""
    return max(1, round(SOAK * count) if SOAK else count // 100)


def cases(soak, test):
    """Return the number of cases of a slow test under `make soak` and under `make test`."""
    return round(SOAK * soak) if SOAK else test


def spread(grid, share=4):
    """Return the cells of a grid, keyed by their places on its axes: every one, or one of `share` of them.

    On any two axes every pair of places is then still met, wherever the third has at least `share` of them.
    """
    return [cell for places, cell in grid.items() if SOAK or sum(places) % share == 0]
