"""What is learnt: one column of targets for each problem, and how much each record counts.

    classes    t_ik = 1 where record i is of class k, else -1; two classes are one column, of the second         (1)
    numbers    t_i = clip((y_i - middle) / reach, -1, 1)                                                       (2)
    weights    q_i = s_i v_k / cap,     |q| <= 1                                                                (3)

s is a weight of the record, `cap` at most, and v one of its class. Between organisations a site declares the column of
weights, which have a mean of 1 there and are 32 at most; that it brings weights is public, and makes 32 the cap of all.
v is in a simulation given, or balanced. Balanced weights
N / (K n_k) are taken to the next power of the square root of two, from 2^(-`STEPS`/2) to 2^(`STEPS`/2), by comparisons
in shares of n_k, with noise of some records, with public limits, and these powers are revealed. A class of fewer than
`LEAST_CLASS` records over all parties is none: its records, like those of classes that nobody declared, stay, with
t = (2 - K) / K for each of K classes, which is what the targets of all others have on average. Which classes these are
is one bit of each,

    sum_p n_pk - u_pk >= LEAST_CLASS,    u_pk uniform on 0 .. `HIDDEN` - 1, drawn by party p                       (4)

so that no class of fewer records is ever one, and a record more or less changes the bit with a chance of 1 / `HIDDEN`
at most, for whoever knows all other records and all other draws. Of records that a site fixed u follows from their
edition.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, U64, Flags
from tacit.choreo import At, Everyone, Holder, Labeller, Message, Run, Site, State, choreography
from tacit.choreo.declaration import ByKey, Either, Nothing, Number, OneOf, Settings, Switch, Text, parameter
from tacit.crypto.pads.entropy import prf
from tacit.errors import LocalError
from tacit.numeric.shares.lean import Lean
from tacit.protocols.classes import check_class_weight
from tacit.protocols.facts import BALANCE, CLASSES, SIZES
from tacit.protocols.features.landmarks import Level, ask_holders, find_scales, tie_noise
from tacit.protocols.learners.noise import add_common_noise
from tacit.protocols.learners.revealing import reveal
from tacit.protocols.part import Held, Label, Names, Records, Table, fix_key, hidden_of
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.deposits import AUTO, COMMITTEE, gather
from tacit.protocols.shares.lean_clip import reaches_one

LEAST_CLASS = 10  # records; smaller classes are none
HIDDEN = 5  # how many limits a party's draw makes equally likely for a class
MOST_WEIGHT = 32.0  # of a record, where the mean of its site's is 1
STEPS = 3  # half powers of two that a balanced weight is above or below 1, at most
COUNTED = Lean(F=0, I=64, q=0)
SIDES = 16.0  # targets of a regression are cut at so many of their spreads from the middle
TWO = 2


@dataclass(frozen=True, kw_only=True)
class Fit(Settings):
    """How targets are learnt: how small weights are kept, how much classes and records count, where sums are made."""

    alpha: float | str = parameter(
        "auto",
        Either((OneOf(("auto",)), Number(0, above=True, job_least=1e-6, job_most=1e6))),
        "how much weights are kept small; 'auto' finds the best of a few, in shares",
        opens=True,
    )
    balanced: bool = parameter(
        False,  # noqa: FBT003 - a default
        Switch(),
        "whether classes count by how rare they are, up to 1 : 8; rounded weights are revealed",
        opens=True,
    )
    class_prices: dict[Label, float] | None = parameter(  # noqa: RUF009 - a declaration
        None,
        Either((Nothing(), ByKey(Text(200), Number(0, job_most=-1), 1000, "class weights"))),  # no job may choose them
        "in a simulation the weights of the classes",
        opens=True,
    )
    least_class: int = parameter(
        LEAST_CLASS,
        Number(1, whole=True, job_least=LEAST_CLASS, job_most=LEAST_CLASS),
        "how many records a class has at least; records of a smaller one are of no class",
        opens=True,
        follows=True,
    )
    weight_cap: float = parameter(
        1.0,
        Number(1.0, job_most=1.0),
        "in a simulation the largest weight of a record; between organisations 32 where a site declares weights",
        follows=True,
    )
    committee: str | tuple[str, ...] = parameter(
        AUTO,
        COMMITTEE,
        "which parties compute, over rows: 'all', 'three' (the first ones) or three by name; 'auto': all of up to four,"
        " else the first three",
        opens=True,
    )
    device: str = "cpu"
    repeat: int | None = parameter(
        None,
        Either((Nothing(), Number(0, 2**63 - 1, whole=True, job_most=-1))),  # no job may choose it
        "in a simulation the seed of points and layers; between organisations these come from a joint coin",
        opens=True,
    )

    @property
    def between_sites(self) -> bool:
        """Whether this is a job between organisations, and no simulation."""
        return self.least_class > 1


class OwnSums(State):
    """What a holder keeps of its own rows, to learn new ones too: S, H, squares of random sums of targets, and rows."""

    S: F64
    H: F64
    squares: F64
    rows: int


class Size(Message, tells=SIZES, ragged=True, of_records=False):
    """How many records and columns the sender brings, and whether its records have weights."""

    records: int
    columns: int
    weighted: bool


class OwnClasses(Message, tells=CLASSES, ragged=True):
    """The names of the sender's classes."""

    names: Names


