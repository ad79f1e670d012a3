"""Alignment as jobs name it: what it needs, how it is rehearsed and what it costs."""

from __future__ import annotations

import numpy as np

from tacit.choreo import Holder
from tacit.choreo.protocol import LARGE, SMALL, Brought, Cost, Declaration, Inputs, Planned, Rehearsal, Stage
from tacit.protocols.align.alignment import DIGEST, align
from tacit.protocols.align.blind_function import count_blocks


def same_ids(stage: Stage) -> Inputs:
    """Return invented ids, the same at every holder."""
    same = np.random.default_rng(0).integers(0, 256, (stage.records, DIGEST), np.uint8)
    return {"ids": (Holder, dict.fromkeys(stage.roster[Holder], same))}


def estimate(planned: Planned) -> Cost:
    """Scale from rehearsals: bytes grow with the ids; every block of columns is sent to each holder but the first."""
    small, large = (planned.rehearse(n) for n in (SMALL, LARGE))
    growth, blocks = (
        (planned.records - SMALL) / (LARGE - SMALL),
        count_blocks(planned.records, planned.complete["block"]),
    )
    sent = zip(planned.roster.parties, planned.traffic(small), planned.traffic(large), strict=True)
    moved = {p: round(a + max(0.0, growth) * (b - a)) for p, a, b in sent}
    return Cost(rounds=small.rounds + (len(planned.roster[Holder]) - 1) * (blocks - 1), bytes=moved)


ALIGN = Declaration(
    align,
    {"ids": Brought(Holder, "ids")},
    Rehearsal(same_ids, lambda _: {"min_records": 1}, estimate),
    unless={"count_only": True},
    columns_only=True,
)
