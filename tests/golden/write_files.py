"""Write the saved files in `tests/golden/files`, and record what each leads to.

    python -m tests.golden.write_files                 add the files that are missing
    python -m tests.golden.write_files --expectations  keep the files and record their outcomes again
    python -m tests.golden.write_files --replace       write every file again

The files stand for what users have on disk: every later version must load them. Replace a file only if it was
never right. Record outcomes again only after a change that is meant to alter them.
"""

import sys
import tempfile
from pathlib import Path

from tests.golden import records, saved_files
from tests.golden.platforms import fingerprint


def main(arguments):
    """Write files and record outcomes."""
    for file_type, names in saved_files.FILE_TYPES.items():
        new = [
            _write(file_type, name)
            for name in names
            if "--replace" in arguments or not _exists(file_type, name)
        ]
        if new or "--expectations" in arguments:
            outcomes = {name: _outcome(file_type, name) for name in names}
            records.write(f"files_{file_type}", {"platform": fingerprint(), "files": outcomes})


def _exists(file_type, name):
    return saved_files.stored(file_type, name).exists()


def _write(file_type, name):
    target = saved_files.stored(file_type, name)
    with tempfile.TemporaryDirectory() as folder:
        path = saved_files.build(file_type, name, Path(folder))
        saved_files.pack(path, target)
        mark = path.with_name(f"{path.name}.mark")
        if mark.exists():
            saved_files.pack(mark, target.with_name(f"{name}.db.mark.gz"))
    print(f"{file_type}/{target.name}: {target.stat().st_size} bytes")
    return target


def _outcome(file_type, name):
    with tempfile.TemporaryDirectory() as folder:
        return saved_files.outcome(file_type, name, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
