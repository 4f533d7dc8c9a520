"""Queries and labels of a state without a learner, by id."""

from qufur.pending import Pending


def query(state, ids, X, **terms):
    """Add pending queries with these terms, and record them in the state."""
    queries = [Pending(id, **terms) for id in ids]
    state.pending.update((each.id, each) for each in queries)
    state.query(queries, X)
    return queries


def label(state, ids, labels):
    """Answer pending queries."""
    state.label([state.pending.pop(id) for id in ids], labels)


def retract(state, id):
    """Retract a pending query."""
    state.retract(state.pending.pop(id))
