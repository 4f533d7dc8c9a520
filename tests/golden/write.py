"""Record the golden values again after a change that is meant to alter them.

    python -m tests.golden.write                      all of them
    python -m tests.golden.write contract exit_codes  these alone

Review the diff of `tests/golden/recorded` before you commit it. `python -m tests.golden.write_files` writes
saved files and their outcomes.
"""

import sys

from tests.golden import records
from tests.golden.calls import exit_codes
from tests.golden.decisions import runs, workbooks
from tests.golden.surface import SURFACES

RECORDS = {**SURFACES, "exit_codes": exit_codes, "runs": runs, "workbooks": workbooks}


def main(names):
    """Record the values of these names, or all."""
    for name in names or RECORDS:
        records.write(name, RECORDS[name]())
        print(f"recorded/{name}.json")


if __name__ == "__main__":
    main(sys.argv[1:])
