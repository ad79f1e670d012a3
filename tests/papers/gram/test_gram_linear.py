"""Shares of w and what they answer.

The decision values of c, b and the support vectors, within the error that the protocols state.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from conformance.case import flat
from tacit.choreo import Asker, Coordinator, Holder, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.numeric.ring.words import Ring
from tacit.papers.gram import linear as gram_linear
from tacit.papers.gram.engines.bfv import Bfv
from tacit.papers.gram.engines.bfv_layout import stretches
from tacit.papers.gram.engines.engines import Block, Plan
from tacit.papers.gram.linear import AT_ONCE, batches, gram_linear_predict
from tacit.papers.gram.train import DualModel, SupportColumns
from tacit.papers.gram.weights import FINER, WeightShare, answer_cells, gram_weights
from tacit.runtimes.together import Together

PARTITIONS = ("vertical", "horizontal", "arbitrary")


@dataclasses.dataclass(frozen=True)
class Model:
    """Coefficients, biases and whole support vectors."""

    coef: Any
    bias: Any
    X: Any

    def dual(self) -> DualModel:
        G = self.X @ self.X.T
        length = np.sqrt(np.einsum("ki,ij,kj->k", self.coef, G, self.coef))
        return DualModel(
            self.coef, self.bias, G.diagonal().copy(), np.zeros(len(self.bias)), 1, "linear", 1.0, 3, 0.0, length
        )

    def decide(self, Z: Any) -> Any:
        return Z @ (self.coef @ self.X).T + self.bias


def model(s: int = 9, n: int = 5, k: int = 1, *, scale: float = 1.0, C: float = 2.0, seed: int = 0) -> Model:
    rng = np.random.default_rng(seed)
    return Model(rng.uniform(-C, C, (k, s)), rng.normal(size=k), rng.normal(size=(s, n)) * scale)


def cut(X: Any, parties: int, partition: str, seed: int = 1) -> tuple[dict[str, Part], Any]:
    """The parts, and the order in which the holders have the records."""
    split = "contiguous" if partition == "vertical" else "random"
    made = Federation.simulate(X, parties=parties, partition=partition, split=split, seed=seed)  # type: ignore[arg-type]
    return made.parts, np.concatenate(list(made.rows.values())) if partition == "horizontal" else np.arange(len(X))


def started(parties: int, coordinator: str = "coordinator") -> Together:
    names = tuple(f"party-{i + 1}" for i in range(parties))
    roster = Roster({Holder: names, Asker: names[:1], Coordinator: (coordinator,)})
    return Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r"))


def shared(run: Together, given: Model, partition: str, **how: Any) -> Any:
    """Shares of w; by rows support vectors stand in the order of their holders."""
    parts, order = cut(given.X, len(run.roster[Holder]), partition)
    dual = dataclasses.replace(given, coef=given.coef[:, order], X=given.X[order]).dual()
    columns = {p: SupportColumns(part.X, part.owned) for p, part in parts.items()}
    at = run.hold(Coordinator, {run.roster[Coordinator][0]: dual})
    return gram_weights(run, at, run.hold(Holder, columns), partition=partition, problems=len(given.bias), **how)


def answers(run: Together, weights: Any, Z: Any, partition: str, problems: int, **how: Any) -> Any:
    """Decision values, in the order of the records."""
    parts, order = cut(Z, len(run.roster[Holder]), partition, seed=2)
    found = entries_of(
        flat(gram_linear_predict)(run, run.hold(Holder, parts), weights, partition=partition, problems=problems, **how)
    )
    assert list(found) == (list(parts) if partition == "horizontal" else ["party-1"])
    return np.concatenate(list(found.values()))[np.argsort(order)]


def opened(shares: dict[str, WeightShare]) -> tuple[Any, Any]:
    """What all holders together could work out: w and b."""
    first = next(iter(shares.values()))
    ring = Ring(1 << answer_cells(0, first.words.shape[1] - 1).ring_bits)
    words = (
        ring.centred(ring.total(s.words.ravel() for s in shares.values())).reshape(first.words.shape).astype(np.float64)
    )
    return np.ldexp(words[:, :-1], -first.fraction_bits), np.ldexp(
        words[:, -1], first.exponent - first.fraction_bits - FINER
    )


def errors(given: Model, share: WeightShare, Z: Any, holders: int) -> tuple[float, Any]:
    """What is stated: (7) of `gram_weights` for w, and with it that of every answer."""
    f, e, n = share.fraction_bits, share.exponent, Z.shape[1]
    w = (holders + 0.25) * 2.0**-f + np.abs(given.coef).sum(axis=1).max() * 2.0 ** (e - 41)
    cells = answer_cells(max(e, _exponent(Z)), n)
    z = 2.0 ** (cells.exponent - cells.bits - 1)
    longest = np.abs(given.coef @ given.X).sum(axis=1).max() + n * w
    return w, np.abs(Z).sum(axis=1) * w + longest * z + 2.0 ** (e - f - FINER - 1)


def _exponent(X: Any) -> int:
    largest = np.abs(X).max(initial=0.0)
    return int(np.ceil(np.log2(largest))) if largest else -64


def check(given: Model, Z: Any, partition: str, parties: int = 3, *, most: float = 1e-5, **how: Any) -> None:
    """Check that shares add up to w and b and answers are right, within an error of `most` of the largest answer."""
    k = len(given.bias)
    with started(parties) as run:
        weights = shared(run, given, partition)
        values = answers(run, weights, Z, partition, k, **how)
    held = entries_of(weights)
    w, b = opened(held)
    entry, answer = errors(given, held["party-1"], Z, parties)
    assert np.abs(w - given.coef @ given.X).max() <= entry
    assert np.abs(b - given.bias).max() <= 2.0 ** (held["party-1"].exponent - held["party-1"].fraction_bits - FINER - 1)
    assert (np.abs(values - given.decide(Z)) <= answer[:, None]).all()
    assert answer.max() <= most * max(1.0, np.abs(given.decide(Z)).max())


def queries(rows: int = 7, n: int = 5, scale: float = 1.0) -> Any:
    return np.random.default_rng(3).normal(size=(rows, n)) * scale


@pytest.mark.parametrize("partition", PARTITIONS)
def test_answers_are_those_of_the_pooled_model(partition):
    for parties, k in ((1, 1), (2, 3), (3, 1)):
        check(model(k=k, seed=parties), queries(), partition, parties)


@pytest.mark.slow
def test_nine_parties_share_the_weights_of_two_problems():
    check(model(k=2), queries(), "arbitrary", 9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_features_of_any_scale_are_as_exact(scale):
    given = dataclasses.replace(model(scale=scale), coef=model().coef / scale**2)  # so that answers are about one
    check(given, queries(scale=scale), "arbitrary" if scale < 1 else "horizontal")


@pytest.mark.slow
def test_zeros_and_queries_larger_than_the_training_and_tiny_ones_are_answered():
    for Z in (np.zeros((3, 5)), queries(scale=1e4), queries(scale=1e-6)):
        check(model(), Z, "horizontal")


@pytest.mark.slow
def test_both_engines_give_the_same_answers():
    with started(3) as run:
        weights = shared(run, model(), "arbitrary")
        values = [answers(run, weights, queries(), "arbitrary", 1, engine=engine) for engine in ("bfv", "paillier")]
    np.testing.assert_array_equal(*values)


@pytest.mark.slow
def test_many_records_are_multiplied_in_batches(monkeypatch):
    monkeypatch.setattr(gram_linear, "AT_ONCE", 15)  # three records of five columns
    for partition in ("horizontal", "arbitrary"):
        check(model(), queries(), partition)


def test_a_batch_is_as_large_as_a_flood_covers():
    for n in (1, 5, 30, 1000):
        (_, rows), cells = batches(1 << 30, n)[0], answer_cells(0, n)
        plan = Plan((1,) * n, (Block(tuple(range(n)), rows),))
        Bfv(cells.terms, cells.bound, cells.ring_bits)._check_flood(plan, stretches(plan, 1))
    assert [b - a for a, b in batches(AT_ONCE // 10 + 1, 10)] == [AT_ONCE // 10, 1]
    assert batches(0, 3) == [(0, 0)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_model_is_within_the_stated_error(seed):
    rng = np.random.default_rng(seed)
    s, n, k, parties = (int(rng.integers(low, high)) for low, high in ((1, 40), (1, 9), (1, 4), (1, 5)))
    given = model(s, n, k, scale=10.0 ** rng.integers(-3, 4), C=10.0 ** rng.integers(-3, 4), seed=seed)
    Z = queries(int(rng.integers(1, 9)), n, scale=np.abs(given.X).max())
    check(given, Z, PARTITIONS[seed % 3], parties, most=1e-4)


def test_coefficients_that_all_but_cancel_leave_an_exact_w():
    given = model(s=10)
    twins = Model(
        np.column_stack([1e4 * given.coef, (1e-3 - 1e4) * given.coef]), given.bias, np.vstack([given.X, given.X])
    )
    check(twins, queries(), "vertical", most=1e-3)


def test_a_constant_has_shares_of_its_bias():
    given = Model(np.empty((1, 0)), np.array([-2.5]), np.empty((0, 4)))
    parts = {f"party-{i + 1}": SupportColumns(np.empty((0, n))) for i, n in enumerate((2, 1, 1))}
    with started(3) as run:
        at = run.hold(Coordinator, {"coordinator": given.dual()})
        weights = gram_weights(run, at, run.hold(Holder, parts), partition="vertical", problems=1)
        values = answers(run, weights, queries(n=4), "vertical", 1)
    np.testing.assert_allclose(values, -2.5, atol=1e-6)
    assert "Upload" not in {row.type for row in run.ledger if row.place.startswith("/gram_weights")}


def test_a_party_that_coordinates_shares_w_as_the_others_do():
    with started(3, coordinator="party-2") as run:
        weights = shared(run, model(), "vertical")
        values = answers(run, weights, queries(), "vertical", 1)
    np.testing.assert_allclose(values, model().decide(queries()), atol=1e-5)
    assert not [row for row in run.ledger if row.sender == row.receiver]


def test_a_model_that_does_not_know_the_length_of_w_has_fewer_bits_of_it():
    lengths = []
    for known in (True, False):
        with started(3) as run:
            dual = model().dual() if known else dataclasses.replace(model().dual(), length=None)
            parts = {p: SupportColumns(part.X, part.owned) for p, part in cut(model().X, 3, "vertical")[0].items()}
            at = run.hold(Coordinator, {"coordinator": dual})
            weights = gram_weights(run, at, run.hold(Holder, parts), partition="vertical", problems=1)
            lengths.append(entries_of(weights)["party-1"].fraction_bits)
            np.testing.assert_allclose(
                answers(run, weights, queries(), "vertical", 1), model().decide(queries()), atol=1e-4
            )
    assert lengths[0] > lengths[1]


def test_the_coordinator_hears_nothing_of_new_records_but_who_owns_them_and_their_range():
    with started(3) as run:
        weights = shared(run, model(), "arbitrary")
        before = len(run.ledger)
        answers(run, weights, queries(), "arbitrary", 1)
    heard = {row.type for row in list(run.ledger)[before:] if "coordinator" in (row.sender, row.receiver)}
    assert heard == {"Owned", "PublicKey", "Range"}


@pytest.mark.parametrize(
    ("change", "how", "words"),
    [
        (np.nan, {}, "a value of party-2 is not a finite number"),
        (1.0, {"feature_range": 0.5}, "has size .*, outside the declared range of 0.5"),
        (1.0, {"engine": "ckks"}, "unknown engine 'ckks'"),
        (1.0, {"engine": "paillier", "key_bits": 512}, "a Paillier key has 2048 or 3072 bits, got 512"),
    ],
)
def test_bad_questions_are_refused_before_anything_is_sent(change, how, words):
    with started(3) as run:
        weights, parts = shared(run, model(), "vertical"), cut(queries(), 3, "vertical")[0]
        before = len(run.ledger)
        parts["party-2"] = dataclasses.replace(parts["party-2"], X=parts["party-2"].X * change)
        with pytest.raises(LocalError, match=words):
            flat(gram_linear_predict)(run, run.hold(Holder, parts), weights, partition="vertical", problems=1, **how)
    assert len(run.ledger) == before


@pytest.mark.parametrize(
    ("Z", "problems", "words"),
    [
        (queries(), 2, "is for 1 problems of 5 columns, not 2 of 5: give records like those of the training"),
        (queries(n=6), 1, "is for 1 problems of 5 columns, not 1 of 6"),
        (
            queries(scale=1e9),
            1,
            "do not go with support vectors of up to 4: ask about records up to 2097152 times as large",
        ),
    ],
)
def test_questions_that_do_not_fit_the_model_are_refused_before_anything_is_multiplied(Z, problems, words):
    with started(3) as run:
        weights = shared(run, model(), "horizontal")
        with pytest.raises(LocalError, match=words):
            answers(run, weights, Z, "horizontal", problems)
    assert not {"Upload", "Reply", "OwnMasked"} & {
        row.type for row in run.ledger if row.place.startswith("/gram_linear")
    }


def test_only_a_linear_model_of_as_many_problems_has_weights():
    for dual, problems in ((dataclasses.replace(model().dual(), kernel="rbf"), 1), (model().dual(), 2)):
        with started(3) as run:
            columns = run.hold(Holder, {f"party-{i}": SupportColumns(model().X[:, :2]) for i in (1, 2, 3)})
            at = run.hold(Coordinator, {"coordinator": dual})
            with pytest.raises(LocalError, match=f"shares of w are for the linear kernel and {problems} problems"):
                gram_weights(run, at, columns, partition="vertical", problems=problems)
        assert not list(run.ledger), "nothing was sent"
