"""Fields of a form, as browsers send them."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import Request

MOST_FIELDS = 50


class Fields:
    """What was filled in."""

    def __init__(self, body: bytes):
        text = body.decode("utf-8", "replace")
        try:
            self._values = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            self._values = {}

    def one(self, name: str) -> str:
        """Return a field without the blanks around it; empty if there is none.

        >>> Fields(b"name=ada+&scopes=read&scopes=label").one("name")
        'ada'
        """
        return self.many(name)[0].strip() if name in self._values else ""

    def many(self, name: str) -> list[str]:
        """Return every value of a field.

        >>> Fields(b"scopes=read&scopes=label").many("scopes")
        ['read', 'label']
        """
        return self._values.get(name, [])


async def fields_of(request: Request) -> Fields:
    """Return the fields of a request."""
    return Fields(await request.body())
