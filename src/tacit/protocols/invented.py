"""Invented records to rehearse a protocol on: few, small, of every split."""

from __future__ import annotations

import numpy as np

from tacit.choreo import Holder, Labeller, Roster
from tacit.choreo.protocol import Inputs, Stage


def by_columns(stage: Stage) -> Inputs:
    """Return one column at each holder, with labels at the labeller."""
    rng = np.random.default_rng(0)
    y = np.arange(stage.records) % 2
    labels = {_labeller(stage.roster): y}
    cells = {p: rng.normal(size=(stage.records, 1)) for p in stage.roster[Holder]}
    return {"data": (Holder, {p: stage.part(X, labels.get(p), None, (p,)) for p, X in cells.items()})}


def by_rows(stage: Stage) -> Inputs:
    """Return so many records, with labels, at each holder."""
    rng = np.random.default_rng(0)
    y = np.resize(stage.params.get("classes") or (0, 1), stage.records)
    cells = {p: rng.normal(size=(stage.records, 2)) for p in stage.roster[Holder]}
    return {"data": (Holder, {p: stage.part(X, y, None, ("a", "b")) for p, X in cells.items()})}


def by_cells(stage: Stage) -> Inputs:
    """Return records of any split.

    Cells are zeros and ones, which every method takes, or less where a smaller range is declared.
    """
    holders, split = stage.roster[Holder], stage.params["partition"]
    rng, width = np.random.default_rng(0), 1 if split == "vertical" else len(holders)
    size = min(1.0, stage.params.get("feature_range") or 1.0)
    turn = np.add.outer(np.arange(stage.records), np.arange(width)) % len(holders)
    held: dict[str, object] = {}
    for i, p in enumerate(holders):
        X, y = size * rng.integers(0, 2, (stage.records, width)).astype(np.float64), np.arange(stage.records) % 2
        names = tuple(f"{p}{j}" if split == "vertical" else f"x{j}" for j in range(width))
        labelled = split == "horizontal" or p == _labeller(stage.roster)
        held[p] = stage.part(X, y if labelled else None, None, names, turn == i if split == "arbitrary" else None)
    return {"data": (Holder, held)}


def _labeller(roster: Roster) -> str | None:
    return roster[Labeller][0] if Labeller in roster.roles else None
