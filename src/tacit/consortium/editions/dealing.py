"""Which records a model is judged by, and in which fold the others are: a keyed hash of the person, once and for all.

    h = BLAKE2b(key, person),    judged by if h_1 < share 2^64,    else in fold h_2 mod 5                            (1)

By rows the key is the site's own, one for all its datasets, so that overlapping datasets cannot be subtracted. Over
columns and cells all sites deal alike, by a key of their network. No job chooses anything of it, and labels have no
part in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import U8
from tacit.crypto.sets.row_hash import words

I8 = NDArray[np.int8]
USE = b"tacit deal"
FOLDS = 5
JUDGED = -1  # the part of records that a model is judged by
SHARE = 0.2  # of them, unless the operator of a dataset says otherwise


def deal_persons(key: bytes, digests: U8, share: float = SHARE) -> I8:
    """Return (1): the part of each person, from digests of their ids."""
    if not len(digests):
        return np.empty(0, dtype=np.int8)
    drawn = words(digests, 2, use=USE, key=key)
    fold = (drawn[:, 1] % np.uint64(FOLDS)).astype(np.int8)
    return np.where(drawn[:, 0].astype(np.float64) < share * 2.0**64, np.int8(JUDGED), fold)
