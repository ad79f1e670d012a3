"""Alignment refuses before it sends, opens nothing below min_records, and does not believe what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.case import by_name, merged
from conformance.intersection_reference import check_align, digested, id_sets
from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.crypto.sets import key_value_store, transfer
from tacit.protocols.align import alignment as protocol
from tacit.protocols.align import blind_function as blind
from tacit.runtimes.together import Together


def played(sets: dict[str, Any], *, site: str = "site", **params: Any) -> tuple[Any, Together]:
    roster = Roster({Holder: tuple(sets), Coordinator: (site,)})
    with Together(
        roster, job=b"j", entropy=RootEntropy(roster.parties, b"r"), progress=params.pop("progress", None)
    ) as run:
        result = protocol.align(run, run.hold(Holder, sets), **params)
        return merged({"all": by_name(result)}), run


def test_ten_parties_find_what_all_of_them_have():
    sets = id_sets([f"p{i}" for i in range(10)])
    check_align(played(sets)[0], sets)


@pytest.mark.parametrize("site", ["p1", "p2", "p3"])
def test_one_of_three_may_count(site):
    sets = id_sets(["p1", "p2", "p3"])
    result, run = played(sets, site=site)
    check_align(result, sets)
    assert site not in {row.sender for row in run.ledger if row.type == "Tokens"}


def test_one_of_two_may_not():
    with pytest.raises(
        LocalError, match="alignment needs two parties that do not coordinate, or the counting would open ids"
    ):
        played(id_sets(["p1", "p2"]), site="p1")


def test_the_order_is_another_in_every_run_and_no_one_s_own():
    sets = {p: digested([str(i) for i in range(40)]) for p in ("p1", "p2")}
    first, second = (played(sets)[0]["rows"]["p1"] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(40))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(40))


@pytest.mark.parametrize(
    ("least", "said"), [(15, "fewer than 15 records are common to all parties"), (999, "fewer than 999")]
)
def test_too_few_are_one_line_and_nothing_opens(least, said):
    sets, told = id_sets(["p1", "p2", "p3"]), []
    with pytest.raises(LocalError, match=f"{said}.*, and nothing more was opened: are their ids written alike"):
        played(sets, min_records=least, progress=told.append)
    assert told


def test_none_in_common_is_said_in_words():
    with pytest.raises(LocalError, match="no record is common to all parties, and nothing more was opened"):
        played({"p1": digested(["a"]), "p2": digested(["b"])}, min_records=1)


def test_bad_input_is_refused_before_anything_is_sent(monkeypatch):
    monkeypatch.setattr(Together, "_exchange", lambda *_: pytest.fail("something was sent"))
    good = digested(["a", "b"])
    with pytest.raises(LocalError, match="p2 has an id twice: every record needs an id of its own"):
        played({"p1": good, "p2": digested(["a", "a"])})
    with pytest.raises(LocalError, match="the ids of p1 must be at least one digest of 32 bytes"):
        played({"p1": good[:0], "p2": good})
    with pytest.raises(LocalError, match="min_records=0: at least one record"):
        played({"p1": good, "p2": good}, min_records=0)


def test_the_count_alone_opens_no_id():
    result, run = played(id_sets(["p1", "p2", "p3"]), count_only=True)
    assert result == {"count": 14}
    assert "open_common" not in {opened.protocol for opened in run.ledger.opens}


def test_a_coordinator_whose_marks_are_not_its_count_is_not_believed(monkeypatch):
    monkeypatch.setattr(protocol, "count_common", lambda marks, _least: protocol.Count(int(marks.sum()) - 1))
    with pytest.raises(
        PeerError, match="the coordinator published 13 common ids and marked another number of them: stop and ask it"
    ):
        played(id_sets(["p1", "p2", "p3"]))


def test_a_first_holder_that_opens_what_others_lack_is_not_believed(monkeypatch):
    real = protocol.name_common

    def lying(ids: Any, values: Any, told: Any, key: bytes, common: int) -> Any:
        opening = real(ids, values, told, key, common)
        return protocol.Opening(key, opening.names ^ np.uint8(1))

    monkeypatch.setattr(protocol, "name_common", lying)
    with pytest.raises(PeerError, match="the first holder opened ids that are not here"):
        played(id_sets(["p1", "p2", "p3"]))


def test_tokens_that_are_not_as_many_as_the_published_ids_are_refused(monkeypatch):
    real = protocol.list_tokens
    monkeypatch.setattr(
        protocol, "list_tokens", lambda values: protocol.Tokens(np.repeat(real(values).hashes, 2, axis=0))
    )
    with pytest.raises(PeerError, match=r"tokens of 16 bytes are due, and shape .* came: stop and ask the sender"):
        played(id_sets(["p1", "p2", "p3"]))


@pytest.mark.parametrize("block", [128, 300, 1 << 18])
def test_columns_may_come_in_any_number_of_blocks(block):
    sets = id_sets(["p1", "p2", "p3"])
    check_align(played(sets, block=block)[0], sets)


def test_codes_are_salted_by_the_size_that_was_published_before(monkeypatch):
    """Who could choose its ids by their codes would have published how many there are already."""
    salts, real = [], blind.encode_ids
    monkeypatch.setattr(blind, "encode_ids", lambda ids, salt, columns: salts.append(salt) or real(ids, salt, columns))
    other, roots = digested(list("ab")), {p: p.encode().ljust(32) for p in ("p1", "p2", "site")}
    for held in ("ab", "cb", "abc"):
        roster = Roster({Holder: ("p1", "p2"), Coordinator: ("site",)})
        with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r", roots)) as run:
            protocol.align(run, run.hold(Holder, {"p1": digested(list(held)), "p2": other}), min_records=1)
    assert salts[0] == salts[1] != salts[2]


def test_a_run_that_is_taken_up_with_other_ids_puts_them_under_other_pads():
    """U + U' under the same pads would be P + P', which tells of both sets of ids."""
    secret, (ids, others) = bytes(32), (digested(list("abc")), digested(list("abd")))
    assert blind.bind_secret(ids, secret) == blind.bind_secret(ids, secret) != blind.bind_secret(others, secret)
    salt, columns = b"salt", key_value_store.count_columns(3)
    chosen = transfer.choose(blind.make_offer(blind.bind_secret(ids, secret), "p2").point, bytes(range(32)))
    sent = []
    for held in (ids, others):
        keys = blind.make_keys(blind.bind_secret(held, secret), "p2", blind.show_choices(chosen))
        P = blind.encode_ids(held, salt, columns)
        sent.append((P, blind.mask_codes(P, keys, 0, columns).words))
    (P, U), (other, V) = sent
    assert ((P ^ other) == 0).all(axis=1).any(), "the same pads would show columns that are equal"
    seen, would_be = U ^ V, P ^ other
    assert not (seen == would_be).all(axis=1).any()


@pytest.mark.parametrize(
    ("where", "step", "told", "said"),
    [
        (blind, "make_offer", lambda *_: blind.Offer(np.full(32, 255, np.uint8)), "not a point of ristretto255"),
        (blind, "make_offer", lambda *_: blind.Offer(np.zeros(32, np.uint8)), "not a point of ristretto255"),
        (
            blind,
            "make_offer",
            lambda *_: blind.Offer(np.zeros(31, np.uint8)),
            r"a point of 32 bytes, this one .*\(31,\)",
        ),
        (blind, "show_choices", lambda _: blind.Choices(np.zeros((448, 32), np.uint8)), "not a point of ristretto255"),
        (blind, "show_choices", lambda _: blind.Choices(np.zeros((3, 32), np.uint8)), "448 points must be chosen"),
        (blind, "mask_codes", lambda *_: blind.Masked(np.zeros((64, 7), np.uint64)), r"320 masked columns were due"),
        (blind, "mask_codes", lambda *_: blind.Masked(np.zeros((320, 6), np.uint64)), r"320 masked columns were due"),
        (
            protocol,
            "fill_store",
            lambda *_: protocol.Store(np.zeros((300, 3), np.uint64)),
            r"store arrived in shape \(300, 3\)",
        ),
        (
            protocol,
            "fill_store",
            lambda *_: protocol.Store(np.zeros((30, 2), np.uint64)),
            "at least 256 columns.* this one 30",
        ),
        (protocol, "fill_store", lambda *_: protocol.Store(np.zeros((300, 2), np.uint64)), "words of 64, this one 300"),
    ],
)
def test_answers_that_cannot_be_are_a_peer_s_fault(where, step, told, said, monkeypatch):
    monkeypatch.setattr(where, step, told)
    with pytest.raises(PeerError, match=said):
        played(id_sets(["p1", "p2", "p3"]))
