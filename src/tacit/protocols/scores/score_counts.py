"""How good a classifier is on records that many hold: confusion counts and score histograms, summed over all parties.

The problem. Holder h has records with their classes, and for each the class that the model chose, decision values (a
column per class, one for the second of two), and probabilities if the model gives some. Everyone shall know

    n_ab = sum_h |{i : class a, chosen b}|                                                     the confusion matrix  (1)
    P_c = sum_h |{i of the class : score in bin c}|,  N_c of all others                        histograms by column  (2)
    m_d, p_d, q_d = sum_h of 1, of "of the class", of the probability, over its bin d         calibration by column  (3)

from which accuracy, sensitivity, specificity, F1 and curves follow, and areas under curves with bounds: what (2) leaves
open is the order within a bin (`numeric.scores.metrics`).

What is opened, in this order:
  sizes      how many records each class has. A class of 1 to min_count - 1 is left out of all that follows
  counts     one secure sum of (1), (2) and the counts of (3). The coordinator has them as they are
  sums       the probabilities of (3), only of bins with at least min_count records, and the squared error of all
  published  (1), over classes of at least min_count records each, whatever is in its cells; areas and their bounds;
             (2) with bins put together until each has none or at least min_count records of either side; (3) of bins
             with at least min_count records
  by site    where a site agrees, its own (1) to (3), made by itself, under its own min_count. All others' together
             follow by subtraction. So this is done only if all sites show theirs, or those that do not are three at
             least, with none or min_count records of each class. A site that has fewer of some class does not show.

Over columns, one party, the labeller, has all decision values and the labels: it counts alone, and publishes the same.

Roles. Holder: records. Coordinator: opens the sums. Labeller: over columns, has everything.
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: in a bin that holds one record the coordinator sees that
record's score to the bin's width, and its class, not whose it is; what two evaluations on almost the same records tell
apart; of a site that shows its own counts, what its bins and everybody's, which are cut elsewhere, tell together.
Source: ours; definitions as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, U64, Array, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Labeller, Message, Result, Run, State, choreography
from tacit.choreo.declaration import Settings
from tacit.choreo.protocol import Declaration
from tacit.errors import LocalError
from tacit.numeric.scores.metrics import (
    PARTS,
    average_precision,
    choose_shown,
    exact_areas,
    histograms,
    merge_bins,
    parts_of,
    roc_auc,
    stretch,
)
from tacit.numeric.scores.platt import classes_of
from tacit.protocols.column_parameters import OF_SCORES
from tacit.protocols.settings import Sums
from tacit.protocols.sums.secure_sum import secure_sum
from tacit.protocols.table_facts import CLASS_SIZES

AREAS = Fact("scores.areas", "holders", "aggregate", "all", "areas under the curves")
CONFUSION = Fact("scores.confusion", "holders", "count", "class", "the confusion matrix")
BINS = Fact(
    "scores.bins",
    "holders",
    "count",
    "group",
    "a histogram of the scores, in bins of no record or of at least min_count records of a class",
)
PROBABILITY_BINS = Fact(
    "scores.probability_bins", "holders", "aggregate", "group", "probabilities in bins of at least min_count records"
)

FEWEST = 3  # sites that do not show their own, if there are any


@dataclass(frozen=True, kw_only=True)
class Counting(Settings):
    """How many classes there are, in how many bins scores are counted, and how many records a shown bin holds."""

    n_classes: int
    bins: int = 256
    min_count: int = 5

    @property
    def least(self) -> int:
        """How many records are shown together, at least."""
        return max(1, self.min_count)


class Willing(
    Message,
    tells=Fact(
        "scores.willing",
        "holder",
        "count",
        "party",
        "whether the sender shows its own counts: not if it has a few records of a class",
    ),
):
    """Whether a site that was asked for its own counts agrees to show them."""

    shows: bool


class Sizes(
    Message,
    tells=(
        CLASS_SIZES,
        Fact(
            "scores.can_show",
            "holder",
            "count",
            "party",
            "whether sites can show their own counts without showing those of the others",
        ),
    ),
):
    """How many records each class has, and whether sites can show their own counts; published first."""

    counts: I64
    apart: bool


class Parts(
    Message,
    tells=Fact(
        "scores.full_bins",
        "holders",
        "count",
        "group",
        "which bins of each class's probability hold at least min_count records",
    ),
):
    """Which bins of (3) are shown: 1 or 0, by column and bin."""

    shown: I64


class ScoreCurve(State):
    """The histogram (2) of a column, from the lowest scores up, cut at these decision values; bounds of the areas."""

    cuts: F64
    positives: I64
    negatives: I64
    roc_auc: F64
    average_precision: F64


class Reliability(State):
    """The bins (3) of a column, with the mean probability of each, 0 where it is not shown.

    `brier` is the mean squared error of all.
    """

    records: I64
    positives: I64
    predicted: F64
    brier: float


class Tally(State):
    """All that is published of scores; `left_out` are the numbers of classes with too few records."""

    confusion: I64
    curves: tuple[ScoreCurve, ...]
    reliability: tuple[Reliability, ...]
    left_out: tuple[int, ...]


class Counts(
    Message,
    tells=(
        Fact(
            "scores.confusion_of_all",
            "holders",
            "count",
            "class",
            "how many records of each class were given each class, over all records",
        ),
        Fact(
            "scores.binned",
            "holders",
            "count",
            "group",
            "how the scores are distributed, in bins of no record or of at least min_count records of a class",
        ),
        AREAS,
        Fact("scores.probabilities", "holders", "aggregate", "group", "probabilities in bins of min_count records"),
    ),
):
    """The tally over all records."""

    tally: Tally


class OwnCounts(
    Message,
    tells=Fact(
        "scores.of_party",
        "holder",
        "count",
        "group",
        "the same counts for the sender's own records, which it agreed to show",
    ),
):
    """The tally of a site's own records."""

    tally: Tally


