"""Fixtures shared with the tests of commands."""

from tests.cli.conftest import work

__all__ = ["work"]
