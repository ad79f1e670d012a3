"""What is refused before anything is sent: names, sizes and labels that do not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from tacit.arrays import Array
from tacit.choreo.declaration import write_among, wrong_value
from tacit.errors import LocalError
from tacit.federation.frames import is_number
from tacit.federation.part import Part
from tacit.federation.table import Table
from tacit.sparse import is_sparse

SITE = "coordinator"  # the separate site's default name
FEWEST = 3  # holders whose sum hides each single part
SHOWN = 3  # names of columns in an error


def check_choice(parameter: str, value: str, allowed: Iterable[str]) -> None:
    """Refuse a word that is none of those allowed, in scikit-learn's words."""
    if value not in allowed:
        raise wrong_value(parameter, "Federation", f"a str {write_among(tuple(allowed))}", value)


def check_names(names: Sequence[str], expected: int | None = None) -> tuple[str, ...]:
    """Return the names of parties; refuse none at all, repeated ones, and another number than there are parts."""
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
    """Return who coordinates: a separate site by default, or the party of that name."""
    if coordinator is None and SITE in names:
        like = f"a party is named '{SITE}', like the separate site that coordinates"
        raise LocalError(f"{like}: rename the party, or say coordinator='{SITE}' if it is to coordinate itself")
    return SITE if coordinator is None else check_names([coordinator])[0]


def choose_labeller(partition: str, names: Sequence[str], labeller: str | None, default: str) -> str | None:
    """Return who holds the labels of a vertical or arbitrary split; None in a horizontal one, where everybody does."""
    if partition == "horizontal":
        if labeller is not None:
            raise LocalError(
                f"labeller='{labeller}' does not fit a horizontal split, where everybody has labels: leave it out"
            )
        return None
    if labeller is not None and labeller not in names:
        raise LocalError(f"labeller='{labeller}' is not one of the parties ({', '.join(names)}): name one of them")
    return labeller or default


def check_whole(n: int, d: int) -> None:
    """Refuse a federation without any record or feature."""
    for count, what in ((n, "sample"), (d, "feature")):
        if count < 1:
            raise LocalError(f"Found array with 0 {what}(s) (shape=({n}, {d})) while a minimum of 1 is required")


def check_streamable(partition: str, **others: object) -> None:
    """Refuse to read in batches what only makes sense as a whole."""
    if partition != "horizontal":
        raise LocalError(f"stream=True reads rows in batches, and this is a {partition} split: leave it out")
    given = [name for name, value in others.items() if value]
    if given:
        raise LocalError(f"stream=True reads numbers only, and {given[0]} is for other values: leave one of them out")


def check_sparse(partition: str, tables: Mapping[str, Table]) -> None:
    """Refuse sparse records that are not split by rows."""
    sparse = [table.name for table in tables.values() if is_sparse(table.X)]
    if sparse and partition != "horizontal":
        raise LocalError(
            f"Sparse data was passed for {sparse[0]}, and records are only sparse where they are split by rows: give"
            " X.toarray(), or use partition='horizontal'"
        )


def check_weight(table: Table) -> None:
    """Refuse weights where no labels are held."""
    if table.weight is not None and table.y is None:
        raise LocalError(f"{table.name} has sample weights but no labels: give weights only where labels are held")


def count_holders(parts: Mapping[str, Part]) -> int:
    """Return how many parties hold any data."""
    return sum(part.holds_data for part in parts.values())


def describe_few(holders: int) -> str | None:
    """Return the warning about sums of so few parts that they hide nothing; None if there are enough."""
    if holders >= FEWEST:
        return None
    held = "only 1 party holds data" if holders == 1 else f"only {holders} parties hold data"
    own = "a sum of two parts minus one's own IS the other's part"
    return f"{held}: {own}, so sums protect nothing below {FEWEST} holders"


def accept_few(holders: int, *, allow_two_parties: bool, remedy: str = "add a party") -> tuple[str, ...]:
    """Return what the report has to say of few holders; raise unless the caller accepts them."""
    warning = describe_few(holders)
    if warning and not allow_two_parties:
        raise LocalError(f"{warning}; {remedy}, or accept it with allow_two_parties=True")
    return (warning,) if warning else ()


def check_same_features(tables: Mapping[str, Table], partition: str) -> None:
    """Refuse features that are not the same at every party: horizontal and arbitrary splits."""
    rule = f"{_name_split(partition)} needs the same features at every party"
    for (first, a), (name, b) in pairs(tables):
        if a.features == b.features:
            continue
        lacks = [each for each in a.features if each not in b.features]
        more = [each for each in b.features if each not in a.features]
        if a.named and b.named:
            told = [f"lacks {_quote(lacks)}"] * bool(lacks) + [f"has {_quote(more)}"] * bool(more)
            beside = f"party '{name}' {' and '.join(told)}, unlike '{first}'"
            raise LocalError(f"{beside}: {rule}; correct the names, or leave columns out (drop=)")
        widest = max(len(table.features) for table in tables.values())
        sizes = f"party '{name}' has {len(b.features)} features, '{first}' has {len(a.features)}"
        raise LocalError(f"{sizes}: {rule} (LIBSVM files: pass n_features={widest} or more)")


