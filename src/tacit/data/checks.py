"""What is refused before anything is sent: names, sizes and labels that do not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from tacit.choreo.message import Array
from tacit.data.part import Part
from tacit.data.table import Table
from tacit.errors import LocalError

SITE = "coordinator"  # the separate site's default name
FEWEST = 3  # holders whose sum hides each single part


def check_choice(parameter: str, value: str, allowed: Iterable[str]) -> None:
    """Refuse a word that is none of those allowed, in scikit-learn's words."""
    if value not in allowed:
        choices = ", ".join(repr(a) for a in allowed)
        raise LocalError(f"The '{parameter}' parameter of Federation must be a str among {{{choices}}}. Got {value!r} instead.")


def check_names(names: Sequence[str], expected: int | None = None) -> tuple[str, ...]:
    """Party names: at least one, distinct, as many as there are parts."""
    if isinstance(names, str) or not all(isinstance(n, str) and n.strip() for n in names):
        raise LocalError(f"party names must be a list of non-empty strings. Got {names!r} instead.")
    names = tuple(names)
    if not names:
        raise LocalError("a federation needs at least one party, and the list is empty: name its parties")
    if expected is not None and len(names) != expected:
        raise LocalError(f"there are {len(names)} names for {expected} parts: give every part exactly one name")
    for name in names:
        if names.count(name) > 1:
            raise LocalError(f"two parties are named '{name}': give each party its own name with names=")
    return names


def choose_coordinator(names: Sequence[str], coordinator: str | None) -> str:
    """The separate site by default; a party's name makes that party coordinate."""
    if coordinator is None and SITE in names:
        raise LocalError(
            f"a party is named '{SITE}', like the separate site that coordinates: rename the party, "
            f"or say coordinator='{SITE}' if it is to coordinate itself"
        )
    return SITE if coordinator is None else check_names([coordinator])[0]


def choose_labeller(partition: str, names: Sequence[str], labeller: str | None, default: str) -> str | None:
    """Who holds the labels of a vertical or arbitrary split; in a horizontal one everybody does."""
    if partition == "horizontal":
        if labeller is not None:
            raise LocalError(
                f"labeller='{labeller}' does not fit a horizontal split, where every party holds its own records' labels: leave it out"
            )
        return None
    if labeller is not None and labeller not in names:
        raise LocalError(f"labeller='{labeller}' is none of the parties ({', '.join(names)}): name one of them")
    return labeller or default


def check_whole(n: int, d: int) -> None:
    """Refuse a federation without any record or feature."""
    for count, what in ((n, "sample"), (d, "feature")):
        if count < 1:
            raise LocalError(
                f"Found array with 0 {what}(s) (shape=({n}, {d})) while a minimum of 1 is required: give data with at least one"
            )


def check_weight(table: Table) -> None:
    """Weights belong to labels."""
    if table.weight is not None and table.y is None:
        raise LocalError(f"{table.name} has sample weights but no labels: give weights only where labels are held")


def few_holders(parts: Mapping[str, Part]) -> str | None:
    """The warning about sums of so few parts that they hide nothing."""
    return too_few(sum(part.holds_data for part in parts.values()))


def too_few(holders: int) -> str | None:
    """The same, of so many holders."""
    if holders >= FEWEST:
        return None
    held = "only 1 party holds data" if holders == 1 else f"only {holders} parties hold data"
    return f"{held}: a sum of two parts minus one's own IS the other's part, so sums protect nothing below {FEWEST} holders"


def check_same_features(tables: Mapping[str, Table], partition: str) -> None:
    """Horizontal and arbitrary: the same features, in the same order, at every party."""
    rule = f"a{'n' * (partition == 'arbitrary')} {partition} split needs the same features in the same order at every party"
    for (first, a), (name, b) in pairs(tables):
        if len(a.features) != len(b.features):
            raise LocalError(
                f"party '{name}' has {len(b.features)} features, '{first}' has {len(a.features)}: {rule} (LIBSVM files: pass n_features=)"
            )
        for j, (there, here) in enumerate(zip(a.features, b.features, strict=True), 1):
            if there != here:
                raise LocalError(f"party '{name}' calls feature {j} '{here}', '{first}' calls it '{there}': {rule}")


def check_same_rows(tables: Mapping[str, Table], partition: str) -> None:
    """Vertical and arbitrary: the same records, in the same order, at every party."""
    rule = f"a{'n' * (partition == 'arbitrary')} {partition} split needs the same records in the same order at every party"
    for (first, a), (name, b) in pairs(tables):
        if len(a.X) != len(b.X):
            raise LocalError(f"party '{name}' has {len(b.X)} records, '{first}' has {len(a.X)}: {rule}")


def check_horizontal_labels(tables: Mapping[str, Table]) -> None:
    """Labels, and weights, at every party or at none; all of one kind."""
    for field, what in (("y", "labels"), ("weight", "sample weights")):
        having = [name for name, table in tables.items() if getattr(table, field) is not None]
        lacking = [name for name in tables if name not in having]
        if having and lacking:
            raise LocalError(
                f"party '{lacking[0]}' has no {what}, '{having[0]}' has: in a horizontal split give them at every party or at none"
            )
    kinds = {name: _kind(t.y) for name, t in tables.items() if t.y is not None and len(t.y)}
    for (first, a), (name, b) in pairwise(kinds.items()):
        if a != b:
            raise LocalError(
                f"the labels of party '{name}' are {b}, those of '{first}' are {a}: write the classes the same way at every party"
            )


def check_cells(tables: Mapping[str, Table]) -> None:
    """Arbitrary: every cell is owned by exactly one party."""
    owned = np.stack([~np.isnan(table.X) for table in tables.values()])
    wrong = np.argwhere(owned.sum(axis=0) != 1)
    if not len(wrong):
        return
    i, j = (int(k) for k in wrong[0])
    owners = [f"'{name}'" for name, mine in zip(tables, owned[:, i, j], strict=True) if mine]
    column = next(iter(tables.values())).features[j]
    raise LocalError(
        f"row {i + 1} of column '{column}' is owned by {' and '.join(owners) or 'nobody'}: in an arbitrary split exactly one party "
        "has a value in a cell, and all others leave it empty (NaN)"
    )


def check_fits(table: Table, features: tuple[str, ...], *, named: bool) -> None:
    """New records must have the federation's features."""
    if len(table.features) != len(features):
        raise LocalError(
            f"X has {len(table.features)} features, but Federation is expecting {len(features)} features as input: give whole records"
        )
    for j, (new, old) in enumerate(zip(table.features, features, strict=True), 1):
        if named and table.named and new != old:
            raise LocalError(
                f"The feature names should match those of the federation: feature {j} is '{new}', not '{old}'; put the columns in its order"
            )


def pairs(tables: Mapping[str, Table]) -> Iterable[tuple[tuple[str, Table], tuple[str, Table]]]:
    """The first party beside each of the others."""
    first, *others = tables.items()
    return ((first, other) for other in others)


def _kind(labels: Array) -> str:
    return "numbers" if labels.dtype.kind in "iufb" else "text"
