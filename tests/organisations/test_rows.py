"""Rows of several hospitals through real processes, a real server and everybody's consent."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

import tacit
from tacit.cli.one_machine import one_machine

pytest.importorskip("nats")


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(240, 6, n_informative=4, flip_y=0.1, random_state=3)
    return {f"h{i + 1}": (X[i::3], y[i::3]) for i in range(3)}


@pytest.fixture(scope="module")
def analyst(rows, tmp_path_factory):
    records, labels = ({name: part[i] for name, part in rows.items()} for i in (0, 1))
    with one_machine(tmp_path_factory.mktemp("rows"), records, labels, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        yield made.config("analyst")


@pytest.mark.parametrize("source", ["local", "fourier"])
def test_pan_svm_between_organisations_is_the_simulated_one_bit_for_bit(rows, analyst, source):
    setting = {"landmark_source": source, "landmarks": 20, "C": 2.0, "gamma": 0.2}
    here = tacit.PanSVC(**setting).fit(tacit.Federation.from_parts(list(rows.values()), names=list(rows), partition="horizontal"))
    there = tacit.PanSVC(**setting).fit(tacit.Federation.connect(analyst))
    assert there.report_.rounds == here.report_.rounds
    assert there.classes_.tolist() == [0, 1]
    assert there.n_features_in_ == 6
    X = rows["h1"][0]
    np.testing.assert_array_equal(there.decision_function(X), here.decision_function(X))


def test_a_landmark_of_a_single_record_is_refused_by_whichever_hospital_answers_first(analyst):
    with pytest.raises(tacit.PeerError, match=r"h[123] refuses: policy policy.toml: least.min_cluster = 5, the job has 1"):
        tacit.PanSVC(min_cluster=1).fit(tacit.Federation.connect(analyst))
