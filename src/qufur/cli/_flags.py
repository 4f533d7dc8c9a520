"""Options in messages: the library names parameters, which the command line prints as its options."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from typing import Any

from qufur.errors import InvalidError, invalid

OPTIONS = {"separator": "--sep", "add": "--add-column", "command": "--with"}
"""Options whose names differ from those of the parameters."""
RENAMED = frozenset(
    [
        "separator",
        "decimal",
        "state",
        "time",
        "classes",
        "label_range",
        "regularization",
        "alpha",
        "burst",
        "command",
        "out",
        "host",
        "port",
    ]
)
"""Parameters of library errors that options set."""
PHRASES = {
    "Uniform(rate)": "--at-random",
    "Experts(also=[...])": "--also",
    "KernelRidge": "--model kernel",
    "Workbook.tell(replace=True)": "`qufur tell --replace`",
}
"""Other names in messages of the library, and what the command line has instead."""


def flag(name: str) -> str:
    """Return the option that sets a parameter.

    >>> flag("label_range")
    '--label-range'
    """
    return OPTIONS.get(name, f"--{name.replace('_', '-')}")


def reject_options(command: str, conflict: str, values: Mapping[str, Any], remedy: str = "") -> None:
    """Raise if one of these options is given together with a conflicting one."""
    for name, value in values.items():
        if value is not None and value is not False:
            raise invalid(flag(name), command, f"omitted with {conflict}", value, remedy)


def with_flags(text: str) -> str:
    """Replace parameters in backticks by options.

    >>> with_flags("Fill it, `skip=['sea level']`, or give `impute=True`; `separator=` overrides this.")
    "Fill it, --skip 'sea level', or give --impute; --sep overrides this."
    """
    return re.sub(r"`([^`]+)`", _option, text)


def _option(match: re.Match[str]) -> str:
    name, equals, value = match[1].partition("=")
    if not equals or not name.isidentifier():
        return PHRASES.get(match[1], match[0])
    try:
        values = ast.literal_eval(value) if value else True
    except (SyntaxError, ValueError):  # text of the user, such as a column name with backticks
        return match[0]
    words = values if isinstance(values, list) else [values]
    return " ".join([flag(name), *(shlex.quote(str(word)) for word in words if word is not True)])


def error_with_flags(error: InvalidError, command: str) -> InvalidError:
    """Return an error of the library in terms of the options of a command."""
    parameter, owner = error.parameter, error.owner
    if owner == "Learner":  # users of the command line never meet that class
        owner = command
    if parameter in RENAMED:
        parameter, owner = flag(parameter), command if owner.isidentifier() else owner
    return invalid(parameter, owner, error.allowed, error.received, with_flags(error.remedy))
