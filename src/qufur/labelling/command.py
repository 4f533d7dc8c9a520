"""Programs that label: each gets a JSON object on standard input and prints a label or `skip`.

A guardian process kills the programs if this process is killed. A killed process cannot clean up, but it
holds the only write end of a pipe. When it ends, for whatever reason, the guardian reads the end of the pipe
and kills the registered process groups. Unlike the death signal of Linux, this also reaches programs started
by programs, and works on macOS. A program gets its input only after the guardian has registered it.
"""

from __future__ import annotations

import json
import os
import reprlib
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import IO, Any

from qufur.errors import invalid
from qufur.labelling.calls import CallError
from qufur.labelling.journal import Request

KEY = "idempotency_key"
"""Field of the call's key in the JSON object."""
MAX_ERROR_CHARACTERS = 200
"""Characters of a program's error message that ours quotes."""
MAX_OUTPUT_BYTES = 2**16
"""Bytes of a program's output; a longer output is not a label."""
PROGRAM = """
import os, signal, sys
groups = set()
for line in sys.stdin.buffer:
    (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except (OSError, AttributeError):
        pass
"""
"""Source of the guardian process."""


class Guardian:
    """Process that kills the watched process groups when it is closed or this process ends."""

    def __init__(self) -> None:
        # A separate session: Ctrl-C must reach only the watched process.
        command = [sys.executable, "-I", "-S", "-c", PROGRAM]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, bufsize=0)

    def watch(self, group: int) -> None:
        """Watch a process group."""
        self._send(b"+%d\n" % group)

    def release(self, group: int) -> None:
        """Stop watching a group that has ended."""
        self._send(b"-%d\n" % group)

    def close(self) -> None:
        """Kill all watched groups."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def _send(self, line: bytes) -> None:
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.write(line)  # short enough to be written atomically


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and, except on Windows, all processes that it started."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


class Command:
    """Labeller that runs a program for each call.

    Parameters
    ----------
    text
        The program and its arguments, as in a shell; no shell is involved.
    jobs
        Number of concurrent programs.
    timeout
        Seconds before a program is killed.
    """

    def __init__(self, text: str, jobs: int, timeout: float) -> None:
        self.arguments, self.timeout = program_of(text), timeout
        self._guardian = Guardian()
        self._pool = ThreadPoolExecutor(jobs)

    def __call__(self, request: Request) -> Future[str]:
        """Start a call."""
        return self._pool.submit(self._run, request)

    def close(self) -> None:
        """Kill the running programs."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._guardian.close()

    def _run(self, request: Request) -> str:
        text = json.dumps({**request.item, KEY: request.key}, ensure_ascii=False)
        with self._started() as process:
            try:
                out, stderr = _exchange(process, text.encode("utf-8", "replace"), self.timeout)
            except TimeoutError:
                raise CallError(f"no answer within {self.timeout:g} s") from None
        return answer_of(process.returncode, out, stderr)

    @contextmanager
    def _started(self) -> Iterator[subprocess.Popen[bytes]]:
        """Yield the running program; kill it and its children afterwards."""
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
    """Send input to a program; return its output and the end of its standard error."""
    deadline = time.monotonic() + timeout
    out, stderr = _in_thread(_answer, process.stdout), _in_thread(_end, process.stderr)
    done, unfinished = wait([out, stderr, _in_thread(_send, process.stdin, text)], timeout, FIRST_EXCEPTION)
    for future in done:
        future.result()
    if unfinished:
        raise TimeoutError
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return out.result(), stderr.result()


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
    while chunk := pipe.read(MAX_OUTPUT_BYTES):
        answer += chunk
        if len(answer) > MAX_OUTPUT_BYTES:
            raise CallError(
                f"it printed more than {MAX_OUTPUT_BYTES // 1024} kB and was stopped: that is no label"
            )
    return answer


def _end(pipe: IO[bytes]) -> bytes:
    end = b""
    while chunk := pipe.read(MAX_OUTPUT_BYTES):
        end = (end + chunk)[-MAX_OUTPUT_BYTES:]
    return end


def program_of(text: str) -> list[str]:
    """Split a command line; raise `InvalidError` if its program cannot be run.

    >>> program_of("echo 'a b'")
    ['echo', 'a b']
    """
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise invalid("command", "Command", "a command", f"{text!r} ({error})") from None
    if not arguments or shutil.which(arguments[0]) is None:
        remedy = f"There is no {arguments[0]!r}: check its folder and spelling." if arguments else ""
        if arguments and os.path.isfile(arguments[0]):
            remedy = f"{arguments[0]!r} is not executable: chmod +x, or name its interpreter."
        raise invalid("command", "Command", "a command that can be run", repr(text), remedy)
    return arguments


def answer_of(code: int, out: bytes, stderr: bytes) -> str:
    r"""Return the one line that a program printed; raise `CallError` for anything else.

    >>> answer_of(0, b"4.5\n", b"")
    '4.5'
    """
    lines = out.decode("utf-8", "replace").strip().splitlines()
    if code:
        errors = stderr.decode("utf-8", "replace").strip().splitlines()
        how = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
        raise CallError(f"{how}{': ' + errors[-1].strip()[:MAX_ERROR_CHARACTERS] if errors else ''}")
    if not lines:
        raise CallError("it printed nothing")
    if len(lines) > 1:
        raise CallError(f"it printed {len(lines)} lines, the first {reprlib.repr(lines[0])}, and not a label")
    return lines[0].strip()
