"""`qufur data`: which datasets are here, and how the others get here."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from qufur.cli import show
from qufur.cli.options import Json
from qufur.data import Copy, Dataset
from qufur.data.places import OWN, cache_folder, look, own_folder
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

    Files are looked for in the folder named by QUFUR_DATA, then in the user's cache. Streams download what
    they need by themselves, if it can be downloaded.
    """
    for name in download or []:
        if name not in DATASETS:
            raise invalid("--download", "qufur data", f"one of {', '.join(DATASETS)}", repr(name))
    for name in download or []:
        DATASETS[name].provide()
    rows = [_row(dataset) for dataset in DATASETS.values()]
    own, cache = own_folder(), cache_folder()
    if json:
        show.print_json({OWN: str(own) if own else None, "cache": str(cache), "datasets": rows})
        return
    notes = [f"{row['name']}: {row['title']}, {row['origin']}. From {row['source']}." for row in rows]
    notes.append(f"{OWN}: {own or 'not set'}; cache: {cache}")
    cells = [[row["name"], row["place"]] for row in rows]
    show.print_table("Datasets", ["dataset", "here"], cells, notes)


def _row(dataset: Dataset) -> dict[str, Any]:
    about = {"name": dataset.name, "title": dataset.title, "source": dataset.source}
    try:
        copy = dataset.here()
    except ValueError:
        copy = None
    return {**about, **(_whereabouts(copy) if copy else _want(dataset))}


def _whereabouts(copy: Copy) -> dict[str, Any]:
    return {
        "place": ", ".join(dict.fromkeys(found.place for found in copy.found)),
        "origin": copy.origin,
        "stand_in": copy.edition.stand_in,
        "files": [{"path": str(found.path), "sha256": found.sha256} for found in copy.found],
    }


def _want(dataset: Dataset) -> dict[str, Any]:
    copies = (look(file) for edition in dataset.editions for file in edition.files)
    damaged = [f"{found.path} is damaged: {found.damage}" for found in copies if found and found.damage]
    place, origin = ("damaged", damaged[0]) if damaged else ("missing", "not here")
    return {"place": place, "origin": origin, "stand_in": None, "files": []}
