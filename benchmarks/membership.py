"""Membership inference beside an independent implementation, sacroml.

sacroml needs an environment of its own: python -m venv sacro && sacro/bin/pip install sacroml, and then
TACIT_SACROML=sacro/bin/python. The model is a logistic regression on a random hidden layer, whose decision value is the
logit that sacroml looks at, so both attacks see the same numbers and train twins of their own.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from figures import Figure, MissingDataError, Step
from tacit.attacks.membership_inference import membership_inference
from tacit.attacks.twins import target_model, train_here, train_twins

RECORDS, NODES, C = 240, 100, 10.0
ASKED = 0.02


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure by how much the areas under the two curves differ, as means over several models."""
    peer, models, twins = os.environ.get("TACIT_SACROML"), 2 if quick else 5, 100
    if peer is None:
        raise MissingDataError(
            "sacroml is not here: install it in a new environment, and name its Python as TACIT_SACROML"
        )
    own, theirs = [], []
    for seed in range(models):
        X, y, member = _deal(seed)
        own.append(_attack(X, y, member, twins))
        theirs.append(_ask_peer(peer, twins, X=X, y=y, member=member, C=C))
        yield Step("membership inference", seed + 1, models)
    a, b = float(np.mean(own)), float(np.mean(theirs))
    yield Figure(
        f"membership inference: area under the curve, tacit and sacroml, {models} models",
        f"{a:.3f} and {b:.3f}, {abs(a - b):.3f} apart", f"{ASKED} apart at most", abs(a - b) <= ASKED,
    )  # fmt: skip


def _attack(X: np.ndarray, y: np.ndarray, member: np.ndarray, twins: int) -> float:
    learner = LogisticRegression(C=C, max_iter=1000)
    with threadpool_limits(1):
        made = train_twins(train_here(learner), X, y, count=twins, share=float(member.mean()))
        return membership_inference(target_model(learner.fit(X[member], y[member]), X, y, member, made)).auc


def _deal(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return hidden layers of records, labels, and which half is trained on."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:RECORDS]
    scaled = ((X - X.mean(axis=0)) / X.std(axis=0))[rows]
    H = np.tanh(scaled @ rng.normal(size=(X.shape[1], NODES)) / np.sqrt(X.shape[1]))
    return H, y[rows], rng.permutation(RECORDS) < RECORDS // 2


def _ask_peer(peer: str, twins: int, **records: object) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "records.npz"
        np.savez(file, **records)
        script = Path(__file__).with_name("sacroml_peer.py")
        done = subprocess.run([peer, script, file, str(twins)], capture_output=True, text=True, check=True)  # noqa: S603 - our own
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    for each in figures(quick=False):
        print(each, flush=True)
