"""Fixtures shared by the tests of commands."""

import pytest
from tests.cli.test_cli import qufur


@pytest.fixture
def work(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command on the state file and returns its exit code and output."""

    def command(name, *arguments):
        code = qufur(monkeypatch, name, *arguments, "--state", tmp_path / "s.qufur")
        text = capsys.readouterr()
        assert "Traceback" not in text.err
        return code, text.out + text.err

    return command
