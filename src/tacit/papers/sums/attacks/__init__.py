"""What weak masks of a sum give away."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.attacks.learners import Attack, Point, Points
from tacit.papers.sums.attacks.weak_seed import numpy_pad, weak_seed


def weak_seed_study(X: F64, _: I64) -> Points:
    """Yield whether the seed of a pad is found, by how many seeds are tried."""
    bound, words = 1 << 40, np.rint(np.ldexp(X[0], 32)).astype(np.int64).view(np.uint64)
    masked = {"32-bit seed": words + numpy_pad(40000, words.size), "256-bit seed": words + _random_words(words.size)}
    for name, vector in masked.items():
        for bits in (12, 14, 16):
            yield Point(name, bits, float(weak_seed(vector, bound=bound, seeds=range(1 << bits)).seed is not None))


def _random_words(n: int) -> U64:
    return np.random.default_rng(2**70 + 3).integers(0, 1 << 64, size=n, dtype=np.uint64)


ATTACKS = (
    Attack(
        "weak_seed",
        ("GramSVC", "PanSVC", "ConsensusSVC", "SecureELMClassifier", "SecureELMRegressor"),
        "masks from a 32-bit seed are found by trying all seeds",
        "bits tried",
        "1 if found",
        weak_seed_study,
        reads=("sums.masked",),
        stopped="seeds have 256 bits",
    ),
)
