"""ELM with known records: private weights follow from as many known records as there are columns, and one for the bias.

    S_K = [X_K 1] [W; b]   gives W and b, and then X = (S - b) W^+ gives all other records

So weights that the parties drew in secret (`weights="private"`) stop a coordinator that knows no record, and no other.
For rbf nodes S d - |x|^2 is linear in x in the same way.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.papers.elm.attacks.layer_inversion import Inversion, judge


def elm_known_records(seen: F64, truth: F64, known: I64, *, activation: str = "linear") -> Inversion:
    """Reconstruct all records from S (for rbf: from H) and the known ones.

    `truth` holds these, and else measures the error.
    """
    rbf = activation == "rbf"
    columns = truth.shape[1]
    S = -np.log(seen) * columns if rbf else seen
    X_K = truth[known]
    told = S[known] - np.square(X_K).sum(axis=1, keepdims=True) if rbf else S[known]
    weights = np.linalg.lstsq(np.column_stack([X_K, np.ones(len(known))]), told, rcond=None)[0]
    W, b = weights[:-1], weights[-1]
    design = np.vstack([W, np.ones(W.shape[1])]) if rbf else W
    return judge(np.linalg.lstsq(design.T, (S - b).T, rcond=None)[0][:columns].T.astype(np.float64), truth, known)
