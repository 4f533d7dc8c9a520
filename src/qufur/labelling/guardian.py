"""A small process that ends the programs that another one has started, should that one be killed.

A killed process ends nothing itself. It holds one end of a pipe, though, and nobody else does: when it is
gone, however it went, the guardian reads the end of the pipe, and kills the groups of processes that it was
told of. Other than the death signal of Linux this also reaches programs that were started by programs, and
works on macOS. A program gets its input only after the guardian knows of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

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


class Guardian:
    """Kills what it watches when it is closed, or when this process is gone."""

    def __init__(self) -> None:
        # A session of its own: Ctrl-C is for the process that it watches over.
        command = [sys.executable, "-I", "-S", "-c", PROGRAM]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, bufsize=0)

    def watch(self, group: int) -> None:
        """Kill a group of processes in the end."""
        self._say(b"+%d\n" % group)

    def release(self, group: int) -> None:
        """Forget a group, which has ended."""
        self._say(b"-%d\n" % group)

    def close(self) -> None:
        """Kill what is being watched."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def _say(self, line: bytes) -> None:
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.write(line)  # so short that it is written whole, whoever else writes


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and, other than on Windows, all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
