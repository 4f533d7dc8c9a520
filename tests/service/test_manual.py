"""The manual has every route, with the scope that it is for."""

import re
from pathlib import Path

from tests.service.test_keys import PUBLIC, ROUTES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "http.md"
ROW = re.compile(r"^\| `(?P<verb>[A-Z]+) (?P<path>/\S*)` \| (?P<scopes>[a-z, ]+) \|", re.M)


def test_the_page_has_every_route_and_its_scope():
    found = {
        (row["verb"], row["path"]): row["scopes"].replace(", ", " ") for row in ROW.finditer(PAGE.read_text())
    }
    assert found == {route: scopes for route, (scopes, _) in ROUTES.items()} | dict.fromkeys(PUBLIC, "none")
