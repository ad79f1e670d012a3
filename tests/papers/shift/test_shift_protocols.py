"""Shared shifts between parties: what is refused on the way, and what a key must survive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.case import flat
from papers.shift.cases import CASES, SHIFT, labelled_columns, labelled_rows
from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.papers.shift import ring, secret, vertical
from tacit.runtimes.together import Together

ROSTER = CASES[0].roster(3)


def played(train: Any, inputs: Any, roster: Roster = ROSTER, **how: Any) -> Any:
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        held = {name: run.hold(role, entries) for name, (role, entries) in inputs.items()}
        return flat(train)(run, **held, **{"kernel": "rbf", **SHIFT, **how})


def with_part(inputs: Any, party: str, part: Any) -> Any:
    parts = {**inputs["data"][1], party: part}
    return {**inputs, "data": (Holder, parts)}


@pytest.mark.parametrize("train", [ring.shift_ring, vertical.shift_vertical, secret.shift_secret_rows])
def test_kernels_that_see_a_shift_are_refused(train):
    inputs = labelled_columns(ROSTER) if train is vertical.shift_vertical else labelled_rows(ROSTER)
    for kernel in ("poly", "sigmoid"):
        words = f"kernel='{kernel}' changes when all records are shifted.* use 'linear' or 'rbf'"
        with pytest.raises(LocalError, match=words):
            played(train, inputs, kernel=kernel)


@pytest.mark.parametrize("train", [ring.shift_ring, secret.shift_secret_rows])
def test_records_without_labels_are_refused_before_anything_is_sent(train):
    inputs = labelled_rows(ROSTER)
    bare = part_of(inputs["data"][1]["p2"].X, None, None, inputs["data"][1]["p2"].features)
    with pytest.raises(LocalError, match="p2 has records without labels"):
        played(train, with_part(inputs, "p2", bare))


def test_parties_with_different_columns_are_refused():
    inputs = labelled_rows(ROSTER)
    part = inputs["data"][1]["p2"]
    with pytest.raises(
        PeerError, match="rows that are not of 7 columns arrived: a horizontal split needs the same features everywhere"
    ):
        played(ring.shift_ring, with_part(inputs, "p2", part_of(part.X[:, 1:], part.y, None, part.features[1:])))


def test_one_class_at_all_parties_is_refused():
    inputs = labelled_rows(ROSTER)
    parts = {p: part_of(part.X, np.zeros(len(part.X)), None, part.features) for p, part in inputs["data"][1].items()}
    with pytest.raises(LocalError, match="one class only"):
        played(ring.shift_ring, {**inputs, "data": (Holder, parts)})


def test_a_new_record_with_rows_missing_at_a_party_is_refused():
    inputs = labelled_columns(ROSTER)
    part = inputs["data"][1]["p2"]
    with pytest.raises(
        LocalError, match=r"party 'p2' has 59 records, 'p1' has 60: .* the same records in the same order"
    ):
        played(vertical.shift_vertical, with_part(inputs, "p2", part_of(part.X[1:], None, None, part.features)))


def test_a_secret_shift_refuses_a_coordinator_that_holds_data():
    roster = Roster({**ROSTER.roles, Coordinator: ("p2",)})
    with pytest.raises(LocalError, match="'p2' holds some: name a site without data"):
        played(secret.shift_secret_rows, labelled_rows(roster), roster)


def test_a_second_pass_with_other_blocks_than_the_first_is_refused():
    seen = ring.Collected((np.zeros((2, 3)), np.zeros((4, 3))))
    with pytest.raises(PeerError, match="the blocks of the second pass are not those of the first"):
        ring.collect_blocks(seen, 2, ring.Completed(np.zeros((3, 3))))
    with pytest.raises(PeerError, match="2 blocks came around a ring of 3 holders"):
        ring.pass_remaining(seen, 3)


def test_a_key_under_another_pad_does_not_open():
    entropy = RootEntropy(("p1", "p2"), b"r")
    told = secret.share_key(bytes(range(32)), entropy.pads("p1", {"p2": b"s" * 32}, b"tag"), "p1")
    assert secret.open_key(told["p2"], entropy.pads("p2", {"p1": b"s" * 32}, b"tag"), "p2", "p1") == bytes(range(32))
    with pytest.raises(PeerError, match="does not open: the parties were told different things"):
        secret.open_key(told["p2"], entropy.pads("p2", {"p1": b"s" * 32}, b"another tag"), "p2", "p1")
    with pytest.raises(PeerError, match="a key of another length"):
        secret.open_key(secret.GroupKey(told["p2"].words[:3]), None, "p2", "p1")


def test_a_constant_table_gets_a_gamma_of_1_under_any_shift():
    X = np.full((20, 3), 1.0 / 3.0) + 1e4 / 7.0
    X[::2] = np.nextafter(X[::2], np.inf)
    Z = X - X.mean(axis=0)
    assert ring.spread_gamma("scale", Z, np.einsum("ij,ij->i", Z, Z), X) == 1.0
