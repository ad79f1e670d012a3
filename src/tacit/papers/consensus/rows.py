"""Consensus over rows: every party solves its own SVM, and only the average of their weights is opened, round by round.

The problem. Holder m has rows with labels, m = 1..M. With features F of a public map, U = [F, 1] and theta = (w, b)

    min_theta  1/2 |w|^2 + sum_m sum_i cap_i max(0, 1 - y_i U_i.theta)                                            (1)

shall be known to all. With R = diag(1, .., 1, 0) / M and a penalty H = rho D, in every round

    theta_m = argmin 1/2 theta'R theta + 1/2 (theta - p)'H (theta - p) + own hinges,   p = z - gamma_m            (2)
    told_m = theta^_m + gamma_m,   theta^_m = alpha theta_m + (1 - alpha) z                                       (3)
    z = mean_m told_m,   gamma_m = told_m - z                                                                     (4)

(2) by its dual (`box_dual`), with Q = (R + H)^-1 and c = H p: A = Y U Q U' Y, B = -1 + Y U Q H p, no equality. This is
(10) to (13) of the paper with D = I, a number as rho, and alpha = 1. With rho="auto" D has the second moments of the
features over all rows and rho is 0.03 C n / M, which saves most of the rounds.

How far z is from the optimum. The lambda_m are feasible for the dual of (1) but for its equality, and the gammas add up
to 0, so that sum_m U_m'Y_m lambda_m follows from the averages:

    G = M (R mean theta + H (mean theta - z))                                                                    (5)
    optimum >= sum_i lambda_i - 1/2 |G_w|^2 - |G_b| (|b| + 1)                                                    (6)

if the optimal bias is at most 1 larger than that of z. The sums of all lambda_i and of all hinges at z are opened with
the averages, and a training ends when (6) and (1) are within `tol`.

With a kernel F are Nystroem features of landmarks that the coordinator draws from a normal distribution with the sums'
means and variances of the columns. The paper's parties keep what of their kernel the landmarks leave out, and end with
a classifier each, which disagree on up to 7 % of records; here it is left out by all, and all have one model.

Corrected: (12) with (13d) keeps b where it is; (9) has to solve w and b jointly; (10) and (11) lack Y; (19) to (25)
have rho / M where rho M belongs.

Roles. Holder: records with labels. Coordinator: holds no data; opens the sums, and publishes.

Threat. Semi-honest; coalitions as `secure_sum`. Not protected: with two holders each has the other's weights of every
round, and from them its records (`attacks`); averages of few parties, by which a coordinator's guess of single records
can be tested; what the model itself reveals. A job that names it has to accept this risk.

Source: 000 sections III to V.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, State, choreography
from tacit.choreo.declaration import Number, Parameter
from tacit.choreo.protocol import LARGE, Cost, Declaration, Params, Planned, Rehearsal
from tacit.crypto.pads.entropy import words_of
from tacit.errors import LocalError
from tacit.numeric.ring.words import uniform
from tacit.numeric.svm.kernels import OVR, Kernel, Pairs, basis_of, problems, signs_of
from tacit.papers.facts import CLASS_SIZES
from tacit.papers.labels import check_labels
from tacit.papers.machine import gamma_of
from tacit.papers.parameters import MAX_ROUNDS, MULTI_CLASS, TOL, fixed_point
from tacit.protocols.classes import check_class_names, weigh_classes
from tacit.protocols.facts import CLASSES
from tacit.protocols.features.maps import LINEAR, PublicMap, features_of
from tacit.protocols.parameters import AnyKernel, number_or
from tacit.protocols.part import ClassWeight, Names, Records, by_rows
from tacit.protocols.sums.secure_sum import protect, secure_sum

KERNELS = ("linear", "rbf", "poly")
FIRST = 0.03  # of C n / M: rho="auto"
RIDGE = 1e-3  # of the largest moment: what a feature that nobody has is held by
SWEEPS, OWN_TOL = 200, 0.01  # of a round's dual: at most, and of `tol`
TWO = 2
USUAL = 100  # rounds
ATTACKED = "two parties have each other's weights of every round, from which records follow"

AVERAGES = Fact("consensus.averages", "holders", "model", "all", "the average of all parties' weights in every round")
CERTIFICATES = Fact(
    "consensus.certificates",
    "holders",
    "aggregate",
    "all",
    "in every round the sums of all multipliers and of all losses",
)
COLUMN_MOMENTS = Fact(
    "consensus.column_moments",
    "holders",
    "aggregate",
    "all",
    "means and variances of all columns, from which landmarks are drawn",
)
FEATURE_MOMENTS = Fact(
    "consensus.feature_moments",
    "holders",
    "aggregate",
    "all",
    "with rho='auto' the mean square of every feature",
)
COLUMNS = Fact("consensus.columns", "holder", "size", "party", "how many columns each party holds of the records")

RHO = Parameter("rho", number_or("auto"), "how much disagreement of the parties costs", opens=True)
OVER_RELAXATION = Parameter(
    "over_relaxation", Number(0, 2, above=True), "how long the steps of a consensus are", opens=True
)
POINTS = Parameter("points", Number(1, whole=True, job_most=10_000), "how many landmarks are drawn", opens=True)
OF_CONSENSUS = (RHO, OVER_RELAXATION, MULTI_CLASS, TOL, MAX_ROUNDS)


@dataclass(frozen=True, kw_only=True)
class RowSettings(AnyKernel):
    """The parameters of a consensus over rows; `ConsensusSVC` says what they mean."""

    C: float
    points: int = 100
    rho: float | str = "auto"
    over_relaxation: float = 1.6
    multi_class: str = OVR
    class_weight: ClassWeight = None
    tol: float = 1e-3
    max_rounds: int = 1000


class PartyClasses(Message, tells=(CLASSES, COLUMNS), ragged=True):
    """The classes that a party has records of, and how many columns these have."""

    classes: Names
    columns: int


class Landmarks(Message, tells=(CLASS_SIZES, COLUMN_MOMENTS)):
    """How many records each class has over all parties; gamma as a number; landmarks, none for a linear kernel."""

    sizes: F64
    gamma: float
    points: F64


class Metric(Message, tells=FEATURE_MOMENTS):
    """The diagonal of H."""

    penalty: F64


class Average(Message, tells=(AVERAGES, CERTIFICATES)):
    """z after a round, a row for each problem; objective and bound of the z before it; whether that was enough."""

    z: F64
    objective: F64
    bound: F64
    done: bool


class Rows(State):
    """A holder's features with a last entry 1, their signs, a row for each problem, and what an error costs."""

    U: F64
    signs: F64
    cap: F64


