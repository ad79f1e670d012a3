"""What a model would open and cost, before anybody is asked."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

import tacit
from tacit.cli.one_machine import one_machine

X, Y = make_classification(90, 4, random_state=0)
ROWS = {name: (X[i::3], Y[i::3]) for i, name in enumerate(("north", "south", "east"))}


def study():
    svm = tacit.SVC(features=20, alpha=0.1, probability=True)
    return tacit.Pipeline([("gaps", tacit.FederatedImputer()), ("scale", tacit.FederatedScaler()), ("svm", svm)])


@pytest.fixture(scope="module")
def simulated():
    return tacit.from_parts(list(ROWS.values()), names=list(ROWS), partition="horizontal", coordinator="clearing")


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    """An analyst's federation; no site of it runs."""
    tables = ({name: part[i] for name, part in ROWS.items()} for i in (0, 1))
    with one_machine(tmp_path_factory.mktemp("sites"), *tables, keep=True) as machine:
        yield tacit.connect(machine.config("analyst")), machine.folder("analyst") / "state"


def test_a_study_is_rehearsed_alike_in_simulation_and_between_organisations(simulated, connected):
    here, there = simulated.rehearse(study()), connected[0].ungated().rehearse(study())
    assert there.disclosure == here.disclosure
    assert there.protocols == here.protocols == ("prepare_columns", "train_svm")
    assert list(there.steps) == list(here.steps) == ["gaps", "scale", "svm"]
    more = [
        after.rounds - before.rounds for before, after in zip(here.steps.values(), there.steps.values(), strict=True)
    ]
    assert more[:2] == [0, 0], "only a machine plays more rounds for more records"
    assert more[2] >= 0
    assert (here.records, here.declared) == (90, True)
    assert (there.records, there.declared) == (500, False)


def test_nothing_is_proposed_and_the_model_stays_as_it_is(connected):
    federation, state = connected
    model = study()
    federation.rehearse(model)
    assert not state.exists() or not list((state / "jobs").glob("*"))
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 4)))


def test_it_reads_as_lines_of_every_step_and_as_a_card(simulated):
    found = simulated.rehearse(study())
    lines = repr(found).splitlines()
    assert lines[0] == (
        "Pipeline between north, south, east, coordinated by clearing: a rehearsal, nothing is proposed"
    )
    for protocol in found.protocols:
        assert any(line.startswith(f"  {protocol} opens to ") for line in lines)
    assert any(
        re.fullmatch(r"  costs \d+ rounds, .* at the busiest site, estimated for 90 records", line) for line in lines
    )
    assert [line.split(":")[0].strip() for line in lines if line.startswith("    ")] == ["gaps", "scale", "svm"]
    page = found._repr_html_()
    assert "nothing is proposed" in page
    assert "every kind of message" in page


def test_a_training_and_a_transformer_can_be_rehearsed_by_themselves(simulated):
    assert simulated.rehearse(tacit.SVC()).protocols == ("train_svm",)
    assert simulated.rehearse(tacit.FederatedScaler()).protocols == ("prepare_columns",)
    search = tacit.FederatedGridSearch(tacit.SVC(), {"alpha": [1.0]})
    assert simulated.rehearse(search).protocols == ("search_machine", "train_svm")
    assert not hasattr(search, "candidates_")


def test_what_a_proposal_would_be_refused_for_is_refused_by_its_rehearsal(connected):
    with pytest.raises(tacit.LocalError, match="The 'C' parameter of SVC must be"):
        connected[0].rehearse(tacit.Pipeline([("svm", tacit.SVC(C=-1.0))]))
