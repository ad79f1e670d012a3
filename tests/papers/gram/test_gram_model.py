"""Kernel matrices of rounded gram matrices."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.triangle import pack
from tacit.numeric.svm.kernels import Kernel
from tacit.papers.dual_svm import Solver
from tacit.papers.gram.train import Extent, fit, kernel_matrix
from tacit.papers.labels import LabelledRows

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("parties", [1, 3, 10])
def test_jitter_is_as_large_as_rounding_makes_a_linear_gram_matrix_indefinite(parties):
    A, fixed = RNG.normal(size=(150, 12)), FixedPoint(10, parties)
    parts = [A[:, c] for c in np.array_split(np.arange(12), parties)]
    rounded = sum(fixed.decode(fixed.encode(np.tril(P @ P.T), "gram")) for P in parts)
    rounded = rounded + np.tril(rounded, -1).T
    assert np.linalg.eigvalsh(rounded).min() < -0.5 * np.sqrt(150) * fixed.deviation
    packed = (pack(rounded, 0),)
    K, _, norms = kernel_matrix(packed, Extent(150, 12, fixed.deviation), 0.0, Kernel("linear"), 1.0)
    assert np.linalg.eigvalsh(K).min() > 0
    np.testing.assert_array_equal(norms, rounded.diagonal())
    K, *_ = kernel_matrix(packed, Extent(150, 12), 0.0, Kernel("linear"), 1.0)
    np.testing.assert_array_equal(K, rounded)


def test_as_many_targets_as_records_are_needed():
    with pytest.raises(LocalError, match="2 labels for 3 records"):
        fit(
            (np.ones(6),),
            Extent(3, 1),
            LabelledRows(np.ones(2, np.int64), None),
            0.0,
            Kernel("linear"),
            1.0,
            Solver(C=1.0),
        )
