"""How good a public model is on held-out records: which class they are given, or how far off its answers are.

The problem. By rows each holder has records and the values that the model gives them; over columns and cells nobody has
a record as a whole, one holder has the labels, and values are in shares. Everybody shall know, of all records and, if
it is asked for, of groups of them (sites, or declared categories of a column),

    classes    n_ab = |{i : class a, given b}|, how many are of no class that is shown, and of two classes how many of
               either have a value in each of some bins                                   `judge.bins`
               of probabilities the squared error of all, rounded                         `judge.sums`
    numbers    n, and sum |e|, sum e^2, sum (t - mean t)^2, rounded                       `judge.sums`
    sites      where each site's own model is judged beside the joint one on its own records: figures of both, rounded
               to 2^-(2 + j), 2^j the root of the number of its records or more                                     (1)

    1. sizes      how many records each party brings                              `learners.targets`
    2. counts     of its own records at each holder, else in shares               `judge.shared`, `judge.shared`
    3. shown      which classes and groups are: none with 1 to k - 1 records of a class, nor is the rest
                                                                                  `judge.bins`
    4. told       the counts of these, their rounded sums, and bins
    5. sites      each one of 3 computes and rounds (1) of its own records, and publishes it

Roles. Holder: records, columns or cells. Labeller: over columns and cells the labels. Coordinator: the dealer.
Threat. Semi-honest, as `shares.dealing`. What a run opens follows from its result. NOT protected: somebody who knows
all records of a class but one reads that one's cell; counts of many models on the same records add up, so a site limits
how many are judged; the dealer together with one holder has all counts of its own.
Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Everyone, Holder, Result, Run, State, choreography
from tacit.choreo.declaration import Either, Items, Nothing, Number, Settings, Switch, parameter
from tacit.choreo.protocol import Declaration
from tacit.errors import LocalError
from tacit.numeric.scores.folds import choose_class
from tacit.numeric.scores.metrics import accuracy, exact_areas, macro, recalls
from tacit.protocols.column_parameters import OF_SCORES
from tacit.protocols.facts import JUDGEMENT, MODEL, SIZES
from tacit.protocols.judge.bins import Bins, choose_classes, choose_groups, merge_bins
from tacit.protocols.judge.shared import (
    FAR,
    SUMS,
    TWO,
    HeldOut,
    Layout,
    bound_values,
    count_own,
    count_shared,
    sum_own,
    sum_shared,
)
from tacit.protocols.judge.sums import JudgedShare, JudgedWords, OwnFigures, round_chances, round_errors
from tacit.protocols.learners.answers import KnownModel, Shown, caps_of_map, show_public
from tacit.protocols.learners.fitting import count_table, describe_side
from tacit.protocols.learners.targets import LEAST_CLASS, publish_sizes
from tacit.protocols.part import Held
from tacit.protocols.shares.dealing import Dealing, agree_with_dealer, check_dealer
from tacit.protocols.shares.revealing import reveal

FIGURES = 3  # of a site: accuracy, its mean over the classes, and area; or R^2 alone
FINITE = Number()


@dataclass(frozen=True, kw_only=True)
class Judging(Settings):
    """What is counted. n_classes: 0 of numbers. bins: fine ones, of which curves of two classes are made."""

    n_classes: int
    bins: int = 128
    middle: float = parameter(0.0, FINITE, "of numbers, where the model's targets are centred", follows=True)
    reach: float = parameter(1.0, FINITE, "of numbers, how far the model's targets go", follows=True)
    sigmoid: tuple[float, float] | None = parameter(
        None, Either((Nothing(), Items(FINITE, 2, 2))), "A and B of the model's probabilities", follows=True
    )
    n_groups: int = parameter(
        0, Number(0, whole=True, job_most=100), "of how many groups of records figures are told", opens=True
    )
    by_site: bool = parameter(
        default=False, kind=Switch(), says="whether the groups are the records of each site", opens=True
    )
    beside: bool = parameter(
        default=False,
        kind=Switch(),
        says="whether each site judges a model of its own beside the joint one, and tells rounded figures",
        opens=True,
    )
    least_shown: int = parameter(
        LEAST_CLASS,
        Number(1, whole=True, job_least=LEAST_CLASS, job_most=10**9),
        "of how many records of a class everything is that is told of groups, or of none",
        opens=True,
    )


class SiteFigures(State):
    """Rounded figures of a site's own records: by the joint model, and by one that it trained alone."""

    joint: F64
    alone: F64


