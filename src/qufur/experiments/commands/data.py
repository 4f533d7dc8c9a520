"""`qufur data`: list and download the datasets of the experiments."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.data import Copy, Dataset
from qufur.data.files import OWN, cache_folder, look, own_folder
from qufur.errors import invalid
from qufur.streams import DATASETS


def data(
    download: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Download and verify a dataset. Repeatable."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """List the datasets of the experiments.

    Shows their sources and local copies. Searches the folder QUFUR_DATA, then the user's cache. Experiments
    download missing datasets themselves, if a download exists.

    Example:
      qufur data --download abalone
    """
    for name in download or []:
        if name not in DATASETS:
            raise invalid("--download", "qufur data", f"one of {', '.join(DATASETS)}", repr(name))
    for name in download or []:
        DATASETS[name].provide()
    rows = [_row(dataset) for dataset in DATASETS.values()]
    own, cache = own_folder(), cache_folder()
    if json:
        _show.print_json({OWN: str(own) if own else None, "cache": str(cache), "datasets": rows})
        return
    notes = [f"{row['name']}: {row['title']}, {row['origin']}. From {row['source']}." for row in rows]
    notes.append(f"{OWN}: {own or 'not set'}; cache: {cache}")
    cells = [[row["name"], row["place"]] for row in rows]
    _show.print_table("Datasets", ["dataset", "copy"], cells, notes)


def _row(dataset: Dataset) -> dict[str, Any]:
    row = {"name": dataset.name, "title": dataset.title, "source": dataset.source}
    try:
        copy = dataset.here()
    except ValueError:
        copy = None
    return {**row, **(_local_copy(copy) if copy else _missing_copy(dataset))}


def _local_copy(copy: Copy) -> dict[str, Any]:
    return {
        "place": ", ".join(dict.fromkeys(file.place for file in copy.found)),
        "origin": copy.origin,
        "stand_in": copy.edition.stand_in,
        "files": [{"path": str(file.path), "sha256": file.sha256} for file in copy.found],
    }


def _missing_copy(dataset: Dataset) -> dict[str, Any]:
    copies = (look(file) for edition in dataset.editions for file in edition.files)
    damaged = [f"{copy.path} is damaged: {copy.damage}" for copy in copies if copy and copy.damage]
    status, origin = ("damaged", damaged[0]) if damaged else ("missing", "no local copy")
    return {"place": status, "origin": origin, "stand_in": None, "files": []}
