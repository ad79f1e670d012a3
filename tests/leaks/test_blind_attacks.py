"""The attacks against gram SVMs, on everything that parties of a blind one have in their hands: they find nothing.

What they are worth is shown on the same runs: the dealer and one holder together have all records.
"""

from __future__ import annotations

import numpy as np
import pytest

from tacit.attacks import blind_studies as studies
from tacit.attacks.blind_view import best_error, draw_chance, pick_lines, read_columns, watch
from tacit.attacks.far_queries import bells, far_queries, nearest
from tacit.attacks.inversion import Inversion
from tacit.attacks.unit_queries import unit_queries
from tacit.choreo import Labeller
from tacit.federation import Federation
from tacit.protocols.shares import gates
from tacit.protocols.shares.gates import triangle_size

RECORDS, COLUMNS, GAMMA = 48, 6, 1.0 / 6
ATTACKS = {
    "gram_inversion": studies.INVERSION,
    "rbf_trilateration": studies.TRILATERATION,
    "known_column": studies.KNOWN_COLUMN,
    "one_hidden_column": studies.HIDDEN_COLUMN,
}
FAR = 0.7  # of what words by chance give, the least that any of these attacks is off; what finds records is below 1e-2


def records():
    X = np.random.default_rng(0).normal(size=(RECORDS, COLUMNS))
    return X - X.mean(axis=0), (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)


def keys(federation):
    """Keys of everybody's randomness: the test has the same run each time."""
    return {party: bytes([i + 1]) * 32 for i, party in enumerate(federation.roster.parties)}


def trained(partition, targets=None, **more):
    """A training in which everybody remembers, its view, and the records in the order of the kernel matrix."""
    X, y = records()
    plain = Federation.simulate(X, y if targets is None else targets, parties=3, partition=partition)
    federation, view = watch(plain, keys(plain))
    federation.run(studies.ask_training(federation, GAMMA, **more))
    order = np.vstack([part.X for part in plain.parts.values()]) if partition == "horizontal" else X
    return federation, view, order


def hands(federation, view, size):
    """What each party has that could be what an attack needs, and what all holders but the first have together."""
    first, *others = federation.parts
    found = {"dealer": pick_lines(view.of(federation.coordinator), size)}
    found |= {p: pick_lines(view.of(p), size, view.brought_by(p)) for p in (first, *others)}
    brought = [view.brought_by(p) for p in others]
    sums = [sum(each[1:], each[0]) for each in zip(*brought, strict=True)]
    own = [*sums, *(words for each in brought for words in each)]
    together = pick_lines(view.of_group(others), size, own)
    return {**found, "all holders but one": together}


def error(name, vectors, X):
    """How far the attack is off at best, with as many known records as give all others away elsewhere."""
    attack = ATTACKS[name]
    known = np.arange(COLUMNS + attack.more)
    matrices = [attack.read(words, RECORDS, GAMMA) for words in vectors]
    return best_error(matrices, lambda matrix: attack.find(matrix, X, known), attack.wanted(X), known)


@pytest.mark.parametrize(
    "partition", ["vertical", *(pytest.param(p, marks=pytest.mark.slow) for p in ("horizontal", "arbitrary"))]
)
def test_attacks_on_matrices_are_as_far_off_as_chance_whoever_plays_them_on_all_it_has(partition, record_property):
    federation, view, X = trained(partition)
    found = hands(federation, view, triangle_size(RECORDS))
    both = pick_lines(view.of_both(next(iter(federation.parts))), triangle_size(RECORDS))
    assert min(map(len, found.values())) > 50
    found["chance"] = draw_chance(max(found.values(), key=len))
    for name in ATTACKS:
        off = {who: error(name, vectors, X) for who, vectors in found.items()}
        record_property(name, off)
        assert min(off.values()) > FAR
        assert error(name, both, X) < 1e-2


