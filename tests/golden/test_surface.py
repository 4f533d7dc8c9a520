"""The command line, the HTTP interface and the public names are those on record.

`python -m tests.golden.write` records them again after an intended change.
"""

import pytest
from tests.golden import records, surface
from tests.golden.records import as_json


def test_command_line_has_the_recorded_options():
    result, expected = as_json(surface.command_line()), records.read("command_line")
    assert result["order"] == expected["order"]
    for name in expected["order"]:
        assert result["commands"][name] == expected["commands"][name], name
    assert result == expected


def test_openapi_document_has_the_recorded_paths_and_schemas():
    result, expected = as_json(surface.openapi()), records.read("openapi")
    assert sorted(result["paths"]) == sorted(expected["paths"])
    for path, operations in expected["paths"].items():
        assert result["paths"][path] == operations, path
    assert result == expected


def test_openapi_document_has_the_recorded_schema_and_operation_names():
    assert as_json(surface.openapi_names()) == records.read("openapi_names")


def test_packages_export_the_recorded_names():
    assert surface.packages() == records.read("packages")


@pytest.mark.parametrize("record", ["public_names", "contract"])
def test_signatures_are_the_recorded_ones(record):
    result, expected = as_json(surface.SURFACES[record]()), records.read(record)
    expected = {path: entry for path, entry in expected.items() if surface.is_available(path)}
    assert sorted(result) == sorted(expected)
    for path, entry in expected.items():
        assert result[path] == entry, path
