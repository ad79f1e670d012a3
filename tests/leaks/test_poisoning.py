"""A party that lies about its sums: without the bounds it makes the model its own, with them it is named."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import tacit
from tacit.attacks.poisoning import hide_in_targets, lying, replace_model, scale_sums, turn_targets
from tacit.errors import PeerError
from tacit.protocols.learners import fitting
from tacit.protocols.learners.targets import OwnSums
from tacit.runtimes.together import Together

LIAR, ALPHA = "p2", 0.1
NAMED = rf"^{LIAR} brought sums|^the sums of {LIAR}"
X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
LEARN, JUDGE, y_learn, y_judge = train_test_split(X, y, random_state=0, stratify=y)


def learn(parties: int = 3, estimator: Any = None) -> Any:
    names = [f"p{i + 1}" for i in range(parties)]
    made = estimator or tacit.SVC(features=40, alpha=ALPHA, random_state=0, verbose=False)
    return made.fit(tacit.simulate(LEARN, y_learn, parties=names))


def turned(own: OwnSums) -> OwnSums:
    W = np.linalg.solve(own.S + ALPHA * np.eye(len(own.S)), own.H)
    return replace_model(own, -W, len(LEARN))


def change(S: Any = 0.0, H: float = 1.0, squares: float = 1.0) -> Any:
    """Return what adds to S, and multiplies H and squares."""
    return lambda own: OwnSums(own.S + (S(own) if callable(S) else S), H * own.H, squares * own.squares, own.rows)


FORGED = {
    "replaced": turned,
    "scaled by -1e3": partial(scale_sums, by=-1e3),
    "scaled by 1e6": partial(scale_sums, by=1e6),
    "scaled by 1.01": partial(scale_sums, by=1.01),
    "hidden": hide_in_targets,
    "targets of 8": change(H=8.0),
    "squares": change(squares=2.0),
    "less than nothing": change(S=lambda own: -3.0 * np.diag(np.r_[own.S.diagonal()[:-1], 0.0])),
    "one entry": change(S=lambda own: 1e6 * np.outer(np.eye(len(own.S))[1], np.eye(len(own.S))[0])),
    "wraps": change(S=lambda own: np.ldexp(np.tri(len(own.S), k=-1), 42)),
}


@pytest.mark.parametrize("forged", ["replaced", "hidden"])
def test_without_bounds_one_party_of_three_turns_the_public_model(forged, monkeypatch):
    monkeypatch.setattr(fitting, "check_brought", lambda *_: None)
    assert learn().score(JUDGE, y_judge) > 0.9
    with lying({LIAR}, FORGED[forged]):
        assert learn().score(JUDGE, y_judge) < 0.4


@pytest.mark.parametrize("parties", [2, 3, 5])
@pytest.mark.parametrize("forged", FORGED)
def test_with_bounds_it_is_named_before_anything_of_the_model_is_revealed(forged, parties):
    with (
        lying({LIAR}, FORGED[forged]),
        pytest.raises(PeerError, match=NAMED) as caught,
    ):
        learn(parties)
    assert "\n" not in str(caught.value)


def test_a_party_outside_of_the_committee_is_named_too():
    with lying({"p5"}, FORGED["hidden"]), pytest.raises(PeerError, match="the sums of p5"):
        learn(5)


def test_elms_are_bounded_too():
    with lying({LIAR}, FORGED["scaled by 1.01"]), pytest.raises(PeerError, match=f"{LIAR} brought sums"):
        learn(3, tacit.ELMClassifier(n_hidden=20, alpha=ALPHA, random_state=0, verbose=False))


def test_turned_labels_are_no_lie_that_sums_show():
    """They might be the records of the party; it moves the model as its rows can."""
    with lying({LIAR}, turn_targets):
        assert learn(5).score(JUDGE, y_judge) > 0.9


@pytest.mark.parametrize("forged", ["scaled by -1e3", "hidden"])
def test_nothing_of_the_model_is_told_of_a_run_in_which_somebody_lied(forged, monkeypatch):
    kinds: list[str] = []
    exchange = Together._exchange

    def hear(run: Any, place: str, *rest: Any) -> Any:
        kinds.append(place.rpartition("/")[2].partition("#")[0])
        return exchange(run, place, *rest)

    monkeypatch.setattr(Together, "_exchange", hear)
    with lying({LIAR}, FORGED[forged]), pytest.raises(PeerError):
        learn()
    assert kinds[-1] == "Within"
    assert not {"ModelShare", "ModelWords"} & set(kinds)
    kinds.clear()
    learn()
    assert {"Within", "ModelShare", "ModelWords"} <= set(kinds)
