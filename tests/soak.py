"""How much to try of what is random or a large grid: all under `make soak`, a part under `make test`."""

import os

SOAK = bool(os.environ.get("QUFUR_SOAK"))


def times(count):
    """Return how often to repeat what is random: a hundredth of it under `make test`."""
    return count if SOAK else max(1, count // 100)


def spread(grid, share=4):
    """Return the cells of a grid, keyed by their places on its axes: every one, or one of `share` of them.

    On any two axes every pair of places is then still met, wherever the third has at least `share` of them.
    """
    return [cell for places, cell in grid.items() if SOAK or sum(places) % share == 0]
