"""A program that labels: a JSON object in, a label or `skip` out."""

from __future__ import annotations

import json
import os
import reprlib
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import IO, Any

from qufur.errors import invalid
from qufur.labelling.calls import CallError
from qufur.labelling.guardian import Guardian, kill_group
from qufur.labelling.journal import Request

KEY = "idempotency_key"
"""What the key of a call is called in the object."""
SHOWN = 200
"""How many characters of what a program complains of are shown."""
MOST = 2**16
"""How many bytes of what a program prints are kept: a longer answer is no label."""


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
                out, complaint = _exchange(process, text.encode("utf-8", "replace"), self.timeout)
            except TimeoutError:
                raise CallError(f"no answer within {self.timeout:g} s") from None
        return answer_of(process.returncode, out, complaint)

    @contextmanager
    def _started(self) -> Iterator[subprocess.Popen[bytes]]:
        """Yield the program; nothing of it is left afterwards."""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            self.arguments, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        ) as process:
            self._guardian.watch(process.pid)
            try:
                yield process
            finally:
                kill_group(process)
                process.wait()
                self._guardian.release(process.pid)


def _exchange(process: subprocess.Popen[bytes], text: bytes, timeout: float) -> tuple[bytes, bytes]:
    """Send its input to a program, and return its output and the end of its standard error."""
    deadline = time.monotonic() + timeout
    out, complaint = _in_thread(_answer, process.stdout), _in_thread(_end, process.stderr)
    done, waiting = wait([out, complaint, _in_thread(_send, process.stdin, text)], timeout, FIRST_EXCEPTION)
    for future in done:
        future.result()
    if waiting:
        raise TimeoutError
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return out.result(), complaint.result()


def _in_thread(function: Callable[..., bytes], *args: Any) -> Future[bytes]:
    """Run a function in a thread that ends with this process, however long a pipe stays open."""
    future: Future[bytes] = Future()

    def run() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _send(pipe: IO[bytes], text: bytes) -> bytes:
    with suppress(BrokenPipeError), pipe:  # a program need not read its input
        rest = memoryview(text)
        while rest:
            rest = rest[pipe.write(rest) :]
    return b""


def _answer(pipe: IO[bytes]) -> bytes:
    answer = b""
    while part := pipe.read(MOST):
        answer += part
        if len(answer) > MOST:
            raise CallError(f"it printed more than {MOST // 1024} kB and was stopped: that is no label")
    return answer


def _end(pipe: IO[bytes]) -> bytes:
    end = b""
    while part := pipe.read(MOST):
        end = (end + part)[-MOST:]
    return end


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
