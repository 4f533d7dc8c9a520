"""A program that labels: a JSON object in, a label or `skip` out."""

from __future__ import annotations

import json
import os
import reprlib
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from qufur.errors import invalid
from qufur.labelling.calls import CallError
from qufur.labelling.guardian import Guardian, kill_group
from qufur.labelling.journal import Request

KEY = "idempotency_key"
"""What the key of a call is called in the object."""
SHOWN = 200
"""How many characters of what a program complains of are shown."""


class Command:
    """Programs that run, each for one call.

    Parameters
    ----------
    text
        The program and its arguments, as in a shell; no shell is involved.
    jobs
        How many run at once.
    timeout
        Seconds after which one is killed.
    """

    def __init__(self, text: str, jobs: int, timeout: float) -> None:
        self.arguments, self.timeout = program_of(text), timeout
        self._guardian = Guardian()
        self._pool = ThreadPoolExecutor(jobs)

    def __call__(self, request: Request) -> Future[str]:
        """Begin a call."""
        return self._pool.submit(self._run, request)

    def close(self) -> None:
        """Kill what is running."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._guardian.close()

    def _run(self, request: Request) -> str:
        text = json.dumps({**request.item, KEY: request.key}, ensure_ascii=False)
        with self._started() as process:
            try:
                out, complaint = process.communicate(text.encode("utf-8", "replace"), self.timeout)
            except subprocess.TimeoutExpired:
                raise CallError(f"no answer within {self.timeout:g} s") from None
        return answer_of(process.returncode, out, complaint)

    @contextmanager
    def _started(self) -> Iterator[subprocess.Popen[bytes]]:
        """Yield the program; nothing of it is left afterwards."""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            self.arguments, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        ) as process:
            self._guardian.watch(process.pid)
            try:
                yield process
            finally:
                kill_group(process)
                process.wait()
                self._guardian.release(process.pid)


def program_of(text: str) -> list[str]:
    """Return a program and its arguments, or complain that there is none.

    >>> program_of("echo 'a b'")
    ['echo', 'a b']
    """
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise invalid("--with", "qufur label", "a command", f"{text!r} ({error})") from None
    if not arguments or shutil.which(arguments[0]) is None:
        remedy = f"There is no {arguments[0]!r}: check its folder and spelling." if arguments else ""
        if arguments and os.path.isfile(arguments[0]):
            remedy = f"{arguments[0]!r} is not executable: chmod +x, or name its interpreter."
        raise invalid("--with", "qufur label", "a command that can be run", repr(text), remedy)
    return arguments


def answer_of(code: int, out: bytes, complaint: bytes) -> str:
    r"""Return what a program printed, or say what is wrong with it.

    >>> answer_of(0, b"4.5\n", b"")
    '4.5'
    """
    lines = out.decode("utf-8", "replace").strip().splitlines()
    if code:
        said = complaint.decode("utf-8", "replace").strip().splitlines()
        how = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
        raise CallError(f"{how}{': ' if said else ''}{said[-1].strip()[:SHOWN] if said else ''}")
    if not lines:
        raise CallError("it printed nothing")
    if len(lines) > 1:
        raise CallError(f"it printed {len(lines)} lines, the first {reprlib.repr(lines[0])}, and not a label")
    return lines[0].strip()
