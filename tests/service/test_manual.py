"""The HTTP reference in the manual lists every route with its scope."""

import re
from pathlib import Path

from tests.service.test_keys import PUBLIC, ROUTES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "http.md"
ROW = re.compile(r"^\| `(?P<verb>[A-Z]+) (?P<path>/\S*)` \| (?P<scopes>[a-z, ]+) \|", re.M)


def test_http_reference_lists_every_route_with_its_scope():
    documented = {
        (row["verb"], row["path"]): row["scopes"].replace(", ", " ") for row in ROW.finditer(PAGE.read_text())
    }
    assert documented == {route: scopes for route, (scopes, _) in ROUTES.items()} | dict.fromkeys(
        PUBLIC, "none"
    )