class Scored(State):
    """What a holder brings along.

    For each record its class, the class chosen, decision values, and the probabilities of their columns.
    """

    values: F64
    probability: F64
    codes: I64
    chosen: I64


class Evaluated(Result):
    """The tally over all records, those of the sites that showed their own, and the sites that did not agree to."""

    tally: Tally
    sites: dict[str, Tally]
    unwilling: tuple[str, ...]


@choreography(
    opens={
        Coordinator: (
            Fact(
                "scores.given_classes",
                "holders",
                "count",
                "class",
                "how many records of each class were given each class",
            ),
            Fact(
                "scores.fine_bins",
                "holders",
                "answer",
                "record",
                "how many records have a score in each of many fine bins: where a bin holds one record, that record's"
                " score to the bin's width, but not whose it is",
            ),
            Fact(
                "scores.summed_probabilities",
                "holders",
                "aggregate",
                "group",
                "the summed probabilities of at least min_count records",
            ),
        ),
        Everyone: (
            Fact("scores.class_sizes", "holders", "count", "class", "how many records each class has"),
            CONFUSION,
            BINS,
            AREAS,
            PROBABILITY_BINS,
            Fact(
                "scores.of_parties",
                "holder",
                "count",
                "group",
                "the same figures for the own records of sites that agreed to it",
            ),
        ),
    }
)
def score_counts(
    run: Run,
    scored: At[Scored],
    *,
    counting: Counting,
    probability: bool = False,
    per_site: Mapping[str, int] | None = None,
    sums: Sums,
) -> Evaluated:
    """Publish the tally over all records. `per_site` says who shows its own tally, and under which min_count."""
    asked = per_site or {}
    check_sites(asked, (*run.roster[Holder], *run.roster.absent))
    run.local(Holder, check_scored, scored, run.who(Holder))
    classes, bins, least = counting.n_classes, counting.bins, counting.least
    fixed, by = sums.fixed_point(run), sums.protect(run, to=Coordinator)
    sites = {m: max(least, asked[str(m)]) for m in run.members(Holder) if str(m) in asked}
    shows = tuple(
        str(m)
        for m, own in sites.items()
        if run.publish(Willing, run.local(m, decide_to_show, scored, classes, own)).shows
    )
    held = run.local(Holder, sizes_here, scored, classes, run.who(Holder), shows)
    counted = secure_sum(run, held, to=Coordinator, by=by, what="class sizes")
    hidden = len(run.roster[Holder]) - len(shows)
    sizes = run.publish(Sizes, run.local(Coordinator, sizes_from, counted, classes, least, hidden))
    used = choose_classes(sizes.counts, least)
    mine = run.local(Holder, counts_here, scored, classes, used, bins)
    counts = secure_sum(run, mine, to=Coordinator, by=by, what="counts")
    if probability:
        parts = run.publish(Parts, run.local(Coordinator, parts_to_show, counts, classes, bins, least)).shown
        added = run.local(Holder, sums_here, scored, used, parts)
        chances: At[Array] | None = secure_sum(run, added, to=Coordinator, by=by, fixed=fixed, what="probabilities")
    else:
        parts, chances = np.zeros((0, PARTS), dtype=np.int64), None
    tally = run.publish(
        Counts, run.local(Coordinator, make_tally, counts, chances, parts, sizes.counts, bins, least)
    ).tally
    own = {
        str(m): run.publish(OwnCounts, run.local(m, own_counts, scored, classes, bins, fewest)).tally
        for m, fewest in sites.items()
        if sizes.apart and str(m) in shows and str(m) in run.roster[Holder]
    }
    return Evaluated(tally=tally, sites=own, unwilling=tuple(site for site in asked if site not in shows))


