"""Files that an earlier version saved still load, and lead to the recorded results.

Decisions, events, ids and the digests of loaded files do not depend on the platform: they are compared
exactly. Other numbers may differ by 1e-9. Results that depend on trees, and digests of states after further
steps, are compared only if `platforms.fingerprint` equals the recorded fingerprint. `tests/storage` has more
files.

`python -m tests.golden.write_files --expectations` records the results again after an intended change.
"""

import numpy as np
import pytest
from tests.golden import records, saved_files
from tests.golden.platforms import fingerprint
from tests.golden.records import as_json

RECORDS = {file_type: records.read(f"files_{file_type}") for file_type in saved_files.FILE_TYPES}
CASES = [(file_type, name) for file_type, names in saved_files.FILE_TYPES.items() for name in names]
COMPUTED = "final digest", "final pending", "final state", "query", "spent", "left", "asked", "status"
"""Results of decisions after loading, which for classes depend on predictions."""


def is_number_list(value):
    """Return whether a value is a list of floating-point numbers."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, float) for entry in value)


def compared(file_type, name, key, *, same_platform):
    """Return whether a result must equal the record on this platform."""
    if same_platform:
        return True
    has_trees = name not in NO_TREES[file_type]
    if key == "final digest" or (has_trees and (key.startswith("predict") or key == "interval")):
        return False
    return not ("classes" in name and key in {*COMPUTED, "uncertainty", "probability", "ids"})


NO_TREES = {
    "learners": {"kernel-ridge-steady", "ridge-per-period"},
    "workbooks": {"kernel", "corrected"},
    "stores": {name for name, settings in saved_files.STORES.items() if settings.get("model") == "ridge"},
}


@pytest.mark.parametrize(("file_type", "name"), CASES)
def test_saved_file_loads_and_leads_to_the_recorded_results(tmp_path, file_type, name):
    result, expected = (
        as_json(saved_files.outcome(file_type, name, tmp_path)),
        RECORDS[file_type]["files"][name],
    )
    same_platform = fingerprint() == RECORDS[file_type]["platform"]
    assert set(result) == set(expected)
    for key, value in expected.items():
        if not compared(file_type, name, key, same_platform=same_platform):
            continue
        if is_number_list(value):
            # Tables of predictions have six digits.
            rtol = 2e-6 if file_type == "workbooks" else 1e-9
            np.testing.assert_allclose(result[key], value, rtol=rtol, atol=1e-12, err_msg=key)
        else:
            assert result[key] == value, key


def test_every_saved_file_has_a_record_and_is_small():
    sizes = {
        path.relative_to(saved_files.FOLDER): path.stat().st_size for path in saved_files.FOLDER.rglob("*.gz")
    }
    assert {f"{file_type}/{saved_files.stored(file_type, name).name}" for file_type, name in CASES} == {
        str(path) for path in sizes if ".mark" not in path.name
    }
    assert {file_type: set(record["files"]) for file_type, record in RECORDS.items()} == {
        file_type: set(names) for file_type, names in saved_files.FILE_TYPES.items()
    }
    assert max(sizes.values()) < 20_000
    assert sum(sizes.values()) < 500_000


def test_stores_hold_snapshots_that_load():
    stores = RECORDS["stores"]["files"]
    without = {name for name, results in stores.items() if results["snapshots"]["flights"] is None}
    assert without <= {"classes-log-without-snapshot", "imported"}
    last, _ = stores["many-snapshots"]["snapshots"]["flights"]
    assert last < stores["many-snapshots"]["state"]["events"]
