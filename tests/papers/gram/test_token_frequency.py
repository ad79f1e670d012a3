"""Set intersections show the coordinator the table up to the order of its columns, which public statistics tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import Holder
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation import Federation
from tacit.papers.gram import intersection as protocol
from tacit.papers.gram.attacks.token_frequency import token_frequency
from tacit.runtimes.together import Together


def census(rows: int, seed: int) -> Any:
    """Answers to questions of several choices each, which depend on what kind of person answers."""
    rng, habits = np.random.default_rng(seed), np.random.default_rng(9)
    kind = rng.integers(0, 4, rows)
    answers = []
    for choices in (2, 3, 4, 5, 6):
        chance = habits.dirichlet(np.ones(choices) / 2, size=4)
        drawn = (rng.random(rows)[:, None] > chance.cumsum(axis=1)[kind]).sum(axis=1).clip(max=choices - 1)
        answers.append(np.eye(choices)[drawn])
    return np.hstack(answers)


def seen_by_the_coordinator(X: Any, monkeypatch: Any) -> Any:
    seen: list[Any] = []
    real = protocol.place_columns
    monkeypatch.setattr(protocol, "place_columns", lambda *args: seen.append(real(*args)) or seen[-1])
    fed = Federation.simulate(X, parties=3, partition="horizontal")
    with Together(fed.roster, job=b"j", entropy=RootEntropy(fed.roster.parties, b"r")) as run:
        protocol.gram_intersection(run, run.hold(Holder, fed.parts), partition="horizontal")
    T = np.empty_like(X)
    T[np.concatenate(list(fed.rows.values()))] = np.vstack(seen)
    return T


def test_the_coordinator_holds_the_table_up_to_the_order_of_its_columns(monkeypatch):
    X = census(60, 0)
    T = seen_by_the_coordinator(X, monkeypatch)
    assert sorted(map(tuple, T.T)) == sorted(map(tuple, X.T))
    assert not np.array_equal(T, X)


def test_a_sample_of_the_same_population_gives_the_order_away(monkeypatch):
    X = census(400, 0)
    T = seen_by_the_coordinator(X, monkeypatch)
    together, alone = (token_frequency(T, census(5000, 1), X, together=both) for both in (True, False))
    assert together.ones > 0.9
    assert together.columns > alone.columns
    np.testing.assert_array_equal(np.bincount(together.features), 1)


def test_one_who_knows_nothing_finds_little(monkeypatch):
    X = census(400, 0)
    flat = np.random.default_rng(3).integers(0, 2, (2000, X.shape[1])).astype(float)
    assert token_frequency(seen_by_the_coordinator(X, monkeypatch), flat, X).ones < 0.5
