"""An extreme learning machine over rows through real processes, a real server and everybody's consent."""

from __future__ import annotations

import pytest
from sklearn.base import clone

import tacit
from organisations.row_sites import check_alike, dealt, rows_of_three, started

pytest.importorskip("nats")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some


def test_an_elm_between_organisations_decides_as_the_simulated_one_does(tmp_path):
    rows, asked = rows_of_three(), tacit.ELMClassifier(n_hidden=30, alpha=0.1)
    with started(rows, tmp_path) as made:
        there = clone(asked).fit(tacit.connect(made.config("analyst")))
        here = clone(asked).fit(dealt(made))
    X, y = rows["h1"]
    check_alike(here, there, X, least=0.85)  # layers are drawn by coins of their own
    assert there.score(X, y) > 0.7
    assert there.report_.rounds == here.report_.rounds
    with pytest.raises(tacit.LocalError, match="rows can be added"):
        there.partial_fit(X, y)
