"""Rows of several hospitals through real processes, a real server and everybody's consent."""

from __future__ import annotations

import warnings

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
def sites(rows, tmp_path_factory):
    records, labels = ({name: part[i] for name, part in rows.items()} for i in (0, 1))
    with one_machine(tmp_path_factory.mktemp("rows"), records, labels, keep=True) as made:
        for site in made.sites:
            made.start(site)
        made.wait()
        yield made


@pytest.fixture(scope="module")
def analyst(sites):
    return sites.config("analyst")


JOBS = (
    {"landmark_source": "local", "C": 2.0, "gamma": 0.2},
    {"landmark_source": "fourier", "landmarks": 12, "C": 2.0, "gamma": 0.2},
    {"kernel": "linear", "C": 1.0},
    {"landmark_source": "local", "C": 3.0, "gamma": 0.2},
)


def test_jobs_one_after_the_other_give_what_a_simulation_that_remembers_gives_bit_for_bit(rows, sites, analyst):
    """Sites hold back by what all earlier jobs opened, also after a restart, and so does a federation that is fitted again."""
    here = tacit.Federation.from_parts(list(rows.values()), names=list(rows), partition="horizontal")
    X = rows["h1"][0]
    for number, setting in enumerate(JOBS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            one, other = (tacit.PanSVC(**setting).fit(fed) for fed in (here, tacit.Federation.connect(analyst)))
        assert other.report_.rounds == one.report_.rounds
        assert other.report_.figures == one.report_.figures
        np.testing.assert_array_equal(other.decision_function(X), one.decision_function(X))
        if number == 1:
            sites.kill("h2")
            sites.start("h2")
            sites.wait()
    least = [one.report_.figures["least rows of a group that a sum tells apart"]]
    assert int(least[0].split()[0]) >= 5
    assert other.classes_.tolist() == [0, 1]
    assert other.n_features_in_ == 6


def test_single_rows_need_a_risk_that_the_policy_refuses(analyst):
    with pytest.raises(tacit.PeerError, match=r"h[123] refuses: policy policy.toml: accept_risk = false, the job needs it"):
        tacit.PanSVC(kernel="linear", min_count=1, accept_risk=True).fit(tacit.Federation.connect(analyst))
    with pytest.raises(tacit.PeerError, match=r"h[123] refuses: policy policy.toml: accept_risk = false, the job needs it"):
        tacit.PanSVC(landmarks=40, min_count=5, accept_risk=True).fit(tacit.Federation.connect(analyst))


def test_a_landmark_of_a_single_record_is_refused_by_whichever_hospital_answers_first(analyst):
    with pytest.raises(tacit.PeerError, match=r"h[123] refuses: policy policy.toml: parameters.min_cluster = at least 5, the job has 1"):
        tacit.PanSVC(min_cluster=1).fit(tacit.Federation.connect(analyst))
