"""`qufur reproduce`: the paper's experiments."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from qufur.cli import show
from qufur.cli.options import Jobs, Json, Out, Seeds
from qufur.cli.theory import reproduce_theory
from qufur.figures import fig1_synthetic, style
from qufur.sweep import sweep
from qufur.tradeoff import Estimate, at_equal_labels


class Part(str, Enum):
    """What can be reproduced."""

    fig1 = "fig1"
    theory = "theory"


class Panel(str, Enum):
    """The panels of Figure 1."""

    synthetic = "synthetic"


def reproduce(
    part: Annotated[Part, typer.Argument(help="A figure of the paper, or its theorems.")],
    panel: Annotated[Panel, typer.Option(help="Which panel of Figure 1.")] = Panel.synthetic,
    seeds: Seeds = 20,
    jobs: Jobs = 2,
    out: Out = Path("qufur-out"),
    json: Json = False,
) -> None:
    """Run an experiment of the paper and print what is measured.

    Runs that are finished in the folder already are not done again.
    """
    out.mkdir(parents=True, exist_ok=True)
    if part is Part.theory:
        reproduce_theory(seeds, jobs, out, json)
    else:
        _reproduce_fig1(panel, seeds, jobs, out, json)


def _reproduce_fig1(panel: Panel, seeds: int, jobs: int, out: Path, json: bool) -> None:
    name = f"fig1-{panel.value}"
    tables = {
        setting: sweep(
            stream,
            fig1_synthetic.model,
            fig1_synthetic.GRID,
            seeds=range(seeds),
            jobs=jobs,
            out=out / f"{name}-{setting}.jsonl",
        )
        for setting, stream in fig1_synthetic.SETTINGS.items()
    }
    files = [*_write_tables(tables, out, name), *style.save(fig1_synthetic.draw(tables), out, name)]
    if json:
        show.print_json({"files": [str(path) for path in files], "settings": _results(tables)})
        return
    for setting, table in tables.items():
        _print(setting, table, seeds)
    print(f"Written: {', '.join(str(path) for path in files)}")


def _write_tables(tables: dict[str, pl.DataFrame], out: Path, name: str) -> list[Path]:
    paths = [out / f"{name}-{setting}.csv" for setting in tables]
    for path, table in zip(paths, tables.values(), strict=True):
        table.write_csv(path)
    return paths


def _print(setting: str, table: pl.DataFrame, seeds: int) -> None:
    shares = fig1_synthetic.SHARES
    for measure, name in fig1_synthetic.MEASURES.items():
        curves = at_equal_labels(table, measure, shares)
        text = show.best_marked({rule: [Estimate.of(c) for c in values.T] for rule, values in curves.items()})
        for rule in ("Uniform", "Greedy"):
            ratios = map(Estimate.ratio, curves["QuFUR"].T, curves[rule].T)
            text.append([f"QuFUR / {rule}", *(f"{e.mean:.2f} ± {e.error:.2f}" for e in ratios)])
        title = f"{fig1_synthetic.TITLES[setting]}: {name}"
        show.print_table(title, ["labels bought", *(f"{100 * share:.3g} %" for share in shares)], text, [])
        print(f"{show.averaged(seeds)} Ratios are of the means. {_verdict(curves)}\n")


def _verdict(curves: dict[str, Any]) -> str:
    """Say where the paper's claim, that QuFUR is lowest at equal labels, holds in these numbers."""
    means = {rule: values.mean(axis=0) for rule, values in curves.items()}
    lowest = np.array(list(means.values())).min(axis=0)
    shares = [f"{s:.0%}" for s in fig1_synthetic.SHARES]
    fails = [
        share for share, mean, low in zip(shares, means["QuFUR"], lowest, strict=True) if not mean <= low
    ]
    return f"QuFUR is NOT lowest at {', '.join(fails)}." if fails else "QuFUR is lowest at every budget."


def _results(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    shares = fig1_synthetic.SHARES
    return {
        setting: {
            measure: {
                rule: [{"share": s, **vars(Estimate.of(c))} for s, c in zip(shares, values.T, strict=True)]
                for rule, values in at_equal_labels(table, measure, shares).items()
            }
            for measure in fig1_synthetic.MEASURES
        }
        for setting, table in tables.items()
    }