class Sizes(dict[str, tuple[int, int]]):
    """How many records and columns each party has; `weighted`, if the records of one of them have weights."""

    def __init__(self, told: dict[str, tuple[int, int]], *, weighted: bool) -> None:
        super().__init__(told)
        self.weighted = weighted

    def cap(self, fit: Fit) -> float:
        """Return the largest weight that a record may have: in a simulation as declared, else that of all sites."""
        return MOST_WEIGHT if self.weighted and fit.between_sites else fit.weight_cap


@dataclass(frozen=True)
class Classes:
    """The classes that are told apart, and those of them that have records enough: all; none if fewer than two do."""

    names: Names = ()
    large: Names = ()


@dataclass(frozen=True)
class Aim:
    """What is learnt, as far as it is public: classes with their weights, or the span of numbers."""

    classes: Classes
    middle: float
    reach: float
    weights: F64 | None
    cap: float
    partial: bool = False  # whether records may be of no class

    @property
    def names(self) -> Names:
        """The classes that are told apart; none of numbers."""
        return self.classes.names

    @property
    def weighted(self) -> bool:
        """Whether records count differently."""
        return self.weights is not None or self.cap > 1.0

    def targets(self, part: Records) -> tuple[F64, F64 | None]:
        """Return the targets of a party's records, a column for each problem, and their weights."""
        names = self.names
        codes = codes_of(part, names)
        if not self.classes.large:
            codes = np.full_like(codes, -1)
        T = signs_of(codes, len(names)) if names else numbers_of(part, self.middle, self.reach)
        return T, weigh_rows(part, codes, self.weights, self.cap)


class Targets(State):
    """The targets of a party's records, as a table of one column."""

    X: F64
    owned: Flags | None = None


@choreography(opens={Everyone: SIZES})
def publish_sizes(run: Run, data: At[Table], kept: At[OwnSums] | None = None) -> Sizes:
    """Return how many records and columns each party has, with those that it learnt before."""
    told = run.publish_all(Size, run.local(Holder, measure, data, kept))
    return Sizes(
        {party: (each.records, each.columns) for party, each in told.items()},
        weighted=any(each.weighted for each in told.values()),
    )


