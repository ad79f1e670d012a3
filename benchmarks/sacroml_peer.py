"""The likelihood-ratio attack of sacroml on a model of scikit-learn: python sacroml_peer.py records.npz TWINS.

Run by `membership.py` with the Python of an environment that has sacroml, and needs nothing of tacit.
"""

from __future__ import annotations

import logging
import sys
import tempfile

import numpy as np
from sacroml.attacks.likelihood_attack import LIRAAttack
from sacroml.attacks.target import Target
from sklearn.linear_model import LogisticRegression


def main(file: str, twins: str) -> None:
    """Print the area under the curve."""
    logging.disable(logging.INFO)
    held = np.load(file)
    X, y, member = held["X"], held["y"], held["member"]
    model = LogisticRegression(C=float(held["C"]), max_iter=1000).fit(X[member], y[member])
    target = Target(
        model=model, dataset_name="records",
        X_train=X[member], y_train=y[member], X_test=X[~member], y_test=y[~member],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        attack = LIRAAttack(n_shadow_models=int(twins), mode="online-carlini", write_report=False, output_dir=folder)
        attack.attack(target)
    print(attack.attack_metrics[0]["AUC"])


main(*sys.argv[1:])
