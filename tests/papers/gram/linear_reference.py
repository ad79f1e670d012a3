"""Weights in shares and linear answers as conformance cases.

The plain product of coefficients, cells and new records is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from conformance.case import flat
from tacit.choreo import At, Coordinator, Holder, Run
from tacit.federation.part import Part
from tacit.federation.plan import by_cells, by_columns, by_rows
from tacit.federation.table import as_table
from tacit.numeric.ring.words import Ring
from tacit.papers.gram.linear import gram_linear_predict
from tacit.papers.gram.train import DualModel, SupportColumns
from tacit.papers.gram.weights import FINER, WeightShare, answer_cells, gram_weights

SUPPORT, NEW, COLUMNS, PROBLEMS = 8, 6, 4, 2
FRACTION_BITS, EXPONENT = 22, 2
RNG = np.random.default_rng(17)
C, B = RNG.uniform(-3, 3, (PROBLEMS, SUPPORT)), RNG.normal(size=PROBLEMS)
X, Z = (RNG.uniform(-4, 4, (rows, COLUMNS)) for rows in (SUPPORT, NEW))
MODELS = {"ovr": (C, B), "ovo": (RNG.uniform(-3, 3, (3, SUPPORT)), RNG.normal(size=3))}  # three classes: three pairs
RING = Ring(1 << answer_cells(0, COLUMNS).ring_bits)


def cut(table: Any, parties: Sequence[str], partition: str) -> dict[str, Part]:
    """By rows and columns in order, so that holders have them in the order of the table."""
    rows, columns = table.shape
    if partition == "horizontal":
        plan = by_rows(dict(zip(parties, np.array_split(np.arange(rows), len(parties)), strict=True)), columns)
    elif partition == "vertical":
        plan = by_columns(dict(zip(parties, np.array_split(np.arange(columns), len(parties)), strict=True)), rows)
    else:
        owner = np.random.default_rng(2).integers(0, len(parties), table.shape)
        plan = by_cells({p: owner == k for k, p in enumerate(parties)})
    return plan.cut(as_table(table), None)


def support(parties: Sequence[str], partition: str) -> dict[str, SupportColumns]:
    return {p: SupportColumns(part.X, part.owned) for p, part in cut(X, parties, partition).items()}


def dual() -> DualModel:
    return DualModel(
        C, B, np.square(X).sum(axis=1), np.zeros(PROBLEMS), 1, "linear", 1.0, 3, 0.0, np.linalg.norm(C @ X, axis=1)
    )


def play_weights(run: Run, columns: At[Any], *, partition: str) -> Any:
    return gram_weights(run, run.local(Coordinator, dual), columns, partition=partition, problems=PROBLEMS)


def check_weights(shares: Mapping[str, WeightShare]) -> None:
    first = next(iter(shares.values()))
    f, e = first.fraction_bits, first.exponent
    assert (e, {(s.fraction_bits, s.exponent) for s in shares.values()}) == (2, {(f, e)})
    found = RING.centred(RING.total(s.words.ravel() for s in shares.values())).reshape(PROBLEMS, COLUMNS + 1)
    off = (len(shares) + 0.25) * 2.0**-f + np.abs(C).sum(axis=1).max() * 2.0 ** (e - 41)
    np.testing.assert_allclose(np.ldexp(found[:, :-1].astype(float), -f), C @ X, rtol=0, atol=off)
    np.testing.assert_allclose(
        np.ldexp(found[:, -1].astype(float), e - f - FINER), B, rtol=0, atol=2.0 ** (e - f - FINER - 1)
    )


def play_answers(run: Run, data: At[Any], *, partition: str, **how: Any) -> Any:
    """With shares of the integers of w and b that are dealt here."""
    way = how.get("multi_class", "ovr")
    weights = run.local(Holder, share_of, run.who(Holder), run.roster[Holder], way)
    return flat(gram_linear_predict)(run, data, weights, partition=partition, problems=len(MODELS[way][1]), **how)


def share_of(me: str, parties: tuple[str, ...], way: str) -> WeightShare:
    C, B = MODELS[way]
    whole = np.column_stack([np.ldexp(C @ X, FRACTION_BITS), np.ldexp(B, FRACTION_BITS - EXPONENT + FINER)])
    words = np.rint(whole).astype(np.int64).astype(np.uint64) % np.uint64(RING.modulus)
    drawn = np.random.default_rng(23).integers(0, RING.modulus, (len(parties) - 1, *words.shape), dtype=np.uint64)
    parts = [*drawn, words - drawn.sum(axis=0, dtype=np.uint64)]
    return WeightShare(parts[parties.index(me)] % np.uint64(RING.modulus), FRACTION_BITS, EXPONENT)


def check_answers(found: Mapping[str, Any], *, partition: str, multi_class: str = "ovr", **_: Any) -> None:
    C, B = MODELS[multi_class]
    assert list(found) == ["p1"] or partition == "horizontal"
    values = np.concatenate([found[p] for p in sorted(found)])
    weight = np.abs(C @ X).sum(axis=1).max()
    off = (
        COLUMNS * 4 * 2.0 ** -(FRACTION_BITS + 1)
        + (weight + 1e-3) * 2.0 ** (EXPONENT - answer_cells(0, COLUMNS).bits - 1)
        + 1e-9
    )
    told = Z @ (C @ X).T + B
    if multi_class == "ovo":  # scikit-learn's positive class of a pair is the second
        told, off = _ovr_decision_function(told < 0, -told, 3), 2 * off
    np.testing.assert_allclose(values, told, rtol=0, atol=off)


# name: partition, and what else the protocol is given
WEIGHT_CASES = {"rows": "horizontal", "cells": "arbitrary"}
ANSWER_CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "rows": ("horizontal", {}),
    "columns": ("vertical", {"feature_range": 4.0}),
    "cells": ("arbitrary", {}),
    "ovo": ("vertical", {"multi_class": "ovo"}),
}
