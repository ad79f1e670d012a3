"""A request is a value.

Made and looked at before it is run, with inputs told apart by their kind, on any backend that can run it.
"""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import tacit
from tacit import Federation, GramSVC, LocalError, PanSVC
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.federation.backend import Described, Here
from tacit.models.gram import StoredModel
from tacit.protocols.template import column_means
from tacit.request import Ids, Left, Records, Request, Values

PARTIES = ("north", "south", "east")


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).normal(size=(90, 4))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.fixture
def federation(table):
    return tacit.simulate(*table, parties=PARTIES, coordinator="site")


def elsewhere(partition="vertical", backend=None):
    return Federation.described(
        PARTIES, partition=partition, coordinator="site", labeller="north", backend=backend or Described()
    )


# a protocol of a user's own


class Count(Message, tells=Fact("test.count", "holders", "count", "all", "how many records all holders have")):
    """The answer."""

    value: int


@choreography(opens={Everyone: Fact("test.counts", "holders", "count", "party", "how many records each holder has")})
def count_rows(run: Run, data: At) -> int:
    """Everyone learns how many records there are."""
    own = run.send(Count, Holder >> Coordinator, run.local(Holder, lambda part: Count(len(part.X)), data))
    return run.publish(
        Count, run.local(Coordinator, lambda found: Count(sum(each.value for each in found.values())), own)
    ).value


def test_any_choreography_runs_on_a_federation_registered_or_not(federation, table):
    assert federation.run(count_rows, {"data": Records()}).result == len(table[0])
    means = federation.run(column_means, {"data": Values(Holder, federation.parts)}, fraction_bits=30)
    np.testing.assert_allclose(means.result, table[0].mean(axis=0), atol=1e-6)
    assert [opened.what for opened in means.ledger.opens if opened.protocol == "column_means"]


def test_between_organisations_a_protocol_must_be_registered_and_values_are_not_sent():
    with pytest.raises(
        LocalError, match="protocol 'count_rows' is not registered, and sites look protocols up by name"
    ):
        elsewhere().run(count_rows, {"data": Records()})
    with pytest.raises(
        LocalError, match=r"input 'rows' of .* has values of this process, which parties elsewhere do not have"
    ):
        elsewhere().run("gram_vertical", {"rows": Values(Holder, {"north": np.ones(3)})})
    with pytest.raises(LocalError, match="cannot be run between north, south, east: connect to them first"):
        elsewhere().run("gram_vertical", {"data": Records()})


# the request of an estimator


def test_a_request_is_what_fit_runs_and_receive_is_what_fit_does_with_it(federation):
    model = PanSVC(kernel="linear", C=3.0, random_state=0)
    request = model.request(federation)
    assert (request.protocol, request.inputs, request.params["C"]) == ("pan_svm", {"data": Records()}, 3.0)
    assert request.params == model.request(elsewhere("horizontal")).params
    one = clone(model).fit(federation.forget())
    fresh = federation.forget()
    other = clone(model).receive(fresh, fresh.run(request))
    np.testing.assert_array_equal(one.model_.w, other.model_.w)
    assert other.federation_.n_rows == 0


def test_a_request_shows_no_value_of_its_inputs(federation):
    request = Request(
        "gram_predict", {"data": Records(), "dual": Values(Coordinator, {"site": 4711})}, {"squares": True}
    )
    assert (
        repr(request)
        == "<Request: gram_predict(data: Records of holder, dual: Values of coordinator); parameters squares>"
    )
    assert "4711" not in repr(request.inputs)
    assert federation.backend == Here()


def test_whatever_fit_refuses_the_request_refuses_in_the_same_words(federation):
    at_north = dataclasses.replace(federation, coordinator="north")
    for wrong, there in ((PanSVC(C=-1), federation), (PanSVC(), at_north), (GramSVC(partition="vertical"), federation)):
        with pytest.raises(LocalError) as fitted:
            wrong.fit(there)
        with pytest.raises(LocalError) as asked:
            wrong.request(there)
        assert str(fitted.value) == str(asked.value)


def test_the_split_is_read_from_the_federation_unless_the_estimator_says_another(table):
    X, y = table
    for split in ("vertical", "horizontal", "arbitrary"):
        fed = tacit.simulate(X, y, parties=PARTIES, partition=split, coordinator="site")
        said, unsaid = GramSVC(partition=split).request(fed), GramSVC().request(fed)
        assert (said.protocol, said.params) == (unsaid.protocol, unsaid.params)
    assert (GramSVC().partition_, PanSVC().partition_) == ("vertical", "horizontal")  # as plain arrays are split
    with pytest.raises(
        LocalError,
        match=r"GramSVC\(partition='vertical'\) got a federation split arbitrarily: set partition to match it",
    ):
        GramSVC(partition="vertical").request(fed)
    with pytest.raises(
        LocalError,
        match="PanSVC trains on records split horizontally, and these are split arbitrarily: use one of GramSVC",
    ):
        PanSVC().request(fed)


