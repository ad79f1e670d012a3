"""Token frequency: who holds a binary table up to the order of its columns finds the order from public statistics.

`gram_intersection` shows its coordinator the table T with a token for the name of each column. What features are
frequent, and which occur together, is known from elsewhere: a census, a sample of the same population. With shares f
and co-occurrences C of named features,

    by frequency    min over matchings pi   sum_j | mean(T_j) - f_pi(j) |                                  (1)
    then            min over matchings pi   sum_j | sorted row j of T'T/m  -  sorted row pi(j) of C |      (2)
    refined         min over matchings pi'  sum_j sum_k | (T'T/m)_jk - C_pi'(j),pi(k) |,   until pi' = pi  (3)

all of them linear assignments. A column that is matched wrongly often resembles the right one, and then gives most of
its ones away too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from tacit.arrays import F64, I64

ROUNDS = 50


@dataclass(frozen=True)
class Matching:
    """Which feature each column was taken for.

    The share of columns that are right, and of the ones that stand in the right column.
    """

    features: I64
    columns: float
    ones: float


def token_frequency(table: F64, sample: F64, truth: F64, *, together: bool = True) -> Matching:
    """Match the columns of `table` to those of a public sample; `truth`, the same records by name, only measures.

    `together`: by co-occurrence, (2) and (3), not by frequency (1) alone.
    """
    seen, known = occurrences(table), occurrences(sample)
    if together:
        found = refine(seen, known, match_columns(_apart(np.sort(seen), np.sort(known))))
    else:
        found = match_columns(_apart(np.diag(seen)[:, None], np.diag(known)[:, None]))
    guess = np.zeros_like(truth)
    guess[:, found] = table
    right = (truth[:, found] == table).all(axis=0).mean()
    return Matching(found, float(right), float((guess * truth).sum() / truth.sum()))


def occurrences(table: F64) -> F64:
    """Return the share of records in which two features occur together."""
    return np.asarray(table.T @ table / len(table))


def refine(seen: F64, known: F64, start: I64) -> I64:
    """Return the matching after it was refined by co-occurrence, (3)."""
    found = start
    for _ in range(ROUNDS):
        after = match_columns(_apart(seen, known[:, found]))
        if np.array_equal(after, found):
            break
        found = after
    return found


def _apart(a: F64, b: F64) -> F64:
    """Return how far every row of a is from every row of b."""
    return np.asarray(cdist(a, b, "cityblock"))


def match_columns(cost: F64) -> I64:
    """Return the cheapest one-to-one matching of rows to columns."""
    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)
