"""Figures of the benchmarks, and the documentation page of the last full run.

`python -m benchmarks.page` rebuilds the tables of the documentation from `docs/studies/benchmarks.json`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks import (
    cluster,
    experts,
    growth,
    limits,
    peers,
    pool,
    profile,
    ratios,
    replay,
    rules,
    scale,
    single,
    sweep,
)
from benchmarks.figures import draw_growth, draw_memory
from benchmarks.installed import importable
from qufur.figures.style import save

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS, PICTURES = "studies/benchmarks.json", "figures"
TABLES = {
    "limits": limits,
    "replay": replay,
    "rules": rules,
    "experts": experts,
    "single": single,
    "profile": profile,
    "peers": peers,
    "growth": growth,
    "scale": scale,
    "sweep": sweep,
    "pool": pool,
    "cluster": cluster,
}
RUNS = 3
"""Number of runs whose ratios the page stores."""
FIGURES = {"growth": draw_growth, "scale": draw_memory}
TABLE_BLOCK = re.compile(r"(?P<mark><!-- bench: (?P<part>\w+) -->\n)(?P<text>.*?)(?P<end><!-- end -->)", re.S)


def draw(results: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the figures of the measured parts."""
    parts = [part for part in FIGURES if results.get(part)] if importable("matplotlib") else []
    return [path for part in parts for path in save(FIGURES[part](results[part]), folder, part)]


def update(results: dict[str, Any], docs: Path = DOCS) -> list[Path]:
    """Replace the numbers, tables and figures of the measured parts."""
    numbers = docs / NUMBERS
    stored = json.loads(numbers.read_text(encoding="utf-8")) if numbers.exists() else {"versions": {}}
    for part, measurements in results.items():
        if part in TABLES:
            stored[part] = _without_samples(measurements)
            stored["versions"][part] = results["versions"]
    for ratio in ratios.ratios(results):
        runs = stored.setdefault("runs", {}).setdefault(ratio.work, [])
        runs[:] = [*runs, [ratio.measured, ratio.kept]][-RUNS:]
    numbers.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    pages = pages_of(docs)
    for page in pages:
        page.write_text(filled(page.read_text(encoding="utf-8"), stored), encoding="utf-8")
    pictures = draw(results, docs / PICTURES)
    for path in pictures:
        if path.suffix == ".svg":
            path.unlink()
    return [numbers, *pages, *(path for path in pictures if path.exists())]


def pages_of(docs: Path = DOCS) -> list[Path]:
    """Return the documentation pages with tables of benchmarks."""
    return sorted(page for page in docs.rglob("*.md") if TABLE_BLOCK.search(page.read_text(encoding="utf-8")))


def filled(source: str, stored: dict[str, Any]) -> str:
    """Return the text of a page with its tables rebuilt from the stored numbers."""
    return TABLE_BLOCK.sub(lambda block: block["mark"] + tables(block["part"], stored) + block["end"], source)


def tables(part: str, stored: dict[str, Any]) -> str:
    """Return the tables of a part for the page, empty if it was not measured."""
    tables = ratios.tables(stored) if part == "ratios" else []
    if part in TABLES and part in stored:
        tables = TABLES[part].tables(stored[part])
    return "".join(f"\n{table.markdown()}" for table in tables) + "\n"


def _without_samples(measurements: Any) -> Any:
    """Drop memory over time, which only the figure needs."""
    if not isinstance(measurements, list):
        return measurements
    return [{name: value for name, value in row.items() if name != "samples"} for row in measurements]


if __name__ == "__main__":
    update({})