class OwnDual(State):
    """A holder's multipliers, and what it told last; nothing before the first round."""

    lam: F64
    told: F64
    figures: F64


class Trained(Result):
    """What a training leaves, public: the classes, the map, its weights with b last, and how far it came."""

    classes: Names
    map: PublicMap
    w: F64
    objective: F64
    bound: F64
    rounds: int


@dataclass(frozen=True)
class Round:
    """What all parties know of a round's step: R and H as diagonals, alpha, M, and how exact the dual is solved."""

    R: F64
    H: F64
    alpha: float
    holders: int
    tol: float


@choreography(
    opens={
        Coordinator: (CLASS_SIZES, COLUMN_MOMENTS, FEATURE_MOMENTS, AVERAGES, CERTIFICATES),
        Everyone: (
            CLASSES,
            COLUMNS,
            CLASS_SIZES,
            COLUMN_MOMENTS,
            FEATURE_MOMENTS,
            AVERAGES,
            CERTIFICATES,
        ),
    }
)
def consensus_rows(run: Run, data: At[Records], *, svm: RowSettings) -> Trained:
    """Train; everyone ends with the model."""
    check_kernel(svm)
    run.local(Holder, check_labels, data, run.who(Holder))
    add = partial(secure_sum, run, to=Coordinator, by=protect(run), fixed=fixed_point(run))
    classes, columns = join_classes(run.publish_all(PartyClasses, run.local(Holder, describe, data)))
    moments = add(run.local(Holder, sum_columns, data, classes), what="moments of columns")
    known = run.publish(Landmarks, run.local(Coordinator, draw_points, moments, run.random(Coordinator), columns, svm))
    the_map, pairs = map_of(svm, known, columns), problems(len(classes), svm.multi_class)
    prices = svm.C * weigh_classes(classes, known.sizes, svm.class_weight)
    rows = run.local(Holder, sign_rows, data, the_map, classes, pairs, prices)
    how = choose_step(run, rows, add, svm, the_map.size, float(known.sizes.sum()))
    start = np.zeros((len(pairs), the_map.size))
    s = run.carry(
        z=start,
        own=run.local(Holder, stand_at, rows, start),
        bound=run.local(Coordinator, np.full, len(pairs), -np.inf),
        rounds=0,
        figures=(np.full(len(pairs), np.inf), np.full(len(pairs), -np.inf)),
    )
    for t in run.rounds(svm.max_rounds, s):
        s.own = run.local(Holder, solve_own, rows, s.own, s.z, how, t)
        total = add(run.local(Holder, tell, s.own), what="weights")
        s.bound = run.local(Coordinator, tighten, s.bound, s.z, total, how)
        told = run.publish(Average, run.local(Coordinator, average, s.bound, s.z, total, how.holders, svm.tol))
        run.note(objective=float(told.objective.sum()), bound=float(told.bound.sum()))
        s.z, s.rounds, s.figures = told.z, t + 1, (told.objective, told.bound)
        if told.done:
            break
    objective, bound = s.figures
    return Trained(classes=classes, map=the_map, w=s.z, objective=objective, bound=bound, rounds=s.rounds)


