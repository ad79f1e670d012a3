"""Rows of several hospitals through real processes, a real server and everybody's consent."""

from __future__ import annotations

import warnings

import pytest

import tacit
from organisations.row_sites import check_alike, dealt, rows_of_three, started
from tacit.papers.pan import PanSVC

pytest.importorskip("nats")

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some


@pytest.fixture(scope="module")
def rows():
    return rows_of_three()


@pytest.fixture(scope="module")
def sites(rows, tmp_path_factory):
    with started(rows, tmp_path_factory.mktemp("rows")) as made:
        yield made


@pytest.fixture(scope="module")
def analyst(sites):
    return sites.config("analyst")


JOBS = (
    {"gamma": 0.1, "alpha": 0.3},
    {"loss": "hinge", "C": 3.0, "features": 50},
)


@pytest.fixture(scope="module")
def fitted(sites, analyst):
    """Each job on the same records in one process and at the sites, one of which is killed between two of them."""
    pairs = []
    for number, setting in enumerate(JOBS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            there = tacit.SVC(**setting).fit(tacit.connect(analyst))
            pairs.append((tacit.SVC(**setting, random_state=0).fit(dealt(sites)), there))
        if number == 0:
            sites.kill("h2")
            sites.start("h2")
            sites.wait()
    return pairs


@pytest.mark.usefixtures("fitted")
def test_every_site_says_when_it_starts_what_it_offers(rows, sites):
    for name, (X, _) in rows.items():
        log = (sites.folder(name) / "log").read_text()
        assert f": {X.shape[0]} rows, {X.shape[1]} columns" in log.partition("waits for proposals")[0]


def test_each_job_decides_as_a_simulation_on_the_same_records_does(rows, fitted):
    X, y = rows["h1"]
    for one, other in fitted:
        check_alike(one, other, X, least=0.9)
        assert other.report_.figures.keys() == one.report_.figures.keys()
        assert other.classes_.tolist() == [0, 1]
        assert other.n_features_in_ == 6
        assert other.score(X, y) > 0.7  # noise of a training moves it by some hundredths


def test_a_method_of_a_paper_needs_a_policy_that_names_it(analyst):
    risky = analyst.with_name("risky.toml")
    risky.write_text(f"{analyst.read_text()}accept_risk = true\n")
    with pytest.raises(tacit.PeerError, match=r"h[123] refuses: policy policy.toml: .*pan_svm"):
        PanSVC(accept_risk=True).fit(tacit.connect(risky))


def test_a_setting_that_no_policy_lists_is_refused_by_whichever_hospital_answers_first(analyst):
    with pytest.raises(
        tacit.PeerError, match=r"h[123] refuses: policy policy.toml: parameters.features = .*, the job has 300"
    ):
        tacit.SVC(features=300).fit(tacit.connect(analyst))