def likeness(vectors, targets):
    """How well the best of all vectors follows the targets: the largest correlation."""
    values = np.array([words.view(np.int64).astype(np.float64) for words in vectors])
    return float(np.abs([np.corrcoef(each, targets)[0, 1] for each in values if np.ptp(each)]).max(initial=0.0))


def test_neither_records_nor_targets_of_a_regression_are_in_anybodys_hands_but_the_dealers_with_a_holder():
    X, _ = records()
    targets = X[:, 0] - 2.0 * X[:, 1] + 30.0
    federation, view, _ = trained("vertical", targets, epsilon=0.1, target_range=(10.0, 50.0))
    for name in ATTACKS:
        off = {who: error(name, vectors, X) for who, vectors in hands(federation, view, triangle_size(RECORDS)).items()}
        assert min(off.values()) > FAR, name
    labeller, other, last = federation.parts
    assert federation.roster[Labeller] == (labeller,)
    for words in (view.of(federation.coordinator), view.of(other), view.of_group([other, last])):
        lines = pick_lines(words, RECORDS)
        assert len(lines) > 50
        assert likeness(lines, targets) < max(0.7, 1.2 * likeness(draw_chance(lines), targets))
    assert likeness(pick_lines(view.of_both(other), RECORDS), targets) > 0.99


def test_kernels_of_new_records_are_seen_by_nobody_who_makes_the_answers():
    X, y = records()
    asked = np.vstack([np.zeros(COLUMNS), np.eye(COLUMNS)])
    plain = Federation.simulate(X, y, parties=3, partition="vertical")
    model = plain.run(studies.ask_training(plain, GAMMA))
    new, view = watch(plain.split(asked), keys(plain))
    new.run(studies.ask_answers(new, model, GAMMA))

    def off(vectors) -> float:
        told = [read_columns(words, len(asked), GAMMA) for words in vectors]
        return best_error(told, lambda dots: unit_queries(dots, asked[1:], X), X, np.arange(0))

    for who, vectors in hands(new, view, len(asked) * RECORDS).items():
        assert vectors, who
        assert min(off(vectors), off(draw_chance(vectors))) > FAR, who
    both = pick_lines(view.of_both(next(iter(new.parts))), len(asked) * RECORDS)
    assert off(both) < 1e-3


def test_who_asks_about_far_records_is_told_an_outlying_one_whoever_computed_the_answer():
    X, y = records()
    X[7], y[7] = [4.0, 1.0, -1.0, 0.5, -2.0, 0.3], 1
    queries = far_queries(np.eye(COLUMNS)[:1], GAMMA, 4.0, 7.0)
    federation = Federation.simulate(X, y, parties=3, partition="vertical")
    new = federation.split(queries)
    told = new.run(studies.ask_answers(new, federation.run(studies.ask_training(federation, GAMMA)), GAMMA))
    (answers,) = told.result.values()
    found = bells(queries, answers[:, 0], GAMMA)[0]
    assert nearest(found.record, X) < 0.2


def open_factors(x, y, dealt, ring):
    del dealt, ring
    return np.concatenate([x, y])


def test_a_gate_that_forgets_its_masks_is_found_by_the_same_attacks(monkeypatch):
    monkeypatch.setattr(gates, "mask_factors", open_factors)
    federation, view, X = trained("vertical")
    other = next(p for p in federation.parts if 0 not in federation.columns[p])  # who has not the column itself
    vectors = pick_lines(view.of(other), triangle_size(RECORDS), view.brought_by(other))
    assert error("known_column", vectors, X) < 1e-3


def test_an_attack_that_finds_nothing_but_zeros_is_as_wrong_as_can_be():
    X, _ = records()
    assert best_error([np.eye(3)], lambda _: Inversion(np.zeros_like(X), 0.0), X, np.arange(0)) == 1
    assert best_error([], lambda _: Inversion(X, 0.0), X, np.arange(0)) == 1
