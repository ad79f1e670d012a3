"""What extreme learning machines give away.

Over rows two sums, over columns the records, to a coordinator that looks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance import elm_reference
from conformance.cases import CASES
from tacit import Federation, SecureELMClassifier
from tacit.attacks.elm_inversion import elm_inversion
from tacit.attacks.elm_known_records import elm_known_records
from tacit.attacks.elm_row_space import elm_row_space
from tacit.choreo import Holder
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.features.elm import activate, hidden, layer_of, reach, words_needed
from tacit.numeric.ring.draws import public_words
from tacit.numeric.ring.triangle import unpack
from tacit.protocols.elm import horizontal as elm_horizontal
from tacit.protocols.elm import probability as elm_probability
from tacit.protocols.elm import vertical as elm_vertical
from tacit.protocols.sums.atoms import LAYER
from tacit.runtimes.together import Together

COLUMNS = 20
ROWS, MASTER, PRIVATE = (
    CASES[name] for name in ("elm_horizontal_sigmoid", "elm_vertical_sigmoid_ring", "elm_vertical_tanh_number")
)


@pytest.fixture
def truth():
    return np.random.default_rng(0).normal(size=(40, COLUMNS))


def layer(nodes: int, activation: str = "sigmoid", seed: int = 1) -> tuple[Any, Any]:
    return layer_of(public_words(seed, words_needed(COLUMNS, nodes)), nodes, activation, 1.0, COLUMNS)


def rounded(S: Any) -> Any:
    """As the coordinator sees it: fixed point does not save anybody."""
    return np.rint(S * 2.0**32) / 2.0**32


# over columns


def played(case: Any, inputs: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Any]]:
    """The result, and all inputs of the hidden layer that the coordinator opened in training."""
    opened: list[Any] = []
    real = elm_vertical.add_band
    roster = case.roster(3)

    def tap(sums: Any, seen: Any, *rest: Any) -> Any:
        opened.append(seen)
        return real(sums, seen, *rest)

    with monkeypatch.context() as patch, Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        patch.setattr(elm_vertical, "add_band", tap)
        result = case.run(run, inputs)
    return result, opened


@pytest.mark.parametrize(("case", "task"), [(MASTER, "2"), (PRIVATE, "number")], ids=["master", "private"])
def test_the_coordinator_s_own_view_of_a_run_gives_the_records_away_as_it_says(case, task, monkeypatch):
    result, opened = played(case, case.inputs(case.roster(3)), monkeypatch)
    X, _ = elm_reference.pooled(task)
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


# over rows


class Tapped(Together):
    """Keeps every frame by receiver."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.frames: list[tuple[str, str, bytes]] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int) -> Any:
        self.frames += [(receiver, place, frames.join()) for (_, receiver), frames in outbox.items()]
        return super()._exchange(place, outbox, wanted, missing)