class Judgement(Result):
    """What everybody is told.

    records: how many there are; held: at each party. classes, groups: which are shown, 1 or 0. cells: of all records,
    then of each group, a table of classes and classes given, 0 where nothing is shown. bins: of two classes; brier: the
    mean squared error of their probabilities, NaN without any. errors: of numbers a line for each set: how many
    records, and the sums for each record; NaN where nothing is shown. sites: their figures, where these are asked for
    and shown.
    """

    records: int
    held: dict[str, int]
    classes: I64
    groups: I64
    cells: I64
    errors: F64
    brier: float
    bins: Bins | None = None
    sites: dict[str, SiteFigures] | None = None


@choreography(opens={Everyone: (SIZES, MODEL, JUDGEMENT)})
def judge_model(
    run: Run,
    data: At[Held],
    own: At[HeldOut],
    model: At[KnownModel] | None = None,
    alone: At[HeldOut] | None = None,
    *,
    partition: str,
    judging: Judging,
) -> Judgement:
    """Tell everyone how good the model is. With `model` records are in parts; else `own` has its values."""
    check_dealer(run)
    sizes = publish_sizes(run, data)
    rows, _ = count_table(sizes, partition, least=1)
    check_sites(judging, partition, alone)
    layout = plan_layout(judging, rows, len(run.roster[Holder]), whole=model is None)
    run.local(Holder, check_held, own, layout, run.who(Holder))
    if judging.by_site or judging.beside:
        own = run.local(Holder, mark_site, own, run.who(Holder), run.roster[Holder])
    dealing = agree_with_dealer(run)
    shown = None if model is None else show_public(run, model)
    args = run, dealing, data, own, shown, partition, sizes, layout
    if judging.n_classes:
        classes, groups, cells, bins, brier = judge_classes(*args, judging)
        errors = np.empty((0, 4))
    else:
        groups, errors = judge_numbers(*args, judging)
        classes, cells = np.empty(0, dtype=np.int64), np.empty((0, 0, 0), dtype=np.int64)
        bins, brier = None, math.nan
    sites = None if alone is None else compare_sites(run, own, alone, groups, layout)
    run.note(records=rows)
    held = {party: n for party, (n, _) in sizes.items()}
    told: Any = {"classes": classes, "groups": groups, "cells": cells, "errors": errors, "bins": bins, "sites": sites}
    return Judgement(records=rows, held=held, brier=brier, **told)


def check_sites(judging: Judging, partition: str, alone: At[HeldOut] | None) -> None:
    """Refuse figures of sites where no record is of one site."""
    if partition != "horizontal" and (judging.by_site or judging.beside):
        raise LocalError("over columns and cells no record is of one site: leave out by='site' and against='alone'")
    if judging.beside != (alone is not None):
        raise LocalError("beside=True takes the values of the sites' own models, and nothing else does: bring both")


def plan_layout(judging: Judging, rows: int, holders: int, *, whole: bool) -> Layout:
    """Return the public sizes of what is counted; where values are in shares, fewer bins of many records."""
    groups = holders if judging.by_site or judging.beside else judging.n_groups
    bins = judging.bins // 4 * 4 if judging.n_classes == TWO else 0
    if not whole:
        room = (1 << 18) // rows
        bins = min(bins, max(16, 1 << max(0, room.bit_length() - 1))) if bins else 0
    return Layout(rows, judging.n_classes, groups, bins)