@choreography(
    opens={
        Everyone: (
            Fact(
                "scores.labelled_sizes",
                "labeller",
                "count",
                "class",
                "how many records each class has, among those for which the labeller has decision values",
            ),
            CONFUSION,
            BINS,
            AREAS,
            PROBABILITY_BINS,
        ),
    }
)
def labeller_counts(run: Run, scored: At[Scored], *, counting: Counting) -> Tally:
    """Publish the tally where the labeller has all scores and labels: it counts alone."""
    run.local(Labeller, check_scored, scored, run.who(Labeller))
    how = counting.n_classes, counting.bins, counting.least
    return run.publish(Counts, run.local(Labeller, all_counts, scored, *how)).tally


def check_sites(per_site: Mapping[str, int], holders: tuple[str, ...]) -> None:
    """Raise if `per_site` names nobody's site, or would show a site that did not agree."""
    unknown = [name for name in per_site if name not in holders]
    if unknown:
        raise LocalError(
            f"per_site names {unknown[0]!r}, which is not one of the parties ({', '.join(holders)}): name some of them"
        )
    rest = [name for name in holders if name not in per_site]
    if per_site and 0 < len(rest) < FEWEST:
        raise LocalError(
            f"per_site leaves out {' and '.join(rest)} only, whose own counts would follow by subtraction: name all"
            f" sites, or leave out at least {FEWEST}"
        )


def choose_classes(sizes: I64, least: int) -> Flags:
    """Return which classes take part; raise if the evaluation has too few records."""
    used: Flags = sizes >= least
    if not used.any():
        raise LocalError(
            f"the evaluation has {sizes.sum()} records over all parties, fewer than {least} of each class, and nothing"
            f" is opened over fewer than min_count={least}: bring more, or lower min_count"
        )
    return used


# Steps at the holders


def check_scored(scored: Scored, me: str) -> None:
    """Raise if a score or probability is not a number, before anything is sent."""
    for what, array in (("score", scored.values), ("probability", scored.probability)):
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(bad):
            raise LocalError(
                f"{me}: the model's {what} of {len(bad)} records is not a number, the first being number {bad[0] + 1}:"
                " look at its values"
            )


def decide_to_show(scored: Scored, classes: int, least: int) -> Willing:
    """Return whether a site has none or enough records of every class, and any at all."""
    sizes = np.bincount(scored.codes, minlength=classes)
    return Willing(bool(sizes.any() and np.all((sizes == 0) | (sizes >= least))))


def sizes_here(scored: Scored, classes: int, me: str, shows: tuple[str, ...]) -> U64:
    """Return the records of each class; and those again, if the site does not show its own."""
    sizes = np.bincount(scored.codes, minlength=classes)
    return np.stack([sizes, sizes * (me not in shows)]).astype(np.uint64)


def counts_here(scored: Scored, classes: int, used: Flags, bins: int) -> U64:
    """Return this holder's part of (1), of (2), and of the counts of (3)."""
    rows = used[scored.codes]
    confusion = np.bincount(scored.codes[rows] * classes + scored.chosen[rows], minlength=classes * classes)
    positive = sides(scored, rows)
    P, N = histograms(scored.values[rows], positive, bins)
    cells = [*confusion, *P.ravel(), *N.ravel()]
    for p, of in zip(scored.probability[rows].T, positive.T, strict=False):
        cells += [*np.bincount(parts_of(p), minlength=PARTS), *np.bincount(parts_of(p)[of], minlength=PARTS)]
    return np.array(cells, dtype=np.uint64)


def sides(scored: Scored, rows: Flags) -> Flags:
    """Return whether a record is of the class of each column."""
    return np.stack([scored.codes[rows] == k for k in classes_of(scored.values.shape[1])], axis=1)


def sums_here(scored: Scored, used: Flags, parts: I64) -> F64:
    """Return the probabilities of the bins of (3) that are shown, and the squared error of all, by column."""
    rows = used[scored.codes]
    columns = zip(scored.probability[rows].T, sides(scored, rows).T, parts, strict=True)
    return np.array([[*(np.bincount(parts_of(p), p, PARTS) * seen), np.sum((p - of) ** 2)] for p, of, seen in columns])


