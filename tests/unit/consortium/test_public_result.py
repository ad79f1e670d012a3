"""What is public of a result reaches the analyst as the run left it: the same types, the same bits."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest

from tacit import SVC, FederatedGridSearch, Federation
from tacit import ELMClassifier as Elm
from tacit.choreo import ChoreographyError, Coordinator, Holder, PeerError, Roster, encode
from tacit.choreo.message import Record
from tacit.consortium.jobs.public_result import PAGE, Notes, PublicResult, split, to_plain
from tacit.consortium.site.analyst import _read_public
from tacit.crypto.pads.entropy import RootEntropy
from tacit.registry import play, read_result
from tacit.runtimes.together import Together

PARTIES = ("north", "south", "east")
ROSTER = Roster({Holder: PARTIES, Coordinator: ("clearing",)})
GRID = {"alpha": [0.3, 1.0], "gamma": [0.1, 0.3]}
ESTIMATORS = {
    "probabilities": SVC(features=20, alpha=0.1, probability=True),
    "linear": SVC(kernel="linear", alpha=0.1),
    "elm": Elm(n_hidden=20, alpha=0.1),
    "search": FederatedGridSearch(SVC(features=20), GRID),
}
ROWS = np.random.default_rng(0).normal(size=(240, 4))
LABELS = np.where(ROWS[:, 0] + ROWS[:, 1] ** 2 > 0.7, "ill", "well")


def played(estimator):
    """A run in this process: its protocol, what that returns, what is public of it, and the history."""
    federation = Federation.simulate(ROWS, LABELS, parties=PARTIES, partition="horizontal", coordinator="clearing")
    request = estimator.request(federation)
    with Together(ROSTER, job=bytes(16), entropy=RootEntropy(ROSTER.parties, bytes(16))) as run:
        result = play(run, request.name, {"data": (Holder, federation.parts)}, request.params)
        return request.name, result, split(result, "clearing")[1], run.history


def assert_same(one, other):
    """Two values have the same types and the same bits, however deep."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    elif isinstance(one, Record):
        assert_same(*(tuple(getattr(each, name) for name in each.field_names()) for each in (one, other)))
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert_same(tuple(one.values()), tuple(other.values()))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    else:
        assert repr(one) == repr(other)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_analyst_gets_the_types_and_the_bits_of_the_run(name):
    protocol, result, values, history = played(ESTIMATORS[name])
    found = _read_public("clearing", encode(PublicResult.of(values, history)).join())
    assert_same(found.values, values)
    assert_same(tuple(found.history), tuple(history))
    again = read_result(protocol, found.values)
    assert type(again) is type(result)
    assert_same({name: getattr(again, name) for name in values}, values)
    assert all(value is None for name, value in again.as_dict().items() if name not in values)
    shown = json.loads(json.dumps(to_plain({**found.values, "history": found.history})))
    assert shown.get("classes", ["ill", "well"]) == ["ill", "well"]


def test_a_history_may_be_longer_than_a_header():
    notes = [{"place": f"/train/round[{i}]", "gap": 1 / (i + 1)} for i in range(20 * PAGE + 7)]
    found = _read_public("clearing", encode(PublicResult.of({}, notes)).join())
    assert (len(found.pages), found.history) == (21, notes)


def test_people_read_lists_and_null_where_a_number_is_not_finite():
    shown = to_plain({"w": np.array([1.0, np.nan]), "note": Notes(()), "b": float("inf"), "key": b"\x01"})
    assert shown == {"w": [1.0, None], "note": {"notes": []}, "b": None, "key": "01"}


def test_a_result_without_a_wire_form_stops_its_run():
    with pytest.raises(ChoreographyError, match="this gave a list, which has no wire form"):
        encode(PublicResult.of({"classes": [0, 1]}))


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"{}",
        msgspec.json.encode({"classes": [0, 1]}),
        encode({"classes": (0, 1)}).join(),
        encode(PublicResult({}, (b"no page",))).join(),
        encode(PublicResult({}, (encode(Notes(("no note",))).join(),))).join(),
        encode(PublicResult(("classes", "w"))).join(),
        encode(PublicResult({"w": np.ones(9)})).join()[:-1],
    ],
)
def test_what_cannot_be_read_is_one_line_about_the_coordinator(told):
    with pytest.raises(PeerError, match=r"^clearing gave an answer that cannot be read: do both sites run the same"):
        _read_public("clearing", told)
