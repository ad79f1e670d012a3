"""Probabilities of machines of the core: never of the wrong sign, and as good as scikit-learn's on pooled records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

import tacit

WORSE = 0.01  # of the Brier score, in the mean over all splits


def draw(kind: str, seed: int) -> tuple[Any, Any]:
    """Return a small problem of two classes: of hospitals' shape, with a weak signal, with a rare class, or none."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 8))
    noise = rng.normal(size=300)
    score = {
        "hospitals": X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * noise,
        "weak": X[:, 0] + 0.5 * X[:, 1] + 2 * noise,
        "rare": X[:, 0] + 0.8 * noise - 1.4,
        "none": noise,
    }
    return X, (score[kind] > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "splits"), [("hospitals", 40), ("weak", 10), ("rare", 10), ("none", 10)])
def test_of_forty_splits_none_has_the_wrong_sign_and_scores_are_as_good_as_scikit_learns(kind, splits):
    mine, theirs = np.zeros(splits), np.zeros(splits)
    for seed in range(splits):
        X, y = draw(kind, seed)
        order = np.random.default_rng(seed).permutation(len(y))
        learn, held = order[:200], order[200:]
        fed = tacit.simulate(X[learn], y[learn], parties=4)
        model = tacit.SVC(probability=True, features=80, random_state=seed).fit(fed)
        ((A, _),) = model.model_.sigmoids
        assert A <= 0
        reference = CalibratedClassifierCV(SVC(), ensemble=False, cv=5).fit(X[learn], y[learn])
        for scores, each in ((mine, model), (theirs, reference)):
            scores[seed] = np.square(each.predict_proba(X[held])[:, 1] - y[held]).mean()
    assert mine.mean() <= theirs.mean() + WORSE
    assert (mine - theirs).max() <= 0.12
