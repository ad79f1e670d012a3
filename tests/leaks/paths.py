"""Paths of cutting planes under observation: which rows each opened sum was over, and with which sign."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.entropy import RootEntropy
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.line_search import STEPS, violating
from tacit.protocols import plane_paths as protocol
from tacit.protocols.plane_rows import Rows
from tacit.protocols.secure_sum import protect
from tacit.runtimes.together import Together

SCALE = 1e-6  # the first feature of the first table is the number of the row, in these units


@dataclass
class Walked:
    """What came of a run, and of every sum that was opened the sign of each row in it, 0 where it is not."""

    paths: Any
    number: int
    signs: list[Any]


def tables_of(X: Any, maps: Sequence[Any], signs: Any) -> tuple[Rows, ...]:
    """Rows under every map; the first has one more feature, which numbers them."""
    first, *others = [each(X) for each in maps]
    numbered = np.column_stack([SCALE * np.arange(len(X)), first])
    return tuple(Rows(F, np.asarray(signs, dtype=np.int8), np.ones(len(X))) for F in (numbered, *others))


def walked(
    tables: Sequence[Rows],
    cell: Any,
    patch: pytest.MonkeyPatch,
    *,
    parties: int = 3,
    empty: int = 0,
    prices: Sequence[float] = (0.3, 3.0),
    **params: Any,
) -> Walked:
    """Solve all pools of these tables, split between the parties."""
    names, parts = tuple(f"p{i + 1}" for i in range(parties)), np.array_split(np.arange(len(cell)), parties - empty)
    parts += [np.arange(0)] * empty
    opened: dict[int, list[Any]] = defaultdict(list)
    lock, honest = threading.Lock(), protocol.cut_sums

    def watched(rows: Any, line: Any, live: Any, step: Any) -> Any:
        place = np.rint(rows[0].F[:, 0] / SCALE).astype(np.int64)
        who = int(place[0]) if len(place) else -1
        cuts, S = np.flatnonzero(step.cut >= 0), rows[0].signs.shape[1]
        V = violating(line.margin[:, live[cuts]], line.ahead[:, cuts], STEPS[step.cut[cuts]])
        with lock:
            opened[who].append((place, np.where(V, rows[0].signs[:, live[cuts] % S], 0)))
        return honest(rows, line, live, step)

    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    signed = tables[0].signs.shape[1] > 1 and bool(np.any((tables[0].signs > 0).any(axis=1) & (tables[0].signs < 0).any(axis=1)))
    how = {"cells": int(cell.max()) + 1, "signed": signed}
    with patch.context() as patched, Together(roster, job=b"paths", entropy=RootEntropy(roster.parties, b"paths")) as run:
        patched.setattr(protocol, "cut_sums", watched)
        by, fixed = protect(run, to=Coordinator), FixedPoint(32, terms=parties)
        held = {n: tuple(Rows(t.F[i], t.signs[i], t.weight[i]) for t in tables) for n, i in zip(names, parts, strict=True)}
        rows = run.hold(Holder, held)
        before = protocol.nothing_summed(run, rows, **how, witness=params.get("witness", False))
        where = run.hold(Holder, {n: cell[i] for n, i in zip(names, parts, strict=True)})
        sizes = {"widths": tuple(t.F.shape[1] for t in tables), "columns": tables[0].signs.shape[1]}
        each = tuple(tuple(prices) for _ in tables)
        paths, summed = protocol.plane_paths(run, rows, where, before, by=by, fixed=fixed, prices=each, **how, **sizes, **params)
        number = summed.number
    return Walked(paths, number, _whole(list(opened.values()), len(cell)))


def _whole(holders: list[list[Any]], rows: int) -> list[Any]:
    """The sums of all holders together, in the order in which they were opened."""
    found = []
    for together in zip(*holders, strict=True):
        whole = np.zeros((rows, together[0][1].shape[1]), dtype=np.int64)
        for place, signs in together:
            whole[place] = signs
        found += list(whole.T)
    return found
