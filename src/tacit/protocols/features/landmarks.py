"""Synthetic landmarks: points of N(mean, covariance) of all records, of which only noisy rounded values are opened.

The problem. A kernel map needs points that lie where the records lie. Everybody gets them, so they are no records, and
none can be taken from them. They are drawn from a distribution that is found once per edition:

    1. centre c and scale s   bits of comparisons in shares, of noisy counts      `numeric.features.column_digits`
    2. sums over records u    of u and u u', cut to |u| <= R, with noise          `numeric.features.normal_points`
    3. rounding               the noisy sums are truncated in shares, and opened
    4. coin                   the seed of the points                              `features.coin`

By rows each holder's own sums are its shares. By columns each owner does 1 to 3 alone for its own columns, and
publishes them: independent blocks. For cells there are no sums of products of two columns, and points have independent
columns; so have those of more than 512 columns.

Noise. Every holder adds discrete Gaussian noise, as much as protects its records alone if all others collude:

    counts of 1       deviation max(10, n / (32 sqrt(M))) for a centre, 3 for a scale; a record adds 1 at most       (1)
    sums of u         deviation 5 R,   a record adds R at most:     R^2 = 1 to 4 times the columns that vary         (2)
    sums of u u'      deviation 5 R^2, over all cells of the symmetric matrix; a record adds R^2 at most             (3)

The bound. What (2) and (3) open of one record, however different another one v in its place would be, is

    mu^2 = max |u - v|^2 / (5 R)^2 + |u u' - v v'|^2 / (5 R^2)^2 = 9 / 50,       mu = 0.42                           (4)

of Gaussian differential privacy (`numeric.privacy.accountant`), at an angle of 120 degrees between u and v. Whoever
knows all other records and all holders' noise but one, and has two candidates for the last record, is right in 59 % of
cases at most, Phi(mu / 2). Two editions that hold it have noise of their own: mu = 0.60 together, 62 %. A value
that t people have is hidden with t times this mu at most; a column in which fewer than 15 sqrt(M) rows differ from all
others is constant. By columns and for cells (4) is a bound for each party's part of a record.

A holder's noise is a function of a secret that it keeps, of its records and of what is asked of them. So jobs on the
same records find the same distribution, but for a unit of rounding, and there is no noise to average. With other
columns, prepared otherwise, or after a correction the noise is another one, as in an edition of its own.

A comparison of (1) is opened as a bit, which tells mu = 1 / 10 of a record at most for a centre and 1 / 3 for a scale,
and about nothing where the count is far from the number that it is compared with, as most are. All thresholds of a
digit have the same noise in a column, since the noise of many would average out. NOT covered by (4): what the digits of
all columns tell together, for which there is no bound but that of their number.

Roles. Holder: rows, columns or cells. Coordinator: the dealer, which hears what is published alone.
Threat. Semi-honest; M - 1 holders together have (4) against the last one. NOT protected: the dealer together with one
holder has the sums before noise; what the mean and covariance of all records tell about all of them.
Source: ours; noise as in Kairouz, Liu and Steinke, ICML 2021; Biswas, Dong, Kamath and Ullman, NeurIPS 2020 (clipped
records in units that were found before).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import F64, I64, U64, Flags
from tacit.choreo import At, Everyone, Holder, Message, Result, Run, Site, choreography
from tacit.crypto.noise.discrete_gaussian import draw_noise
from tacit.crypto.pads.entropy import prf
from tacit.errors import LocalError, PeerError
from tacit.numeric.cells.ownership import PARTITIONS
from tacit.numeric.features.column_digits import (
    UNIT,
    Brackets,
    Counts,
    Crowd,
    count_for_scales,
    scales_of,
    search_scales,
)
from tacit.numeric.features.normal_points import (
    BITS,
    LEAST,
    PRIOR,
    clear_noise,
    draw_normals,
    root_of,
    sum_products,
    whole_records,
)
from tacit.numeric.ring.triangle import pack, unpack
from tacit.numeric.ring.words import Z64
from tacit.protocols.facts import LANDMARKS
from tacit.protocols.features.coin import seed_of, toss_coin
from tacit.protocols.part import OwnCells
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.deposits import gather
from tacit.protocols.shares.gates import Opening, triangle_size, truncate
from tacit.protocols.shares.revealing import compare_in_shares, reveal
from tacit.scratch import ROWS, blocks
from tacit.sparse import is_sparse

CLOSE = 5.0  # of (2) and (3), in units of what a record adds
MU = 3.0 / (math.sqrt(2.0) * CLOSE)  # (4)
FAINT, LONGEST = 0.25, 4.0  # of R
CENTRE_NOISE, CENTRE_RANK = 10.0, 32.0  # of (1)
SCALE_NOISE, CROWD = 3.0, 5.0  # of (1), and how many deviations of all holders' noise are not few
WIDEST = 512  # columns up to which all products are added up
LARGEST = 2.0**62  # values, by the numbers of `column_digits`
MOST_ROWS = 1 << 29  # whose sums fit into a word
TAIL = 14  # deviations, which no noise exceeds
SPREAD = 0.5  # the variance of a mean around its coarse centre, in units of s^2

Ask = Callable[[Counts, Brackets, "Level", I64], I64]


class Distribution(Result):
    """The distribution of landmarks: public, of an edition.

    centre: of every column. scale: the unit of every column; 0 if it is constant. root: a root of the covariance in
    these units, or its diagonal if columns are independent. seed: of the points.
    """

    centre: F64
    scale: F64
    root: F64
    seed: int


class Block(Message, tells=LANDMARKS, ragged=True):
    """What an owner of columns publishes of them: centre and scale, and noisy rounded sums."""

    centre: F64
    scale: F64
    sums: I64


@dataclass(frozen=True)
class Level:
    """How much noise there is on counts and sums: of so many rows of so many holders.

    full: whether sums are of products of all columns, not of squares alone. columns: that vary.
    """

    rows: int
    holders: int
    columns: int = 1
    full: bool = True

    @property
    def crowd(self) -> Crowd:
        """How many rows are not few."""
        return Crowd(self.rows, min(CROWD * SCALE_NOISE * math.sqrt(self.holders), self.rows / 6))

    @property
    def centre_noise(self) -> float:
        """The deviation of a holder's noise on counts for a centre, (1)."""
        return max(CENTRE_NOISE, self.rows / (CENTRE_RANK * math.sqrt(self.holders)))

    @property
    def radius(self) -> float:
        """R of (2): longer where the noise on A, whose norm grows with R^2 d^(1/2), is small beside 1 all the same."""
        d = max(self.columns, 1)
        room = FAINT * self.rows / (CLOSE * math.sqrt(self.holders) * d**1.5)
        return math.sqrt(d * min(max(room, 1.0), LONGEST))

    @property
    def sum_noise(self) -> float:
        """The deviation of a holder's noise on sums of u, (2), in whole numbers."""
        return CLOSE * self.radius * (1 << BITS)

    @property
    def product_noise(self) -> float:
        """The deviation of a holder's noise on squares, (3), in whole numbers; on products it is 1 / sqrt(2) of it."""
        return CLOSE * self.radius**2 * (1 << 2 * BITS)

    @property
    def lift(self) -> int:
        """How many bits are put behind the sums of u, which are then rounded as finely as those of products."""
        return BITS + int(math.log2(self.radius))

    @property
    def cut(self) -> int:
        """How many bits are rounded away: to an eighth of a holder's noise or finer."""
        return int(math.log2(self.product_noise)) - 3


