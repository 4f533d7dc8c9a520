"""`qufur status`: progress, estimated error and next steps."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._flags import with_flags
from qufur.cli._label_run import call_counts, describe_calls
from qufur.cli._periods import limit_notes, period_status
from qufur.cli._start import describe_leaks
from qufur.cli._state_file import files_of, load_workbook
from qufur.cli._table_out import check_output
from qufur.labelling.journal import Journal, journal_of
from qufur.storage.atomic import replacing
from qufur.workbook.summary import Advice, shifts_of, summary

ADVICE = Advice(
    waiting="and pass them to `qufur tell`; `qufur outstanding --out FILE` writes them again",
    constant="a larger `qufur ask --budget`, or another model with `qufur ask --also`",
    at_random="start the next state file with `qufur ask --at-random`",
    spent="`qufur budget --add LABELS` buys more, `qufur predict` needs none",
    go_on="`qufur ask` for the next table, `qufur predict` for predictions",
)
ENSEMBLE_REPORT = "standing"
"""JSON key of the ensemble report since version 0.1.0."""


def status(
    state: opt.State,
    html: Annotated[
        Path | None,
        opt.output_option(metavar="FILE", help="Write an HTML page with plots."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Show spend, estimated error, input shifts and next steps.

    Example:
      qufur status --state s.qufur --html status.html
    """
    if html is not None:
        check_output(html, files_of(state), "--html")
    workbook = load_workbook(state)
    report = workbook.learner.report()
    notes = describe_leaks(workbook)
    journal = Journal(journal_of(state))
    shifts = shifts_of(workbook)
    details = with_flags(report.text(leave_out=("new domains",)))
    paragraphs = summary(workbook, report, shifts, ADVICE)
    if html is not None:
        from qufur.cli._pages import status_page

        page = status_page(workbook, state.name, report, shifts, paragraphs, "\n".join([details, *notes]))
        with replacing(html) as file:
            file.write(page.encode())
    content = asdict(report)
    content[ENSEMBLE_REPORT] = content.pop("ensemble_report")
    outstanding = list(workbook.learner.outstanding)
    content |= {"outstanding_ids": outstanding} | ({"notes": notes} if notes else {})
    content |= ({"labelling": call_counts(journal)} if journal.calls else {}) | period_status(workbook)
    content |= {"input_shifts": [asdict(shift) for shift in shifts], "summary": paragraphs}
    content |= {"headline": report.headline._asdict()}
    rows, inputs = counted(workbook.rows, "row"), counted(workbook.encoding.dim, "input")
    lines = [f"{state}: {rows}, {inputs}, labels in column {workbook.target!r}\n"]
    for heading, sentences in paragraphs.items():
        for index, sentence in enumerate(sentences):
            label = heading if index == 0 else ""
            text = textwrap.fill(sentence, 100, initial_indent=f"{label:14}", subsequent_indent=" " * 14)
            lines.append(text)
    lines.append(f"\n{details}")
    if outstanding:
        first_ids = ", ".join(map(str, outstanding[:10])) + (", …" if len(outstanding) > 10 else "")
        lines.append(f"{'outstanding':14}{first_ids}")
    if journal.calls:
        lines.append(f"{'labelling':14}{describe_calls(journal)}")
    if workbook.periods is not None:
        lines += limit_notes(workbook)
    lines += notes
    if html is not None:
        lines.append(f"Page written to {html}.")
    _show.print_result(json, content, lines)
