"""Maps of records to features: a kernel by landmarks, columns themselves, or a random layer. All of it is public.

    kernel    z(x) = K(x, L) B / R,       B = U Lambda^-1/2 of K(L, L) = U Lambda U'                                (1)
    widths    k = 1/2 k_g + 1/2 k_(g/5),  landmarks of two widths; B has a block for each, divided by sqrt(2)       (1b)
    linear    z(x) = u (x - c) / R                                                                                   (2)
    layer     z(x) = g(x W + b) / R,     or cosines and sines of x W                                               (3)

(1b) is what gamma="scale" and "auto" stand for with the RBF kernel, as nobody knows the width that suits. A wide kernel
is smooth, so that two landmarks for each column do, and three in ten at most; all others have g.

R is such that |z| <= 1: by itself with the RBF kernel and with cosines, else longer rows are shortened in training. A
last feature is 1, so that what is trained has a constant. Training needs Z'QZ and Z'QT of many rows: with V of the raw
features, those of (1) without B, they are B'(V'QV)B and B'(V'QT), so that B meets D dimensions and not the rows.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from tacit.arrays import F64, I64, Flags
from tacit.choreo import State
from tacit.numeric.devices import CPU, Device, Held, square_rows
from tacit.numeric.features.elm import hidden, layer_of, words_needed
from tacit.numeric.features.normal_points import draw_normals
from tacit.numeric.ring.words import public_words
from tacit.numeric.svm.kernels import Kernel, basis_of, kernel_matrix

CUTOFF = 1e-6  # of the largest eigenvalue of K(L, L): below, directions are of rounding
FAR = 2.0  # landmarks' own lengths that no row may exceed
WIDER, WIDE_SHARE, WIDE_TIMES = 0.2, 0.3, 2  # of (1b): times g; how many landmarks are wide, by all and by columns
LINEAR, LAYER, FOURIER = "linear", "layer", "fourier"
MIDDLES = {"sigmoid": 0.5}  # of activations, which are subtracted: the constant feature stands for them
USUAL, AROUND = 256, 1.5  # rows by which R of (3) is found, and how many of their lengths it is


class PublicMap(State):
    """A map, public.

    centres: landmarks; of (2) the one middle; of (3) W, a row for each node. basis: empty but for (1). activation,
    shift: g and b of (3); of (2), 1 for each column that is used and 0 for others. widths: of (1b), by what gamma is
    multiplied at each landmark; empty if there is one width.
    """

    kernel: str
    gamma: float
    degree: int
    coef0: float
    centres: F64
    basis: F64
    radius: float
    columns: int
    activation: str = ""
    shift: F64 = field(default_factory=lambda: np.empty(0))
    widths: F64 = field(default_factory=lambda: np.empty(0))

    @property
    def size(self) -> int:
        """How many features there are, with the constant one."""
        if self.kernel == LAYER:
            return len(self.centres) * (2 if self.activation == FOURIER else 1) + 1
        return (self.columns if self.kernel == LINEAR else self.basis.shape[1]) + 1

    @property
    def width(self) -> int:
        """How many raw features there are, with the constant one."""
        return self.size if self.basis.size == 0 else len(self.centres) + 1

    @property
    def shape(self) -> Kernel:
        """The kernel, of one width."""
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0)

    @property
    def gammas(self) -> F64:
        """The gamma of each landmark."""
        return self.gamma * (self.widths if self.widths.size else np.ones(len(self.centres)))

    def take_columns(self, order: I64) -> PublicMap:
        """Return the map of records whose columns are in another order."""
        shift = self.shift[order] if self.kernel == LINEAR else self.shift
        return dataclasses.replace(self, centres=np.ascontiguousarray(self.centres[:, order]), shift=shift)

    def fold(self, raw: F64) -> F64:
        """Return rows for the features, of a matrix with a row for each raw feature: B' of (1), and 1 / R."""
        inner = raw[:-1] if self.basis.size == 0 else self.basis.T @ raw[:-1]
        return np.concatenate([inner / self.radius, raw[-1:]])

    def unfold(self, weights: F64) -> F64:
        """Return weights of the raw features, from those of the features."""
        inner = weights[:-1] if self.basis.size == 0 else self.basis @ weights[:-1]
        return np.concatenate([inner / self.radius, weights[-1:]])


@dataclass(frozen=True)
class Raw:
    """A map on a device: what makes raw features of a block of rows."""

    the_map: PublicMap
    device: Device
    first: Held
    second: Held
    kernel: Kernel | None = None

    def __call__(self, X: Held) -> Held:
        """Return the raw features of some rows, with a last column of ones."""
        xp, the_map = self.device.xp, self.the_map
        if self.kernel is not None:
            V = self.kernel.from_dots(X @ self.first.T, square_rows(X, xp), self.second, xp)
        elif the_map.kernel == LAYER:
            V = activate_nodes(X, self.first, self.second, the_map.activation, xp)
        else:
            V = (X - self.first) * self.second
        return _join(xp, V, xp.ones_like(V[:, :1]))