@choreography(opens={Everyone: CLASSES})
def agree_on_names(run: Run, dealing: Dealing, data: At[Records], declared: Names | None, least: int) -> Classes:
    """Return the classes: as declared, else those that parties have.

    A class of fewer than `least` records over all parties is none: which classes these are is compared in shares.
    """
    if declared is not None:
        names = tuple(sorted(declared))
    else:
        told = run.publish_all(OwnClasses, run.local(Site, name_own, data))
        names = tuple(sorted({name for each in told.values() for name in each.names}))
    check_number(names)
    if least > 1:
        counts = run.local(Site, compare_counts, data, names, (least,), dealing.first)
        counts = run.local(Site, lower_counts, counts, data, names, run.random(Site))
        values = gather(run, dealing, counts, size=len(names))
        bits = reaches_one(run, dealing, values, COUNTED, size=len(names))
        enough = reveal(run, dealing, CLASSES, bits, size=len(names))
        large = tuple(name for name, reached in zip(names, enough, strict=True) if reached)
        return Classes(large, large) if len(large) >= TWO else Classes(names, ())  # nothing stops at a class's size
    return Classes(names, names)


def check_number(names: Names) -> None:
    """Refuse fewer than two classes."""
    if len(names) < TWO:
        which = ", ".join(map(repr, names)) or "none"
        raise LocalError(
            f"the labels of all parties hold one class only ({which}): a classifier needs at least 2 classes"
        )


@choreography(opens={Everyone: BALANCE})
def balance(run: Run, dealing: Dealing, data: At[Records], names: Names, rows: int) -> F64:
    """Return balanced weights of the classes, rounded as (3) says."""
    limits = limit_sizes(rows, len(names))
    size = len(names) * len(limits)
    counts = run.local(Site, compare_counts, data, names, limits, dealing.first)
    values = gather(run, dealing, counts, size=size)
    values = add_common_noise(run, values, lines=len(names), width=len(limits))
    bits = reaches_one(run, dealing, values, COUNTED, size=size)
    reached = reveal(run, dealing, BALANCE, bits, size=size).reshape(len(names), -1).sum(axis=1)
    return np.asarray(np.exp2((STEPS - reached) / TWO))


def labellers_of(run: Run, partition: str) -> tuple[str, ...]:
    """Return who has labels: all holders of rows, else one."""
    return run.roster[Holder] if partition == "horizontal" else run.roster[Labeller]


def limit_sizes(rows: int, classes: int) -> tuple[int, ...]:
    """Return the class sizes at which a balanced weight changes to the next half power of two."""
    exponents = np.arange(STEPS - 0.5, -STEPS - 0.5, -1.0) / TWO
    return tuple(max(LEAST_CLASS, math.ceil(rows / classes * 2.0**-e)) for e in exponents.tolist())


def weigh_names(names: Names, class_weight: dict[Label, float]) -> F64:
    """Return given weights of the classes; 1 for those that are not named."""
    check_class_weight(names, class_weight)
    return np.array([float(class_weight.get(name, 1.0)) for name in names])


def find_reach(
    run: Run, dealing: Dealing, data: At[Held], rows: int, declared: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the middle of the targets of a regression, and how far from it they are cut: declared, or found."""
    if declared is not None:
        low, high = declared
        return (low + high) / 2.0, (high - low) / 2.0 or 1.0
    column, level = run.local(Site, take_targets, data), Level(rows, len(run.roster[Site]), full=False)
    keys = run.local(Site, tie_noise, column, run.lasting(Site), run.who(Site))
    middle, scale = find_scales(lambda *asked: ask_holders(run, dealing, column, keys, *asked), 1, level)
    return float(middle[0]), SIDES * float(scale[0]) or 1.0


def weigh_classes(run: Run, dealing: Dealing, data: At[Held], names: Names, fit: Fit, rows: int) -> F64 | None:
    """Return the weight of each class; None if all count alike."""
    if fit.balanced:
        return balance(run, dealing, data, names, rows)
    return None if fit.class_prices is None else weigh_names(names, fit.class_prices)


# Steps at the holders


def measure(part: Table, kept: OwnSums | None) -> Size:
    """Return how much a party has."""
    rows, columns = map(int, part.X.shape)
    weighted = getattr(part, "weight", None) is not None
    return Size(rows + (0 if kept is None else kept.rows), columns, weighted)


def name_own(part: Records) -> OwnClasses:
    """Return the classes of a party's own records."""
    return OwnClasses(() if part.y is None else tuple(np.unique(part.y[~hidden_of(part)]).tolist()))


def codes_of(part: Records, names: Names) -> I64:
    """Return the classes of a party's records as numbers of names, -1 for no class; none where it has no labels."""
    if part.y is None or not names:
        return np.empty(0, dtype=np.int64)
    order = np.array(names)
    codes = np.minimum(np.searchsorted(order, part.y), len(names) - 1).astype(np.int64)
    return np.where((order[codes] == part.y) & ~hidden_of(part), codes, -1)


def signs_of(codes: I64, classes: int) -> F64:
    """Return (1)."""
    T = np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)
    T[codes < 0] = (TWO - classes) / classes
    return T[:, 1:] if classes == TWO else T


