"""Entry point of the `qufur` command. Names the extra to install if the command line is missing."""

from __future__ import annotations

import sys
import warnings

from qufur.errors import missing_extra


def main() -> None:
    """Run the command line. Report an error as one line on stderr and exit with code 2."""
    try:
        from qufur.cli import execute
    except ImportError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit(_report_error(missing_extra(error.name, "all", "the command line")))
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _print_line(message)
        try:
            sys.exit(execute(sys.argv[1:]))
        except (ValueError, ImportError, OSError) as error:
            sys.exit(_report_error(error))


def _report_error(error: Exception) -> int:
    _print_line(error)
    return 2


def _print_line(message: object) -> None:
    print(f"qufur: {' '.join(str(message).split())}", file=sys.stderr)


if __name__ == "__main__":
    main()