def judge_classes(
    run: Run,
    dealing: Dealing,
    data: At[Held],
    own: At[HeldOut],
    model: Shown | None,
    partition: str,
    sizes: Mapping[str, tuple[int, int]],
    layout: Layout,
    judging: Judging,
) -> tuple[I64, I64, I64, Bins | None, float]:
    """Return which classes and groups are shown, their cells; of two classes bins, and the error of probabilities."""
    K, least = layout.classes, judging.least_shown
    if model is None:
        counted = run.local(Holder, count_own, own, layout)
    else:
        side = describe_side(run, dict(sizes), partition, caps_of_map(model.map), weighted=False)
        counted = count_shared(run, dealing, data, own, model, side, layout)
    of_all = run.local(Holder, add_classes, counted, layout)
    classes = choose_classes(run, dealing, of_all, K, layout.records, least)
    kept, groups = np.flatnonzero(classes), np.zeros(layout.groups, dtype=np.int64)
    cells = np.zeros((layout.lines, K, K), dtype=np.int64)
    if not kept.size:
        return classes.astype(np.int64), groups, cells, None, math.nan
    if layout.groups:
        by_group = run.local(Holder, add_groups, counted, layout, kept)
        found = choose_groups(run, dealing, by_group, layout.groups, len(kept) + 1, layout.records, least)
        groups = found.astype(np.int64)
    lines = np.concatenate([[0], np.flatnonzero(groups) + 1 if shows_counts(judging) else []]).astype(np.int64)
    taken = run.local(Holder, take_cells, counted, layout, lines, kept)
    told = reveal(run, dealing, JudgedShare, JudgedWords, taken, size=len(lines) * len(kept) * K)
    cells[np.ix_(lines, kept)] = told.reshape(len(lines), len(kept), K)
    bins, brier = None, math.nan
    if layout.bins and classes.all() and cells[0].sum(axis=1).all():
        fine = run.local(Holder, take_bins, counted, layout)
        bins = merge_bins(run, dealing, fine, layout.bins, cells[0], least, layout.records)
        if judging.sigmoid is not None:
            whole = int(cells[0].sum())
            brier = round_chances(run, dealing, fine, layout.bins, *judging.sigmoid, whole)
    return classes.astype(np.int64), groups, cells, bins, brier


def judge_numbers(
    run: Run,
    dealing: Dealing,
    data: At[Held],
    own: At[HeldOut],
    model: Shown | None,
    partition: str,
    sizes: Mapping[str, tuple[int, int]],
    layout: Layout,
    judging: Judging,
) -> tuple[I64, F64]:
    """Return which groups are shown, and of all records and these how many there are, and rounded sums."""
    groups, least = np.zeros(layout.groups, dtype=np.int64), judging.least_shown
    found = np.full((layout.lines, 4), np.nan)
    if layout.records < least:
        return groups, found
    if model is None:
        bits, sums = layout.bits(), run.local(Holder, sum_own, own, layout, judging.middle, judging.reach)
    else:
        side = describe_side(run, dict(sizes), partition, caps_of_map(model.map), weighted=False)
        bits = layout.bits(FAR + bound_values(model, side))
        sums = sum_shared(run, dealing, data, own, model, side, layout, judging.middle, judging.reach)
    counts = np.zeros(layout.lines, dtype=np.int64)
    counts[0] = layout.records
    if layout.groups:
        by_group = run.local(Holder, take_counts, sums, layout)
        told = choose_groups(run, dealing, by_group, layout.groups, 1, layout.records, least)
        groups = told.astype(np.int64)
    lines = np.concatenate([[0], np.flatnonzero(groups) + 1 if shows_counts(judging) else []]).astype(np.int64)
    if len(lines) > 1:
        taken = run.local(Holder, take_some, sums, layout, lines[1:])
        counts[lines[1:]] = reveal(run, dealing, JudgedShare, JudgedWords, taken, size=len(lines) - 1)
    filled = lines[counts[lines] > 0]
    rounded = round_errors(run, dealing, sums, counts[filled], filled, bits, layout)
    units = np.array([judging.reach, judging.reach**2, judging.reach**2])
    found[lines, 0] = counts[lines]
    found[filled, 1:] = rounded * units / counts[filled, None]
    return groups, found


def shows_counts(judging: Judging) -> bool:
    """Return whether counts of groups are shown: not those of sites that only tell rounded figures."""
    return judging.by_site or not judging.beside


def compare_sites(
    run: Run, own: At[HeldOut], alone: At[HeldOut], groups: I64, layout: Layout
) -> dict[str, SiteFigures]:
    """Return the figures of the sites that are shown, (1), each of which publishes its own."""
    shown = {party for party, is_shown in zip(run.roster[Holder], groups.tolist(), strict=True) if is_shown}
    told = {
        str(m): run.publish(OwnFigures, run.local(m, rate_own, own, alone, layout))
        for m in run.members(Holder)
        if str(m) in shown
    }
    return {party: SiteFigures(each.joint, each.alone) for party, each in told.items()}


