"""Moments of the rows within the margin, training after training, over whole groups of rows.

The problem. SVM-t needs count, sum and sum of squares of every feature over the rows with y f(x) <= 1 + slack, for each
side of each problem (slack = sqrt(tol): which rows are on the margin is known only as far as the model is solved).
Feature by feature these are sums of raw values: if the rows within the margin of two models differed by one row, the
difference of their sums would BE that row. So every holder rounds the rows within the margin to its groups (`atoms`), which it splits
where pieces are large enough, by (2) and (3) of `numeric.atoms` with

    h_i = 1 + slack - y_i f(x_i),      missing at most a tenth of sum max(0, h_i)                                   (1)

A side without rows within the margin leaves its problem out.

Roles. Holder: records. Coordinator: opens the moments.
Threat. Semi-honest; coalitions as `secure_sum`. All sums are over unions of groups, those of `cutting_plane` too.
Source: ours; SVM-t is 004 (5.3), corrected (docs/methods/feature_selection.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.numeric.atoms import OUT, rounded
from tacit.numeric.relevance import Expansion, decision, moments
from tacit.protocols.atoms import Atoms, keep, regrouped
from tacit.protocols.feature_map import Records
from tacit.protocols.secure_sum import secure_sum
from tacit.protocols.subset_svm import Ground

I8 = NDArray[np.int8]
MISSED = 0.1  # of (1)


class Within(Message, tells="of which problems there are groups within the margin on both sides"):
    """1 or 0 by problem."""

    problems: I64


class Inside(State):
    """A holder's atoms, and which rows stand for those within the margin: a column for every side of every problem."""

    atoms: Atoms
    rows: F64


@choreography(
    opens={
        Coordinator: "on each side of each problem, over a union of groups of rows that stands for those within the margin: how many rows,"
        " and the sum and the sum of squares of every feature left",
        Everyone: "for each problem, whether there are such groups on both sides (where not, SVM-t abstains)",
    }
)
def margin_moments(
    run: Run, data: At[Any], atoms: At[Atoms], signs: At[I8], features: I64, e: Expansion, *, ground: Ground
) -> tuple[At[F64] | None, At[Atoms]]:
    """The moments, None if no problem has both sides; and the atoms after the sets were rounded."""
    inside = run.local(Holder, within, data, atoms, signs, features, e, math.sqrt(ground.svm.tol))
    atoms = run.local(Holder, atoms_of, inside)
    keep(run, atoms)
    own = run.local(Holder, moments_of, data, inside, features, offset(ground, features))
    opened = secure_sum(run, own, to=Coordinator, by=ground.by, fixed=ground.fixed, what="moments within the margin")
    known = run.publish(Within, run.local(Coordinator, both_sides, opened)).problems
    return (run.local(Coordinator, usable, opened, known) if known.any() else None), atoms


def offset(ground: Ground, features: I64) -> F64:
    """Where the features are, as far as the landmarks tell: sums of squares around it lose less to rounding."""
    return ground.landmarks(features).mean(axis=0) if len(ground.centres) else np.zeros(len(features))


# Steps at the holders


def within(part: Records, atoms: Atoms, signs: I8, features: I64, e: Expansion, slack: float) -> Inside:
    """(1), side after side."""
    group, values = atoms.group, decision(e, part.X[:, features])
    rows = np.zeros((len(group), 2 * signs.shape[1]))
    for k in range(signs.shape[1]):
        h = 1.0 + slack - signs[:, k] * values[:, k]
        for side, sign in enumerate((1, -1)):
            own, fresh = np.where(signs[:, k] == sign, group, OUT), int(group.max(initial=OUT)) + 1
            missed = MISSED * float(np.maximum(h[own >= 0], 0.0).sum())
            rows[:, 2 * k + side], finer = rounded(own, h, atoms.least, missed, fresh)
            group = np.where(finer >= fresh, finer, group)
    return Inside(regrouped(atoms, group), rows)


def atoms_of(inside: Inside) -> Atoms:
    """The atoms after the sets were rounded."""
    return inside.atoms


def moments_of(part: Records, inside: Inside, features: I64, at: F64) -> F64:
    """Count, sum and sum of squares around `at` over the rows of each set."""
    return moments(part.X[:, features], inside.rows, at)


# Steps at the coordinator


def both_sides(opened: F64) -> Within:
    """Problems with rows on both sides."""
    return Within((np.rint(opened[:, 0]).reshape(-1, 2).min(axis=1) > 0).astype(np.int64))


def usable(opened: F64, known: I64) -> F64:
    """(problems x 2 x moments); zeros where a side is missing."""
    return opened.reshape(len(known), 2, -1) * known[:, None, None]
