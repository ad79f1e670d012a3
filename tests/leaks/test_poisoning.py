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


@pytest.mark.filterwarnings("ignore::UserWarning")  # of columns that vary more than others
@pytest.mark.parametrize(
    "tables", [range(12), pytest.param(range(12, 1000), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_honest_parties_are_never_named(tables):
    """Rows of any scale, alike, constant, rounded; two or three classes or numbers; weights; parties of one record."""
    for seed in tables:
        invent(np.random.default_rng(seed), seed)


def invent(rng: Any, seed: int) -> None:
    n, d, parties = int(rng.choice([6, 12, 30, 80, 200])), int(rng.integers(1, 6)), int(rng.integers(2, 7))
    Z = rng.normal(size=(n, d)) * 10 ** rng.uniform(-2, 3)
    Z[:, 0] = 3.0 if rng.random() < 0.3 else Z[:, 0]
    Z = np.round(Z) if rng.random() < 0.2 else Z
    Z[:] = Z[0] if rng.random() < 0.2 else Z
    t = np.r_[np.arange(k := int(rng.integers(2, 4))), rng.integers(0, k, n - k)]
    weight = rng.uniform(0, 5, n) if rng.random() < 0.3 else None
    alpha = "auto" if rng.random() < 0.5 else float(rng.choice([1e-6, 0.1, 1e3]))
    few: dict[str, Any] = {"random_state": seed, "verbose": False, "alpha": alpha}
    numbers = rng.random() < 0.4
    if rng.random() < 0.5:
        few |= {"features": int(rng.integers(2, 12)), "kernel": str(rng.choice(["rbf", "linear", "poly"]))}
        made = tacit.SVR(**few) if numbers else tacit.SVC(**few, class_weight=rng.choice([None, "balanced"]))
    else:
        few |= {"n_hidden": int(rng.integers(2, 20)), "activation": str(rng.choice(["tanh", "sigmoid", "fourier"]))}
        made = (tacit.ELMRegressor if numbers else tacit.ELMClassifier)(**few)
    sites = np.r_[0, 1, rng.choice(parties, n - 2, p=rng.dirichlet(np.full(parties, 0.4)))]
    y = rng.normal(size=n) * 10 ** rng.uniform(-1, 3) if numbers else t
    made.fit(tacit.simulate(Z, y, by=np.array([f"p{site}" for site in sites]), sample_weight=weight))