# The choreography


@choreography(opens={Everyone: LANDMARKS})
def find_distribution(
    run: Run,
    dealing: Dealing,
    data: At[OwnCells],
    *,
    partition: str,
    rows: Mapping[str, int],
    columns: int,
    seed: int | None = None,
) -> Distribution:
    """Find the distribution of landmarks; what is opened has noise, and is rounded.

    rows: of each holder. columns: of the whole table. seed: in a simulation, in place of a joint coin.
    """
    if partition not in PARTITIONS:
        raise LocalError(f"unknown partition {partition!r}: use one of {', '.join(PARTITIONS)}")
    counts = [rows[p] for p in run.roster[Site]]
    n = sum(counts) if partition == "horizontal" else max(counts)
    if n > MOST_ROWS:
        raise LocalError(f"sums for landmarks hold {MOST_ROWS:,} rows, not {n:,}: leave some out")
    if partition == "vertical":
        found = [read_block(block, n) for block in publish_blocks(run, data, n).values()]
        centre, scale, root = join_blocks(found)
        if centre.size != columns:
            raise PeerError(f"the owners published {centre.size} columns of {columns}: compare their declarations")
    else:
        level = Level(n, len(counts), full=partition == "horizontal" and columns <= WIDEST)
        keys = run.local(Site, tie_noise, data, run.lasting(Site), run.who(Site))
        coarse, scale = find_scales(lambda *asked: ask_holders(run, dealing, data, keys, *asked), columns, level)
        level = varying(level, scale)
        sums = open_sums(run, dealing, data, keys, coarse, scale, level)
        centre, root = read_sums(sums, coarse, scale, level)
    return Distribution(
        centre=centre, scale=scale, root=root, seed=seed_of(toss_coin(run, data)) if seed is None else seed
    )


