"""What a table is prepared by: a centre, a scale and quantiles of columns, rounded, and the categories that are kept.

The problem. Nobody shall see more of a column than a model needs to treat a new record as those it was trained on. So
nothing is added up in the open: each step asks whether sums reach public numbers, (1) of `shares.revealing`, and each
bit that is opened is a digit of a rounded answer. n is the number of values that are present, k that of records that
everything is of, at least.

    1. sizes                   how many records each party has                                    `learners.targets`
    2. of all columns          |present| >= k, |missing| >= k
    3. of columns that may be ids: |present| >= 4 k, |repeated at its party, or not whole| >= k: else it is one of ids
    4. a median and a scale    of numbers and dates with k values, coarse              `numeric.features.column_digits`
    5. mean, scale, quantiles  rounded to parts of the scale                            `numeric.features.column_terms`
    6. of every category v     |x = v| >= k: it is kept, else it is joined to the others that are none of the kept ones
    7. the most frequent v     that of which |x = v| >= |x = w| for all other w; these bits stay in shares, as does
                               their number for each v, and opened is for which v there are as many as others      (1)

All columns are in the same rounds, whose number is public. By rows, by columns and for cells a holder's own cells give
its term of each sum. Categories are declared: by the job, or by the dictionaries of the parties, which are public.

Roles. Holder: rows, columns or cells. Coordinator: the dealer, which holds no data.
Threat. Semi-honest, as `shares.dealing`. What a run opens follows from its result, so it tells the result and nothing
else, except for one thing: the bits of 4 are those of a median that is not returned. NOT protected: the dealer together
with one holder has all counts; M - 1 holders know their own part of each, and so what the result tells of the last
one's; two runs over sets that differ by a record may differ in a digit. Rounding limits what that tells, and promises
nothing: `noisy.noisy_columns` does.
Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64, Flags
from tacit.choreo import At, Everyone, Holder, Result, Run, State, choreography
from tacit.choreo.declaration import Number, Settings, parameter
from tacit.choreo.protocol import Declaration
from tacit.numeric.features.column_digits import UNIT, Brackets, Counts, Crowd, Grid, scales_of, search_scales
from tacit.numeric.features.column_terms import (
    BITS,
    CELLS,
    DIGITS,
    WHOLE,
    choose_quantiles,
    edges_of,
    means_of,
    quantiles_of,
    round_centre,
    round_scale,
    scales_between,
    terms_of_means,
    terms_of_quantiles,
    terms_of_scales,
)
from tacit.numeric.ring.words import Ring
from tacit.protocols.column_parameters import OF_COLUMNS, PERCENTS
from tacit.protocols.facts import COLUMNS, SIZES
from tacit.protocols.learners.fitting import count_table
from tacit.protocols.learners.targets import LEAST_CLASS, publish_sizes
from tacit.protocols.prepare.cells import (
    ENOUGH,
    ColumnShare,
    ColumnWords,
    Dictionary,
    Names,
    Ready,
    TextCells,
    Values,
    count_present,
    count_repeats,
    count_values,
    make_ready,
)
from tacit.protocols.shares.dealing import Dealing, agree_with_dealer, check_dealer
from tacit.protocols.shares.gates import reduce
from tacit.protocols.shares.revealing import compare, compare_in_shares

FINE = Grid(mantissa=16, base=16, digits=6, widest=60)
MOST = 1000  # categories of a column
MANY = 4  # times k: values of a column that may be one of ids


@dataclass(frozen=True, kw_only=True)
class Asked(Settings):
    """What is asked for.

    names: of which columns a centre and a scale are found, and the quantiles `percents`. ids: which of these may
    be ids. texts: columns of texts, whose categories parties declare. categories: those that are declared by the job.
    most_frequent: which of the columns with categories are filled by the most frequent one; the others are told which
    of their categories are kept. indicators: columns of which it is only told whether values are missing.
    """

    names: Names = ()
    percents: tuple[int, ...] = ()
    ids: Names = ()
    texts: Names = ()
    categories: Mapping[str, Sequence[Any]] | None = None
    most_frequent: Names = ()
    indicators: Names = ()
    fewest: int = parameter(
        LEAST_CLASS,
        Number(1, whole=True, job_least=LEAST_CLASS, job_most=LEAST_CLASS),
        "of how many records everything is that is told of columns",
        opens=True,
        follows=True,
    )

    @property
    def listed(self) -> dict[str, Values]:
        """The declared values of columns."""
        return {name: tuple(values) for name, values in (self.categories or {}).items()}

    @property
    def every(self) -> Names:
        """All of the columns, each once."""
        return tuple(dict.fromkeys((*self.names, *self.texts, *self.listed, *self.indicators)))


class PreparedColumn(State):
    """What is known of a column.

    enough, gaps: whether k records have a value, and whether k lack one. ids: whether it looks like ids. centre, scale:
    a mean, and a scale, which is 0 if the column is constant; NaN where nothing is found. quantiles: as asked.
    """

    enough: bool
    gaps: bool
    ids: bool
    centre: float
    scale: float
    quantiles: F64


class PreparedColumns(Result):
    """What was found of each column that was asked for.

    records: how many there are. kept: of columns with categories, those that k records have. modes: the most frequent
    category of a column. crowded: columns of texts with too many of them.
    """

    records: int
    columns: dict[str, PreparedColumn]
    kept: dict[str, Values]
    modes: dict[str, Values]
    crowded: Names


@dataclass(frozen=True)
class Table:
    """A table in a run: the holders' cells, how many records there are, and k."""

    run: Run
    dealing: Dealing
    ready: At[Ready]
    names: Names
    rows: int
    least: int

    @property
    def crowd(self) -> Crowd:
        """How many records are not few."""
        return Crowd(self.rows, min(float(self.least), self.rows / 6))

    def place(self, names: Names) -> I64:
        """Return where these columns are among those that are asked for."""
        return np.array([self.names.index(name) for name in names], dtype=np.int64)

    def decide(self, x: At[I64], targets: I64, *, largest: int) -> Flags:
        """Return whether sums reach their targets, as bits of what is told of columns."""
        return compare(self.run, self.dealing, x, targets, ColumnShare, ColumnWords, largest=largest)


