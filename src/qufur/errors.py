"""Errors and warnings of the package, their message template, and install commands for its extras."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


class InvalidError(ValueError):
    """An argument or input was rejected. Nothing was changed.

    Attributes
    ----------
    parameter, owner, allowed, received, remedy
        Parts of the message, as in `invalid`; empty if the message was not built by `invalid`. A remedy names
        parameters in backticks, such as `impute=True`: the command line prints them as options.
    """

    parameter = owner = allowed = received = remedy = ""


def invalid(parameter: str, owner: str, allowed: str, received: object, remedy: str = "") -> InvalidError:
    """Build the error for a parameter outside its range.

    Parameters
    ----------
    parameter, owner
        Name of the parameter, and the class, function or file that it belongs to.
    allowed, received
        Accepted values, and the rejected value or its description.
    remedy
        One or two sentences that tell the caller what to do.

    >>> print(invalid("alpha", "QuFUR", "a finite number above 0", -1))
    alpha of QuFUR must be a finite number above 0, got -1.
    """
    message = f"{parameter} of {owner} must be {allowed}, got {received}. {remedy}"
    error = InvalidError(" ".join(message.splitlines()).strip())  # `received` may contain line breaks
    error.parameter, error.owner, error.allowed = parameter, owner, allowed
    error.received, error.remedy = str(received), remedy
    return error


def missing_extra(package: str, extra: str, purpose: str) -> ImportError:
    """Build the `ImportError` for an optional dependency that is not installed."""
    return ImportError(f"{purpose} needs {package}: install it with  {command_for(extra)}")


def import_extra(package: str, extra: str, purpose: str) -> Any:
    """Import a package of an extra. Raise an `ImportError` that names the extra if it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        raise missing_extra(package, extra, purpose) from None


class DeviceWarning(UserWarning):
    """The requested device cannot decide blocks; the learner uses the CPU."""


class FailedFitWarning(UserWarning):
    """An estimator failed to fit; the learner ignores it until a later fit succeeds."""


class OtherVersionWarning(UserWarning):
    """An estimator from a file is refitted by another scikit-learn version; predictions may differ."""


class OutlierWarning(UserWarning):
    """A label is so far outside the label range that it may be a mistake."""


def command_for(extra: str) -> str:
    """Return the shell command that installs an extra from the origin of the installed package.

    Installers record folders, wheels and repositories in direct_url.json
    (https://packaging.python.org/specifications/direct-url), and write no such file for a package index.
    """
    origin = json.loads(_metadata_file("direct_url.json") or "null")
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
    """Return the install command of this interpreter; `pip` on the path may belong to another one."""
    python = shlex.quote(sys.executable)
    if _metadata_file("INSTALLER").strip() == "uv":
        return f"uv pip install --python {python}"
    pip = shutil.which("pip")
    is_same_environment = pip and Path(pip).parent == Path(sys.executable).parent
    return "pip install" if is_same_environment else f"{python} -m pip install"


def _metadata_file(name: str) -> str:
    try:
        return metadata.distribution("qufur").read_text(name) or ""
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return ""
