"""What a column can be, and how that is stored."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from qufur.tables.categorical import Categorical
from qufur.tables.numeric import Numeric
from qufur.tables.text import Text

Kind = Numeric | Categorical | Text
KINDS: dict[str, type[Kind]] = {kind.kind: kind for kind in (Numeric, Categorical, Text)}


def kind_state(kind: Kind) -> dict[str, Any]:
    """Return a kind as JSON values."""
    fields = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(kind).items()
    }
    return {"kind": kind.kind, **fields}


def kind_from_state(state: dict[str, Any]) -> Kind:
    """Return the kind of which `kind_state` came."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in state.items()
    }
    return KINDS[fields.pop("kind")](**fields)
