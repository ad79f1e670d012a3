"""The gram matrix of cells with any owners.

Every engine gives the same integers, and bad input is refused before anything is sent.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from conformance.case import flat
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.numeric.ring.triangle import unpack
from tacit.papers.gram.algorithm1 import gram_algorithm1
from tacit.papers.gram.arbitrary import gram_arbitrary, gram_products
from tacit.papers.gram.cells import Multiply, integers
from tacit.protocols.blind.owners import agreed_range, ownership
from tacit.protocols.sums.secure_sum import protect
from tacit.runtimes.together import Together

RNG = np.random.default_rng(3)
X = RNG.normal(scale=3.0, size=(10, 4))
Y = np.arange(10) % 2
SETTING: dict[str, Any] = {"kernel": "linear", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0}


def cut(partition: str, parties: int = 3) -> dict[str, Part]:
    return Federation.simulate(X, Y, parties=parties, partition=partition, seed=4).parts  # type: ignore[arg-type]


def started(parts: dict[str, Part]) -> Together:
    names = tuple(parts)
    roster = Roster({Holder: names, Labeller: names[:1], Asker: names[:1], Coordinator: ("coordinator",)})
    return Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r"))


def gram(parts: dict[str, Part], partition: str, multiply: Multiply, *, algorithm1: bool = False) -> Any:
    with started(parts) as run:
        data = run.hold(Holder, parts)
        owners, by = ownership(run, data, partition), protect(run)
        if not algorithm1:
            return unpack(
                gram_products(run, data, owners=owners, multiply=multiply, by=by)._entries["coordinator"], len(X)
            )
        cells = multiply.cells(agreed_range(run, [data], multiply.feature_range, by), owners.shape[1])
        table = run.local(Holder, integers, data, cells, run.who(Holder))
        return unpack(gram_algorithm1(run, table, owners=owners, cells=cells)._entries["coordinator"], len(X))


def rounded(bits: int, exponent: int) -> Any:
    return np.rint(X * 2.0 ** (bits - exponent)) / 2.0 ** (bits - exponent)


@pytest.mark.parametrize(
    "multiply", [Multiply(), Multiply(engine="paillier"), Multiply(feature_bits=26, feature_range=16.0)]
)
def test_it_is_exactly_the_gram_matrix_of_the_rounded_records(multiply):
    G = gram(cut("arbitrary"), "arbitrary", multiply)
    A = rounded(multiply.feature_bits or 22, 4)
    np.testing.assert_array_equal(G, A @ A.T)
    assert np.linalg.eigvalsh(G).min() > -1e-12 * np.trace(G)


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_the_papers_algorithm_1_gives_the_same_integers(partition):
    parts = cut(partition)
    np.testing.assert_array_equal(
        gram(parts, partition, Multiply(), algorithm1=True), gram(parts, partition, Multiply())
    )


def test_columns_are_not_multiplied_and_nothing_is_sent_for_it():
    with started(cut("vertical")) as run:
        flat(gram_arbitrary)(run, run.hold(Holder, cut("vertical")), partition="vertical", **SETTING)
    assert not {"Upload", "Reply"} & {row.type for row in run.ledger}


def test_the_same_upload_goes_to_all_peers():
    with started(cut("horizontal", 5)) as run:
        flat(gram_arbitrary)(run, run.hold(Holder, cut("horizontal", 5)), partition="horizontal", **SETTING)
    sent = [(row.sender, row.bytes) for row in run.ledger if row.type == "Upload" and (row.bytes or 0) > 1000]
    assert len(sent) == 10  # one for each pair
    assert len(set(sent)) == len({sender for sender, _ in sent}) == 5


@pytest.mark.parametrize(
    ("change", "params", "words"),
    [
        ({"X": X[:, :4] * np.nan, "owned": None}, {}, "a value of party-2 is not a finite number"),
        ({"X": np.where(Y[:, None] == 1, X, 99.0)}, {}, "party-2 has a value in a cell that it does not own"),
        ({}, {"feature_range": 0.5}, "has size .*, outside the declared range of 0.5: scale it, or declare more"),
        (
            {},
            {"method": "guess"},
            "unknown method 'guess' of a gram matrix: use one of product, algorithm1, intersection",
        ),
        ({}, {"method": "intersection"}, "takes zeros and ones"),
        ({}, {"engine": "ckks"}, "unknown engine 'ckks' of a product: use one of bfv, paillier"),
        ({}, {"engine": "paillier", "key_bits": 1024}, "a Paillier key has 2048 or 3072 bits, got 1024"),
    ],
)
def test_bad_input_is_refused(change, params, words):
    parts = cut("arbitrary")
    parts["party-2"] = dataclasses.replace(parts["party-2"], **change)
    with started(parts) as run, pytest.raises(LocalError, match=words):
        flat(gram_arbitrary)(run, run.hold(Holder, parts), partition="arbitrary", **SETTING, **params)
    assert not list(run.ledger), "nothing was sent"


@pytest.mark.parametrize(("owns", "words"), [(True, r"owned by 'party-1' and 'party-2'"), (False, r"owned by nobody")])
def test_a_cell_of_two_or_of_nobody_is_refused_before_any_cell_is_used(owns, words):
    parts = cut("arbitrary")
    first, second = (parts[p].owned.copy() for p in ("party-1", "party-2"))
    i, j = np.argwhere(first)[0]
    second[i, j] = owns
    first[i, j] = owns
    parts["party-1"] = dataclasses.replace(parts["party-1"], owned=first, X=np.where(first, parts["party-1"].X, 0.0))
    parts["party-2"] = dataclasses.replace(parts["party-2"], owned=second)
    with started(parts) as run, pytest.raises(LocalError, match=words):
        flat(gram_arbitrary)(run, run.hold(Holder, parts), partition="arbitrary", **SETTING)
    assert {row.type for row in run.ledger} == {"Owned"}


def test_algorithm_1_is_for_small_tables():
    many = Federation.simulate(
        RNG.normal(size=(201, 2)), np.arange(201) % 2, parties=3, partition="arbitrary", seed=0
    ).parts
    with started(many) as run, pytest.raises(LocalError, match="up to 200 records, got 201: use method='product'"):
        flat(gram_arbitrary)(run, run.hold(Holder, many), partition="arbitrary", method="algorithm1", **SETTING)
    assert {row.type for row in run.ledger} == {"Owned"}


def test_more_bits_than_a_ring_has_are_refused():
    with pytest.raises(
        LocalError, match="dot products of 4 columns of 28 bits need 60 bits and have 59: lower feature_bits"
    ):
        Multiply(feature_bits=28).cells(0, 4)


def test_the_range_that_everyone_learns_is_the_smallest_power_of_two_whoever_has_the_largest_value():
    parts = cut("horizontal")
    with started(parts) as run:
        data, by = run.hold(Holder, parts), protect(run)
        assert agreed_range(run, [data], None, by) == int(np.ceil(np.log2(np.abs(X).max())))
        assert agreed_range(run, [data], 100.0, by) == 7


@pytest.mark.slow
def test_nine_owners_get_the_gram_matrix_of_the_pooled_table():
    """001, Fig. 4."""
    parts = cut("arbitrary", 9)
    np.testing.assert_array_equal(gram(parts, "arbitrary", Multiply()), rounded(22, 4) @ rounded(22, 4).T)