def publish_blocks(run: Run, data: At[OwnCells], n: int) -> dict[str, Block]:
    """Let every owner of columns publish what it found of them alone."""
    keys = run.local(Holder, tie_noise, data, run.lasting(Holder), run.who(Holder))
    return run.publish_all(Block, run.local(Holder, make_block, data, n, keys))


def find_scales(ask: Ask, columns: int, level: Level) -> tuple[F64, F64]:
    """Return a coarse centre and a scale for every column, from answers to what is asked of the counts."""
    crowd = level.crowd
    found, times = search_scales(lambda count, *known: ask(count, known[0], level, known[1]), columns, crowd)
    return found.middle, scales_of(times, found, crowd)


def ask_holders(
    run: Run,
    dealing: Dealing,
    data: At[OwnCells],
    keys: At[bytes],
    count: Counts,
    brackets: Brackets,
    level: Level,
    targets: I64,
) -> I64:
    """Return which noisy counts of all holders together reach their targets, compared in shares."""
    noisy = run.local(Site, count_noisily, data, count, brackets, level, keys)
    own = gather(run, dealing, noisy, size=targets.size)
    noise = math.ceil(TAIL * UNIT * level.centre_noise * level.holders)
    most = round(UNIT * max(level.rows, 2 * level.crowd.least * level.holders))
    reached = decide(run, dealing, own, targets.ravel(), largest=most + noise)
    return reached.reshape(targets.shape).astype(np.int64)


def open_sums(
    run: Run, dealing: Dealing, data: At[OwnCells], keys: At[bytes], centre: F64, scale: F64, level: Level
) -> I64:
    """Open the noisy sums of all holders together, rounded in shares before."""
    noisy = run.local(Site, sum_noisily, data, centre, scale, level, keys)
    size, dealing = count_sums(centre.size, level), replace(dealing, ring=Z64)
    own = gather(run, dealing, noisy, size=size)
    rounded = truncate(run, dealing, own, level.cut, size=size)
    return open_result(run, dealing, rounded, size=size)


# Steps at the holders


def tie_noise(data: OwnCells, secret: bytes, me: str) -> bytes:
    """Return the key of a holder's noise: a function of its secret and of its records, which are looked at once."""
    owned, found = getattr(data, "owned", None), hashlib.sha256(repr(data.X.shape).encode())
    for at, block in blocks(data.X, ROWS):
        cells = block.toarray() if is_sparse(block) else block
        check_cells(cells, me)
        found.update((cells + 0.0).tobytes())  # -0 is 0
        if owned is not None:
            found.update(owned[at].tobytes())
    return prf(secret, b"landmarks", found.digest())


def count_noisily(data: OwnCells, count: Counts, brackets: Brackets, level: Level, key: bytes) -> I64:
    """Return a holder's counts with its noise."""
    own = count(columns_of(data), brackets, level.crowd)
    asked = (count.__name__, brackets.low.tolist(), brackets.width.tolist(), brackets.done.tolist(), level)
    of_centre, of_scale = draw_count_noise(len(own), prf(key, repr(asked).encode()), level)
    own[:, -1:] += of_scale
    own[:, :-1] += of_scale if count is count_for_scales else of_centre
    return own.ravel()


def draw_count_noise(columns: int, key: bytes, level: Level) -> tuple[I64, I64]:
    """Return the noise (1) of a centre and of a scale, one number for each column."""
    deviations = ((b"centre", level.centre_noise), (b"scale", SCALE_NOISE))
    centre, scale = (draw_noise(prf(key, name), columns, math.ceil((UNIT * each) ** 2)) for name, each in deviations)
    return centre[:, None], scale[:, None]