def choose_step(run: Run, rows: At[Rows], add: partial[At[F64]], svm: RowSettings, size: int, records: float) -> Round:
    """Return R and H: the paper's rho I, or with rho='auto' the second moments of all features."""
    M = len(run.members(Holder))
    R, tol = np.append(np.full(size - 1, 1.0 / M), 0.0), OWN_TOL * svm.tol
    if not isinstance(svm.rho, str):
        return Round(R, np.full(size, float(svm.rho)), svm.over_relaxation, M, tol)
    squares = add(run.local(Holder, sum_squares, rows), what="moments of features")
    told = run.publish(Metric, run.local(Coordinator, weigh_features, squares, records, FIRST * svm.C * records / M))
    return Round(R, told.penalty, svm.over_relaxation, M, tol)


def check_kernel(svm: RowSettings) -> None:
    """Raise unless landmarks give the kernel a map."""
    if svm.name not in KERNELS:
        raise LocalError(f"kernel={svm.name!r} has no map by landmarks: use one of {', '.join(KERNELS)}")


def join_classes(told: dict[str, PartyClasses]) -> tuple[Names, int]:
    """Return the names of all classes, sorted, and the number of columns that all parties have."""
    check_class_names({party: message.classes for party, message in told.items()})
    names = tuple(np.unique(np.array([name for message in told.values() for name in message.classes])).tolist())
    widths = {party: message.columns for party, message in told.items()}
    if len(set(widths.values())) > 1:
        raise LocalError(f"the parties hold different numbers of columns ({widths}): give all of them the same ones")
    if len(names) < TWO:
        raise LocalError(
            f"the labels of all parties hold one class only ({names}): a classifier needs at least 2 classes"
        )
    return names, next(iter(widths.values()))


def map_of(svm: RowSettings, known: Landmarks, columns: int) -> PublicMap:
    """Return the map that follows from the landmarks; the columns themselves if the kernel is linear."""
    shape = (svm.name, known.gamma, svm.degree, svm.coef0)
    if svm.name == LINEAR:
        return PublicMap(*shape, np.zeros((1, columns)), np.empty((0, 0)), 1.0, columns, "", np.ones(columns))
    return PublicMap(*shape, known.points, basis_of(known.points, Kernel(*shape)), 1.0, columns)


# Steps at the holders


def describe(part: Records) -> PartyClasses:
    """Return the classes of the records that count, and the number of columns."""
    y = np.empty(0) if part.y is None else part.y if part.weight is None else part.y[part.weight > 0]
    return PartyClasses(tuple(np.unique(y).tolist()), part.X.shape[1])


def sum_columns(part: Records, classes: Names) -> F64:
    """Return sums and squares of the columns of the records that count, and how many there are of each class."""
    X, codes, _ = records_that_count(part, classes)
    return np.concatenate([X.sum(axis=0), np.square(X).sum(axis=0), np.bincount(codes, minlength=len(classes))])


def records_that_count(part: Records, classes: Names) -> tuple[F64, I64, F64]:
    """Return the records with a weight, the numbers of their classes, and their weights."""
    weight = np.ones(len(part.X)) if part.weight is None else part.weight
    use = weight > 0
    y = np.empty(0) if part.y is None else part.y[use]
    codes = np.searchsorted(np.array(classes), y) if len(y) else np.empty(0)
    return part.X[use], codes.astype(np.int64), weight[use]


def sign_rows(part: Records, the_map: PublicMap, classes: Names, pairs: Pairs, prices: F64) -> Rows:
    """Return the features of the records that count, their signs, and what an error costs."""
    X, codes, weight = records_that_count(part, classes)
    signs = np.ascontiguousarray(signs_of(codes, pairs).T.astype(np.float64))
    cap = np.abs(signs) * (weight * prices[codes])
    return Rows(np.ascontiguousarray(features_of(the_map, X, shorten=False)), signs, cap)


