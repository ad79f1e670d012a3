"""Fixed point: reals as integers of Z_2^64, with overflow refused.

    encode(x) = round(x 2^f) mod 2^64            decode(v) = centred(v) 2^-f

A sum of `terms` encodings is exact in the ring as long as terms * |round(x 2^f)| < 2^63, so each party refuses
what is larger. The only error left is rounding: at most terms * 2^-(f+1) per entry of the sum, and a double's own
when the sum is read back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64
from tacit.errors import LocalError

CHUNK = 1 << 16  # encode without a second large temporary


@dataclass(frozen=True)
class FixedPoint:
    """Fixed point with f = `bits` fraction bits, for sums of `terms` parts."""

    bits: int = 32
    terms: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.bits <= 52 or self.terms < 1:  # noqa: PLR2004 - beyond a double's own fraction
            raise LocalError(
                f"fixed point needs 0 to 52 fraction bits and at least one term, got {self.bits} and {self.terms}"
            )

    @property
    def bound(self) -> float:
        """The size that no entry may reach."""
        return float((1 << 63) // self.terms - 1) / float(1 << self.bits)

    @property
    def error(self) -> float:
        """The largest rounding error of an entry of the sum."""
        return self.terms * 2.0 ** -(self.bits + 1)

    @property
    def deviation(self) -> float:
        """The standard deviation of the rounding error, if what is cut off is uniform."""
        return float(np.sqrt(self.terms / 12)) * 2.0**-self.bits

    def encode(self, x: F64, what: str, out: U64 | None = None) -> U64:
        """Return the words of an array, in `out` or in a new array; `what` names the array in an error."""
        flat = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)
        self._check(flat, what, whole=x.dtype.kind in "iu")
        if out is not None and out.size != flat.size:
            raise ValueError(f"{flat.size} values do not fit into {out.size} words")
        ring = np.empty(flat.size, dtype=np.uint64) if out is None else out
        for i in range(0, flat.size, CHUNK):
            part = np.ldexp(flat[i : i + CHUNK], self.bits)
            np.rint(part, out=part)
            ring[i : i + CHUNK] = part.astype(np.int64).view(np.uint64)
        return ring.reshape(x.shape) if out is None else ring

    def decode(self, ring: U64) -> F64:
        """Return the reals of these words, by centred residues."""
        return np.ldexp(ring.view(np.int64).astype(np.float64), -self.bits)

    def _check(self, flat: F64, what: str, *, whole: bool) -> None:
        largest = max(float(flat.max(initial=0.0)), -float(flat.min(initial=0.0)))
        if not np.isfinite(largest):
            raise LocalError(f"{what}: a value is not a finite number: impute or remove it before anything is summed")
        if whole and largest >= 1 << 53:
            raise LocalError(
                f"{what}: an integer of size {largest:.3g} is not exact as a real number: sum it as words of the ring"
            )
        if not largest < self.bound:
            raise LocalError(
                f"{what}: a value of size {largest:.3g} does not fit into fixed point with {self.bits} fraction bits"
                f" for {self.terms} parties (limit {self.bound:.3g}): scale the features"
            )
