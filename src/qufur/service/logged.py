"""Examples read back from the log: each event is opened once, and only the wanted parts are decoded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from qufur.models.base import Model
from qufur.service.decided import Decided, Said
from qufur.service.events import Event, Kind, Payload, decode
from qufur.service.store import Store

_id_of = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw]).decode


class Logged(NamedTuple):
    """An example as its event has it.

    Attributes
    ----------
    part
        Its id and its row, encoded.
    said
        The answer; None for an example that came with its label or with a state file.
    """

    part: bytes
    said: Said | None

    @property
    def row(self) -> Any:
        """The row as it was sent: bytes of numbers, or a record."""
        return decode(self.part)[1]


def look_up(store: Store, stream: int, ids: Collection[str], model: Model) -> dict[str, Logged]:
    """Return examples by id; those that are unknown or erased are left out.

    The digest of an event covers all its parts, so each event that has wanted rows is hashed whole: once.
    """
    places = store.find(stream, list(ids))
    found: dict[str, Logged] = {}
    for event in store.events_at(stream, sorted(set(places.values()))):
        found |= _wanted(event, places, model)
    return found


def examples_of(event: Event, payload: Payload) -> Iterator[tuple[int, str, bytes]]:
    """Yield place, id and encoded example of each part that brought one; erased parts are left out."""
    if event.kind not in (Kind.asked, Kind.learned, Kind.imported):
        return
    for place, part in enumerate(payload.parts):
        if isinstance(part, msgspec.msgpack.Ext) or (event.kind == Kind.imported and place == 0):
            continue  # the first part of an import is the state file
        example = decode(part)[0] if event.kind == Kind.learned else part
        yield place, _id_of(example)[0], example


def _wanted(event: Event, ids: Collection[str], model: Model) -> dict[str, Logged]:
    payload = event.opened()
    examples = [(place, id, part) for place, id, part in examples_of(event, payload) if id in ids]
    values = payload.values
    said: Sequence[Said | None] = [None] * len(examples)
    if "decided" in values and examples:
        places, names = [place for place, *_ in examples], [id for _, id, _ in examples]
        said = Decided.from_values(values).said(model, names, places)
    return {id: Logged(part, one) for (_, id, part), one in zip(examples, said, strict=True)}
