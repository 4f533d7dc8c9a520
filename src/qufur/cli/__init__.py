"""The command line: thin layers over the library, one file per command."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from qufur import __version__
from qufur.cli.ask import ask
from qufur.cli.backup import backup
from qufur.cli.budget import budget
from qufur.cli.choose import choose
from qufur.cli.data import data
from qufur.cli.demo import demo
from qufur.cli.erase import erase
from qufur.cli.export import export
from qufur.cli.forget_label import forget_label
from qufur.cli.import_ import import_
from qufur.cli.key import key
from qufur.cli.label import label
from qufur.cli.learn import learn
from qufur.cli.outstanding import outstanding
from qufur.cli.plan import plan
from qufur.cli.predict import predict
from qufur.cli.reproduce import reproduce
from qufur.cli.retract import retract
from qufur.cli.run import run
from qufur.cli.serve import serve
from qufur.cli.status import status
from qufur.cli.tell import tell
from qufur.cli.undo import undo
from qufur.cli.verify import verify

app = typer.Typer(
    name="qufur",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"qufur {__version__}")
        raise typer.Exit


@app.callback()
def qufur(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Learn online from a stream when labels cost money and the domains shift without notice."""


app.command()(demo)
app.command()(run)
app.command()(plan)
app.command()(choose)
app.command()(ask)
app.command()(tell)
app.command()(label)
app.command()(status)
app.command()(predict)
app.command()(outstanding)
app.command()(learn)
app.command()(retract)
app.command()(forget_label)
app.command()(budget)
app.command()(undo)
app.command()(serve)
app.command()(export)
app.command("import")(import_)
app.command()(verify)
app.command()(backup)
app.command()(erase)
app.add_typer(key, name="key")
app.command()(reproduce)
app.command()(data)


@cache
def _command() -> Any:
    return get_command(app)  # which takes longer than many a command


def execute(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; a wrong call is a ValueError like any other bad input."""
    try:
        # Completion goes by the name of the program, which would not be ours under `python -m`.
        return int(_command()(list(arguments) or ["--help"], prog_name="qufur", standalone_mode=False) or 0)
    except Exception as error:
        # typer keeps its exceptions to itself; their message is all that is needed.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        raise ValueError(f"{message().rstrip('.')}. See qufur --help.") from None
