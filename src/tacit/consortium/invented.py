"""Invented records to rehearse a protocol on: few, small, of every split; and a model to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.choreo import F64, Coordinator, Holder, Labeller, Roster
from tacit.data.part import part_of
from tacit.protocols.align import DIGEST
from tacit.protocols.gram_model import DualModel, SupportColumns
from tacit.protocols.gram_weights import WeightShare
from tacit.registry import Inputs

Params = Mapping[str, Any]
SUPPORT = 31  # vectors: enough to make the answers small beside the sums they come from
FEW = 8  # vectors of a model over cells, whose answers are ciphertexts whatever their number


def by_columns(roster: Roster, records: int, _: Params) -> Inputs:
    """One column at each holder, labels at the labeller."""
    rng = np.random.default_rng(0)
    y = np.arange(records) % 2
    draw = {p: rng.normal(size=(records, 1)) for p in roster[Holder]}
    return {"data": (Holder, {p: part_of(X, y if p == _labeller(roster) else None, None, (p,)) for p, X in draw.items()})}


def by_rows(roster: Roster, records: int, params: Params) -> Inputs:
    """So many records, with labels, at each holder."""
    rng = np.random.default_rng(0)
    y = np.resize(params.get("classes") or (0, 1), records)
    return {"data": (Holder, {p: part_of(rng.normal(size=(records, 2)), y, None, ("a", "b")) for p in roster[Holder]})}


def by_cells(roster: Roster, records: int, params: Params) -> Inputs:
    """Of any split, zeros and ones, which every method takes, or less where a smaller range is declared."""
    holders, split = roster[Holder], params["partition"]
    rng, width = np.random.default_rng(0), 1 if split == "vertical" else len(holders)
    size = min(1.0, params.get("feature_range") or 1.0)
    turn = np.add.outer(np.arange(records), np.arange(width)) % len(holders)
    held = {}
    for i, p in enumerate(holders):
        X, y = size * rng.integers(0, 2, (records, width)).astype(np.float64), np.arange(records) % 2
        names = tuple(f"{p}{j}" if split == "vertical" else f"x{j}" for j in range(width))
        labelled = split == "horizontal" or p == _labeller(roster)
        held[p] = part_of(X, y if labelled else None, None, names, turn == i if split == "arbitrary" else None)
    return {"data": (Holder, held)}


def new_columns(roster: Roster, records: int, params: Params) -> Inputs:
    """New records over columns, and a model to ask about them."""
    support = np.linspace(-1.0, 1.0, SUPPORT)
    held = {p: SupportColumns(support[:, None]) for p in roster[Holder]}
    return {**by_columns(roster, records, params), "dual": _dual(roster, support, params), "columns": (Holder, held)}


def new_cells(roster: Roster, records: int, params: Params) -> Inputs:
    """New records of any split, and a model to ask about them."""
    held = {p: SupportColumns(part.X, part.owned) for p, part in by_cells(roster, FEW, params)["data"][1].items()}
    support = np.linspace(-1.0, 1.0, FEW * (len(held) if params["partition"] == "horizontal" else 1))
    return {**by_cells(roster, records, params), "dual": _dual(roster, support, params), "columns": (Holder, held)}


def linear_model(roster: Roster, records: int, params: Params) -> Inputs:
    """A linear model whose weights are to be shared."""
    asked = new_cells(roster, records, {**params, "squares": False})
    return {name: asked[name] for name in ("dual", "columns")}


def new_linear(roster: Roster, records: int, params: Params) -> Inputs:
    """New records of any split, and shares of weights, all zero."""
    words, range_ = np.zeros((params["problems"], len(roster[Holder]) + 1), np.uint64), params.get("feature_range")
    share = WeightShare(words, 0, 0 if range_ is None else int(np.ceil(np.log2(range_))))
    return {**by_cells(roster, records, params), "weights": (Holder, dict.fromkeys(roster[Holder], share))}


def ids(roster: Roster, records: int, _: Params) -> Inputs:
    """The same ids at everybody."""
    same = np.random.default_rng(0).integers(0, 256, (records, DIGEST), np.uint8)
    return {"ids": (Holder, dict.fromkeys(roster[Holder], same))}


def _dual(roster: Roster, support: F64, params: Params) -> tuple[Any, dict[str, DualModel]]:
    kernel = "rbf" if params["squares"] else "linear"
    problems = params.get("problems", 1)
    coef, zeros = np.tile(support, (problems, 1)), np.zeros(problems)
    dual = DualModel(coef, zeros, support**2, zeros, 1, kernel, 1.0, 3, 0.0)
    return Coordinator, {roster[Coordinator][0]: dual}


def _labeller(roster: Roster) -> str | None:
    return roster[Labeller][0] if Labeller in roster.roles else None
