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
from tacit import SVC, Federation, LocalError
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.federation.backend import Described, Here
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
    means = federation.run(column_means, {"data": Values(Holder, federation.parts)})
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
    model = SVC(kernel="linear", C=3.0, random_state=0, loss="hinge")
    request = model.request(federation)
    assert (request.protocol, request.inputs, request.params["C"]) == ("train_svm", {"data": Records()}, 3.0)
    one = clone(model).fit(federation)
    fresh = federation
    other = clone(model).receive(fresh, fresh.run(request))
    np.testing.assert_array_equal(one.model_.weights, other.model_.weights)
    assert other.federation_.n_rows == 0


def test_a_request_shows_no_value_of_its_inputs(federation):
    request = Request(
        "blind_predict", {"data": Records(), "dual": Values(Coordinator, {"site": 4711})}, {"squares": True}
    )
    assert (
        repr(request)
        == "<Request: blind_predict(data: Records of holder, dual: Values of coordinator); parameters squares>"
    )
    assert "4711" not in repr(request.inputs)
    assert federation.backend == Here()


def test_whatever_fit_refuses_the_request_refuses_in_the_same_words(federation):
    at_north = dataclasses.replace(federation, coordinator="north")
    for wrong, there in ((SVC(C=-1), federation), (SVC(), at_north), (SVC(partition="vertical"), federation)):
        with pytest.raises(LocalError) as fitted:
            wrong.fit(there)
        with pytest.raises(LocalError) as asked:
            wrong.request(there)
        assert str(fitted.value) == str(asked.value)


def test_the_split_is_read_from_the_federation_unless_the_estimator_says_another(table):
    X, y = table
    for split in ("vertical", "horizontal", "arbitrary"):
        fed = tacit.simulate(X, y, parties=PARTIES, partition=split, coordinator="site")
        said, unsaid = (SVC(partition=each, random_state=0).request(fed) for each in (split, None))
        assert (said.protocol, said.params) == (unsaid.protocol, unsaid.params)
    assert SVC().partition_ == "horizontal"  # as plain arrays are split
    with pytest.raises(
        LocalError,
        match=r"SVC\(partition='vertical'\) got a federation split arbitrarily: set partition to match it",
    ):
        SVC(partition="vertical").request(fed)


def test_a_second_fit_reads_the_split_anew(table):
    X, y = table
    model = tacit.ELMClassifier(n_hidden=5)
    for split in ("vertical", "horizontal"):
        model.fit(tacit.simulate(X, y, parties=PARTIES, partition=split, coordinator="site"))
        assert (model.partition_, model.partition) == (split, None)


# plans


@pytest.mark.parametrize(
    ("brought", "words"),
    [
        (
            Left(Holder, "ab" * 16),
            "input 'data' is what job (ab){16} left at its sites: ask a federation that is connected to them",
        ),
        (
            Left(Holder, Request("train_svm")),
            "input 'data' is what another request leaves: run both in one plan, that one first",
        ),
        (Ids(), "input 'data' is the ids of records, which this federation does not have"),
    ],
)
def test_what_is_not_here_is_refused_in_one_line(federation, brought, words):
    with pytest.raises(LocalError, match=words):
        federation.run("train_svm", {"data": brought})


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

    def __init__(self, alpha=1.0) -> None:
        self.alpha = alpha

    def _own(self):
        return SVC(alpha=self.alpha, kernel="linear", random_state=0)

    def federate(self, X, y=None, sample_weight=None):
        return self._own().federate(X, y, sample_weight)

    def search_request(self, federation, candidates, **search):
        return self._own().search_request(federation, candidates, **search)

    def search_report(self, federation, outcome):
        return self._own().search_report(federation, outcome)

    def fit(self, federation):
        return self.receive(federation, federation.run(self._own().request(federation)))

    @property
    def report_(self):
        return self.fitted_.report_

    def receive(self, federation, outcome):
        self.fitted_ = self._own().receive(federation, outcome)
        return self

    def predict(self, X):
        return self.fitted_.predict(X)


def test_a_third_partys_estimator_works_in_a_search(federation, table):
    ours = SVC(kernel="linear", random_state=0)
    found = tacit.FederatedGridSearch(Wrapped(), {"alpha": [0.1, 10.0]}).fit(federation)
    same = tacit.FederatedGridSearch(ours, {"alpha": [0.1, 10.0]}).fit(federation)
    assert found.best_params_ == same.best_params_
    np.testing.assert_array_equal(found.predict(table[0]), same.predict(table[0]))
