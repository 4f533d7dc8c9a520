"""Command line: thin layers over the library, one file per command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from qufur import __version__
from qufur._internal import entry_points
from qufur.cli._flags import error_with_flags
from qufur.errors import InvalidError

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
"""Commands in the order of the help. Each is a function or a typer group in the module of the same name."""
EXPERIMENT_COMMANDS = ("demo", "reproduce", "data")
"""Commands in `qufur.experiments.commands`; named as strings, so that `cli` does not import experiments."""
OPTION_GROUPS = ("Input", "Program", "Labels and budget", "Model", "Columns", "Output", "General")
"""Sections of `--help`, in order. `rich_help_panel` of an option names its section, default General."""
MIN_GROUPED = 8
"""Minimum number of options that `--help` divides into sections."""


class Command(TyperCommand):
    """Command whose help shows the example on a separate line and many options in sections."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        # click does not wrap a paragraph that starts with a line of \b
        text = (self.help or "").replace("\n\nExample:\n", "\n\n\b\nExample:\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        options = [each for each in self.get_params(ctx) if each.param_type_name == "option"]
        has_groups = any(getattr(each, "rich_help_panel", None) for each in options)
        if len(options) < MIN_GROUPED or not has_groups:
            super().format_options(ctx, formatter)
            return
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *OPTION_GROUPS)}
        for parameter in self.get_params(ctx):
            group = getattr(parameter, "rich_help_panel", None) or "General"
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections["Arguments" if parameter.param_type_name == "argument" else group].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def _print_version(version: bool) -> None:
    if version:
        print(f"qufur {__version__}")
        raise typer.Exit


def qufur(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Choose which rows of a stream to label within a budget, predict all rows and estimate the error."""


@cache
def application(*names: str) -> typer.Typer:
    """Return the program with these commands only; importing all commands takes half a second."""
    return _program({name: _command(name) for name in names})


def _program(commands: Mapping[str, Any]) -> typer.Typer:
    app = typer.Typer(name="qufur", pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(qufur)
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=Command)(command)
    return app


def _command(name: str) -> Any:
    function = "import_" if name == "import" else name.replace("-", "_")
    package = "qufur.experiments.commands" if name in EXPERIMENT_COMMANDS else "qufur.cli"
    return getattr(import_module(f"{package}.{function}"), function)


def _all_commands() -> dict[str, Any]:
    """Return all commands; those of other packages are only listed, so that `--help` imports none of them."""
    commands = {name: _command(name) for name in COMMANDS}
    for point in entry_points.registered(entry_points.COMMANDS):
        commands.setdefault(point.name, _listed(point))
    return commands


def _listed(point: EntryPoint) -> Any:
    def command() -> None: ...

    command.__doc__ = f"Command of the package {entry_points.package_of(point)}."
    return command


def __getattr__(name: str) -> Any:
    if name == "app":
        return application(*COMMANDS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def execute(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Raises
    ------
    ValueError
        If the arguments are invalid, as for any other invalid input.
    """
    name = arguments[0] if arguments else ""
    try:
        if name in COMMANDS:
            app = application(name)
        elif point := entry_points.find(entry_points.COMMANDS, name):
            app = _program({name: entry_points.load_command(point)})
        else:
            name, app = "", _program(_all_commands())
        # Shell completion uses the program name, which would be wrong under `python -m`.
        return int(app(list(arguments) or ["--help"], prog_name="qufur", standalone_mode=False) or 0)
    except InvalidError as error:
        raise (error_with_flags(error, f"qufur {name}") if error.parameter else error) from None
    except Exception as error:
        # typer does not export its exception classes; only their message is needed.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        command = f"qufur {name}".strip()
        raise ValueError(f"{message().rstrip('.')}. See `{command} --help`.") from None