@choreography(opens={Everyone: (SIZES, COLUMNS)})
def prepare_columns(run: Run, data: At[TextCells], *, partition: str, asked: Asked) -> PreparedColumns:
    """Tell everyone what columns are prepared by."""
    table = open_table(run, data, partition, asked.every, asked.fewest)
    known, crowded = collect_categories(run, data, asked.texts, asked.listed)
    enough, gaps = find_marks(table)
    ids = find_ids(table, asked.ids) & enough
    centre, scale, quantiles = measure(table, asked.names, enough & ~ids, asked.percents)
    columns = zip(enough.tolist(), gaps.tolist(), ids.tolist(), centre.tolist(), scale.tolist(), quantiles, strict=True)
    filled = {name: values for name, values in known.items() if name in asked.most_frequent}
    return PreparedColumns(
        records=table.rows,
        columns={name: PreparedColumn(*each) for name, each in zip(table.names, columns, strict=True)},
        kept=keep_categories(table, {name: values for name, values in known.items() if name not in filled}),
        modes=find_modes(table, filled),
        crowded=crowded,
    )


def open_table(run: Run, data: At[TextCells], partition: str, names: Names, least: int) -> Table:
    """Return the table that steps are about, once parties know how large it is and share seeds with the dealer."""
    check_dealer(run)
    rows, _ = count_table(publish_sizes(run, data), partition, least=1)
    dealing = agree_with_dealer(run)
    return Table(run, dealing, run.local(Holder, make_ready, data, names, least), names, rows, least)


def collect_categories(
    run: Run, data: At[TextCells], texts: Names, listed: dict[str, Values]
) -> tuple[dict[str, Values], Names]:
    """Return the known categories of columns, and which columns have too many of them to be told apart."""
    if not texts:
        return listed, ()
    told = run.publish_all(Dictionary, run.local(Holder, declare_texts, data, texts))
    found = {name: sorted({text for own in told.values() for text in own.texts.get(name, ())}) for name in texts}
    crowded = tuple(name for name, each in found.items() if len(each) > MOST)
    return {**listed, **{name: tuple(each) for name, each in found.items() if name not in crowded}}, crowded


def find_marks(table: Table) -> tuple[Flags, Flags]:
    """Return for every column whether k records have a value, and whether k lack one."""
    if not table.names:
        return np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.bool_)
    counts = table.run.local(Holder, count_present_flat, table.ready)
    targets = np.full(2 * len(table.names), table.least, dtype=np.int64)
    enough, gaps = table.decide(counts, targets, largest=table.rows).reshape(-1, 2).T
    return enough, gaps


