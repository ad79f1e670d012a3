"""Moments of the rows within the margin, training after training, over whole groups of rows.

The problem. SVM-t needs count, sum and sum of squares of every feature over the rows with y f(x) <= 1 + slack, for each
side of each problem (slack = sqrt(tol): which rows are on the margin is known only as far as the model is solved).
Feature by feature these are sums of raw values: if the rows within the margin of two models differed by one row, the
difference of their sums would BE that row. So every holder rounds the rows within the margin to its groups (`atoms`),
which it splits where pieces are large enough, by (2) and (3) of `numeric.groups.atoms` with

    h_i = 1 + slack - y_i f(x_i),      missing at most a tenth of sum max(0, h_i)                                   (1)

A side without rows within the margin leaves its problem out.

Roles. Holder: records. Coordinator: opens the moments.
Threat. Semi-honest; coalitions as `secure_sum`. All sums are over unions of groups, those of `cutting_plane` too.
Source: ours; SVM-t is 004 (5.3), corrected (docs/methods/feature_selection.md).
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.numeric.features.relevance import Expansion, decision, moments
from tacit.numeric.groups.numbering import OUT
from tacit.numeric.groups.rounding import round_to_groups
from tacit.protocols.part import Records
from tacit.protocols.planes.subset_svm import Ground
from tacit.protocols.sums.atoms import Atoms, keep, regroup

MISSED = 0.1  # of (1)


class Within(
    Message,
    tells=Fact(
        "select.margin_on_both_sides",
        "holders",
        "count",
        "class",
        "which problems have groups within the margin on both sides",
    ),
):
    """1 for every problem that has groups within the margin on both sides, else 0."""

    problems: I64


class Inside(State):
    """A holder's atoms, and which rows stand for those within the margin: a column for every side of every problem."""

    atoms: Atoms
    rows: F64


@choreography(
    opens={
        Coordinator: Fact(
            "select.margin_moments",
            "holders",
            "aggregate",
            "group",
            "on each side of each problem, over a union of groups of rows that stands for those within the margin: how"
            " many rows, and the sum and the sum of squares of every feature left",
        ),
        Everyone: Fact(
            "select.margin_groups",
            "holders",
            "count",
            "class",
            "for each problem, whether there are such groups on both sides (where not, SVM-t abstains)",
        ),
    }
)
def margin_moments(
    run: Run, data: At[Records], atoms: At[Atoms], signs: At[I8], features: I64, e: Expansion, *, ground: Ground
) -> tuple[At[F64] | None, At[Atoms]]:
    """Return the moments, or None if no problem has both sides, and the atoms after the sets were rounded."""
    inside = run.local(Holder, find_within, data, atoms, signs, features, e, math.sqrt(ground.svm.tol))
    atoms = run.local(Holder, atoms_of, inside)
    keep(run, atoms)
    own = run.local(Holder, moments_of, data, inside, features, offset(ground, features))
    opened = ground.voice.sum_to_coordinator(own, "moments within the margin")
    known = run.publish(Within, run.local(Coordinator, both_sides, opened)).problems
    return (run.local(Coordinator, keep_known, opened, known) if known.any() else None), atoms


def offset(ground: Ground, features: I64) -> F64:
    """Return about where the features lie, from the landmarks: sums of squares around it lose less to rounding."""
    return ground.landmarks(features).mean(axis=0) if len(ground.centres) else np.zeros(len(features))


# Steps at the holders


def find_within(part: Records, atoms: Atoms, signs: I8, features: I64, e: Expansion, slack: float) -> Inside:
    """Return the rows within the margin by (1), rounded to groups, for one side after the other."""
    group, values = atoms.group, decision(e, part.X[:, features])
    rows = np.zeros((len(group), 2 * signs.shape[1]))
    for k in range(signs.shape[1]):
        h = 1.0 + slack - signs[:, k] * values[:, k]
        for side, sign in enumerate((1, -1)):
            own, fresh = np.where(signs[:, k] == sign, group, OUT), int(group.max(initial=OUT)) + 1
            missed = MISSED * float(np.maximum(h[own >= 0], 0.0).sum())
            rows[:, 2 * k + side], finer = round_to_groups(own, h, atoms.least, missed, fresh)
            group = np.where(finer >= fresh, finer, group)
    return Inside(regroup(atoms, group), rows)


def atoms_of(inside: Inside) -> Atoms:
    """Return the atoms after the sets were rounded."""
    return inside.atoms


def moments_of(part: Records, inside: Inside, features: I64, at: F64) -> F64:
    """Return count, sum and sum of squares around `at` over the rows of each set."""
    return moments(part.X[:, features], inside.rows, at)


# Steps at the coordinator


def both_sides(opened: F64) -> Within:
    """Return which problems have rows on both sides."""
    return Within((np.rint(opened[:, 0]).reshape(-1, 2).min(axis=1) > 0).astype(np.int64))


def keep_known(opened: F64, known: I64) -> F64:
    """Return the moments as (problems x 2 x moments), with zeros where a side is missing."""
    return opened.reshape(len(known), 2, -1) * known[:, None, None]
