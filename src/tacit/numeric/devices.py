"""Devices: where a holder's large arrays are and are computed on, its own processor or a GPU.

One text for all of them: functions by the names that the array API standard has, which NumPy, CuPy and PyTorch share.
An array comes to a device by `put` and leaves it by `get`; what is summed under masks has left it before, and is
written in the same fixed-point words. CuPy and PyTorch are imported where a GPU is asked for, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from tacit.arrays import Array
from tacit.errors import LocalError, install_command
from tacit.sparse import is_sparse

Held = Any  # an array on a device: of NumPy, CuPy or PyTorch, which have no type in common
T = TypeVar("T")
NAMES = ("cpu", "cuda")


@dataclass(frozen=True)
class Device:
    """A device: functions of its arrays, ways there and back, and how many entries a temporary may have.

    `cast` gives an array another precision. `rows` are added up before their sum becomes double. `sort` sorts the
    entries of every column, `largest` finds their largest one and `total` adds them up: libraries have other names,
    other results or a slow way for these.
    """

    xp: Any  # a module of the array API
    put: Callable[[Array], Held]
    get: Callable[[Held], Array]
    empty: Callable[[tuple[int, int], str], Held]
    cast: Callable[[Held, str], Held]
    block: int
    rows: int
    sort: Callable[[Held], Held]
    largest: Callable[[Held], Held]
    total: Callable[[Held], Held]

    def median(self, x: Held) -> Held:
        """Return the median of every column."""
        if isinstance(x, np.ndarray):
            return np.median(x, axis=0)
        n, ranked = x.shape[0], self.sort(x)
        return (ranked[(n - 1) // 2, :] + ranked[n // 2, :]) / 2.0


CPU = Device(
    np,
    put=lambda x: x,
    get=lambda x: x,
    empty=np.empty,
    cast=lambda x, dtype: x.astype(dtype, copy=False),
    block=1 << 18,  # a temporary stays in a core's own cache
    rows=1 << 13,
    sort=lambda x: np.sort(x, axis=0),
    largest=lambda x: np.max(x, axis=0),
    total=lambda x: np.sum(x, axis=0),
)
GPU_BLOCK, GPU_ROWS = 1 << 26, 1 << 19  # a call takes longer than a small block


def device_of(name: str) -> Device:
    """Return the device of this name; raise if this machine has none."""
    return CPU if name == "cpu" else find_gpu()


@cache
def find_gpu() -> Device:
    """Return the GPU, by CuPy or by PyTorch, whichever is here."""
    with suppress(Exception):  # a broken driver raises what it likes, and then there is no GPU
        cupy = import_module("cupy")
        if cupy.cuda.runtime.getDeviceCount():
            return by_cupy(cupy)
    with suppress(Exception):
        torch = import_module("torch")
        if torch.cuda.is_available():
            return by_torch(torch, "cuda")
    raise LocalError(
        f"device='cuda' needs a GPU, and CuPy or PyTorch that can use it: use device='cpu', or {install_command('gpu')}"
    )


def by_cupy(cupy: Any) -> Device:
    """Return the GPU that CuPy uses."""
    return Device(
        cupy,
        put=cupy.asarray,
        get=cupy.asnumpy,
        empty=lambda shape, dtype: cupy.empty(shape, dtype=dtype),
        cast=lambda x, dtype: x.astype(dtype, copy=False),
        block=GPU_BLOCK,
        rows=GPU_ROWS,
        sort=lambda x: cupy.sort(x, axis=0),
        largest=lambda x: cupy.max(x, axis=0),
        total=lambda x: cupy.ones(len(x), dtype=x.dtype) @ x,  # its sum of one column takes a single block of threads
    )


def by_torch(torch: Any, where: str) -> Device:
    """Return a device of PyTorch."""
    return Device(
        torch,
        put=lambda x: torch.from_numpy(_as_writeable(x)).to(where),
        get=lambda x: x.cpu().numpy(),
        empty=lambda shape, dtype: torch.empty(shape, dtype=getattr(torch, dtype), device=where),
        cast=lambda x, dtype: x.to(getattr(torch, dtype)),
        block=GPU_BLOCK,
        rows=GPU_ROWS,
        sort=lambda x: torch.sort(x, dim=0).values,
        largest=lambda x: torch.amax(x, dim=0),
        total=lambda x: torch.sum(x, dim=0),
    )


def _as_writeable(x: Array) -> Array:
    """Return the array, or a copy of it where it is a read-only view: PyTorch has no read-only arrays."""
    return np.require(x, requirements=("C", "W"))


def square_rows(X: Held, xp: Any) -> Held:
    """Return |x_i|^2 of every row."""
    if is_sparse(X):
        return X.each(np.square).sum(axis=1)
    return np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else xp.sum(X * X, axis=1)


def positive_part(x: Held, xp: Any) -> Held:
    """Return max(0, x) of every entry, written over the entries where arrays can be."""
    return np.maximum(x, 0.0, out=x) if isinstance(x, np.ndarray) else (x + xp.abs(x)) / 2.0


def in_place(function: Callable[..., Any], x: T, *args: object) -> T:
    """Return a function of every entry, written over the entries where arrays can be."""
    found: T = function(x, *args, out=x) if isinstance(x, np.ndarray) else function(x, *args)
    return found
