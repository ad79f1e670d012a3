"""Folds: rows dealt out class by class; the class that decision values choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.arrays import F64, I64, U64, Flags


def deal_folds(codes: I64, folds: int, seed: int | Sequence[int]) -> I64:
    """Return the fold of every row: each class is shuffled and dealt round, from a fold drawn by lot.

    Codes below 0 are no rows.
    """
    rng = np.random.default_rng(seed)
    fold = np.zeros(len(codes), dtype=np.int64)
    for code in range(int(codes.max(initial=-1)) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        fold[rows] = (np.arange(len(rows)) + rng.integers(folds)) % folds
    return fold


def deal_shares(kind: I64, key: U64, shares: Sequence[float], least: int, draw: np.random.Generator) -> I64:
    """Return to which part each row goes, where part s has about this share of the rows of every class.

    Rows of a class are ordered by their keys and cut. A part has none or at least `least` rows of a class: where a
    class is too small for all parts, lots are drawn for those that get some of it. Classes of fewer rows than that are
    put whole where there are other rows already; if all are so small, they are dealt as one.
    """
    part, codes = np.zeros(len(kind), dtype=np.int64), np.unique(kind)
    large = [k for k in codes if np.sum(kind == k) >= least]
    for rows in [np.flatnonzero(kind == k) for k in large] or [np.arange(len(kind))]:
        sizes = share_out(len(rows), shares, least, draw)
        part[rows[np.argsort(key[rows], kind="stable")]] = np.repeat(np.arange(len(shares)), sizes)
    held = np.bincount(part[np.isin(kind, large)], minlength=len(shares)) > 0
    for k in (k for k in codes if large and k not in large):
        weight = np.where(held, np.asarray(shares), 0.0)
        part[kind == k] = draw.choice(len(shares), p=weight / weight.sum())
    return part


def share_out(count: int, shares: Sequence[float], least: int, draw: np.random.Generator) -> I64:
    """Return how many of `count` rows each part gets: none or at least `least`, and as near to its share as can be."""
    weight = np.asarray(shares, dtype=np.float64) / np.sum(shares)
    pieces = max(1, min(len(weight), count // max(1, least)))
    some = np.zeros(len(weight), bool)
    some[draw.choice(len(weight), pieces, replace=False, p=weight)] = True
    raised = np.zeros(len(weight), bool)
    while True:  # parts that would be too small get `least` rows, and the others share what is left
        free = some & ~raised
        left = count - least * raised.sum()
        ideal = np.where(free, left * weight / max(weight[free].sum(), np.finfo(np.float64).tiny), least * raised)
        short = free & (ideal < least)
        if pieces == 1 or not short.any():
            return _round_up(ideal, count, some, draw)
        raised |= short


def _round_up(ideal: F64, count: int, some: Flags, draw: np.random.Generator) -> I64:
    """Return whole numbers that add up to `count`; what rounding leaves goes to the largest rests, by lot if equal."""
    whole = np.floor(ideal + 1e-9).astype(np.int64)
    rest = np.where(some, np.round(ideal - whole, 9), -1.0)
    order = np.lexsort((draw.random(len(ideal)), -rest))
    whole[order[: count - int(whole.sum())]] += 1
    return whole


def choose_class(values: F64) -> I64:
    """Return which class the decision values choose: by sign if there is one column, else the largest."""
    return np.asarray(values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1), dtype=np.int64)


def votes(values: F64, pairs: Sequence[tuple[int, int]], classes: int) -> F64:
    """Return the duels won of one-versus-one, and below one vote the sum of the values, as scikit-learn has it."""
    won, sure = np.zeros((len(values), classes)), np.zeros((len(values), classes))
    for k, (i, j) in enumerate(pairs):
        won[:, i] += values[:, k] >= 0
        won[:, j] += values[:, k] < 0
        sure[:, i] += values[:, k]
        sure[:, j] -= values[:, k]
    return won + sure / (3.0 * (np.abs(sure) + 1.0))


def assign_stages(codes: I64, fold: I64, shares: Sequence[float], seed: int | Sequence[int]) -> I64:
    """Return from which stage on a row takes part, if stage s has this share of the rows of each class and fold.

    Shares rise to 1.
    """
    rng = np.random.default_rng(seed)
    stage = np.full(len(codes), len(shares) - 1, dtype=np.int64)
    for code in range(int(codes.max(initial=-1)) + 1):
        for q in range(int(fold.max(initial=-1)) + 1):
            rows = rng.permutation(np.flatnonzero((codes == code) & (fold == q)))
            ends = np.ceil(np.asarray(shares) * len(rows) - 1e-9)
            stage[rows] = np.searchsorted(ends, np.arange(len(rows)), side="right")
    return stage
