"""Counts with their nouns, for messages."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun in the singular or plural.

    >>> counted(1, "label"), counted(0, "label"), counted(1200, "query", "queries")
    ('1 label', '0 labels', '1200 queries')
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