def test_a_second_fit_reads_the_split_anew(table):
    X, y = table
    model = tacit.SecureELMClassifier(n_hidden=5, accept_risk=True)
    for split, kind in (("vertical", "ElmShares"), ("horizontal", "ElmModel")):
        model.fit(tacit.simulate(X, y, parties=PARTIES, partition=split, coordinator="site"))
        assert (type(model.model_).__name__, model.partition_, model.partition) == (kind, split, None)


# plans


def test_a_plan_is_known_whole_before_anybody_is_asked(table):
    X, y = table
    fed = tacit.simulate(X, y, parties=PARTIES, partition="vertical", coordinator="site")
    model = GramSVC(kernel="linear", partition="vertical")
    model.model_ = StoredModel("ab" * 16, (*PARTIES, "site"))
    weights, question = model.request_values(fed)
    assert (weights.name, question.name) == ("gram_weights", "gram_linear_predict")
    assert (weights.inputs["dual"].of, question.inputs["weights"].of) == ("ab" * 16, weights)


def test_the_same_plan_runs_here(table):
    pytest.importorskip("gmpy2")
    X, y = table
    fed = tacit.simulate(X, y, parties=PARTIES, partition="vertical", coordinator="site")
    model = GramSVC(kernel="linear", partition="vertical").fit(fed)
    new = fed.split(X[:5])
    plan = model.request_values(new)
    values = model.receive_values(new, list(new.run_plan(plan)))
    np.testing.assert_allclose(values[:, 0], model.decision_function(X[:5]), atol=1e-4)


@pytest.mark.parametrize(
    ("brought", "words"),
    [
        (
            Left(Holder, "ab" * 16),
            "input 'data' is what job (ab){16} left at its sites: ask a federation that is connected to them",
        ),
        (
            Left(Holder, Request("gram_weights")),
            "input 'data' is what another request leaves: run both in one plan, that one first",
        ),
        (Ids(), "input 'data' is the ids of records, which this federation does not have"),
    ],
)
def test_what_is_not_here_is_refused_in_one_line(federation, brought, words):
    with pytest.raises(LocalError, match=words):
        federation.run("pan_svm", {"data": brought})


# what a copy of a federation carries


class Secret(Described):
    """A backend with a key, as an analyst's is."""

    key = "secret"

    def __reduce__(self) -> str:
        pytest.fail("the key was written down")

    def without_records(self):
        return Described()


def test_a_model_carries_no_key_of_the_federation_it_was_fitted_on():
    copy = elsewhere(backend=Secret()).without_records()
    assert not hasattr(copy.backend, "key")
    assert pickle.loads(pickle.dumps(copy)).holds_records is False  # noqa: S301 - our own


# a third party's estimator inside ours


class Wrapped(BaseEstimator):
    """An estimator of somebody else's, that is no subclass of ours.

    It offers what a search asks for, and nothing else.
    """

    def __init__(self, C=1.0) -> None:
        self.C = C

    def _own(self):
        return PanSVC(C=self.C, kernel="linear", min_count=1, accept_risk=True, random_state=0)

    secure_sum, segments = "pairwise", 1

    def federate(self, X, y=None, sample_weight=None):
        return self._own().federate(X, y, sample_weight)

    def search_request(self, federation, candidates, **search):
        return self._own().search_request(federation, candidates, **search)

    def search_plan(self, *args, **figures):
        return self._own().search_plan(*args, **figures)

    def search_report(self, search, federation, outcome):
        return self._own().search_report(search, federation, outcome)

    def receive(self, federation, outcome):
        self.fitted_ = self._own().receive(federation, outcome)
        return self

    def predict(self, X):
        return self.fitted_.predict(X)


def test_a_third_partys_estimator_works_in_a_search(federation, table):
    ours = PanSVC(kernel="linear", min_count=1, accept_risk=True, random_state=0)
    found = tacit.FederatedGridSearch(Wrapped(), {"C": [0.1, 10.0]}, cv=3).fit(federation)
    same = tacit.FederatedGridSearch(ours, {"C": [0.1, 10.0]}, cv=3).fit(federation.forget())
    assert found.best_params_ == same.best_params_
    np.testing.assert_array_equal(found.predict(table[0]), same.predict(table[0]))
