"""What is not collected where river is missing: it has no wheel for Python 3.10."""

from importlib.util import find_spec

NEED_RIVER = [
    "src/qufur/adapters/river.py",
    "src/qufur/faces/river.py",
    "tests/adapters/test_experts.py",
    "tests/adapters/test_river.py",
    "tests/rules/test_from_budget.py",
]
collect_ignore = [] if find_spec("river") else NEED_RIVER
