"""Self-contained HTML pages: document, figure and table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

NARROW_POINTS = 600
"""Maximum width in points of a figure that is not enlarged to the page's width."""


def document(title: str, style: str, parts: Iterable[str]) -> str:
    """Return a self-contained page of consecutive HTML parts."""
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body>\n"
        + "\n".join(filter(None, parts))
        + "\n</body>\n</html>\n"
    )


def with_code(sentence: str) -> str:
    """Escape text for a page and mark `commands` as code.

    >>> with_code("`qufur ask` & more")
    '<code>qufur ask</code> &amp; more'
    """
    parts = escape(sentence).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def figure(drawing: str) -> str:
    """Embed an SVG drawing; its element ids must not clash with those of other drawings."""
    svg = drawing[drawing.index("<svg") :]
    width = float(re.findall(r'width="([\d.]+)pt"', svg)[0])
    return f'<figure class="{"narrow" if width <= NARROW_POINTS else ""}">{svg}</figure>'


def plain_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of text cells with a header."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
