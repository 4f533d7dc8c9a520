"""Which model a command works with: experts, for tables, or the linear learner of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from qufur.errors import invalid


class ModelName(str, Enum):
    """The models of the command line."""

    experts = "experts"
    ridge = "ridge"


def check_for_ridge(model: ModelName | None, command: str, said: Mapping[str, Any]) -> None:
    """Refuse options that only the linear learner has; those that were not given are None."""
    for name, value in said.items():
        if value is not None and model is not ModelName.ridge:
            allowed = "left out with --model experts, which is the default"
            raise invalid(name, command, allowed, repr(value), "--model ridge takes it.")
