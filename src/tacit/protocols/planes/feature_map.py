"""Common feature maps: what turns every party's records into rows of one linear problem.

    local, joint    landmarks L (`landmarks`), A = K(L, L) = U Lambda U',  F = K(X, L) U Lambda^-1/2      (3.6)
    fourier         F = sqrt(2/D) cos(X W + o), with W and o drawn from a public seed; RBF only
    identity        F = X: the linear kernel needs no map

The basis U Lambda^-1/2 is not unique (signs, equal eigenvalues), so the coordinator computes it once and publishes it.
With `witness` the holders check that it is one: B'AB = 1 and that no eigenvalue worth keeping is missing.

Roles. Holder: records. Coordinator: publishes the map.
Threat. What the landmarks tell stands in `landmarks`; the basis follows from them, and the other two maps say nothing.
Source: 004 section 3.2.2.2, (3.5) corrected (docs/methods/pan_svm.md); Rahimi and Recht, NIPS 2007.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, PeerError, Run, State, choreography
from tacit.choreo.sparse_rows import Cells
from tacit.errors import LocalError
from tacit.numeric.devices import CPU, Device, Held, device_of
from tacit.numeric.features.feature_map import basis_of, fourier, fourier_weights, kernel_matrix, nystroem
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.part import Records
from tacit.scratch import ROWS, free_space, is_on_disk, map_blocks

OF_LANDMARKS = Fact("maps.of_landmarks", "nobody", "nothing", "none", "nothing new: functions of the landmarks")

SOURCES = ("local", "joint", "fourier")


class Columns(State):
    """Some columns of a holder's records."""

    X: Cells


Points = At[Records] | At[Columns]  # what landmarks are the means of


class Bases(Message, tells=OF_LANDMARKS):
    """The basis U Lambda^-1/2 of every kernel."""

    matrices: tuple[F64, ...]


class FeatureMap(State):
    """A whole feature map, public. `size` is the number of columns of F; fields that a map does not use are empty."""

    source: str
    kernel: str
    gamma: float
    degree: int
    coef0: float
    centres: F64
    basis: F64
    seed: int
    size: int


@choreography(opens={Everyone: OF_LANDMARKS})
def nystroem_maps(
    run: Run, centres: F64, kernels: tuple[Kernel, ...], *, source: str, seed: int, witness: bool = False
) -> tuple[FeatureMap, ...]:
    """Return the map (3.6) of every kernel, all over the same landmarks."""
    found = run.publish(Bases, run.local(Coordinator, bases_at, centres, kernels)).matrices
    if witness:
        run.local(Holder, check_bases, found, centres, kernels)
    return tuple(
        FeatureMap(source, *_numbers(kernel), centres, basis, seed, basis.shape[1])
        for kernel, basis in zip(kernels, found, strict=True)
    )


def open_map(kernel: Kernel, *, columns: int, size: int, seed: int) -> FeatureMap:
    """Return the map of a kernel that needs no landmarks.

    It is the identity if the kernel is linear, else Fourier features of the public seed.
    """
    none = np.empty((0, 0))
    if kernel.name == "linear":
        return FeatureMap("identity", *_numbers(kernel), none, none, 0, columns)
    return FeatureMap("fourier", *_numbers(kernel), none, none, seed, size)


def _numbers(kernel: Kernel) -> tuple[str, float, int, float]:
    return kernel.name, kernel.gamma, kernel.degree, kernel.coef0


def check_source(source: str, kernel: str) -> None:
    """Raise if there is no map from this source for this kernel."""
    if source not in SOURCES:
        raise LocalError(f"unknown landmark_source {source!r}: use one of {', '.join(SOURCES)}")
    if source == "fourier" and kernel not in ("rbf", "linear"):
        raise LocalError(f"landmark_source='fourier' is for the rbf kernel, not for {kernel!r}: use 'local' or 'joint'")


def bases_at(centres: F64, kernels: tuple[Kernel, ...]) -> Bases:
    """Return the basis of (3.6) for every kernel."""
    return Bases(tuple(basis_of(centres, kernel) for kernel in kernels))


def check_bases(bases: tuple[F64, ...], centres: F64, kernels: tuple[Kernel, ...]) -> None:
    """Raise unless each basis belongs to the landmarks and is as wide as a witness finds it."""
    for basis, kernel in zip(bases, kernels, strict=True):
        A = kernel_matrix(centres, centres, kernel)
        # an eigenvalue at the cut-off may fall on either side
        wide = abs(basis.shape[1] - basis_of(centres, kernel).shape[1]) <= 1
        fits = basis.shape[0] == len(A) and wide
        if not fits or not np.allclose(basis.T @ A @ basis, np.eye(basis.shape[1]), atol=1e-4):
            raise PeerError("the coordinator published a basis that does not belong to the landmarks: stop and ask it")


class Recipe(State):
    """What features are made of where they are on a device, when they are first used, or in each pass over the rows."""

    X: F64
    map: FeatureMap
    dtype: str
    device: str

    def make(self) -> Held:
        """Return the features on the device."""
        return map_on(device_of(self.device), self.map, self.X, self.dtype)


def has_room(X: F64, the_map: FeatureMap, dtype: str) -> bool:
    """Return whether the features of these records may be kept: always in memory, and on disk in half of what is free.

    A training reads features twice in every round, and to make them again costs as many products for each of them as
    there are landmarks. But they are as wide as the landmarks are many, and may be larger than the table.
    """
    return not is_on_disk(X) or 2 * len(X) * the_map.size * np.dtype(dtype).itemsize <= free_space()


def map_records(the_map: FeatureMap, X: F64, dtype: str = "float64") -> Array:
    """Return the features F of these records."""
    found: Array = map_on(CPU, the_map, X, dtype)
    return found


def map_on(device: Device, the_map: FeatureMap, X: F64, dtype: str) -> Held:
    """Return the features F of these records on a device."""
    if the_map.source == "identity":
        if device is CPU and is_on_disk(X) and X.dtype != dtype:
            return map_blocks(X, ROWS, lambda block: block, X.shape[1], dtype)
        return device.put(X.astype(dtype, copy=False))
    if the_map.source == "fourier":
        drawn = fourier_weights(the_map.seed, X.shape[1], the_map.size, the_map.gamma)
        return fourier(X, *drawn, dtype, device=device)
    kernel = Kernel(the_map.kernel, the_map.gamma, the_map.degree, the_map.coef0)
    return nystroem(X, the_map.centres, the_map.basis, kernel, dtype, device=device)
