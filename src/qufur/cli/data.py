"""`qufur data`: which datasets are here, and how the others get here."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from qufur.cli import show
from qufur.cli.options import Json
from qufur.data import Copy, Dataset
from qufur.data.places import OWN, cache_folder, own_folder
from qufur.errors import invalid
from qufur.streams import DATASETS


def data(
    download: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Fetch and verify a dataset. May be given several times."),
    ] = None,
    json: Json = False,
) -> None:
    """List the datasets of the experiments: where they come from and whether they are here.

    Files are looked for in the folder named by QUFUR_DATA, then in the user's cache, then in installed
    packages.
    """
    for name in download or []:
        if name not in DATASETS:
            raise invalid("--download", "qufur data", f"one of {', '.join(DATASETS)}", repr(name))
    for name in download or []:
        DATASETS[name].provide()
    rows = [_row(dataset) for dataset in DATASETS.values()]
    if json:
        show.print_json({OWN: str(own_folder() or ""), "cache": str(cache_folder()), "datasets": rows})
        return
    cells = [[row["name"], row["title"], row["place"], row["origin"]] for row in rows]
    notes = [f"{row['name']}: {row['source']}" for row in rows]
    places = f"{OWN}: {own_folder() or 'not set'}; cache: {cache_folder()}"
    show.print_table("Datasets", ["name", "dataset", "here in", "edition"], cells, [*notes, places])


def _row(dataset: Dataset) -> dict[str, Any]:
    about = {"name": dataset.name, "title": dataset.title, "source": dataset.source}
    try:
        copy = dataset.here()
    except ValueError as damage:
        return {**about, "place": "damaged", "origin": str(damage), "stand_in": None, "files": []}
    if copy is None:
        return {**about, "place": "missing", "origin": "", "stand_in": None, "files": []}
    return {**about, **_whereabouts(copy)}


def _whereabouts(copy: Copy) -> dict[str, Any]:
    return {
        "place": ", ".join(dict.fromkeys(found.place for found in copy.found)),
        "origin": copy.origin,
        "stand_in": copy.edition.stand_in,
        "files": [{"path": str(found.path), "sha256": found.sha256} for found in copy.found],
    }
