"""The top-level names of the package are those that users construct, call or catch, and no others."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import qufur
from qufur.models import MODELS
from qufur.rules import RULES

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("examples/*.py"),
    *ROOT.glob("docs/notebooks/*.py"),
]
IMPORTED = re.compile(r"^from qufur import (?P<names>\([^)]*\)|.*)$", re.M)
WHY = {
    "models and rules, the parts of a learner": {kind.__name__ for kind in (*MODELS, *RULES)},
    "training of a softmax": {"Converged", "PaperAdam"},
    "learns, runs and plans": {"Learner", "online_to_batch", "plan", "run"},
    "returned to a loop of the user, or opened from a file": {"Answer", "Answers", "Trace"},
    "caught or filtered by users": {"OutlierWarning"},
    "packages whose contents users construct or call": {
        "cluster",
        "hypotheses",
        "labelling",
        "planning",
        "streams",
        "theory",
    },
}
FOR_CONTRIBUTORS = {"checks"}


def test_public_names_all_have_a_reason():
    assert sorted(qufur.__all__) == sorted(name for names in WHY.values() for name in names)


def test_public_names_all_exist():
    assert all(hasattr(qufur, name) for name in qufur.__all__)


def test_pages_import_public_names_only():
    lists = [found["names"] for page in PAGES for found in IMPORTED.finditer(page.read_text())]
    names = {name for names in lists for name in re.findall(r"\w+", names)}
    assert names > {"Learner", "Ridge", "QuFUR"}
    assert names - FOR_CONTRIBUTORS <= set(qufur.__all__)


@pytest.mark.parametrize(
    ("module", "names"),
    {
        "estimates.report": ["Report"],
        "online_to_batch": ["Mixture"],
        "planning": ["Forecast", "Part", "Plan", "Spread"],
        "trace": ["Totals"],
        "models": ["MODELS", "Model"],
        "rules": ["RULES", "Rule"],
    }.items(),
)
def test_public_return_types_and_bases_are_in_their_module(module, names):
    home = importlib.import_module(f"qufur.{module}")
    assert all(hasattr(home, name) and not hasattr(qufur, name) for name in names)


def packages():
    """Return the top-level package and all packages in it that export names."""
    found = [info.name for info in pkgutil.walk_packages(qufur.__path__, "qufur.") if info.ispkg]
    return [each for each in map(importlib.import_module, ["qufur", *found]) if hasattr(each, "__all__")]


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.__name__)
def test_dir_lists_public_names_only(package):
    assert dir(package) == sorted(package.__all__)


def test_version_is_an_attribute():
    assert re.fullmatch(r"\d+\.\d+\.\d+", qufur.__version__)