def own_counts(scored: Scored, classes: int, bins: int, least: int) -> OwnCounts:
    """Return the tally of a site's own records."""
    return OwnCounts(tally_of(scored, classes, bins, least))


def all_counts(scored: Scored, classes: int, bins: int, least: int) -> Counts:
    """Return the tally of the labeller, who has all records."""
    return Counts(tally_of(scored, classes, bins, least))


def tally_of(scored: Scored, classes: int, bins: int, least: int) -> Tally:
    """Return the tally of a party that has all scores: areas are exact; bins are as coarse as everybody's."""
    sizes = np.bincount(scored.codes, minlength=classes)
    used = choose_classes(sizes, least)
    counts = counts_here(scored, classes, used, bins)
    parts = parts_to_show(counts, classes, bins, least).shown
    sums = sums_here(scored, used, parts) if scored.probability.size else None
    rows = used[scored.codes]
    exact = [exact_areas(f, of) for f, of in zip(scored.values[rows].T, sides(scored, rows).T, strict=True)]
    areas = np.array(exact)[:, :, None] * np.ones(2)
    return make_tally(counts, sums, parts, sizes, bins, least, areas).tally


# Steps at the coordinator


def sizes_from(counted: U64, classes: int, least: int, hidden: int) -> Sizes:
    """Return the sizes of all, and whether sites that do not show theirs are enough to hide each other."""
    total, rest = counted.astype(np.int64).reshape(2, classes)
    apart = not rest.any() or (hidden >= FEWEST and bool(np.all((rest == 0) | (rest >= least))))
    return Sizes(total.copy(), apart)


def split_up(counts: U64, classes: int, bins: int) -> tuple[I64, F64, F64, I64]:
    """Return the confusion matrix, P, N, and by column records and positives of each bin of (3)."""
    # one column separates two
    columns, whole = len(classes_of(classes if classes > 2 else 1)), counts.astype(np.int64)  # noqa: PLR2004
    confusion, P, N, parts = np.split(whole, np.cumsum([classes * classes, columns * bins, columns * bins]))
    confusion, P, N = confusion.reshape(classes, classes), P.reshape(columns, bins), N.reshape(columns, bins)
    return confusion, P.astype(np.float64), N.astype(np.float64), parts.reshape(-1, 2, PARTS)


def parts_to_show(counts: U64, classes: int, bins: int, least: int) -> Parts:
    """Return which bins of (3) hold enough records to be shown."""
    parts = split_up(counts, classes, bins)[3]
    seen = [choose_shown(records.astype(np.float64), least) for records, _ in parts]
    return Parts(np.array(seen, dtype=np.int64).reshape(-1, PARTS))


def make_tally(
    counts: U64, sums: F64 | None, parts: I64, sizes: I64, bins: int, least: int, areas: F64 | None = None
) -> Counts:
    """Return what everyone is told; areas are bounds from the bins, or given."""
    confusion, P, N, in_parts = split_up(counts, len(sizes), bins)
    if areas is None:
        areas = np.array([[roc_auc(p, n), average_precision(p, n)] for p, n in zip(P, N, strict=True)])
    curves = tuple(curve(p, n, area, bins, least) for p, n, area in zip(P, N, areas, strict=True))
    told = () if sums is None else tuple(reliability(*each) for each in zip(in_parts, parts, sums, strict=True))
    return Counts(Tally(confusion, curves, told, tuple(np.flatnonzero((sizes > 0) & (sizes < least)).tolist())))


def curve(P: F64, N: F64, area: F64, bins: int, least: int) -> ScoreCurve:
    """Return the histogram (2) of a column, in bins that may be seen."""
    ends = merge_bins(P, N, least)
    starts = np.concatenate([[0], ends[:-1]])
    positives, negatives = (np.add.reduceat(side, starts).astype(np.int64) for side in (P, N))
    return ScoreCurve(stretch(ends[:-1] / bins), positives, negatives, area[0].copy(), area[1].copy())


def reliability(counts: I64, seen: I64, sums: F64) -> Reliability:
    """Return the calibration (3) of a column."""
    records, positives = counts * seen
    return Reliability(
        records, positives, sums[:-1] / np.maximum(records, 1), float(sums[-1] / max(1, counts[0].sum()))
    )


SCORE_COUNTS = Declaration(score_counts, parameters=OF_SCORES)
LABELLER_COUNTS = Declaration(labeller_counts, parameters=OF_SCORES)