def _quote(names: Sequence[str]) -> str:
    """Return the first names of some, in quotes, and how many more there are."""
    more = f" and {len(names) - SHOWN} more columns" if len(names) > SHOWN else ""
    return ", ".join(f"'{name}'" for name in names[:SHOWN]) + more


def check_same_kinds(tables: Mapping[str, Table]) -> None:
    """Refuse a column that holds texts or dates at one party and numbers at another."""
    if not any(table.texts or table.dates for table in tables.values()):
        return
    for label in next(iter(tables.values())).features:
        known = {name: kind for name, table in tables.items() if (kind := table.kind_of(label)) is not None}
        for (first, a), (name, b) in pairwise(known.items()):
            if a != b:
                held = f"column '{label}' holds {b}s at party '{name}' and {a}s at '{first}'"
                where = _first_text(tables[name], label) or _first_text(tables[first], label)
                raise LocalError(f"{held}{where}: write it alike everywhere, or leave it out")


def _first_text(table: Table, label: str) -> str:
    """Return where the first text stands that is no number: one wrong cell makes a column of numbers one of texts."""
    wrong = [k for k, text in enumerate(table.texts.get(label, ())) if not is_number(text)]
    rows = np.flatnonzero(np.isin(table.X[:, table.features.index(label)], wrong))
    return f" (the first that is no number in row {rows[0] + 1} of {table.name})" if len(rows) else ""


def check_declared_columns(categories: Mapping[str, object] | None, features: Sequence[str]) -> None:
    """Refuse categories of a column that nobody has."""
    for column in categories or ():
        if column not in features:
            who = "The 'categories' parameter of Federation"
            raise LocalError(f"{who} names a column {column!r} that does not exist (columns: {', '.join(features)})")


def check_same_rows(tables: Mapping[str, Table], partition: str) -> None:
    """Refuse different numbers of records: vertical and arbitrary splits have the same ones at every party."""
    rule = f"{_name_split(partition)} needs the same records in the same order at every party"
    for (first, a), (name, b) in pairs(tables):
        if len(a.X) != len(b.X):
            raise LocalError(f"party '{name}' has {len(b.X)} records, '{first}' has {len(a.X)}: {rule}")


def check_horizontal_labels(tables: Mapping[str, Table]) -> None:
    """Refuse labels, or weights, that some parties have and some have not, and labels of different kinds."""
    for field, what in (("y", "labels"), ("weight", "sample weights")):
        having = [name for name, table in tables.items() if getattr(table, field) is not None]
        lacking = [name for name in tables if name not in having]
        if having and lacking:
            raise LocalError(f"party '{lacking[0]}' has no {what}, '{having[0]}' has: give them everywhere or nowhere")
    kinds = {name: _kind(t.y) for name, t in tables.items() if t.y is not None and len(t.y)}
    for (first, a), (name, b) in pairwise(kinds.items()):
        if a != b:
            raise LocalError(
                f"the labels of party '{name}' are {b}, those of '{first}' are {a}: write classes alike everywhere"
            )


def check_cells(tables: Mapping[str, Table]) -> None:
    """Refuse cells of an arbitrary split that nobody, or more than one party, owns."""
    owned = np.stack([~np.isnan(table.X) for table in tables.values()])
    wrong = np.argwhere(owned.sum(axis=0) != 1)
    if not len(wrong):
        return
    i, j = (int(k) for k in wrong[0])
    owners = [f"'{name}'" for name, mine in zip(tables, owned[:, i, j], strict=True) if mine]
    column = next(iter(tables.values())).features[j]
    owned_by = f"row {i + 1} of column '{column}' is owned by {' and '.join(owners) or 'nobody'}"
    raise LocalError(f"{owned_by}: exactly one party has a value in a cell, and all others leave it empty (NaN)")


def check_fits(table: Table, features: tuple[str, ...], *, named: bool) -> None:
    """Refuse new records that have other features than the federation."""
    if len(table.features) != len(features):
        raise LocalError(
            f"X has {len(table.features)} features, but Federation is expecting {len(features)} features as input"
        )
    for j, (new, old) in enumerate(zip(table.features, features, strict=True), 1):
        if named and table.named and new != old:
            raise LocalError(
                f"The feature names should match those of the federation: feature {j} is '{new}', not '{old}'"
            )


def _name_split(partition: str) -> str:
    return f"a{'n' * (partition == 'arbitrary')} {partition} split"


def pairs(tables: Mapping[str, Table]) -> Iterable[tuple[tuple[str, Table], tuple[str, Table]]]:
    """Return the first party beside each of the others."""
    first, *others = tables.items()
    return ((first, other) for other in others)


def _kind(labels: Array) -> str:
    return "numbers" if labels.dtype.kind in "iufb" else "text"
