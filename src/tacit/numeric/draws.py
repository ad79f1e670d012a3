"""Words to uniform numbers, and the words of a public seed: of a raw stream that NumPy keeps, as it does not keep its distributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
U64 = NDArray[np.uint64]


def public_words(seed: int, size: int) -> U64:
    """What anybody draws from the public seed."""
    return np.asarray(np.random.PCG64(seed).random_raw(size))


def uniform(words: U64) -> F64:
    """Numbers within (0, 1), one per word."""
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
