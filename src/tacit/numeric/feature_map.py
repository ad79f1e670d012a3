"""Feature maps: records as points F with F F' close to the kernel matrix, so that a linear SVM on F is the kernel SVM.

    Nystroem     A = K(L, L) = U Lambda U',   F = K(X, L) U Lambda^-1/2          (3.6)
    Fourier      F = sqrt(2/D) cos(X W + o),  W normal with variance 2 gamma, o uniform on [0, 2 pi)    RBF only

Null eigenvalues of A are dropped, and negative ones of an indefinite kernel (sigmoid): dividing by them means nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import ndtri

from tacit.numeric.draws import public_words, uniform
from tacit.numeric.kernels import F64, Kernel

CUTOFF = 1e-10  # of the largest eigenvalue, of either sign
BLOCK = 1 << 22  # entries of a temporary
Floats = NDArray[np.floating]


def kernel_matrix(X: F64, L: F64, kernel: Kernel) -> F64:
    """K(X, L)."""
    return kernel.from_dots(X @ L.T, np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", L, L))


def basis_of(centres: F64, kernel: Kernel, cutoff: float = CUTOFF) -> F64:
    """U Lambda^-1/2 of (3.6), largest eigenvalue first."""
    values, U = np.linalg.eigh(kernel_matrix(centres, centres, kernel))
    kept = np.flatnonzero(values > cutoff * np.abs(values).max())[::-1]
    return np.ascontiguousarray(U[:, kept] / np.sqrt(values[kept]))


def nystroem(X: F64, centres: F64, basis: F64, kernel: Kernel, dtype: DTypeLike = np.float64, block: int = BLOCK) -> Floats:
    """F of (3.6), in blocks of rows."""
    return _blockwise(X, basis.shape[1], len(centres), lambda rows: kernel_matrix(rows, centres, kernel) @ basis, dtype, block)


def fourier_weights(seed: int, columns: int, size: int, gamma: float) -> tuple[F64, F64]:
    """W and o, which anybody draws from the public seed."""
    drawn = uniform(public_words(seed, (columns + 1) * size))
    weights, offsets = drawn[size:].reshape(columns, size), drawn[:size]
    return np.sqrt(2.0 * gamma) * ndtri(weights), 2.0 * np.pi * offsets


def fourier(X: F64, weights: F64, offsets: F64, dtype: DTypeLike = np.float64, block: int = BLOCK) -> Floats:
    """F of the Fourier map, in blocks of rows."""
    size = len(offsets)
    return _blockwise(X, size, size, lambda rows: np.sqrt(2.0 / size) * np.cos(rows @ weights + offsets), dtype, block)


def _blockwise(X: F64, width: int, widest: int, of: Callable[[F64], F64], dtype: DTypeLike, block: int) -> Floats:
    F = np.empty((len(X), width), dtype=dtype)
    step = max(1, block // max(1, widest))
    for i in range(0, len(X), step):
        F[i : i + step] = of(X[i : i + step])
    return F
