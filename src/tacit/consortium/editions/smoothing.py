"""What small groups of a site's records become before any job sees them: constant columns, labels of no class.

    a column whose values differ from its most frequent one at fewer than k persons is constant                    (1)
    no cell of the common refinement of all targets has 1 to k - 1 persons                                         (2)
    numbers as targets are cut to what k persons or more reach, at either end                                      (3)

(1) A column that one person has would make that person's record a part of every model. (2) Two targets of the same
records, each with large classes, can have a small one together. Targets are taken in the order in which a site's
datasets stand; a class with a small cell loses its label there, and if too few persons without a label would be left in
a cell, as many others of its largest class lose theirs too. A cell that is small itself has no label at all. Whatever
asks for labels is given the most frequent one in place of a lost one, so that no protocol can forget the rule.
(3) A target that is far from all others, such as the only one that is not 0, would make a model that person's record.

All are decided on the records to learn from, and then hold for those to judge by too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.arrays import F64, I64, Flags

NONE = -1  # the code of a record that has no label


def flatten_rare(X: F64, learnt: Flags, of: I64, least: int) -> tuple[F64, tuple[int, ...]]:
    """Return the table after (1), and which columns became constant; `of` says whose each record is."""
    usual = {j: find_usual(X[learnt, j], of[learnt], least) for j in range(X.shape[1])}
    flat = {j: value for j, value in usual.items() if value is not None}
    if not flat:
        return X, ()
    found = np.array(X)
    for j, value in flat.items():
        found[:, j] = value
    return found, tuple(flat)


def find_usual(column: F64, of: I64, least: int) -> float | None:
    """Return the most frequent value if some records differ from it, but fewer than `least` persons; else None.

    If so few differ, it is the most frequent value of a sample too, so most columns are told after a look at few rows.
    """
    if not len(column):
        return None
    records = least * int(np.bincount(of).max())  # that may differ
    usual = _mode(column[:: max(1, len(column) // (2 * records + 1))])
    differ = of[~_alike(column, usual)]
    return usual if 0 < len(np.unique(differ)) < least else None


def find_ends(y: F64, of: I64, least: int) -> tuple[float, float]:
    """Return between which values targets are cut by (3); one value if there are too few persons."""
    if not len(y):
        return -np.inf, np.inf
    persons = int(of.max()) + 1
    lows, highs = np.full(persons, np.inf), np.full(persons, -np.inf)
    np.minimum.at(lows, of, y)
    np.maximum.at(highs, of, y)
    here = np.unique(of)
    low, high = np.sort(lows[here])[:least][-1], np.sort(highs[here])[-least:][0]
    middle = float(np.median(y))
    return (float(low), float(high)) if low <= high and len(here) >= least else (middle, middle)


def merge_small(targets: Sequence[I64], of: I64, least: int) -> list[I64]:
    """Return the codes of all targets after (2), NONE where a record has no label.

    of: whose each record is, by numbers in an order that nobody chose: the first ones lose labels beside others.
    """
    cell = np.zeros(len(of), dtype=np.int64)
    merged = []
    for codes in targets:
        own = codes.copy()
        for at in _groups(cell):
            own[at] = _merge_cell(own[at], of[at], least)
        merged.append(own)
        cell = np.unique(np.stack([cell, own]), axis=1, return_inverse=True)[1].reshape(-1)
    return merged


def _merge_cell(codes: I64, of: I64, least: int) -> I64:
    """Return the codes of a cell: each class, and those without a label, are of no person, or of `least` or more."""
    codes = codes.copy()
    while True:
        sizes = {int(code): len(np.unique(of[codes == code])) for code in np.unique(codes)}
        unlabelled = sizes.pop(NONE, 0)
        if small := [code for code, size in sizes.items() if size < least]:
            codes[np.isin(codes, small)] = NONE
        elif sizes and 0 < unlabelled < least:
            largest = max(sizes, key=lambda code: (sizes[code], code))
            persons, lacking = np.unique(of[codes == largest]), least - unlabelled
            beside = persons[:lacking] if len(persons) >= lacking + least else persons
            codes[(codes == largest) & np.isin(of, beside)] = NONE
        else:
            return codes


def _groups(cell: I64) -> list[I64]:
    order = np.argsort(cell, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(cell[order])) + 1) if len(cell) else []


def _mode(column: F64) -> float:
    values, counts = np.unique(column, return_counts=True)  # all gaps are one value
    return float(values[counts.argmax()])


def _alike(column: F64, value: float) -> Flags:
    return np.asarray(np.isnan(column) if np.isnan(value) else column == value)
