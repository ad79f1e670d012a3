"""Bad input and bad ciphertexts of gram SVMs: one clear line, and nothing is learnt from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from conformance.case import flat
from tacit.choreo import Asker, Coordinator, Holder, Labeller, LocalError, PeerError, Roster, decode_as, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation import Federation
from tacit.papers.gram import GramSVC
from tacit.papers.gram import algorithm1 as gram_algorithm1
from tacit.papers.gram.algorithm1 import DotProducts, EncryptedCells, RunningProducts
from tacit.papers.gram.arbitrary import gram_arbitrary
from tacit.papers.gram.secure_product import Reply, Upload
from tacit.papers.gram.vertical import gram_predict, gram_vertical
from tacit.runtimes.together import Together

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(6, 3)), np.arange(6) % 2
PARTS = Federation.simulate(X, Y, parties=3, partition="arbitrary", seed=1).parts
SETTING: dict[str, Any] = {"kernel": "linear", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0, "feature_range": 8.0}
KINDS = {kind.__name__: kind for kind in (Upload, Reply, EncryptedCells, RunningProducts, DotProducts)}
Change = Callable[[Any], Any]


class Meddling(Together):
    """Somebody between the parties exchanges the first message of a kind that has something in it."""

    kind, change = "", staticmethod(lambda message: message)

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int | None) -> Any:
        if place.rsplit("/", 1)[-1] == self.kind:
            outbox = dict(outbox)
            read = {pair: decode_as(KINDS[self.kind], frames) for pair, frames in outbox.items() if pair[0] != pair[1]}
            pair = next(pair for pair, message in read.items() if body_of(message).size)
            outbox[pair] = encode(self.change(read[pair]))
        return super()._exchange(place, outbox, wanted, missing)


def body_of(message: Any) -> Any:
    return message.body if hasattr(message, "body") else message.rows


def with_body(message: Any, body: Any) -> Any:
    return dataclasses.replace(message, **{"body" if hasattr(message, "body") else "rows": body})


def flipped(message: Any) -> Any:
    body = body_of(message).copy()
    body.reshape(-1)[-5] ^= 1
    return with_body(message, body)


def started(kind: str = "", change: Change = flipped, job: bytes = b"j") -> Meddling:
    roster = Roster({Holder: tuple(PARTS), Labeller: ("party-1",), Asker: ("party-1",), Coordinator: ("coordinator",)})
    run = Meddling(roster, job=job, entropy=RootEntropy(roster.parties, job))
    run.kind, run.change = kind, change  # type: ignore[assignment]
    return run


@contextmanager
def one_line(error: type[Exception], words: str) -> Iterator[None]:
    with pytest.raises(error, match=words) as told:
        yield
    assert "\n" not in str(told.value)


def types(run: Together) -> set[str]:
    return {row.type for row in run.ledger}


def train(run: Together, **params: Any) -> None:
    with run:
        flat(gram_arbitrary)(run, run.hold(Holder, PARTS), partition="arbitrary", **SETTING, **params)


def foreign(kind: str, **params: Any) -> Change:
    """The message of another run."""
    kept: list[Any] = []
    train(started(kind, lambda message: kept.append(message) or message, b"another"), **params)
    return lambda _: kept[0]


ALTERED = "was altered, or is of another run or place: nothing was computed from it; start again$"


PRODUCT = (("Upload", "the upload of a product"), ("Reply", "the reply of a product"))


@pytest.mark.parametrize("engine", ["bfv", "paillier"])
def test_a_bad_ciphertext_of_a_product_is_refused_before_anything_is_summed(engine):
    for kind, what in PRODUCT:
        for change in (flipped, foreign(kind, engine=engine)):
            run = started(kind, change)
            with one_line(PeerError, f"^{what} {ALTERED}"):
                train(run, engine=engine)
            assert not {"Masked", "Support"} & types(run)


BY_HAND = (
    ("EncryptedCells", "a message of cells of party-1", "RunningProducts"),
    ("RunningProducts", "a message of running products", "DotProducts"),
    ("DotProducts", "the message of dot products", "Support"),
)


def test_a_bad_ciphertext_of_algorithm_1_is_refused_where_it_arrives():
    for kind, what, later in BY_HAND:
        for change in (flipped, foreign(kind, method="algorithm1")):
            run = started(kind, change)
            with one_line(PeerError, f"^{what} {ALTERED}"):
                train(run, method="algorithm1")
            assert kind in types(run)
            assert later not in types(run)


def test_cells_that_are_too_few_are_refused_even_from_who_may_send_them(monkeypatch):
    real = gram_algorithm1.seal_cells

    def one_short(own: Any, tag: bytes, me: str) -> Any:
        return real({b: rows[me == "party-2" :] for b, rows in own.items()}, tag, me)

    monkeypatch.setattr(gram_algorithm1, "seal_cells", one_short)
    run = started()
    with one_line(PeerError, "^party-2 sent [0-9]+ encrypted cells where it owns [0-9]+: stop and ask it$"):
        train(run, method="algorithm1")
    assert "RunningProducts" not in types(run)


def test_a_coordinator_s_key_of_another_size_is_refused_before_a_cell_is_encrypted(monkeypatch):
    short = gram_algorithm1.PaillierKey(bytes(range(1, 129)))
    monkeypatch.setattr(gram_algorithm1, "public_part", lambda *_: short)
    run = started()
    with one_line(PeerError, "not a Paillier key of 2048 bits"):
        train(run, method="algorithm1")
    assert "EncryptedCells" not in types(run)


def test_new_records_outside_the_declared_range_are_refused_and_the_model_stays(monkeypatch):
    model = GramSVC(partition="arbitrary", feature_range=8.0, n_parties=3).fit(X, Y)
    before = model.decision_function(X)
    with monkeypatch.context() as patch:
        patch.setattr(Together, "_exchange", lambda *_: pytest.fail("something was sent"))
        with one_line(
            LocalError, "^a value of party-1 has size 9, outside the declared range of 8: scale it, or declare more$"
        ):
            model.predict(np.full((1, 3), 9.0))
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-5)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (9.0, "^a value of party-2 has size 9, outside the declared range of 8: scale it, or declare more$"),
        (np.inf, "^a value of party-2 is not a finite number: impute or remove it$"),
    ],
)
def test_columns_outside_the_declared_range_are_refused_before_anything_is_sent(value, words):
    parts = dict(Federation.simulate(X, Y, parties=3, partition="vertical", seed=1).parts)
    new = {**parts, "party-2": dataclasses.replace(parts["party-2"], X=np.full_like(parts["party-2"].X, value))}
    with one_line(LocalError, words), started() as run:
        flat(gram_vertical)(run, run.hold(Holder, new), **SETTING)
    assert not types(run)
    with started() as run:
        model = flat(gram_vertical)(run, run.hold(Holder, parts), **SETTING)
        sent = len(run.ledger)
        with one_line(LocalError, words):
            flat(gram_predict)(
                run,
                run.hold(Holder, new),
                model.dual,
                model.columns,
                squares=False,
                support=len(model.support),
                feature_range=8.0,
            )
        assert len(run.ledger) == sent


@pytest.mark.parametrize(
    ("change", "words"), [(99.0, "has size 99, outside the declared range of 8"), (np.nan, "NaN|missing|finite")]
)
def test_a_model_that_was_refused_is_no_model(change, words):
    bad = X.copy()
    bad[2, 1] = change
    model = GramSVC(partition="arbitrary", feature_range=8.0)
    with pytest.raises(ValueError, match=words):
        model.fit(bad, Y)
    assert not hasattr(model, "model_")
    assert not hasattr(model, "report_")
