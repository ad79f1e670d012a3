"""PAN-SVM and PPM2C: a non-linear SVM over rows that many hold, for two classes or more.

The problem. Holder h has records x_i with labels. Three layers, with l landmarks L in all:

    L = the k-means centres of every party's own records                      bottom (`landmarks`)
    A = k(L, L) = U Lambda U',    K ~ k(X, L) A^-1 k(L, X),    A^-1 = U Lambda^-1 U'                              (3.5)
    F = k(X, L) U Lambda^-1/2     at every holder, its own rows only          medium                              (3.6)
    min_{w,b} 1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i (w.f_i + b))             top (`cutting_plane`)               (3.7)

The model is f(x) = w.F(x) + b, and everybody has it. With the linear kernel F = X, without landmarks. More than two
classes are several problems (PPM2C): one for each pair, "ovo", or one for each class against the rest, "ovr", which is
what the paper measures. All of them share (3.6) and advance together. s_i is a record's weight times its class's.

Corrected: (3.5) prints U' Lambda^-1 U. Null eigenvalues of A are left out, where the paper divides by them. (3.7)
minimises over the loss, and its c_i is 1 where the margin is violated.

Roles. Holder: records with labels. Coordinator: holds no data; opens the sums, publishes landmarks and models.

Threat. Semi-honest; coalitions as `secure_sum`. Not protected: landmarks, some of which are records (`landmarks`);
records by which two sums differ (`cutting_plane`); what the model itself reveals. A job that names it has to accept
this risk.

Source: 004 chapters 3 and 4.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Everyone, Holder, Result, Run, choreography
from tacit.choreo.protocol import LARGE, Cost, Declaration, Params, Planned, Rehearsal
from tacit.numeric.svm.kernels import Kernel, basis_of
from tacit.papers.pan.cutting_plane import CUT_SUMS, ITERATES, OBJECTIVES, USUAL, Planes, cut_planes
from tacit.papers.pan.ground import OF_PAN, Ground, NumberedRecords, PanSettings, agree_on_ground, sign_rows
from tacit.papers.pan.landmarks import LANDMARKS, share_landmarks, share_of
from tacit.protocols.features.maps import PublicMap
from tacit.protocols.part import Names, Records, by_rows

ATTACKED = (
    "PAN-SVM shows everyone landmarks that may be records, and its coordinator sums that differ by single records"
)


class Trained(Result):
    """What a training leaves: the classes, the public map, the models on it, and how many landmarks were asked for."""

    classes: Names
    map: PublicMap
    w: F64
    objective: F64
    bound: F64
    rounds: int
    asked: int


@choreography(opens={Coordinator: CUT_SUMS, Everyone: (LANDMARKS, ITERATES, OBJECTIVES)})
def pan_svm(run: Run, data: At[Records], *, svm: PanSettings) -> Trained:
    """Train a PAN-SVM; everyone ends with the model."""
    ground, rows = agree_on_ground(run, data, svm=svm)
    centres, asked = agree_on_landmarks(run, rows, ground)
    the_map = map_by(ground.kernel_of(ground.columns), centres)
    found = train_on(run, rows, the_map, ground)
    return Trained(
        classes=ground.classes,
        map=the_map,
        w=found.w,
        objective=found.objective,
        bound=found.bound,
        rounds=found.rounds,
        asked=asked,
    )


def agree_on_landmarks(run: Run, rows: At[NumberedRecords], ground: Ground) -> tuple[F64, int]:
    """Return the landmarks, none for a linear kernel, and how many were asked for."""
    if ground.svm.name == "linear":
        return np.empty((0, ground.columns)), 0
    share = share_of(ground.svm.landmarks, ground.rows)
    centres = share_landmarks(run, rows, share=share, by=ground.by, fixed=ground.fixed)
    return centres, round(share * ground.rows)


def map_by(kernel: Kernel, centres: F64) -> PublicMap:
    """Return the map (3.6) of a kernel, which follows from the landmarks; the identity if it is linear."""
    columns = centres.shape[1]
    shape = (kernel.name, kernel.gamma, kernel.degree, kernel.coef0)
    if kernel.name == "linear":
        return PublicMap(*shape, np.zeros((1, columns)), np.empty((0, 0)), 1.0, columns, "", np.ones(columns))
    return PublicMap(*shape, centres, basis_of(centres, kernel), 1.0, columns)


def train_on(run: Run, rows: At[NumberedRecords], the_map: PublicMap, ground: Ground) -> Planes:
    """Train one model for each problem on the mapped records."""
    return cut_planes(run, run.local(Holder, sign_rows, rows, the_map, *ground.labelling), how=ground.solver)


# What a job may name


def shrink(params: Params) -> Params:
    """Return parameters for a few invented records."""
    del params
    return {"landmarks": 3.0, "tol": 1e-9, "class_weight": None, "C": 1.0}


def estimate(planned: Planned) -> Cost:
    """Estimate the usual rounds of two classes, from rehearsals of three rounds and of four."""
    short, long = (planned.rehearse(LARGE, max_rounds=n) for n in (3, 4))
    few, more = planned.traffic(short), planned.traffic(long)
    sizes = [at + (USUAL - 3) * (then - at) for at, then in zip(few, more, strict=True)]
    rounds = short.rounds + (USUAL - 3) * (long.rounds - short.rounds)
    return Cost(rounds=rounds, bytes=dict(zip(planned.roster.parties, sizes, strict=True)))


PAN_SVM = Declaration(pan_svm, rehearsal=Rehearsal(by_rows, shrink, estimate), attacked=ATTACKED, parameters=OF_PAN)
