"""Unit queries: who chooses the records that a gram SVM is asked about learns the model, or its support vectors.

The coordinator of a prediction sees the dot products D of the q new records Z with all support vectors X_S. Who asked
knows Z:

    D = Z X_S'    so    X_S' = Z^+ D        and    X_S[:, j] = D_j    where the j-th query is the unit vector e_j  (1)

Together the two have the part of every support vector that lies in the span of the queries, all of it from as many as
there are columns. Then support vectors are known records, and with the gram matrix these give all others
(`gram_inversion`). Unit vectors only make it plain: honest questions do the same.

Who asks alone has the decision values f(Z), and knows which kernel the training was asked for. The shortest function of
this kernel and a constant that answers alike is

    g(z) = sum_j v_j k(z_j, z) + u,      [K 1; 1' 0] [v; u] = [f; 0]                                               (2)

For the linear kernel f has n + 1 numbers, and g is f after as many queries: b = f(0), w_j = f(e_j) - f(0). A polynomial
of degree d is known after C(n + d, d). With RBF g comes near f where the queries are, the nearer the more of them. No
support vector follows from it.

A quota of fewer questions than columns, for all who may work together, stops (1) and the linear (2) short: columns that
were not asked about stay unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.numeric.svm.kernels import Kernel
from tacit.papers.gram.attacks.inversion import Inversion, relative

SMALL = 1e-10  # of the largest singular value: less is the fixed point's rounding


@dataclass(frozen=True)
class Extraction:
    """What the copy of a model answers.

    How wrong that is, relative to the true values, and the share of equal classes.
    """

    values: F64
    error: float
    agreement: float


def unit_queries(dots: F64, queries: F64, truth: F64) -> Inversion:
    """Return the support vectors by (1), `dots` with a row for every query; `truth` only measures."""
    found = np.linalg.lstsq(queries, dots, rcond=None)[0].T.astype(np.float64)
    return Inversion(found, relative(found, truth))


def model_extraction(kernel: Kernel, queries: F64, answers: F64, fresh: F64, truth: F64) -> Extraction:
    """Return what (2) says of fresh records; `truth`, the model's own answers, only measures."""
    q = len(queries)
    rows = np.block([[_k(kernel, queries, queries), np.ones((q, 1))], [np.ones((1, q)), np.zeros((1, 1))]])
    v = np.linalg.lstsq(rows, np.append(answers, 0.0), rcond=SMALL)[0]
    values = np.asarray(_k(kernel, fresh, queries) @ v[:-1] + v[-1])
    return Extraction(values, relative(values, truth), float(np.mean((values > 0) == (truth > 0))))


def _k(kernel: Kernel, A: F64, B: F64) -> F64:
    return kernel.from_dots(A @ B.T, np.square(A).sum(axis=1), np.square(B).sum(axis=1))
