"""What a hidden layer over columns gives away: the records, to a coordinator that looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from papers.elm import reference
from papers.elm.cases import CASES
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.features.elm import activate, layer_of, reach, words_needed
from tacit.numeric.ring.words import public_words
from tacit.papers.elm import attacks, vertical
from tacit.papers.elm.attacks.known_records import elm_known_records
from tacit.papers.elm.attacks.layer_inversion import elm_inversion
from tacit.runtimes.together import Together

COLUMNS = 20
MASTER, _, _, PRIVATE = CASES


@pytest.fixture
def truth():
    return np.random.default_rng(0).normal(size=(40, COLUMNS))


def layer(nodes: int, activation: str = "sigmoid", seed: int = 1) -> tuple[Any, Any]:
    return layer_of(public_words(seed, words_needed(COLUMNS, nodes)), nodes, activation, 1.0, COLUMNS)


def rounded(S: Any) -> Any:
    """As the coordinator sees it: fixed point does not save anybody."""
    return np.rint(S * 2.0**32) / 2.0**32


def played(case: Any, inputs: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Any]]:
    """The result, and all inputs of the hidden layer that the coordinator opened in training."""
    opened: list[Any] = []
    real = vertical.add_band
    roster = case.roster(3)

    def tap(sums: Any, seen: Any, *rest: Any) -> Any:
        opened.append(seen)
        return real(sums, seen, *rest)

    with monkeypatch.context() as patch, Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        patch.setattr(vertical, "add_band", tap)
        result = case.run(run, inputs)
    return result, opened


@pytest.mark.parametrize(("case", "task"), [(MASTER, "2"), (PRIVATE, "number")], ids=["master", "private"])
def test_the_coordinator_s_own_view_of_a_run_gives_the_records_away_as_it_says(case, task, monkeypatch):
    result, opened = played(case, case.inputs(case.roster(3)), monkeypatch)
    X, _ = reference.pooled(task)
    S, own = np.concatenate(opened), result["weights"]._entries
    W, b = np.concatenate([share.W for share in own.values()]), np.sum([share.b for share in own.values()], axis=0)
    assert elm_inversion(S, W, b, X).error < 1e-7  # whoever made W
    assert elm_known_records(S, X, np.arange(7)).error < 1e-6  # whoever knows 6 + 1 records


def test_under_private_weights_no_message_carries_a_weight():
    roster = PRIVATE.roster(3)
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        PRIVATE.run(run, PRIVATE.inputs(roster))
    assert {row.type for row in run.ledger if row.receiver != "coordinator"} == {"PublicKey", "Size", "Decision"}
    assert "Weights" not in {row.type for row in run.ledger}


@pytest.mark.parametrize(
    ("nodes", "known", "least", "most"),
    [(20, 0, 0, 1e-7), (40, 0, 0, 1e-7), (19, 1, 0, 1e-7), (19, 0, 0.05, 1), (5, 0, 0.5, 1)],
)
def test_inversion_succeeds_from_as_many_nodes_as_there_are_unknown_columns(truth, nodes, known, least, most):
    W, b = layer(nodes)
    error = elm_inversion(rounded(truth @ W + b), W, b, truth, known=np.arange(known)).error
    assert least <= error <= most


@pytest.mark.parametrize(("activation", "nodes"), [("sigmoid", 20), ("tanh", 20), ("relu", 80), ("rbf", 21)])
def test_inversion_undoes_the_activation_too(truth, activation, nodes):
    W, b = layer(nodes, activation)
    H = activate(reach(truth, W, b, activation, COLUMNS), activation)
    assert elm_inversion(H, W, b, truth, activation=activation).error < 1e-9
    assert elm_inversion(H, W, b, truth, activation=activation, known=np.arange(3)).error < 1e-9


def test_signs_give_the_records_away_the_better_the_more_nodes_there_are(truth):
    errors = []
    for nodes in (60, 500):
        W, b = layer(nodes, "sign")
        H = activate(truth[:8] @ W + b, "sign")
        errors.append(elm_inversion(H, W, b, truth[:8], activation="sign").error)
    assert errors[0] > 0.3
    assert errors[1] < 0.15


def test_private_weights_stop_the_inversion_by_known_weights(truth):
    (W, b), (guess, other) = layer(40), layer(40, seed=2)
    assert elm_inversion(truth @ W + b, guess, other, truth).error > 0.9


@pytest.mark.parametrize("activation", ["sigmoid", "rbf"])
@pytest.mark.parametrize(("known", "least", "most"), [(21, 0, 1e-5), (30, 0, 1e-5), (20, 0.05, 1), (5, 0.5, 1.2)])
def test_nothing_stops_a_coordinator_that_knows_a_record_per_column_and_one_more(truth, activation, known, least, most):
    W, b = layer(40, activation)
    S = reach(truth, W, b, activation, COLUMNS)
    seen = activate(rounded(S), activation) if activation == "rbf" else rounded(S)
    assert least <= elm_known_records(seen, truth, np.arange(known), activation=activation).error <= most


@pytest.mark.parametrize("attack", attacks.ATTACKS)
def test_studies_show_what_the_catalogue_says(attack, truth):
    points = attack.points(np.vstack([truth, truth[::-1] + 1, -truth]), np.arange(120) % 2)
    assert min(each.found for each in points) < 1e-6
    assert max(each.found for each in points) > 0.5
