"""How this package was installed, and so what brings one of its extras."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


def command_for(extra: str) -> str:
    """Return the shell command that adds an extra to the package, from where it came.

    An index is named by nothing but the package; folders, wheels and repositories are recorded beside it
    (https://packaging.python.org/specifications/direct-url).
    """
    origin = json.loads(_recorded("direct_url.json") or "null")
    flag = " --editable" if origin and origin.get("dir_info", {}).get("editable") else ""
    return f"{_installer()}{flag} {shlex.quote(_requirement(extra, origin))}"


def _requirement(extra: str, origin: dict[str, Any] | None) -> str:
    if origin is None:
        return f"qufur[{extra}]"
    url = origin["url"]
    if repository := origin.get("vcs_info"):
        return f"qufur[{extra}] @ {repository['vcs']}+{url}@{repository['commit_id']}"
    if urlsplit(url).scheme == "file":
        return f"{url2pathname(urlsplit(url).path)}[{extra}]"
    return f"qufur[{extra}] @ {url}"


def _installer() -> str:
    """Return what installs here: the pip on the path may be that of another Python."""
    here = shlex.quote(sys.executable)
    if _recorded("INSTALLER").strip() == "uv":
        return f"uv pip install --python {here}"
    pip = shutil.which("pip")
    own = pip and Path(pip).parent == Path(sys.executable).parent
    return "pip install" if own else f"{here} -m pip install"


def _recorded(name: str) -> str:
    try:
        return metadata.distribution("qufur").read_text(name) or ""
    except metadata.PackageNotFoundError:  # a copy of the source that is only on the path
        return ""
