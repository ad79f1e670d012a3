"""SVC on a federation whose parties are elsewhere.

A reference instead of a model, and the same report of who learnt what.
"""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from consortium_study import PARTIES

from tacit import Federation, load
from tacit.errors import LocalError
from tacit.federation.backend import Described
from tacit.papers.gram import GramSVC
from tacit.papers.gram.model import StoredModel
from tacit.registry import Outcome, read_result
from tacit.report.outcome import holdings
from tacit.request import Records

KEPT = (
    r"this model is kept in shares by .*, under job {}, and answers go only to the party that asks: predict a"
    r" federation that is connected"
)
COLUMNS = {"north": ("age", "sex"), "south": ("dose", "days"), "east": ("x", "y")}


@pytest.fixture(scope="module")
def records():
    X = np.random.default_rng(0).normal(size=(60, 6)) + 4711.25
    return X, np.where(X[:, 0] + X[:, 3] > 2 * 4711.25, "ill", "well")


@pytest.fixture(scope="module")
def together(records):
    """The same run in one process, and its ledger."""
    X, y = records
    given = [X[:, i : i + 2] for i in (0, 2, 4)]
    made = Federation.from_parts(
        given, y=y, names=PARTIES, labeller="north", partition="vertical", coordinator="clearing"
    )
    model = GramSVC(kernel="linear")
    outcome = made.run(model.request(made))
    model.receive(made, outcome).seen = outcome.ledger
    return model


class Elsewhere(Described):
    """Connected to parties that have run the job already."""

    def __init__(self, result) -> None:
        self.result = result

    def run(self, federation, request):
        assert request.inputs == {"data": Records()}
        assert all(part.X.size == 0 and part.y is None for part in federation.parts.values())
        public, ledger = self.result
        return Outcome(read_result(request.name, public), ledger, [], 2.0, {}, job="e" * 32)


def elsewhere(fitted, columns=None, coordinator="clearing", backend=None):
    public = {"classes": tuple(fitted.classes_.tolist()), "support": fitted.support_, "sigmoids": None}
    there = backend or Elsewhere((public, fitted.seen))
    return Federation.described(
        PARTIES, partition="vertical", coordinator=coordinator, labeller="north", columns=columns, backend=there
    )


@pytest.fixture(scope="module")
def fitted(together):
    return GramSVC(kernel="linear").fit(elsewhere(together, COLUMNS))


def test_a_fit_leaves_classes_support_and_a_reference(fitted, together):
    assert isinstance(fitted.model_, StoredModel)
    assert fitted.model_.parties == (*PARTIES, "clearing")
    assert fitted.model_.records_of() == {}
    assert fitted.classes_.tolist() == ["ill", "well"]
    assert np.array_equal(fitted.support_, together.support_)
    assert fitted.feature_names_in_.tolist() == ["age", "sex", "dose", "days", "x", "y"]


@pytest.mark.parametrize("ask", ["predict", "decision_function"])
def test_an_answer_is_refused_in_one_line_that_says_what_to_do(fitted, records, ask):
    with pytest.raises(LocalError, match=KEPT.format(fitted.model_.job)) as error:
        getattr(fitted, ask)(pd.DataFrame(records[0][:3], columns=fitted.feature_names_in_))
    assert "\n" not in str(error.value)


def test_the_report_says_who_learnt_what_as_in_one_process(fitted, together):
    assert fitted.report_.learnt == together.report_.learnt
    assert fitted.report_.opens == together.report_.opens
    assert (fitted.report_.rounds, fitted.report_.bytes, fitted.report_.seconds) == (
        together.report_.rounds,
        together.report_.bytes,
        2.0,
    )
    assert fitted.report_.runtime == "nats"


def test_the_report_counts_no_records_that_nobody_here_has(fitted):
    assert fitted.report_.title == "GramSVC between 3 parties"
    assert fitted.report_.parties == {
        "north": "age, sex, the labels", "south": "dose, days", "east": "x, y", "clearing": "no data; coordinates"
    }  # fmt: skip
    assert "0 records" not in fitted.report_.to_text()


def test_columns_that_were_not_agreed_are_the_parties_own(together):
    report = GramSVC(kernel="linear").fit(elsewhere(together)).report_
    assert report.parties == {
        "north": "its own columns, the labels",
        "south": "its own columns",
        "east": "its own columns",
        "clearing": "no data; coordinates",
    }
    partly = elsewhere(together, {**COLUMNS, "east": ("east.*",)})
    assert holdings(partly, "east", partly.parts["east"]) == "its own columns"
    assert holdings(partly, "south", partly.parts["south"]) == "dose, days"


def test_a_holder_that_coordinates_is_said_to(together):
    made = elsewhere(together, COLUMNS, coordinator="south")
    assert holdings(made, "south", made.parts["south"]) == "dose, days, and coordinates"


@pytest.mark.parametrize(
    ("partition", "words"), [("horizontal", "its own records, the labels"), ("arbitrary", "its own cells, the labels")]
)
def test_other_splits_are_said_as_they_are(together, partition, words):
    made = elsewhere(together, COLUMNS)
    made = dataclasses.replace(made, partition=partition, labeller=None)
    assert holdings(made, "east", made.parts["east"]) == words


def test_a_simulated_report_still_counts(together):
    assert together.report_.title == "GramSVC on 60 records between 3 parties"
    assert together.report_.parties["north"] == "60 records, 2 columns, the labels"
    assert together.report_.parties["clearing"] == "no data; coordinates"


def test_a_model_file_holds_a_reference_and_no_record(fitted, together, tmp_path):
    path = fitted.save(tmp_path / "model.tacit")
    header = json.loads(path.read_bytes().splitlines()[1])
    assert header["contains_records_of"] == {}
    assert header["parties"] == list(PARTIES)
    assert fitted.model_.job.encode() in path.read_bytes()
    records = together.save(tmp_path / "records.tacit").read_bytes()
    value = np.ascontiguousarray(together.model_.columns["north"].X[0, 0]).tobytes()
    assert value in records  # so that the next line means something
    assert value not in path.read_bytes()


def test_a_model_file_comes_back_as_the_same_reference(fitted, records, tmp_path):
    again = load(fitted.save(tmp_path / "model.tacit"))
    assert isinstance(again.model_, StoredModel)
    assert (again.model_.job, again.model_.parties) == (fitted.model_.job, fitted.model_.parties)
    assert again.classes_.tolist() == ["ill", "well"]
    assert np.array_equal(again.support_, fitted.support_)
    assert again.report_ == fitted.report_
    with pytest.raises(LocalError, match=KEPT.format(fitted.model_.job)):
        again.predict(pd.DataFrame(records[0][:3], columns=again.feature_names_in_))
