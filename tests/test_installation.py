"""Messages about a missing extra contain the command that installs it, however the package was installed."""

import json
import sys
from pathlib import Path

import pytest

import qufur
from qufur.errors import command_for, missing_extra

WHEEL = "qufur-0.1.0-py3-none-any.whl"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that creates the metadata files which an installer writes for the package."""

    def install(origin=None, installer="pip"):
        folder = tmp_path / "site" / "qufur-0.1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: qufur\nVersion: 0.1.0\n")
        (folder / "INSTALLER").write_text(f"{installer}\n")
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        monkeypatch.syspath_prepend(folder.parent)

    return install


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Put an environment with a Python and its pip on the path."""
    for name in ("python", "pip"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'qufur[text]'"),
        (
            {"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}},
            "pip install --editable '/home/me/my clone[text]'",
        ),
        ({"url": "file:///home/me/clone", "dir_info": {}}, "pip install '/home/me/clone[text]'"),
        ({"url": f"file:///tmp/{WHEEL}", "archive_info": {}}, f"pip install '/tmp/{WHEEL}[text]'"),
        (
            {"url": f"https://a.org/{WHEEL}", "archive_info": {}},
            f"pip install 'qufur[text] @ https://a.org/{WHEEL}'",
        ),
        (
            {"url": "https://a.org/q.git", "vcs_info": {"vcs": "git", "commit_id": "f00d"}},
            "pip install 'qufur[text] @ git+https://a.org/q.git@f00d'",
        ),
    ],
    ids=["index", "editable", "folder", "wheel", "address", "repository"],
)
def test_install_command_uses_the_origin_of_the_package(installed, environment, origin, command):
    installed(origin)
    assert command_for("text") == command


def test_install_command_ignores_the_pip_of_another_python(installed, environment):
    installed()
    (environment / "pip").unlink()
    assert command_for("text") == f"{environment}/python -m pip install 'qufur[text]'"


def test_install_command_uses_uv_when_uv_installed_the_package(installed, environment):
    installed(installer="uv")
    assert command_for("text") == f"uv pip install --python {environment}/python 'qufur[text]'"


def test_missing_extra_error_names_purpose_package_and_command(installed, environment):
    installed()
    error = missing_extra("zstandard", "zstd", "a .zst file")
    assert str(error) == "a .zst file needs zstandard: install it with  pip install 'qufur[zstd]'"


def test_install_commands_are_built_in_one_module():
    sources = Path(qufur.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "pip install" in path.read_text()] == ["errors.py"]