def place(the_map: PublicMap, device: Device = CPU) -> Raw:
    """Return the map on a device."""
    if the_map.kernel == LAYER:
        return Raw(the_map, device, device.put(np.ascontiguousarray(the_map.centres.T)), device.put(the_map.shift))
    if the_map.kernel == LINEAR:
        return Raw(the_map, device, device.put(the_map.centres), device.put(the_map.shift))
    L = np.asarray(the_map.centres)
    gamma = device.put(the_map.gammas) if the_map.widths.size else the_map.gamma
    kernel = Kernel(the_map.kernel, gamma, the_map.degree, the_map.coef0)
    return Raw(the_map, device, device.put(L), device.put(np.einsum("ij,ij->i", L, L)), kernel)


def features_of(the_map: PublicMap, X: F64, *, shorten: bool = True) -> F64:
    """Return the features of rows, with |z| <= 1 beside the constant unless longer ones stay as they are."""
    V = place(the_map)(X)
    Z = the_map.fold(V.T).T
    if not shorten:
        return Z
    long = np.sqrt(np.square(Z[:, :-1]).sum(axis=1))
    Z[:, :-1] /= np.maximum(long, 1.0)[:, None]
    return Z


def map_kernel(kernel: Kernel, landmarks: F64) -> PublicMap:
    """Return (1) for these landmarks."""
    L = np.ascontiguousarray(landmarks)
    basis = basis_of(L, kernel, CUTOFF)
    own = np.einsum("ii->i", kernel_matrix(L, L, kernel))
    radius = 1.0 if kernel.name == "rbf" else FAR * float(np.sqrt(max(own.mean(), 1e-300)))
    return PublicMap(kernel.name, kernel.gamma, kernel.degree, kernel.coef0, L, basis, radius, L.shape[1])


def map_widths(gamma: float, landmarks: F64) -> PublicMap:
    """Return (1b) for these landmarks."""
    count, columns = landmarks.shape
    wide = min(int(WIDE_SHARE * count), WIDE_TIMES * (columns + 1))
    cut = [(gamma, landmarks[: count - wide]), (WIDER * gamma, landmarks[count - wide :])]
    parts = [map_kernel(Kernel("rbf", g), L) for g, L in cut if len(L)]
    basis = block_diag(*(part.basis for part in parts)) / math.sqrt(len(parts))
    widths = np.concatenate([np.full(len(part.centres), part.gamma / gamma) for part in parts])
    return dataclasses.replace(
        parts[0], gamma=gamma, centres=np.ascontiguousarray(landmarks), basis=basis, widths=widths
    )


def map_columns(centre: F64, varies: Flags, spread: float) -> PublicMap:
    """Return (2): columns less their centres; `spread` is the root of the sum of their variances.

    Columns in which few records differ do not vary: they are 0, so that no weight is of these records alone.
    """
    radius, used = FAR * spread if spread > 0 else 1.0, varies.astype(np.float64)
    return PublicMap(LINEAR, 1.0, 1, 0.0, np.atleast_2d(centre), np.empty((0, 0)), radius, len(centre), "", used)


def map_layer(activation: str, nodes: int, scale: float, seed: int, columns: int) -> PublicMap:
    """Return (3), drawn from the seed, with the R that suits columns of mean 0 and variance 1."""
    drawn = "sigmoid" if activation == FOURIER else activation
    W, b = layer_of(public_words(seed, words_needed(columns, nodes)), nodes, drawn, scale, columns)
    b = np.zeros(nodes) if activation == FOURIER else b
    usual = draw_normals(seed, USUAL, columns)
    V = activate_nodes(usual, W, b, activation, np)
    radius = 1.0 if activation == FOURIER else AROUND * float(np.sqrt(np.square(V).sum(axis=1).mean()))
    radius = float(np.sqrt(nodes)) if activation == FOURIER else max(radius, 1e-300)
    W = np.ascontiguousarray(W.T)
    return PublicMap(LAYER, 1.0, 1, 0.0, W, np.empty((0, 0)), radius, columns, activation, b)


def activate_nodes(X: Held, W: Held, b: Held, activation: str, xp: Any) -> Held:
    """Return what the nodes make of some rows: cosines and sines of a phase, or g less what is in its middle."""
    if activation == FOURIER:
        phases = X @ W
        return _join(xp, xp.cos(phases), xp.sin(phases))
    return hidden(X, W, b, activation, xp) - MIDDLES.get(activation, 0.0)


def _join(xp: Any, *columns: Any) -> Any:
    """Return arrays side by side; CuPy has the standard's name for it only since version 14."""
    return (xp.concat if hasattr(xp, "concat") else xp.concatenate)(columns, axis=1)
