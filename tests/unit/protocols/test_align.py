"""Alignment refuses before it sends, opens nothing below min_records, and does not believe what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.intersection_reference import check_align, digested, id_sets
from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Roster
from tacit.crypto.entropy import RootEntropy
from tacit.protocols import align as protocol
from tacit.runtimes.together import Together


def played(sets: dict[str, Any], *, site: str = "site", **params: Any) -> tuple[Any, Together]:
    roster = Roster({Holder: tuple(sets), Coordinator: (site,)})
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r"), progress=params.pop("progress", None)) as run:
        result = protocol.align(run, run.hold(Holder, sets), **params)
        return {k: v._entries if k == "rows" else v for k, v in result.items()}, run


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
    with pytest.raises(LocalError, match="alignment needs two parties that do not coordinate, or the counting would open ids"):
        played(id_sets(["p1", "p2"]), site="p1")


def test_the_order_is_another_in_every_run_and_no_one_s_own():
    sets = {p: digested([str(i) for i in range(40)]) for p in ("p1", "p2")}
    first, second = (played(sets)[0]["rows"]["p1"] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(40))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(40))


@pytest.mark.parametrize(("least", "said"), [(15, "fewer than 15 records are common to all parties"), (999, "fewer than 999")])
def test_too_few_are_one_line_and_nothing_opens(least, said):
    sets, told = id_sets(["p1", "p2", "p3"]), []
    with pytest.raises(LocalError, match=f"{said}.*, and nothing more was opened: are their ids written alike"):
        played(sets, min_records=least, progress=lambda *args: told.append(args))
    assert told[-1][1:] == (1, 1), "the progress bar is told"


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
    monkeypatch.setattr(protocol, "counted", lambda marks, _least: protocol.Count(int(marks.sum()) - 1))
    with pytest.raises(PeerError, match="the coordinator published 13 common ids and marked others: stop and ask it"):
        played(id_sets(["p1", "p2", "p3"]))


def test_a_first_holder_that_opens_what_others_lack_is_not_believed(monkeypatch):
    real = protocol.named

    def lying(ids: Any, values: Any, told: Any, key: bytes, common: int) -> Any:
        opening = real(ids, values, told, key, common)
        return protocol.Opening(key, opening.names ^ np.uint8(1))

    monkeypatch.setattr(protocol, "named", lying)
    with pytest.raises(PeerError, match="the first holder opened ids that are not here"):
        played(id_sets(["p1", "p2", "p3"]))


@pytest.mark.parametrize(
    ("step", "told", "said"),
    [
        ("answer", lambda *_: protocol.Answered(np.zeros((3, 32), np.uint8)), "ids were asked about and 3 answered"),
        ("answer", lambda asked, _: protocol.Answered(np.zeros_like(asked.points)), "no point of ristretto255"),
        ("stored", lambda *_: protocol.Store(np.zeros((300, 3), np.uint64)), r"store arrived in shape \(300, 3\)"),
        ("stored", lambda *_: protocol.Store(np.zeros((30, 2), np.uint64)), "at least 256 columns, this one 30"),
    ],
)
def test_answers_that_cannot_be_are_a_peer_s_fault(step, told, said, monkeypatch):
    monkeypatch.setattr(protocol, step, told)
    with pytest.raises(PeerError, match=said):
        played(id_sets(["p1", "p2", "p3"]))
