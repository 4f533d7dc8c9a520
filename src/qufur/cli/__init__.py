"""The command line: thin layers over the library, one file per command."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from qufur import __version__

COMMANDS = (
    "demo",
    "run",
    "plan",
    "choose",
    "ask",
    "tell",
    "label",
    "status",
    "predict",
    "outstanding",
    "learn",
    "retract",
    "forget-label",
    "budget",
    "undo",
    "serve",
    "export",
    "import",
    "verify",
    "backup",
    "erase",
    "delete-stream",
    "reproduce",
    "data",
    "key",
)
"""In the order of the help; each is a function, or a group of them, of a file that has its name."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"qufur {__version__}")
        raise typer.Exit


def qufur(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Learn online from a stream when labels cost money and the domains shift without notice."""


@cache
def application(*names: str) -> typer.Typer:
    """Return the program with some of its commands: to import all of them takes half a second."""
    app = typer.Typer(name="qufur", pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(qufur)
    for name in names:
        called = "import_" if name == "import" else name.replace("-", "_")
        found = getattr(import_module(f"qufur.cli.{called}"), called)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def __getattr__(name: str) -> Any:
    if name == "app":
        return application(*COMMANDS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def execute(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; a wrong call is a ValueError like any other bad input."""
    wanted = [arguments[0]] if arguments and arguments[0] in COMMANDS else COMMANDS
    try:
        # Completion goes by the name of the program, which would not be ours under `python -m`.
        app = application(*wanted)
        return int(app(list(arguments) or ["--help"], prog_name="qufur", standalone_mode=False) or 0)
    except Exception as error:
        # typer keeps its exceptions to itself; their message is all that is needed.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        raise ValueError(f"{message().rstrip('.')}. See qufur --help.") from None