def sum_squares(rows: Rows) -> F64:
    """Return the sum of squares of every feature."""
    found: F64 = np.einsum("ij,ij->j", rows.U, rows.U)
    return found


def stand_at(rows: Rows, start: F64) -> OwnDual:
    """Return where a holder begins: no multiplier, and nothing told."""
    return OwnDual(np.zeros(rows.cap.shape), start, np.zeros((len(start), 2)))


def solve_own(rows: Rows, own: OwnDual, z: F64, how: Round, seed: int) -> OwnDual:
    """Return the holder's standing after (2) and (3), and its part of the certificate: multipliers, losses at z."""
    from tacit.papers.consensus.box_dual import descend  # noqa: PLC0415 - numba takes a second, which trainings pay

    gamma, Q = own.told - z, 1.0 / (how.R + how.H)
    c, lam = how.H * (z - gamma), own.lam.copy()
    theta = Q * (c + (rows.signs * lam) @ rows.U)
    for k in range(len(z)):
        descend(rows.U, rows.signs[k], rows.cap[k], Q, theta[k], lam[k], how.tol, SWEEPS, np.uint64(seed))
    losses = (rows.cap * np.maximum(0.0, 1.0 - rows.signs * (z @ rows.U.T))).sum(axis=1)
    told = how.alpha * theta + (1.0 - how.alpha) * z + gamma
    return OwnDual(lam, told, np.column_stack([lam.sum(axis=1), losses]))


def tell(own: OwnDual) -> F64:
    """Return what of a standing is summed."""
    return np.column_stack([own.told, own.figures])


# Steps at the coordinator


def draw_points(moments: F64, seed: bytes, columns: int, svm: RowSettings) -> Landmarks:
    """Return the sizes of the classes, gamma as a number, and landmarks by the moments of the columns."""
    total, squares, sizes = np.split(moments, [columns, 2 * columns])
    n = float(np.rint(sizes).sum())
    gamma = gamma_of(svm.gamma, columns, round(n) * columns, float(total.sum()), float(squares.sum()))
    if svm.name == LINEAR:
        return Landmarks(np.rint(sizes), gamma, np.empty((0, columns)))
    mean = total / n
    spread = np.sqrt(np.maximum(squares / n - mean**2, 0.0))
    z = ndtri(uniform(words_of(seed, svm.points * columns))).reshape(svm.points, columns)
    return Landmarks(np.rint(sizes), gamma, mean + spread * z)


def weigh_features(squares: F64, records: float, rho: float) -> Metric:
    """Return the diagonal of H = rho D."""
    moments = squares / records
    return Metric(rho * (moments + RIDGE * moments.max()))


def tighten(best: F64, z: F64, total: F64, how: Round) -> F64:
    """Return the best bound (6) so far of every problem."""
    moved = (total[:, :-2] / how.holders - z) / how.alpha  # mean theta - z
    G = how.holders * (how.R * (z + moved) + how.H * moved)
    away = np.abs(G[:, -1]) * (np.abs(z[:, -1]) + 1.0)
    found: F64 = np.maximum(best, total[:, -2] - 0.5 * (G[:, :-1] ** 2).sum(axis=1) - away)
    return found


def average(bound: F64, z: F64, total: F64, holders: int, tol: float) -> Average:
    """Return the new average; or, where the bound shows that it is good enough, the one of the round before."""
    objective = 0.5 * (z[:, :-1] ** 2).sum(axis=1) + total[:, -1]
    done = bool(np.all(objective - bound <= tol * np.abs(objective)))
    return Average(z if done else total[:, :-2] / holders, objective, bound, done)


# What a job may name


def shrink(params: Params) -> Params:
    """Return parameters for a few invented records."""
    del params
    return {"points": 3, "tol": 1e-9, "class_weight": None, "C": 1.0}


def estimate(planned: Planned) -> Cost:
    """Estimate the usual rounds of two classes, from rehearsals of three rounds and of four."""
    short, long = (planned.rehearse(LARGE, max_rounds=n) for n in (3, 4))
    few, more = planned.traffic(short), planned.traffic(long)
    sizes = [at + (USUAL - 3) * (then - at) for at, then in zip(few, more, strict=True)]
    rounds = short.rounds + (USUAL - 3) * (long.rounds - short.rounds)
    return Cost(rounds=rounds, bytes=dict(zip(planned.roster.parties, sizes, strict=True)))


CONSENSUS_ROWS = Declaration(
    consensus_rows,
    rehearsal=Rehearsal(by_rows, shrink, estimate),
    attacked=ATTACKED,
    parameters=(*OF_CONSENSUS, POINTS),
)