# Steps at the holders


def check_held(own: HeldOut, layout: Layout, me: str) -> None:
    """Refuse values that are no numbers, before anything is told of them."""
    bad = np.flatnonzero(~np.isfinite(own.values).all(axis=1))
    if len(bad):
        raise LocalError(
            f"{me}: the model's value of {len(bad)} records is not a number, the first being number {bad[0] + 1}: look"
            " at its values"
        )
    if not layout.classes and not np.isfinite(own.targets).all():
        raise LocalError(f"{me}: not all targets are finite numbers: leave such records out")


def mark_site(own: HeldOut, me: str, holders: tuple[str, ...]) -> HeldOut:
    """Return a holder's records as one group."""
    return HeldOut(own.values, own.codes, own.targets, np.full(len(own.values), holders.index(me), dtype=np.int64))


def cells_of(counted: I64, layout: Layout) -> I64:
    """Return the cells by line, class and class given; the last class is none."""
    return counted[: layout.cells].reshape(layout.lines, layout.classes + 1, layout.classes)


def add_classes(counted: I64, layout: Layout) -> I64:
    """Return how many records of each class there are, and of none."""
    return np.asarray(cells_of(counted, layout)[0].sum(axis=1))


def add_groups(counted: I64, layout: Layout, kept: I64) -> I64:
    """Return how many records of each class that is shown there are, and of all others, of all and of each group."""
    sizes = cells_of(counted, layout).sum(axis=2)
    others = sizes.sum(axis=1) - sizes[:, kept].sum(axis=1)
    return np.column_stack([sizes[:, kept], others]).ravel()


def take_cells(counted: I64, layout: Layout, lines: I64, kept: I64) -> U64:
    """Return the cells that are shown."""
    return np.ascontiguousarray(cells_of(counted, layout)[np.ix_(lines, kept)]).ravel().view(np.uint64)


def take_bins(counted: I64, layout: Layout) -> I64:
    """Return the fine bins."""
    return counted[layout.cells :]


def take_counts(sums: I64, layout: Layout) -> I64:
    """Return how many records there are, in all and in each group."""
    return np.ascontiguousarray(sums.reshape(layout.lines, SUMS)[:, 0])


def take_some(sums: I64, layout: Layout, lines: I64) -> U64:
    """Return how many records there are in some sets."""
    return np.ascontiguousarray(sums.reshape(layout.lines, SUMS)[lines, 0]).view(np.uint64)


def rate_own(own: HeldOut, alone: HeldOut, layout: Layout) -> OwnFigures:
    """Return (1) of a site's own records."""
    step = step_of(len(own.values))
    return OwnFigures(*(np.round(rate_values(own, each.values, layout) / step) * step for each in (own, alone)))


def step_of(records: int) -> float:
    """Return to which step figures of so many records are rounded, (1)."""
    return 2.0 ** -(2 + max(0, math.ceil(math.log2(max(records, 1)) / 2)))


def rate_values(own: HeldOut, values: F64, layout: Layout) -> F64:
    """Return the figures of some values; NaN where there are none, or no record to judge by."""
    found = np.full(FIGURES, np.nan)
    if len(values) != len(own.values) or not len(values):
        return found
    K = layout.classes
    if not K:
        spread = float(np.square(own.targets - own.targets.mean()).sum())
        off = float(np.square(own.targets - values[:, 0]).sum())
        found[0] = max(-1.0, 1.0 - off / spread) if spread else np.nan
        return found
    known = own.codes >= 0
    cells = np.zeros((K, K))
    np.add.at(cells, (own.codes[known], choose_class(values)[known]), 1.0)
    found[0], found[1] = accuracy(cells), macro(recalls(cells))
    if K == TWO and cells.sum(axis=1).all():
        found[2] = exact_areas(values[known, 0], own.codes[known] == 1)[0]
    return found


JUDGE_MODEL = Declaration(judge_model, parameters=OF_SCORES[:2], dealt=True)
