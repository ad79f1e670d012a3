"""Vertical span: the sums of a consensus over columns span the columns, and known records give all others.

Every sum that the coordinator opens is X times a vector that it does not know, one for each round and problem:

    S = X W,    Q R = S    so    X = Q A    with A from the known records:    Q_K A = X_K                  (1)

From as many sums as columns Q spans all of X, and as many known records as columns fix A. The more sums, the less it
matters that one is almost the combination of others. Fewer sums than columns leave directions of which nothing is
known.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.coordinator import OwnCoordinator
from tacit.attacks.inversion import Inversion, judge
from tacit.choreo import Coordinator, Holder, Labeller, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import Part, part_of
from tacit.protocols.consensus import sharing as consensus_sharing
from tacit.protocols.consensus import span as consensus_span
from tacit.protocols.consensus import vertical as consensus_vertical
from tacit.protocols.consensus.settings import ColumnSvm
from tacit.protocols.settings import Sums


@dataclass
class Listener:
    """An honest coordinator that remembers what it published and what was summed, by round and problem."""

    told: list[F64] = field(default_factory=list)
    sums: list[F64] = field(default_factory=list)
    parties: int = 1

    def margin_step(self, state: Any, S: F64, *rest: Any) -> Any:
        """Remember a round of ADMM; before the first there is nothing to add up."""
        if not S.any():
            return consensus_sharing.margin_step(state, S, *rest)
        self.told.append((state.z - state.S + state.r) / self.parties)
        self.sums.append(S)
        return consensus_sharing.margin_step(state, S, *rest)

    def widen(self, search: Any, sides: Any, live: I64, asked: F64, S: F64, error: float) -> Any:
        """Remember a round in the span."""
        self.told.append(asked)
        self.sums.append(S)
        return consensus_span.widen(search, sides, live, asked, S, error)

    def seen(self) -> tuple[F64, F64]:
        """Return all that was told and all that was summed."""
        return np.hstack(self.told), np.hstack(self.sums)


def listen(parts: Mapping[str, Part], **params: Any) -> tuple[F64, F64]:
    """Train with honest parties, the first with the labels; return what the coordinator told and what it learnt."""
    first, job = next(iter(parts)), secrets.token_bytes(16)
    roster = Roster({Holder: tuple(parts), Labeller: (first,), Coordinator: ("coordinator",)})
    listener = Listener(parties=len(parts))
    with OwnCoordinator(roster, job=job, entropy=RootEntropy(roster.parties, job)) as run:
        run.steps = {"margin_step": listener.margin_step, "widen": listener.widen}
        svm = ColumnSvm(accept_risk=True, **params)
        consensus_vertical.consensus_vertical(run, run.hold(Holder, parts), svm=svm, sums=Sums())
    return listener.seen()


def deal_columns(X: F64, y: I64, cuts: list[I64]) -> dict[str, Part]:
    """Return the columns at their parties, with the labels at the first."""
    return {
        f"p{i + 1}": part_of(X[:, cut], y if i == 0 else None, None, tuple(f"x{j}" for j in cut))
        for i, cut in enumerate(cuts)
    }


def vertical_span(sums: F64, truth: F64, known: I64) -> Inversion:
    """Reconstruct all records by (1); of `truth` only the known rows are used, the rest measures."""
    Q, size, _ = np.linalg.svd(sums / np.linalg.norm(sums, axis=0), full_matrices=False)
    Q = Q[:, : min(truth.shape[1], int(np.sum(size > size[0] * np.finfo(np.float64).eps)))]
    return judge(Q @ np.linalg.lstsq(Q[known], truth[known], rcond=None)[0], truth, known)
