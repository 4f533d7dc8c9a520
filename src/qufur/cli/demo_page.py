"""The page of `qufur demo`: what was shown, four figures, and where to go next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from qufur.experiments.page import STYLE, document, figure, plain_table, statement_table, with_code
from qufur.experiments.results import Result, skipped

TITLE = "qufur: labels worth their price"
MORE = """
pre { background: #f7f7f7; padding: 0.8rem 1rem; border-radius: 6px; overflow-x: auto; font-size: 0.85rem }
code { background: #f2f2f2; padding: 0 0.2em; border-radius: 3px }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1.5rem }
figure svg, figcaption { max-width: 60rem } figure.narrow svg { max-width: 36rem }
figcaption { color: #555; font-size: 0.9rem; margin-top: 0.4rem }
"""
CAPTIONS = {
    "demo": "Mistakes against labels bought, over all pictures. Bands are 95 % intervals of the mean.",
    "time": "Mistakes and labels as the pictures come, at the budget in question. Dashed: the turns. "
    "Triangles: where the inputs alone betrayed them, in the first of the orders.",
    "demo-fig1": "Regret against labels on 20 hidden domains; left as the authors' scripts have them, right "
    "as the paper's text does. Bars are standard deviations, as in the paper.",
    "demo-fig3": "The probability of a query over time on rotated MNIST, the published run. Dashed: shifts.",
}
NEXT = {
    "Your own table, its labels known: what would choosing have saved?": (
        "qufur run FILE --target COLUMN --budget 5%"
    ),
    "Your own table, its labels to be bought: which rows?": (
        "qufur ask FILE --target COLUMN --budget 300 --state work.qufur -o to_label.csv"
    ),
    "A program labels, such as a language model:": "qufur label --help",
    "All of the paper, every claim with a verdict:": "qufur reproduce",
}
PAPER = "https://arxiv.org/abs/2006.14481"


def demo_page(results: Sequence[Result], time: str, said: Sequence[str], settings: Mapping[str, str]) -> str:
    """Return the page.

    Parameters
    ----------
    results
        Of the demonstration, and of the paper's figures.
    time
        The figure of errors over time, as SVG.
    said
        What the command prints.
    settings
        How it was made.
    """
    shown, *paper = results
    steps = "".join(f"<p>{escape(what)}<br>{with_code(f'`{how}`')}</p>" for what, how in NEXT.items())
    return document(
        TITLE,
        STYLE + MORE,
        [
            f"<h1>{TITLE}</h1>",
            f"<pre>{escape(chr(10).join(said))}</pre>",
            f'<div class="plots">{_plot(shown.drawing, "demo")}{_plot(time, "time")}</div>',
            statement_table(shown.statements),
            _files(shown),
            *(_section(result) for result in paper if result.files),
            *(
                f"<p>Skipped: {escape(', '.join(parts))}. {escape(why)}</p>"
                for why, parts in skipped(paper).items()
            ),
            "<h2>Where to go next</h2>",
            steps,
            f'<p>The paper: <a href="{PAPER}">Active Online Learning with Hidden Shifting Domains</a>.</p>',
            "<h2>Settings</h2>",
            plain_table(("", ""), list(settings.items())),
        ],
    )


def _plot(drawing: str, name: str) -> str:
    return figure(drawing).replace("</figure>", f"<figcaption>{escape(CAPTIONS[name])}</figcaption></figure>")


def _section(result: Result) -> str:
    return "\n".join(
        [
            f"<h2>{escape(result.experiment.title)}</h2>",
            _plot(result.drawing, result.experiment.name),
            statement_table(result.statements),
            _files(result),
        ]
    )


def _files(result: Result) -> str:
    links = ", ".join(f'<a href="{path.name}">{path.name}</a>' for path in result.files)
    return f'<p class="note">Every run, and the figure: {links}</p>'
