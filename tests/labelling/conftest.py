"""What these tests share with those of commands."""

from tests.cli.conftest import work

__all__ = ["work"]