def find_ids(table: Table, names: Names) -> Flags:
    """Return for every column whether it is one of ids, as far as it may be one."""
    found = np.zeros(len(table.names), dtype=np.bool_)
    if names:
        at = table.place(names)
        counts = table.run.local(Holder, count_for_ids, table.ready, at)
        least = np.tile(np.array([max(ENOUGH, MANY * table.least), table.least]), len(names))
        many, repeated = table.decide(counts, least, largest=table.rows).reshape(-1, 2).T
        found[at] = many & ~repeated
    return found


def measure(table: Table, names: Names, may: Flags, percents: Sequence[int]) -> tuple[F64, F64, F64]:
    """Return centre, scale and quantiles of named columns; NaN for others, and where nothing may be found.

    What is asked for does not depend on that: a column of which nothing may be found has no values.
    """
    every = len(table.names)
    found = np.full(every, np.nan), np.full(every, np.nan), np.full((every, len(percents)), np.nan)
    if names:
        at = table.place(names)
        place = at[may[at]]
        centre, scale = find_centres(table, np.where(may[at], at, -1))
        quantiles = find_quantiles(table, np.where(may[at], at, -1), centre, scale, percents)
        for each, values in zip(found, (centre, scale, quantiles), strict=True):
            each[place] = values[may[at]]
    return found


def find_centres(table: Table, at: I64) -> tuple[F64, F64]:
    """Return mean and scale of columns at these places; the scale of a constant column is 0."""
    crowd = table.crowd

    def ask(count: Counts, brackets: Brackets, targets: I64) -> I64:
        terms = table.run.local(Holder, count_in_units, table.ready, at, count, brackets, crowd, targets)
        zeros = np.zeros(targets.size, dtype=np.int64)
        return table.decide(terms, zeros, largest=bound_sums(table)).reshape(targets.shape).astype(np.int64)

    brackets, times = search_scales(ask, at.size, crowd, FINE)
    coarse, scale = brackets.middle, scales_of(times, brackets, crowd)
    varies = scale > 0
    at, s = np.where(varies, at, -1), round_scale(np.where(varies, scale, 1.0))
    c = round_centre(coarse, s)
    reached = decide_terms(table, at, partial(terms_of_means, centre=c, scale=s, reach=1.0 / crowd.share))
    mean = means_of(reached.sum(axis=1), c, s)
    reached = decide_terms(table, at, partial(terms_of_scales, centre=mean, scale=s, crowd=crowd))
    scale = scales_between(reached.sum(axis=1), s)
    same = FINE.value_of(brackets.low)  # what a column holds that does not vary
    return np.where(varies, mean, same), np.where(varies, scale, 0.0)


def find_quantiles(table: Table, at: I64, centre: F64, scale: F64, percents: Sequence[int]) -> F64:
    """Return quantiles of columns, digit by digit."""
    quantiles = choose_quantiles(percents, table.crowd)
    cells, width = np.zeros((at.size, quantiles.size), dtype=np.int64), CELLS
    varies = scale > 0
    at, s = np.where(varies, at, -1), np.where(varies, scale, 1.0)
    c = round_centre(centre, s)
    for base in DIGITS if quantiles.size else ():
        width //= base
        edges = edges_of(cells[:, :, None] + width * np.arange(1, base), c, s)
        below = decide_terms(table, at, partial(terms_of_quantiles, quantiles=quantiles, thresholds=edges))
        cells = cells + width * (~below).sum(axis=2)
    return np.where(varies[:, None], quantiles_of(cells, c, s), centre[:, None])


def decide_terms(table: Table, at: I64, term: Callable[[list[F64]], I64]) -> Flags:
    """Return whether sums of terms, a table for each column, are 0 or more."""
    shape = term([np.empty(0)] * at.size).shape
    terms = table.run.local(Holder, add_terms, table.ready, at, term)
    return table.decide(terms, np.zeros(math.prod(shape), dtype=np.int64), largest=bound_sums(table)).reshape(shape)


def keep_categories(table: Table, known: dict[str, Values]) -> dict[str, Values]:
    """Return the categories that k records have."""
    which = place_categories(table, known)
    if not which:
        return dict(known)
    counts = table.run.local(Holder, count_values, table.ready, which)
    sizes = [len(values) for _, _, values in which]
    targets = np.full(sum(sizes), table.least, dtype=np.int64)
    bits = compare(table.run, table.dealing, counts, targets, ColumnShare, ColumnWords, largest=table.rows)
    flags = np.split(bits, np.cumsum(sizes)[:-1])
    kept = {
        name: tuple(v for v, is_kept in zip(values, own.tolist(), strict=True) if is_kept)
        for (_, name, values), own in zip(which, flags, strict=True)
    }
    return {name: kept.get(name, ()) for name in known}


