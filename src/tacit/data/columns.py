"""A federation with other columns: each new one is made of one old one, at whoever holds that."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from tacit.choreo.message import F64, I64
from tacit.data.federation import Federation
from tacit.data.part import Part, part_of
from tacit.errors import LocalError

Make = Callable[[F64, I64], F64]  # a column for each new one, and the numbers of these -> the new columns


def recolumned(federation: Federation, sources: I64, features: tuple[str, ...], make: Make) -> Federation:
    """New column i is made of column `sources[i]`, value by value; their names are made too, not the caller's."""
    columns = {p: np.flatnonzero(np.isin(sources, own)) for p, own in federation.columns.items()}
    texts = {name: known for name, known in federation.categories.items() if name in features}

    def remade(party: str, part: Part) -> Part:
        new = columns[party]
        at = [int(np.flatnonzero(federation.columns[party] == source)[0]) for source in sources[new]]
        owned = None if part.owned is None else part.owned[:, at]
        return part_of(make(part.X[:, at], new), part.y, part.weight, tuple(features[i] for i in new), owned)

    parts = {p: remade(p, part) for p, part in federation.parts.items()}
    # the alignment is in the report of whoever makes the new columns
    changed = {"parts": parts, "columns": columns, "features": features, "named": False, "categories": texts, "alignment": None}
    return dataclasses.replace(federation, **changed, warnings=list(federation.warnings))  # type: ignore[arg-type]  # by name


def check_present(federation: Federation) -> None:
    """Refuse missing values where nobody can work with them."""
    for name, part in federation.parts.items():
        missing = np.isnan(part.X).sum(axis=0)
        if missing.any():
            j = int(missing.argmax())
            raise LocalError(
                f"Input X contains NaN: column '{part.features[j]}' of party '{name}' has {missing[j]} missing values: fit a"
                " FederatedImputer first, such as in a tacit.Pipeline"
            )