def compare_counts(part: Records, names: Names, limits: tuple[int, ...], first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of each class size less each limit, plus 1: it is 1 or more where the limit is reached."""
    codes = codes_of(part, names)
    counts = np.bincount(codes[codes >= 0], minlength=len(names)).astype(np.uint64)
    found = np.repeat(counts, len(limits))
    if first:
        found = found - np.tile(np.array(limits, dtype=np.uint64) - np.uint64(1), len(names))
    return found


def lower_counts(counts: U64, part: Records, names: Names, drawn: bytes) -> U64:
    """Return the share less this party's draw of (4) for each class, which follows from the name of the class alone."""
    key = fix_key(part, drawn, b"classes")
    draws = [int.from_bytes(prf(key, repr(name).encode())) % HIDDEN for name in names]
    return counts - np.array(draws, dtype=np.uint64)


def weigh_rows(part: Records, codes: I64, weights: F64 | None, cap: float) -> F64 | None:
    """Return (3) for every row of a party; None if all count alike everywhere."""
    if cap == 1.0 and part.weight is None and weights is None:
        return None
    own = np.ones(len(part.X)) if part.weight is None else part.weight
    found = own / cap  # 1 at most: `check_weights`
    if weights is not None:
        found = found * np.where(codes < 0, 1.0, weights[codes]) / max(weights.max(), 1.0)
    return np.asarray(found)


def take_targets(part: Records) -> Targets:
    """Return the targets of a party as a table."""
    return Targets(np.empty((0, 1)) if part.y is None else part.y.astype(np.float64)[:, None])


def numbers_of(part: Records, middle: float, reach: float) -> F64:
    """Return targets in units of their reach, cut to 1."""
    y = np.empty(0) if part.y is None else part.y.astype(np.float64)
    return np.clip((y - middle) / reach, -1.0, 1.0)[:, None]


def check_labels(part: Records, classify: bool, me: str, labellers: Sequence[str]) -> None:  # noqa: FBT001 - a step
    """Refuse records without labels, and in a regression targets that are no finite numbers."""
    if part.y is None:
        if len(part.X) and me in labellers:
            raise LocalError(f"{me} has records without labels: bring a label for every record")
        return
    if not classify and not (part.y.dtype.kind in "iufb" and bool(np.isfinite(part.y).all())):
        raise LocalError(f"the targets of {me} are not all finite numbers: a regression needs numbers")


def check_weights(part: Records, most: float, me: str) -> None:
    """Refuse a record that weighs more than any record may."""
    largest = 0.0 if part.weight is None else float(part.weight.max(initial=0.0))
    if largest > most:
        raise LocalError(
            f"a record of {me} has weight {largest:.3g}, and at most {most:g} is taken, where their mean is 1: cut the"
            " weights, as a record that weighs more would be found in the model"
        )
