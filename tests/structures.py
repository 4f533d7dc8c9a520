"""Hypothesis strategies for what the theorems take."""

from hypothesis import strategies as st

from qufur.theory import Structure

structures = st.lists(st.tuples(st.integers(1, 10_000), st.integers(1, 50)), min_size=1, max_size=6).map(
    lambda pairs: Structure([T * d for T, d in pairs], [d for _, d in pairs])
)
alphas = st.floats(1e-6, 1e4)
noises = st.floats(0, 5)
deltas = st.one_of(st.none(), st.floats(1e-6, 0.5))