def test_whose_rows_are_whose_changes_no_sum_that_is_opened(monkeypatch):
    roster = ROWS.roster(3)
    inputs = ROWS.inputs(roster)
    parts = inputs["data"][1]
    X, y = np.concatenate([p.X for p in parts.values()]), np.concatenate([p.y for p in parts.values()])
    order = np.random.default_rng(1).permutation(len(X))
    dealt = {
        p: part_of(X[i], y[i], None, part.features)
        for (p, part), i in zip(parts.items(), np.split(order, [5, 50]), strict=True)
    }

    def opened(data: Any) -> list[Any]:
        seen: list[Any] = []
        real = elm_horizontal.add
        with monkeypatch.context() as patch, Tapped(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
            patch.setattr(elm_horizontal, "add", lambda total, *rest: real(seen.append(total) or total, *rest))
            ROWS.run(run, {"data": (Holder, data)})
        kinds = {
            place.rsplit("/", 1)[1].split("#")[0] for receiver, place, _ in run.frames if receiver == "coordinator"
        }
        assert kinds == {"PublicKey", "Held", "Width", "Masked", "Counts", "OutputWeights"}
        return seen

    for first, second in zip(opened(parts), opened(dealt), strict=True):
        np.testing.assert_allclose(first, second, atol=1e-8)


@pytest.mark.parametrize(("rows", "least", "most"), [(5, 0.9, 1.0), (50, 0.0, 0.0)])
def test_sums_of_fewer_rows_than_nodes_give_the_rows_away_and_others_do_not(rows, least, most):
    X = np.random.default_rng(5).normal(size=(rows, 4))
    W, b = layer_of(public_words(3, words_needed(4, 40)), 40, "sigmoid", 2.0, 4)
    H = hidden(X, W, b, "sigmoid")
    found = elm_row_space(H.T @ H, lambda x: hidden(x, W, b, "sigmoid"), X, starts=40)
    assert least <= found.share <= most


def test_so_every_sum_is_of_at_least_as_many_rows_as_there_are_nodes():
    X, y = np.random.default_rng(6).normal(size=(60, 4)), np.arange(60) % 2
    with pytest.raises(
        ValueError, match="n_hidden=61 nodes are more than the 60 rows: whoever opens the sums could check"
    ):
        SecureELMClassifier(n_hidden=61).fit(X, y)
    model = SecureELMClassifier(n_hidden=30).fit(X, y)
    with pytest.raises(ValueError, match="n_hidden=30 nodes are more than the 29 rows"):
        model.partial_fit(X[:29], y[:29])
    assert isinstance(model.partial_fit(X[:30], y[:30]).federation_, Federation)


def table_with_a_rare_class():
    """60 rows, 6 of them of class 1; and the hidden layer of 40 nodes that seed 3 draws."""
    X = np.random.default_rng(5).normal(size=(60, 4))
    y = (np.arange(60) % 10 == 0).astype(int)
    return X, y


def fitted_with(weight: float, **more: Any) -> Any:
    X, y = table_with_a_rare_class()
    return SecureELMClassifier(n_hidden=40, scale=2.0, ridge=1.0, class_weight={1: weight}, random_state=0, **more).fit(
        X, y
    )


def test_two_weightings_of_the_classes_give_the_sum_of_a_class_and_with_it_its_rows():
    X, y = table_with_a_rare_class()
    once, twice = (fitted_with(weight, accept_risk=True) for weight in (1.0, 2.0))
    assert once.sums_ is not None
    assert twice.sums_ is not None
    A = unpack([(twice.sums_.values - once.sums_.values)[: 40 * 41 // 2]], 40)
    W, b = once.layer_weights()
    rare = X[y == 1]
    np.testing.assert_allclose(A, hidden(rare, W, b, "sigmoid").T @ hidden(rare, W, b, "sigmoid"), atol=1e-8)
    assert elm_row_space(A, lambda x: hidden(x, W, b, "sigmoid"), rare, starts=60).share > 0.8


@pytest.mark.parametrize("weight", [2.0, 1e6])
def test_so_with_class_weights_every_class_has_at_least_as_many_rows_as_there_are_nodes(weight):
    with pytest.raises(ValueError, match="n_hidden=40 nodes are more than the 6 rows of the smallest class"):
        fitted_with(weight)


def test_with_probabilities_every_fold_has_and_other_folds_count_as_another_layer():
    X, y = np.random.default_rng(5).normal(size=(200, 4)), np.arange(200) % 2
    fed = Federation.simulate(X, y, parties=3)
    model = SecureELMClassifier(n_hidden=30, probability=True, random_state=0).fit(fed)  # five folds of 34 rows or more
    layers = [
        {name: told for name, told in zip(past.maps, past.told, strict=True) if name.startswith(LAYER)}
        for past in fed.backend.past.values()  # type: ignore[attr-defined]
    ]
    assert all(len(each) == 1 and next(iter(each)).endswith("in 5 folds") for each in layers)
    assert {round(next(iter(each.values())) * 34) for each in layers} == {30}
    again = SecureELMClassifier(n_hidden=30, probability=True, random_state=0).fit(fed)  # the same sums
    np.testing.assert_array_equal(again.model_.beta, model.model_.beta)
    with pytest.raises(ValueError, match="30 nodes, with 30 of other hidden layers"):
        SecureELMClassifier(n_hidden=30, probability=True, random_state=1).fit(fed)


def test_probabilities_are_functions_of_means_over_groups_of_rows():
    X, y = np.random.default_rng(5).normal(size=(200, 4)), np.arange(200) % 2
    fed = Federation.simulate(X, y, parties=3)
    seen: list[Any] = []
    real = elm_probability.scores_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elm_probability, "scores_of", lambda *given: seen.append(real(*given)) or seen[-1])
        SecureELMClassifier(n_hidden=20, probability=True).fit(fed)
    for scores in seen:
        found = np.unique(np.column_stack([scores.values, scores.codes]), axis=0, return_counts=True)[1]
        assert found.min() >= 5  # min_rows
    assert seen
