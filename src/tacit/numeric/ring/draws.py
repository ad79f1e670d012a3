"""Words as uniform numbers, and the words of a public seed.

Numbers are made from a raw stream, which NumPy keeps from version to version; its distributions may change.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, U64


def public_words(seed: int, size: int) -> U64:
    """Return the words that anybody draws from the public seed."""
    return np.asarray(np.random.PCG64(seed).random_raw(size))


def uniform(words: U64) -> F64:
    """Return numbers within (0, 1), one per word."""
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
