"""Self-contained HTML page of results: statements, figures, tables, settings, data provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from qufur.experiments.base import Listing, Statement
from qufur.experiments.results import Result, skipped
from qufur.figures.html import document, figure, plain_table

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2em auto; padding: 0 1em }
h1, h2 { line-height: 1.2; font-weight: 600 }
h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1rem }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; margin: 1rem 0 }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid #e5e5e5 }
th { border-bottom: 2px solid #bbb } td.verdict { white-space: nowrap } a { color: inherit }
.holds, .fails, .undecided { font-weight: 600 }
.holds { color: #00704f } .fails { color: #b3261e } .undecided { color: #8a6d00 }
figure { margin: 1rem 0 } figure svg { width: 100%; height: auto } figure.narrow svg { max-width: 44rem }
details { margin: 0.5rem 0 } summary { cursor: pointer } .note { color: #555; font-size: 0.9rem }
"""
MARKS = {True: "holds", False: "fails", None: "undecided"}


def page(title: str, results: Sequence[Result], settings: Mapping[str, str]) -> str:
    """Return the page for the results of several experiments."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        _summary([result for result in results if result.files]),
        _skipped(results),
        *(_section(result) for result in results if result.files),
        "<h2>Settings</h2>",
        plain_table(("", ""), [(name, value) for name, value in settings.items()]),
    ]
    return document(title, STYLE, parts)


def _summary(results: Sequence[Result]) -> str:
    """Count the verdicts of each experiment."""
    verdicts = {holds: Statement("", "", "", holds).verdict for holds in MARKS}
    head = "".join(f"<th>{verdict}</th>" for verdict in ("", *verdicts.values()))
    rows = []
    for result in results:
        counts = Counter(statement.holds for statement in result.statements)
        cells = "".join(f'<td class="{MARKS[holds]}">{counts[holds] or ""}</td>' for holds in MARKS)
        link = f'<a href="#{result.experiment.name}">{escape(result.experiment.title)}</a>'
        rows.append(f"<tr><td>{link}</td>{cells}</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _section(result: Result) -> str:
    csv = [path.name for path in result.files if path.suffix == ".csv"]
    note = [f"Data: {origin}" for origin in result.data] + [f"Every run: {name}" for name in csv]
    return "\n".join(
        [
            f'<h2 id="{result.experiment.name}">{escape(result.experiment.title)}</h2>',
            figure(result.drawing),
            statement_table(result.statements) if result.statements else "",
            *(_listing(listing) for listing in result.listings),
            *(f'<p class="note">{escape(line)}</p>' for line in note),
        ]
    )


def statement_table(statements: Iterable[Statement]) -> str:
    """Return a table of statements with their verdicts."""
    rows = [
        f"<tr><td>{escape(s.source)}</td><td>{escape(s.claim)}</td><td>{escape(s.measured)}</td>"
        f'<td class="verdict {MARKS[s.holds]}">{s.verdict}</td></tr>'
        for s in statements
    ]
    head = "<tr><th>paper</th><th>statement</th><th>measured</th><th>verdict</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _listing(listing: Listing) -> str:
    body = plain_table(listing.header, listing.rows)
    return f"<details><summary>{escape(listing.title)}</summary>{body}</details>"


def _skipped(results: Sequence[Result]) -> str:
    reasons = skipped(results).items()
    items = "".join(f"<li>{escape(', '.join(parts))}. {escape(why)}</li>" for why, parts in reasons)
    return f"<p>Skipped because data are missing:</p><ul>{items}</ul>" if items else ""
