"""The wheel contains the library and nothing else, and all files name the same version."""

import re
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import qufur

ROOT = Path(__file__).resolve().parents[1]
PAGES = "qufur/service/pages"
INFO = f"qufur-{qufur.__version__}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel and return its files by name."""
    backend = pytest.importorskip("hatchling.build")
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = backend.build_wheel(str(folder))
    with zipfile.ZipFile(folder / name) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_wheel_contains_the_library_only(wheel):
    source = ROOT / "src"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    shown = (path for part in ("static", "templates") for path in (source / PAGES / part).rglob("*.*"))
    pages = {path.relative_to(source).as_posix() for path in shown}
    assert {f"{PAGES}/static/vendor/manifest.json", f"{PAGES}/templates/label.html"} < pages
    about = {
        f"{INFO}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    assert b"qufur = qufur.__main__:main" in wheel[f"{INFO}/entry_points.txt"]
    assert set(wheel) == modules | {"qufur/py.typed"} | pages | about


@pytest.fixture
def metadata(wheel):
    """Return the metadata that a package index shows."""
    return message_from_bytes(wheel[f"{INFO}/METADATA"])


def test_package_metadata_renders(metadata):
    assert metadata["Version"] == qufur.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload(decode=True) == (ROOT / "README.md").read_bytes()


def test_declared_python_versions_are_tested(metadata):
    lines = "\n".join(metadata.get_all("Classifier"))
    named = re.findall(r"Python :: (3\.\d+)", lines)
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    assert named == re.findall(r'"(3\.\d+)"', workflow)
    assert metadata["Requires-Python"] == f">={named[0]}"


def test_citation_names_the_current_version():
    assert re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M) == [qufur.__version__]
