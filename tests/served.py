"""A service for a page of the manual: `qufur serve … &` starts it on a free port, which is shown as 8000."""

import json
import re
import shlex
import signal
import subprocess
import sys

SHOWN = "127.0.0.1:8000"


class Served:
    """The service that a page started, if it did; it ends with the page."""

    def __init__(self) -> None:
        self._process = None
        self._port = 8000

    def start(self, arguments):
        """Start it, and return what it says until it serves."""
        command = [sys.executable, "-m", "qufur", "serve", *arguments, "--port", "0"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        said = ""
        for line in self._process.stdout:
            said += line
            if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                self._port = int(found[1])
                return self.shown(said)
        raise AssertionError(f"the service did not start: {said}")

    def called(self, text):
        """Return text with the address that the service really has."""
        return text.replace(SHOWN, f"127.0.0.1:{self._port}")

    def shown(self, text):
        """Return text with the address that the page shows."""
        return text.replace(f"127.0.0.1:{self._port}", SHOWN)

    def curl(self, command):
        """Return what `curl` says, set out as `jq` does if that is wanted."""
        call, pipe, _ = self.called(command).partition(" | jq")
        found = subprocess.run(shlex.split(call), capture_output=True, text=True, timeout=30, check=True)
        said = json.dumps(json.loads(found.stdout), indent=2) if pipe else found.stdout
        return f"{self.shown(said)}\n" if said else ""

    def end(self):
        """End the service, as Ctrl-C does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.communicate(timeout=30)
            self._process = None
