"""What cannot be collected: river has no release for Python 3.10."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("river") else ["src/qufur/adapters/river.py", "src/qufur/faces/river.py"]
