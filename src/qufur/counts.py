"""Counts in messages."""

from __future__ import annotations


def counted(count: int, thing: str, several: str = "") -> str:
    """Return a count with its noun, whose plural ends in s unless it is given.

    >>> counted(1, "label"), counted(0, "label"), counted(1200, "query", "queries")
    ('1 label', '0 labels', '1200 queries')
    """
    return f"{count} {thing if count == 1 else several or f'{thing}s'}"