def find_modes(table: Table, known: dict[str, Values]) -> dict[str, Values]:
    """Return the most frequent category of each column, the first of several, by (1); none where none is declared."""
    which = place_categories(table, {name: values for name, values in known.items() if len(values) > 1})
    found = {name: values[:1] for name, values in known.items()}
    if not which:
        return found
    sizes = tuple(len(values) for _, _, values in which)
    pairs = table.run.local(Holder, compare_pairs, table.ready, which)
    zeros = np.zeros(sum(n * (n - 1) // 2 for n in sizes), dtype=np.int64)
    largest = table.rows + 2 * max(sizes)  # so that the ring of the bits is no smaller than that of their number
    bits, ring = compare_in_shares(table.run, table.dealing, pairs, zeros, largest=largest)
    wins = table.run.local(Holder, count_wins, bits, sizes, table.dealing.first, ring)
    needed = np.concatenate([np.full(n, n - 1, dtype=np.int64) for n in sizes])
    best = compare(table.run, table.dealing, wins, needed, ColumnShare, ColumnWords, largest=max(sizes))
    flags = np.split(best, np.cumsum(sizes)[:-1])
    return {**found, **{name: (vs[int(np.argmax(b))],) for (_, name, vs), b in zip(which, flags, strict=True)}}


def place_categories(table: Table, known: dict[str, Values]) -> tuple[tuple[int, str, Values], ...]:
    """Return the place, name and categories of each column that has some."""
    return tuple((int(table.place((name,))[0]), name, values) for name, values in known.items() if values)


# Steps at the holders


def declare_texts(part: TextCells, texts: Names) -> Dictionary:
    """Return what the holder's dictionary says of columns of texts."""
    return Dictionary({name: part.dictionary[name] for name in texts if name in part.dictionary})


def count_present_flat(ready: Ready) -> I64:
    """Return how many values of each column are present, and how many are missing."""
    return count_present(ready).ravel()


def count_for_ids(ready: Ready, at: I64) -> I64:
    """Return of these columns how many values are present, and how many are of no id."""
    return np.column_stack([count_present(ready)[at, 0], count_repeats(ready, at)]).ravel()


def count_in_units(ready: Ready, at: I64, count: Counts, brackets: Brackets, crowd: Crowd, targets: I64) -> I64:
    """Return a holder's counts less its part of the targets: by its part of the values that are present."""
    present = ready.add_terms(at, count_each)
    counts = ready.add_terms(at, lambda values: count(values, brackets, crowd))
    return (counts - np.rint(targets * (present[:, None] / crowd.rows)).astype(np.int64)).ravel()


def count_each(values: list[F64]) -> I64:
    """Return how many values each column has."""
    return np.array([x.size for x in values], dtype=np.int64)


def add_terms(ready: Ready, at: I64, term: Callable[[list[F64]], I64]) -> I64:
    """Return a holder's terms of these columns, one after the other."""
    return ready.add_terms(at, term).ravel()


def compare_pairs(ready: Ready, which: Sequence[tuple[int, str, Values]]) -> I64:
    """Return for each pair of categories how many more values are the first one."""
    counts = np.split(count_values(ready, which), np.cumsum([len(values) for _, _, values in which])[:-1])
    return np.concatenate([(own[:, None] - own)[np.triu_indices(own.size, 1)] for own in counts])


def count_wins(bits: U64, sizes: Sequence[int], first: bool, ring: Ring) -> I64:  # noqa: FBT001 - a step
    """Return the share of how many others each category reaches, from shares of a bit for each pair."""
    found, start = [], 0
    for n in sizes:
        i, j = np.triu_indices(n, 1)
        own = bits[start : start + i.size]
        wins = np.zeros(n, dtype=np.uint64)
        np.add.at(wins, i, own)
        np.subtract.at(wins, j, own)
        found.append(wins + np.arange(n, dtype=np.uint64) if first else wins)
        start += i.size
    return reduce(np.concatenate(found), ring).view(np.int64)


# What everybody computes


def bound_sums(table: Table) -> int:
    """Return what no sum of terms exceeds."""
    of_means = (1.0 / table.crowd.share + 2.0) * (1 << BITS)
    return int(table.rows * max(of_means, 2.0 * WHOLE, 4.0 * UNIT)) + 4 * UNIT * table.least


PREPARE_COLUMNS = Declaration(
    prepare_columns, parameters=(*OF_COLUMNS, PERCENTS), dealt=True, takes_gaps=True, streams={}, sparse={}
)
