"""How several classes become problems of two, and how what these say becomes a value for each class.

Two classes are one problem, in which the second is positive, as in scikit-learn. k > 2 classes are

    "ovr"   k problems: class i is positive, all others together negative; the largest value chooses
    "ovo"   k (k - 1) / 2 problems, pairs i < j: i is positive, j negative, and all other records are in none of it;
            the class of the most won pairs is chosen, and among those the one of the largest summed values:
            scikit-learn's SVC(break_ties=True)

Source: LIBSVM (Chang and Lin, 2011, section 7) for pairs and their order; scikit-learn for the values of classes.
"""

from __future__ import annotations

from itertools import combinations
from math import isqrt
from typing import TypedDict

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.numeric.scores.folds import votes

OVR, OVO = "ovr", "ovo"
MULTI_CLASS = OVR  # of a job, or a model file, that names neither; of a consensus, where pairs open more
REST = -1  # in place of a negative class: all others

Pairs = tuple[tuple[int, int], ...]


class Way(TypedDict):
    """How classes are told apart: what an error costs, which problems they are, and when LIBSVM stops."""

    C: float
    multi_class: str
    tol: float
    max_iter: int


def problems(classes: int, multi_class: str) -> Pairs:
    """Return which class stands against which in every problem; -1 is the rest."""
    if classes == 2:  # noqa: PLR2004 - one problem
        return ((1, 0),)
    if multi_class == OVO:
        return tuple(combinations(range(classes), 2))
    return tuple((k, REST) for k in range(classes))


def count_problems(classes: int, multi_class: str) -> int:
    """Return how many problems so many classes are."""
    if classes == 2:  # noqa: PLR2004 - one problem
        return 1
    return classes * (classes - 1) // 2 if multi_class == OVO else classes


def signs_of(codes: I64, pairs: Pairs) -> I8:
    """Return the side of every record in every problem: +1, -1, or 0 where it is in neither class."""
    signs = np.zeros((len(codes), len(pairs)), dtype=np.int8)
    for k, (positive, negative) in enumerate(pairs):
        signs[:, k] -= (codes == negative) if negative >= 0 else (codes != positive)
        signs[:, k] += codes == positive
    return signs


def value_classes(values: F64, multi_class: str) -> F64:
    """Return a column of values per class, or one for two classes, from a column per problem."""
    found = values.shape[1]
    if found == 1 or multi_class != OVO:
        return values
    classes = (1 + isqrt(1 + 8 * found)) // 2  # of which there are so many pairs
    return votes(values, problems(classes, OVO), classes)
