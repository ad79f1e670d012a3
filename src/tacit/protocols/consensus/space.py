"""The space in which parties that hold rows agree: which numbers must be equal, and how far apart is far.

The problem. Each party has a classifier of its own, and only a few of its numbers can be compared:

    linear      all of it: w and b
    kernel      its values at l public landmarks X_g, and b:  G w_m = z,  G = phi(X_g)                              (15)

For (15) take the orthonormal coordinates of the landmarks' span, K_gg = B Lambda B', F(x) = K(x, X_g) B Lambda^-1/2.
Then v_m = Lambda^-1/2 B' G w_m are weights of the features F, equal at all parties exactly if G w_m are, and what is
left of w_m

    w_m = span part + rest_m,    K_rest(x, x') = K(x, x') - F(x).F(x')                                              (1)

is each party's own. A landmark source of "ranges" draws X_g uniformly within public ranges from a public seed, as the
paper does: they say nothing about the data, and in many dimensions nothing near the data either. "local" and "joint"
are `landmarks`.

How far apart. The paper's penalty is rho |G w_m - z|^2 + rho (b_m - s)^2, in these coordinates rho sum_j Lambda_j
(.)_j^2. For a linear classifier the mean square of the difference of decision values is a far better measure,

    (theta - z)'D(theta - z),    D = sum_m [X_m, 1]'[X_m, 1] / n                                                    (2)

which is diagonal after a shift by the mean and a rotation: the parties take their features along the principal axes of
all rows. With a kernel it is not: there the rest of w_m takes up what the landmarks leave, and Lambda_j serves as well
without being opened.

Roles. Holder: records. Coordinator: opens D, publishes mean, axes and variances.
Threat. Semi-honest; coalitions as `secure_sum`: all holders but one have that one's own second moments, and where it
has fewer rows than columns the space that they span. Of all rows together D shows that space too if they are so few,
and is then not opened.
Source: 000 eqs 15 to 20, corrected (docs/methods/consensus.md); (2) is ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.groups.least_count import FLOOR
from tacit.numeric.ring.draws import public_words, uniform
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.part import Records
from tacit.protocols.planes.feature_map import FeatureMap, map_records, nystroem_maps, open_map
from tacit.protocols.planes.landmarks import landmarks
from tacit.protocols.planes.maps import SQUARES
from tacit.protocols.planes.problems import Common, Svm, classes_at
from tacit.protocols.sums.atoms import IDENTITY, Told, begin, in_large_classes
from tacit.scratch import ROWS, blocks, is_on_disk, map_blocks

SOURCES = ("ranges", "local", "joint")
MOMENT_ROWS = 1 << 16  # whose second moments are computed at once
ENOUGH = 40  # landmarks, where a table has rows for so many


class Metric(
    Message,
    tells=Fact(
        "consensus.second_moments",
        "holders",
        "aggregate",
        "column",
        "mean and covariance of the columns over all records of all parties: their second moments",
    ),
):
    """The metric D of (2): mean, principal axes (columns), and the variance along each."""

    mean: F64
    axes: F64
    spread: F64


class Space(State):
    """The public space: a map to features, their shift and rotation, and the shape of the penalty, the bias last."""

    map: FeatureMap
    mean: F64
    axes: F64
    shape: F64
    metric: bool


@choreography(
    opens={
        Everyone: (
            Fact(
                "consensus.landmarks",
                "holder",
                "aggregate",
                "group",
                "with a kernel the landmarks, each the mean of at least min_cluster records, or with"
                " landmark_source='ranges' nothing",
            ),
            Fact(
                "consensus.second_moments_if_enough",
                "holders",
                "aggregate",
                "column",
                "without a kernel, unless disclose='least', mean and covariance of the columns, if there are more"
                " records than columns",
            ),
        )
    }
)
def consensus_space(run: Run, data: At[Records], *, ground: Common, limits: F64, metric: bool) -> Space:
    """Agree on landmarks, or on the metric if it may be opened."""
    svm, rows, source = ground.svm, ground.rows, ground.svm.landmark_source
    if svm.kernel == "linear":
        plane = identity(ground)
        return principal_axes(run, data, plane, ground=ground) if metric and rows > ground.columns + 1 else plain(plane)
    kernel, count = Kernel(svm.kernel, ground.gamma, svm.degree, svm.coef0), count_landmarks(svm, rows)
    if source == "ranges":
        centres = draw_within(limits, count, ground.columns, svm.seed)
    else:
        kind = run.local(Holder, classes_at, data, ground.classes, ground.weights)
        squares = ((SQUARES, ground.columns),) if source == "joint" else ()
        atoms = run.local(Holder, begin, data, kind, Told(((IDENTITY, ground.columns), *squares)), svm.hold_back)
        centres, _ = landmarks(
            run, data, atoms, voice=ground.voice, source=source, count=count, rows=rows, min_cluster=svm.min_cluster
        )
    return plain(nystroem_maps(run, centres, (kernel,), source=source, seed=svm.seed)[0])


def count_landmarks(svm: Svm, rows: int) -> int:
    """Return at how many points the parties agree; by "auto" no more than so many rows can be means of."""
    if svm.landmarks != "auto":
        return int(svm.landmarks)
    return ENOUGH if svm.landmark_source == "ranges" else max(1, min(ENOUGH, rows // svm.min_cluster))


def identity(ground: Common) -> FeatureMap:
    """Return the map whose features are the columns themselves."""
    return open_map(Kernel("linear"), columns=ground.columns, size=0, seed=0)


@choreography(
    opens={
        Everyone: Fact(
            "consensus.axes", "holders", "aggregate", "column", "mean and covariance of the columns over all records"
        )
    }
)
def principal_axes(run: Run, data: At[Records], plane: FeatureMap, *, ground: Common) -> Space:
    """Return the space with the metric (2)."""
    moments = run.local(Holder, moments_of, data, ground.rows)
    total = ground.voice.sum_to_coordinator(moments, "second moments", symmetric=True)
    found = run.publish(Metric, run.local(Coordinator, principal, total))
    return Space(plane, found.mean, found.axes, np.append(found.spread, 1.0), metric=True)


def draw_within(limits: F64, count: int, columns: int, seed: int) -> F64:
    """Return landmarks of a public seed, uniform between the limits of each column."""
    low, high = np.broadcast_to(limits, (columns, 2)).T
    drawn: F64 = low + uniform(public_words(seed, count * columns)).reshape(count, columns) * (high - low)
    return drawn


def plain(the_map: FeatureMap) -> Space:
    """Return the space with the paper's own penalty: 1 per weight, or with a kernel Lambda_j.

    B Lambda^-1/2 has columns of length Lambda_j^-1/2.
    """
    p = the_map.size
    each = np.ones(p) if the_map.source == "identity" else 1.0 / np.einsum("ij,ij->j", the_map.basis, the_map.basis)
    return Space(the_map, np.zeros(p), np.eye(p), np.append(each, 1.0), metric=False)


def features(space: Space, X: F64) -> F64:
    """Return U: the features along the axes, and 1."""

    def along(rows: F64) -> F64:
        F = map_records(space.map, rows)
        return np.column_stack([(F - space.mean) @ space.axes if space.metric else F, np.ones(len(F))])

    return map_blocks(X, ROWS, along, len(space.shape)) if is_on_disk(X) else along(X)


def turn_to_features(space: Space, theta: F64) -> tuple[F64, F64]:
    """Return the weights of the features F themselves, and the bias, from those along the axes."""
    w = theta[:, :-1] @ space.axes.T
    return w, theta[:, -1] - w @ space.mean


def check_limits(limits: F64, columns: int) -> None:
    """Raise unless the limits are one pair of numbers, or one for each column."""
    pairs = limits.shape in {(2,), (columns, 2)} and bool(np.all(np.isfinite(limits)))
    if not pairs or not np.all(limits.T[0] < limits.T[1]):
        raise LocalError(
            f"landmark_range must be (low, high), or such a pair for each of the {columns} columns, with low < high"
        )


# Steps


def moments_of(part: Records, rows: int) -> F64:
    """Return this holder's part of (2)."""
    use, found = in_large_classes(part, FLOOR), np.zeros((part.X.shape[1] + 1,) * 2)
    for at, X in blocks(part.X, MOMENT_ROWS):
        U = np.column_stack([X, np.ones(len(X))])[use[at]]
        found += U.T @ U
    return found / rows


def principal(D: F64) -> Metric:
    """Return the mean, and the axes along which the rest of D is diagonal.

    The coordinator does this for all, since signs of axes are anybody's choice.
    """
    D = D / D[-1, -1]
    mean = D[-1, :-1].copy()
    spread, axes = np.linalg.eigh(D[:-1, :-1] - np.outer(mean, mean))
    return Metric(mean, axes, np.maximum(spread, 0.0))
