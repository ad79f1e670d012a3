"""Results of choreographies: records whose private fields only their owners have."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tacit.arrays import F64
from tacit.choreo import At, PeerError, Result
from tacit.choreo.at import Scope, find_held
from tacit.choreo.result import result_type
from tacit.registry import open_result


class Kept(Result):
    """A result for the tests."""

    classes: tuple[str, ...]
    w: F64
    share: At[F64]
    rest: At[F64] | None = None
    rank: int | None = None


def made(**changed):
    share = At(("a", "b"), {"a": np.ones(2), "b": np.zeros(2)}, Scope("/train"))
    return Kept(**{"classes": ("ill", "well"), "w": np.ones(3), "share": share, **changed})


def test_a_result_is_frozen_and_never_prints_its_values():
    with pytest.raises(dataclasses.FrozenInstanceError):
        made().w = np.zeros(3)
    assert repr(made()) == "Kept(classes, w, share, rest, rank)"


def test_what_parties_hold_is_found_in_it_and_opened_by_who_plays_all_of_them():
    result = made()
    assert list(find_held(result)) == [result.share]
    opened = open_result(result)
    assert type(opened) is Kept
    assert {party: value.tolist() for party, value in opened.share.items()} == {"a": [1.0, 1.0], "b": [0.0, 0.0]}
    assert opened.classes == result.classes


def test_who_holds_no_share_has_what_is_public():
    values = {"classes": ("ill", "well"), "w": np.ones(3), "rank": None, "rest": None}
    found = Kept.from_public(values)
    assert (found.classes, found.share, found.rest, found.rank) == (("ill", "well"), None, None, None)
    assert found.w is values["w"]


@pytest.mark.parametrize("changed", [{"w": (1.0,)}, {"w": np.ones(3, np.int64)}, {"classes": 3}, {"rank": "x"}])
def test_a_public_value_of_another_type_is_refused(changed):
    values = {"classes": ("ill", "well"), "w": np.ones(3), "rank": 1}
    with pytest.raises(PeerError, match=f"field {next(iter(changed))} of Kept is missing or not of its declared type"):
        Kept.from_public({**values, **changed})
    with pytest.raises(PeerError, match="field classes of Kept is missing"):
        Kept.from_public({})


def test_a_choreography_says_which_record_it_returns():
    def train() -> Kept: ...
    def ask() -> At[F64]: ...
    def play(): ...

    assert (result_type(train), result_type(ask), result_type(play)) == (Kept, None, None)
