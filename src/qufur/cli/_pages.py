"""HTML page of `qufur status`: summary, four plots and the report in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

from qufur._internal.counts import counted
from qufur.estimates.input_shifts import InputShift
from qufur.estimates.report import Report
from qufur.figures.html import document, with_code
from qufur.figures.timeline import as_svg, draw_progress
from qufur.workbook import Workbook

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: 0 } h2 { font-size: 1rem; margin: 0 0 0.3rem }
.note { color: #666; margin-top: 0 }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: 0.4rem 1rem; margin: 1.5rem 0 }
dt { font-weight: 600 } dd { margin: 0 } dd p { margin: 0 }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: 1rem }
figure { margin: 0; border: 1px solid #e5e5e5; border-radius: 6px; padding: 0.8rem }
figure svg { width: 100%; height: auto }
pre { font-size: 0.8rem; overflow-x: auto; background: #f7f7f7; padding: 1rem; border-radius: 6px }
details { margin: 1.5rem 0 } summary { cursor: pointer }
code { background: #f2f2f2; padding: 0 0.2em; border-radius: 3px }
"""


def status_page(
    workbook: Workbook,
    name: str,
    report: Report,
    shifts: Sequence[InputShift],
    paragraphs: Mapping[str, Sequence[str]],
    details: str,
) -> str:
    """Return the page as HTML.

    `name` is the name of the state file; `paragraphs` are the sentences of the summary by heading.
    """
    classes = workbook.classes is not None
    error = "share of wrong classes" if classes else "root mean squared error"
    timeline = replace(
        workbook.monitor.timeline, points=workbook.monitor.timeline.points_until_now(workbook.learner)
    )
    figures = draw_progress(timeline, shifts, workbook.learner.rule.limit, error)
    plots = "".join(
        f"<figure><h2>{escape(title)}</h2>{as_svg(figure)}</figure>" for title, figure in figures.items()
    )
    rows, inputs = counted(report.examples, "row"), counted(workbook.encoding.dim, "input")
    about = f"{rows}, {inputs}, labels in column {workbook.target!r}"
    parts = [
        f'<h1>{escape(name)}</h1><p class="note">{escape(about)}</p>',
        f"<dl>{''.join(_entry(*entry) for entry in paragraphs.items())}</dl>",
        f'<div class="plots">{plots}</div>',
        f"<details><summary>In detail</summary><pre>{escape(details)}</pre></details>",
    ]
    return document(name, STYLE, parts)


def _entry(heading: str, sentences: Sequence[str]) -> str:
    lines = "".join(f"<p>{with_code(sentence)}</p>" for sentence in sentences)
    return f"<dt>{escape(heading.capitalize())}</dt><dd>{lines}</dd>"
