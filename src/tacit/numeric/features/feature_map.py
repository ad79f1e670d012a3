"""Feature maps: records as points F with F F' close to the kernel matrix, so that a linear SVM on F is the kernel SVM.

    Nystroem     A = K(L, L) = U Lambda U',   F = K(X, L) U Lambda^-1/2          (3.6)
    Fourier      F = sqrt(2/D) cos(X W + o),  W normal with variance 2 gamma, o uniform on [0, 2 pi)    RBF only

Null eigenvalues of A are dropped, and negative ones of an indefinite kernel (sigmoid): dividing by them means nothing.

Features in single precision are computed in it too, where F loses less than 1e-4 by that: if no eigenvalue is so small
that Lambda^-1/2 blows rounding up, and no landmark so far from their middle that distances cancel. Both are public.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.arrays import F64
from tacit.counted import counted
from tacit.numeric.devices import CPU, Device, Held, square_rows
from tacit.numeric.ring.draws import public_words, uniform
from tacit.numeric.svm.kernels import Kernel
from tacit.scratch import empty_like, release
from tacit.sparse import is_sparse

CUTOFF = 1e-10  # of the largest eigenvalue, of either sign
STEEP, FAR = 64.0, 64.0  # entries of a basis, and gamma |l|^2, up to which single precision will do
Floats = NDArray[np.floating]


def kernel_matrix(X: F64, L: F64, kernel: Kernel) -> F64:
    """Return the kernel matrix K(X, L)."""
    return kernel.from_dots(X @ L.T, np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", L, L))


def basis_of(centres: F64, kernel: Kernel, cutoff: float = CUTOFF) -> F64:
    """Return U Lambda^-1/2 of (3.6), largest eigenvalue first."""
    values, U = np.linalg.eigh(kernel_matrix(centres, centres, kernel))
    kept = np.flatnonzero(values > cutoff * np.abs(values).max())[::-1]
    return np.ascontiguousarray(U[:, kept] / np.sqrt(values[kept]))


def nystroem(
    X: F64,
    centres: F64,
    basis: F64,
    kernel: Kernel,
    dtype: str = "float64",
    block: int | None = None,
    device: Device = CPU,
) -> Held:
    """Return F of (3.6) on a device, computed in blocks of rows."""
    L: Floats = centres
    middle = unit = None
    if dtype == "float32" and suits_single(centres, basis, kernel):
        # distances are those from the landmarks' middle, in units of gamma^-1/2
        middle, kernel, unit = device.put(centres.mean(axis=0)), Kernel("rbf"), float(np.sqrt(kernel.gamma))
        L, basis = ((centres - centres.mean(axis=0)) * unit).astype(np.float32), basis.astype(np.float32)
    there, B, squares = device.put(L).T, device.put(basis), device.put(np.einsum("ij,ij->i", L, L))
    if is_sparse(X):
        there = np.ascontiguousarray(there)  # a product of sparse rows would copy it again for every block

    def features(rows: Held) -> Held:
        if unit is not None:
            rows = device.cast((rows - middle) * unit, "float32")
        dots, own = (device.cast(each, str(L.dtype)) for each in (rows @ there, square_rows(rows, device.xp)))
        return kernel.from_dots(dots, own, squares, device.xp) @ B

    return _blockwise(X, (basis.shape[1], len(centres)), features, dtype, block, device)


def suits_single(centres: F64, basis: F64, kernel: Kernel) -> bool:
    """Return whether F of (3.6) is as good in single precision."""
    if kernel.name != "rbf" or not basis.size:
        return False
    far = float(np.square(centres - centres.mean(axis=0)).sum(axis=1).max())
    return float(np.abs(basis).max()) <= STEEP and kernel.gamma * far <= FAR


def fourier_weights(seed: int, columns: int, size: int, gamma: float) -> tuple[F64, F64]:
    """Return W and o, which anybody draws from the public seed."""
    drawn = uniform(public_words(seed, (columns + 1) * size))
    weights, offsets = drawn[size:].reshape(columns, size), drawn[:size]
    return np.sqrt(2.0 * gamma) * ndtri(weights), 2.0 * np.pi * offsets


def fourier(
    X: F64, weights: F64, offsets: F64, dtype: str = "float64", block: int | None = None, device: Device = CPU
) -> Held:
    """Return F of the Fourier map on a device, computed in blocks of rows."""
    size, W, o = len(offsets), device.put(weights), device.put(offsets)

    def features(rows: Held) -> Held:
        return float(np.sqrt(2.0 / size)) * device.xp.cos(rows @ W + o)

    return _blockwise(X, (size, size), features, dtype, block, device)


def _blockwise(
    X: F64, sizes: tuple[int, int], of: Callable[[Held], Held], dtype: str, block: int | None, device: Device
) -> Held:
    """Return features of all rows; `sizes` are of how many columns they and the largest temporary are.

    Records come to the device block by block, so that it holds none but those at hand.
    """
    width, widest = sizes
    F = empty_like(X, (len(X), width), dtype) if device is CPU else device.empty((len(X), width), dtype)
    step = max(1, (block or device.block) // max(1, widest))
    for i in counted(range(0, len(X), step)):
        stop = min(i + step, len(X))
        F[i:stop, :] = device.cast(of(device.put(X[i:stop])), dtype)
        release((X[i:stop], F[i:stop, :]))
    return F