def sum_noisily(data: OwnCells, centre: F64, scale: F64, level: Level, key: bytes) -> U64:
    """Return a holder's sums with its noise, (2) and (3), as words."""
    d, key = centre.size, prf(key, centre.tobytes(), scale.tobytes(), repr(level).encode())
    sums, products = np.zeros(d, dtype=np.int64), np.zeros((d, d) if level.full else d, dtype=np.int64)
    for u in cut_records(data, centre, scale, level.radius):
        sums += u.sum(axis=0)
        products += sum_products(u) if level.full else np.square(u).sum(axis=0)
    diagonal = math.ceil(level.product_noise**2)
    sums += draw_noise(prf(key, b"sums"), d, math.ceil(level.sum_noise**2))
    if level.full:
        beside = draw_noise(prf(key, b"products"), triangle_size(d), diagonal // 2)
        on = draw_noise(prf(key, b"squares"), d, diagonal)
        triangle = pack(products, 0) + beside
        places = diagonal_places(d)
        triangle[places] += on - beside[places]
    else:
        triangle = products + draw_noise(prf(key, b"squares"), d, diagonal)
    return np.concatenate([sums << level.lift, triangle]).view(np.uint64)


def make_block(data: OwnCells, n: int, key: bytes) -> Block:
    """Return what an owner of columns finds of them alone, with the same noise."""
    columns = data.X.shape[1]

    def ask(count: Counts, brackets: Brackets, level: Level, targets: I64) -> I64:
        found = count_noisily(data, count, brackets, level, key)
        return (found.reshape(targets.shape) >= targets).astype(np.int64)

    level = Level(n, 1, full=columns <= WIDEST)
    coarse, scale = find_scales(ask, columns, level)
    level = varying(level, scale)
    noisy = sum_noisily(data, coarse, scale, level, key).view(np.int64)
    return Block(coarse, scale, noisy >> level.cut)


def columns_of(data: OwnCells) -> list[F64]:
    """Return the values of every column that are a holder's own."""
    X, owned = data.X, getattr(data, "owned", None)
    if is_sparse(X):
        return [X[:, j : j + 1].toarray().ravel() for j in range(X.shape[1])]
    return [X[:, j] if owned is None else X[owned[:, j], j] for j in range(X.shape[1])]


def cut_records(data: OwnCells, centre: F64, scale: F64, radius: float) -> Iterator[I64]:
    """Yield records u, or a holder's part of them, in blocks; cells of others are 0."""
    owned = getattr(data, "owned", None)
    for at, block in blocks(data.X, ROWS):
        X = block.toarray() if is_sparse(block) else block
        yield whole_records(X if owned is None else np.where(owned[at], X, centre), centre, scale, radius)


def check_cells(cells: F64, me: str) -> None:
    """Raise if a value is missing, or larger than the numbers among which centres are found."""
    largest = float(np.abs(cells).max(initial=0.0))
    if not math.isfinite(largest):
        raise LocalError(f"{me} has values that are no finite numbers: fill them in before landmarks are found")
    if largest >= LARGEST:
        raise LocalError(f"{me} has values of {LARGEST:.0e} or more, which landmarks do not hold: take a larger unit")


# What everybody computes


def varying(level: Level, scale: F64) -> Level:
    """Return the level for the columns that vary."""
    return replace(level, columns=int((scale > 0).sum()))


def count_sums(columns: int, level: Level) -> int:
    """Return how many sums are opened."""
    return columns + (triangle_size(columns) if level.full else columns)


def diagonal_places(columns: int) -> I64:
    """Return where the diagonal of a packed triangle is."""
    i = np.arange(columns)
    return i * (i + 3) // 2


def read_sums(sums: I64, coarse: F64, scale: F64, level: Level) -> tuple[F64, F64]:
    """Return the centre, and the root of the covariance in units of the scale, from rounded noisy sums."""
    d, n, live = coarse.size, level.rows, scale > 0
    if sums.size != count_sums(d, level):
        raise PeerError(f"{sums.size} sums were published of {count_sums(d, level)}: is everybody of the same version?")
    real = np.ldexp(sums.astype(np.float64), level.cut)
    holders = math.sqrt(level.holders)
    m = np.ldexp(real[:d], -level.lift - BITS) / max(n, 1)
    t = holders * level.sum_noise / 2**BITS / max(n, 1)
    m = np.where(live, m * SPREAD / (SPREAD + t * t), 0.0)
    products = np.ldexp(real[d:], -2 * BITS) / max(n, 1)
    t = holders * level.product_noise / 4**BITS / max(n, 1)
    centre = coarse + scale * m
    if not level.full:
        variance = 1.0 + (products - m * m - 1.0) * PRIOR / (PRIOR + t * t)
        return centre, np.where(live, np.sqrt(np.maximum(variance, LEAST)), 0.0)
    root = np.zeros((d, d))
    if live.any():
        A = unpack([products], d)[np.ix_(live, live)] - np.outer(m[live], m[live])
        root[np.ix_(live, live)] = root_of(clear_noise(A, t / math.sqrt(2.0)))
    return centre, root


def read_block(block: Block, n: int) -> tuple[F64, F64, F64]:
    """Return centre, scale and root of one owner's columns."""
    scale = block.scale
    if scale.shape != block.centre.shape or not np.isfinite([block.centre, scale]).all() or (scale < 0).any():
        raise PeerError("an owner published centres and scales of columns that cannot be: compare the audits")
    centre, root = read_sums(block.sums, block.centre, scale, varying(Level(n, 1, full=scale.size <= WIDEST), scale))
    return centre, scale, root


def join_blocks(found: list[tuple[F64, F64, F64]]) -> tuple[F64, F64, F64]:
    """Return all columns, in the order of their owners; blocks are independent of each other."""
    centre, scale = (np.concatenate([each[i] for each in found]) for i in range(2))
    roots = [root for _, _, root in found]
    if all(root.ndim == 1 for root in roots):
        return centre, scale, np.concatenate(roots)
    whole, at = np.zeros((centre.size, centre.size)), 0
    for root in roots:
        stop = at + len(root)
        whole[at:stop, at:stop] = root if root.ndim > 1 else np.diag(root)
        at = stop
    return centre, scale, whole


def standard_distribution(columns: int, seed: int) -> Distribution:
    """Return N(0, I), which needs no data."""
    return Distribution(centre=np.zeros(columns), scale=np.ones(columns), root=np.ones(columns), seed=seed)


def draw_landmarks(distribution: Distribution, count: int) -> F64:
    """Return the first points of the list that goes with a distribution, (6) of `normal_points`."""
    root = distribution.root
    z = draw_normals(distribution.seed, count, distribution.centre.size)
    return distribution.centre + distribution.scale * (z @ root if root.ndim > 1 else z * root)


def gamma_scale(distribution: Distribution) -> float:
    """Return 1 / (columns * variance of all cells), scikit-learn's gamma="scale", of a public distribution."""
    root, d = distribution.root, distribution.centre.size
    own = np.square(root).sum(axis=0) if root.ndim > 1 else np.square(root)
    variance = float((np.square(distribution.scale) * own).mean() + distribution.centre.var()) if d else 0.0
    return 1.0 / (d * variance) if variance > 0 else 1.0


# What is opened on the way to landmarks: bits of comparisons, and noisy sums, first to the holders, then to everyone.
#
#     x in shares >> shares anew, of the dealer's zeros >> every holder adds them up >> the first one publishes      (1)
#
# Shares anew, since a share that a gate leaves follows from what the dealer knows and what was opened before. They go
# from holder to holder: the dealer hears the result alone, which every other holder compares with its own.


class ResultShare(Opening, tells=LANDMARKS):
    """A holder's share of a result that is opened."""


class Published(Message, tells=LANDMARKS):
    """A result, as whole numbers."""

    values: I64


@choreography(opens={Everyone: LANDMARKS})
def decide(run: Run, dealing: Dealing, x: At[I64], targets: I64, *, largest: int) -> Flags:
    """Return [sum_p x_p >= target] for every entry; `largest` is how large a sum can be."""
    bits, ring = compare_in_shares(run, dealing, x, targets, largest=largest)
    return open_result(run, replace(dealing, ring=ring), bits, size=targets.size).astype(np.bool_)


@choreography(opens={Everyone: LANDMARKS})
def open_result(run: Run, dealing: Dealing, x: At[U64], *, size: int) -> I64:
    """Tell everyone what is in shares, by (1)."""
    return reveal(run, dealing, ResultShare, Published, x, size=size)
