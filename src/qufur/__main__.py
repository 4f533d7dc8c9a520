"""The `qufur` command, which says what to install where its tools are missing."""

from __future__ import annotations

import sys
import warnings

from qufur.errors import missing_extra


def main() -> None:
    """Run the command line; errors are one line on stderr and exit code 2."""
    try:
        from qufur.cli import execute
    except ImportError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit(_complain(str(missing_extra(error.name, "all", "the command line"))))
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _say(str(message))
        try:
            sys.exit(execute(sys.argv[1:]))
        except (ValueError, ImportError, OSError) as error:
            sys.exit(_complain(str(error)))


def _complain(message: str) -> int:
    _say(message)
    return 2


def _say(message: str) -> None:
    print(f"qufur: {' '.join(message.split())}", file=sys.stderr)


if __name__ == "__main__":
    main()
