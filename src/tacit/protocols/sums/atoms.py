"""What a holder remembers of its rows, so that no combination of opened sums is a record.

`numeric.groups.atoms` says what an atom is. A run begins from the labels that earlier runs left, and puts its own rows
into groups: whole atoms by class, each of at least `least` rows. Whatever the run sums is over unions of its groups;
where it splits a group, the new labels are kept (`run.keep`) before the sum leaves the holder. This holds whatever the
coordinator says: a holder rounds its own sets.

`least` is the job's `min_count`; with "auto" every holder takes its own, from how many numbers the run's maps open for
each unknown of a row, and from what was told of these rows before (`numeric.groups.least_count`).

Rows that take no part: of a class of which their holder has fewer than `least` rows; of an atom of which some rows, but
fewer than `least`, are no longer there or have changed their class. Weights are made equal within a group, so that they
cannot single a row out.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.choreo import At, Holder, Run, State, encode
from tacit.errors import LocalError, PeerError
from tacit.numeric.groups.atoms import (
    combine_labels,
    count_absent,
    levels,
    make_groups,
    merge_labels,
    refine_groups,
    split_by_place,
)
from tacit.numeric.groups.least_count import least_count, unknowns
from tacit.numeric.groups.numbering import OUT
from tacit.numeric.groups.row_words import row_words
from tacit.protocols.part import Records, Table
from tacit.scratch import are_equal, distinct, fill, make_column, side_by_side

Least = int | str  # a number, or "auto"
IDENTITY = "identity"  # the features of a linear kernel are the columns
BOUNDS = "bounds on losses"
PIECES = 32  # times `least`: from this size on groups are split by place alone; fewer leave margins too little to split
BEFORE = " of other columns"  # marks a map that was opened of the rows as they were
SUBSET = "subset"  # how names of maps begin that depend on what a run finds, so that no later run has the same ones
LAYER = "hidden layer"  # how names of hidden layers begin: of these the nodes are counted, not the numbers


@dataclasses.dataclass(frozen=True)
class HoldBack:
    """Of how many rows groups are: a number, or "auto"; a smaller number than that needs `accept_risk`."""

    min_count: Least
    accept_risk: bool = False

    def least(self, auto: int) -> int:
        """Return how many rows a group needs, where "auto" comes to so many."""
        if isinstance(self.min_count, str):
            return auto
        if self.min_count < auto and not self.accept_risk:
            raise LocalError(
                f"min_count={self.min_count} is less than the {auto} rows that keep the numbers this run opens, with"
                " those of earlier runs, fewer than the unknowns in a group: use min_count='auto', fewer landmarks, or"
                " say accept_risk=True"
            )
        return max(1, self.min_count)


class Past(State):
    """What is kept of a holder's rows from run to run.

    `label` is the atom of each row and `absent` how many rows of that atom are gone. `told` is D / (m d) of each map
    in `maps`, a digest each: numbers opened for each unknown. `cluster` is the landmark that each row is part of, of
    the `clusters` that were asked for. `summed` says which rows the run at hand takes. `seen` is a digest of the
    columns and cells that sums were taken of: for other columns or cells every map is a new one. `fewest` is by how
    few rows this run and earlier ones differ, if all of them open hidden layers; 0 if they do not differ. `layered`
    says whether the run at hand opens one.
    """

    label: I64
    absent: I64
    maps: tuple[str, ...]
    told: F64
    cluster: I64
    clusters: int
    summed: Flags
    seen: str = ""
    fewest: int = 0
    layered: bool = False


class Summed(Records, Protocol):
    """What a holder brings along to a protocol that opens sums of its rows."""

    @property
    def past(self) -> Past | None:
        """What earlier runs opened of the rows, if any did."""
        ...


@dataclasses.dataclass(frozen=True)
class Told:
    """What one run opens of every row: the digest of each map, and how many features it has."""

    maps: tuple[tuple[str, int], ...]

    @property
    def features(self) -> int:
        """The number of features of all maps together."""
        return sum(size for _, size in self.maps)


class Atoms(State):
    """A holder's rows in a run: group, weight and class of each; group and class are OUT where a row takes no part.

    `least` is how many rows a piece of a group needs, `past` what outlives the run, `unknowns` how many a row counts
    as, `lenient` whether the run accepts the risk, `bounds` how many bounds on losses may still be opened.
    """

    group: I64
    weight: F64
    kind: I64
    least: int
    past: Past
    unknowns: float
    lenient: bool
    bounds: int = 0


def no_past(rows: int, X: F64 | None = None) -> Past:
    """Return what is known of rows that never were in a sum; it lies where their cells do."""
    none, never = make_column(X, rows, OUT, np.int64), make_column(X, rows, 0, np.bool_)
    return Past(none, make_column(X, rows, 0, np.int64), (), np.empty(0), none, 0, never)


def take_past(past: Past, rows: I64, fewest: int, *, whole: bool) -> Past:
    """Return what is known of some of the rows, for a run on these alone; `whole` as in `leave_out_small`."""
    absent = past.absent[rows] + count_absent(past.label, rows)
    if not whole:
        absent = leave_out_small(past.label[rows], absent, len(past.label))
    taken = dataclasses.replace(past, label=past.label[rows], absent=absent, cluster=past.cluster[rows])
    return dataclasses.replace(taken, summed=np.zeros(len(rows), bool), fewest=fewest)


def take_all(past: Past, fewest: int, *, whole: bool) -> Past:
    """Return the same of all rows, of which none are absent that were not before."""
    absent, many = past.absent, len(past.label)
    if not whole:
        absent = fill(lambda label, gone: leave_out_small(label, gone, many), past.label, absent, dtype=np.int64)
    never = make_column(past.label, many, 0, np.bool_)
    return dataclasses.replace(past, absent=absent, summed=never, fewest=fewest)


def leave_out_small(label: I64, absent: I64, many: int) -> I64:
    """Return how many rows of each row's atom count as absent, in a run that is not `whole`.

    A run is whole if it takes the rows that were summed first, as they were. In any other one atoms that are too small
    by themselves must stay out: put together with other neighbours than in another run, they could be told apart. So
    all rows count as rows of atoms of which others are absent, `many` of them.
    """
    return np.where((label >= 0) & (absent == 0), many, absent)


def give_back(past: Past, rows: I64, after: Past) -> Past:
    """Return what is known of all rows, after a run on some of them."""
    cluster, summed = past.cluster.copy(), past.summed.copy()
    cluster[rows], summed[rows] = after.cluster, after.summed
    label = merge_labels(past.label, rows, after.label, after.summed)
    return dataclasses.replace(after, label=label, absent=past.absent, cluster=cluster, summed=summed)


def digest_of(value: State | str) -> str:
    """Return a name for a public map, by which a later run with the same one finds it."""
    return value if isinstance(value, str) else hashlib.sha256(encode(value).join()).hexdigest()


def past_of(part: Summed) -> Past:
    """Return what earlier runs left of these rows."""
    past = getattr(part, "past", None)
    return no_past(len(part.X), part.X) if past is None else past


def begin(part: Summed, kind: I64, told: Told, rule: HoldBack, before: Atoms | None = None) -> Atoms:
    """Return the groups of a run that opens these maps, after what earlier runs, or this one `before`, have opened.

    `kind` is the class of each row, below 0 where it takes no part.
    """
    past = rename_if_changed(part, past_of(part)) if before is None else before.past
    told = _rename_subsets(told, past)
    d, known = unknowns(part.X, told.features), dict(zip(past.maps, past.told, strict=True))
    least = rule.least(_least(told, known, d))
    group = make_groups(past.label, past.absent, kind, least)
    if part.weight is None:
        weight = make_column(group, len(group), 1.0, np.float64)
    elif least > 1:
        group, weight = levels(group, np.asarray(part.weight, dtype=np.float64), least)
    else:
        weight = np.asarray(part.weight, dtype=np.float64)
    for name, size in told.maps:
        known[name] = max(known.get(name, 0.0), size / (least * d))
    names, shares = tuple(known), np.array(list(known.values()))
    summed = fill(lambda before, own: before | (own >= 0), past.summed, group, dtype=np.bool_)
    label = combine_labels(past.label, group)
    past = dataclasses.replace(past, label=label, maps=names, told=shares, summed=summed, seen=fingerprint(part, label))
    return Atoms(group, weight, kind, least, past, d, rule.accept_risk)


def _rename_subsets(told: Told, past: Past) -> Told:
    """Return the maps, with those of subsets under names that no earlier run used: they are new, and count again."""
    earlier = sum(name.startswith(SUBSET) for name in past.maps)
    return Told(
        tuple((f"{name} after {earlier}" if name.startswith(SUBSET) else name, size) for name, size in told.maps)
    )


def rename_if_changed(part: Summed, past: Past) -> Past:
    """Return the past, with its maps renamed if the columns or cells of these rows have changed since.

    Renamed maps still count as told, and the same map of the new columns counts as a new one.
    """
    if not past.maps or past.seen == fingerprint(part, past.label):
        return past
    return dataclasses.replace(past, maps=tuple(f"{name}{BEFORE}" for name in past.maps))


def fingerprint(part: Summed, label: I64) -> str:
    """Return a digest of the columns, by name and in order, and of the rows that have a label, in whatever order."""
    both = side_by_side(row_words(part.X), label)
    total = sum(int(words[own >= 0].sum(dtype=np.uint64)) for _, (words, own) in both)
    return hashlib.sha256(f"{getattr(part, 'features', ())!r} {total % (1 << 64)}".encode()).hexdigest()


def _least(told: Told, known: dict[str, float], d: float) -> int:
    """Return how many rows a group needs.

    New maps spend a share of what is left; known ones must not tell more than they did.
    """
    new = sum(size for name, size in told.maps if name not in known)
    again = [int(np.ceil(size / (known[name] * d) - 1e-9)) for name, size in told.maps if known.get(name, 0.0) > 0]
    return max([least_count(new, d, sum(share for name, share in known.items() if not name.startswith(LAYER))), *again])


def counted_shares(past: Past) -> F64:
    """Return what each map, and all bounds, told for each unknown; hidden layers are counted elsewhere."""
    return past.told[[not name.startswith(LAYER) for name in past.maps]]


def reserve_bounds(atoms: Atoms, bounds: int, share: float) -> Atoms:
    """Return the atoms with so many bounds to open, which count as told from now on."""
    known = dict(zip(atoms.past.maps, atoms.past.told, strict=True))
    known[BOUNDS] = known.get(BOUNDS, 0.0) + share
    past = dataclasses.replace(atoms.past, maps=tuple(known), told=np.array(list(known.values())))
    return dataclasses.replace(atoms, past=past, bounds=bounds)


def spend(atoms: Atoms, bounds: int) -> Atoms:
    """Return the atoms with fewer bounds left; raise if more are asked for than were agreed on."""
    if bounds > atoms.bounds:
        raise PeerError("the coordinator asks for more bounds on losses than this site allows: stop and ask it")
    return dataclasses.replace(atoms, bounds=atoms.bounds - bounds)


def forget(atoms: Atoms, planned: Told) -> Atoms:
    """Return the atoms without the maps that were planned for and are known by now.

    The next `begin` counts them by their own names.
    """
    names = {name for name, _ in planned.maps}
    stay = [i for i, name in enumerate(atoms.past.maps) if name not in names]
    maps = tuple(atoms.past.maps[i] for i in stay)
    return dataclasses.replace(atoms, past=dataclasses.replace(atoms.past, maps=maps, told=atoms.past.told[stay]))


def regroup(atoms: Atoms, group: I64) -> Atoms:
    """Return the atoms of finer groups, with labels that tell them apart from now on."""
    if are_equal(group, atoms.group):
        return atoms
    return dataclasses.replace(
        atoms, group=group, past=dataclasses.replace(atoms.past, label=combine_labels(atoms.past.label, group))
    )


def split_by_part(atoms: Atoms, part: I64) -> Atoms:
    """Return the atoms split by a number that each row has, such as its fold."""
    return regroup(atoms, refine_groups(atoms.group, part))


def split_by_nearness(part: Summed, atoms: Atoms) -> Atoms:
    """Return the atoms in pieces of rows near each other, none too small for margins to split it further."""
    return regroup(atoms, split_by_place(atoms.group, part.X, atoms.least, PIECES))


def remember_clusters(atoms: Atoms, cluster: I64, number: int) -> Atoms:
    """Return the atoms split by the clusters that landmarks are the means of, which are remembered."""
    after = atoms if atoms.least == 1 else split_by_part(atoms, cluster)
    return dataclasses.replace(after, past=dataclasses.replace(after.past, cluster=cluster, clusters=number))


def select_past(atoms: Atoms) -> Past:
    """Return the part of the atoms that outlives the run."""
    return atoms.past


def keep(run: Run, atoms: At[Atoms]) -> None:
    """Have every holder write down what outlives the run; to be called before sums over new groups are sent."""
    run.keep(run.local(Holder, select_past, atoms))


def sizes_by_kind(atoms: Atoms, kinds: int) -> F64:
    """Return how many rows of each kind take part."""
    counts = np.zeros(kinds)
    for _, (kind, own) in side_by_side(atoms.kind, atoms.group):
        counts += np.bincount(kind[own >= 0], minlength=kinds)
    return counts


def maps_of(maps: Iterable[tuple[State | str, int]]) -> Told:
    """Return what a run opens that sums rows under these maps; the same map twice counts once."""
    return Told(tuple({digest_of(value): size for value, size in maps}.items()))


def in_large_classes(part: Table, least: int) -> Flags:
    """Return which rows have weight and are of a class of which the holder has `least` such rows.

    A training sums no others. Labels are taken for classes if there is at most one for every 2 `least` rows.
    """
    y, weight = getattr(part, "y", None), getattr(part, "weight", None)
    if getattr(part, "owned", None) is not None:
        return np.ones(len(part.X), bool)
    if y is None:
        return np.ones(len(part.X), bool) if weight is None else np.asarray(weight > 0)
    use = make_column(y, len(y), 1, np.bool_) if weight is None else np.asarray(weight > 0)
    if least <= 1 or not len(y):
        return use
    names = distinct(y)
    size = np.zeros(len(names), dtype=np.int64)
    for _, (own, counts) in side_by_side(y, use):
        size += np.bincount(np.searchsorted(names, own[counts]), minlength=len(names))
    if np.count_nonzero(size) > size.sum() / (2 * least):
        return use
    large = size >= least
    return fill(lambda own, counts: counts & large[np.searchsorted(names, own)], y, use, dtype=np.bool_)
