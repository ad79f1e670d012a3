"""An extreme learning machine over rows through real processes, a real server and everybody's consent."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

import tacit
from tacit.choreo import encode
from tacit.cli.one_machine import one_machine

pytest.importorskip("nats")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some


def test_an_elm_between_organisations_is_the_simulated_one_bit_for_bit(tmp_path):
    X, y = make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=3)
    rows = {f"h{i + 1}": (X[i::3], y[i::3]) for i in range(3)}
    asked = tacit.ELMClassifier(n_hidden=30, random_state=0)
    here = clone(asked).fit(tacit.Federation.from_parts(list(rows.values()), names=list(rows), partition="horizontal"))
    with one_machine(
        tmp_path, {p: r[0] for p, r in rows.items()}, {p: r[1] for p, r in rows.items()}, keep=True
    ) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        there = clone(asked).fit(tacit.Federation.connect(made.config("analyst")))
    np.testing.assert_array_equal(there.decision_function(X), here.decision_function(X))
    assert encode(there.model_).digest == encode(here.model_).digest
    assert there.report_.rounds == here.report_.rounds
    with pytest.raises(tacit.LocalError, match="the coordinator's sums are not here, so no rows can be added"):
        there.partial_fit(X, y)
