"""Settings that belong to the linear model of an adapter, which is not its default."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from typing import Any

from qufur.errors import invalid
from qufur.models.base import Model


def refuse_linear_settings(part: Any, names: Iterable[str], linear: type[Model]) -> None:
    """Complain of settings that were given, but say nothing to experts.

    >>> from qufur import Ridge
    >>> from qufur.adapters.skactiveml import StreamQuFUR
    >>> refuse_linear_settings(StreamQuFUR(intercept=False), ["intercept"], Ridge)
    Traceback (most recent call last):
    qufur.errors.InvalidError: intercept of StreamQuFUR must be left out beside experts, got False. ...
    """
    usual = signature(type(part)).parameters
    for name in names:
        value = getattr(part, name)
        if value != usual[name].default:
            remedy = f"model={linear.__name__} takes it."
            raise invalid(name, type(part).__name__, "left out beside experts", repr(value), remedy)
