"""Every protocol over a real server, each party with its own connection and journal, equals its reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.case import merged, of_party
from conformance.cases import CASES
from organisations.relay import Meeting, Relay

LEDGERS = Path(__file__).parent.parent / "ledgers"
EVERY = 5  # of the cases, which are played between two and five parties too, as all are in one process


def sizes_of(number, case):
    """How many parties play a case here: as many as wrote its ledger, and of some cases fewer and more."""
    ledger = max(3, case.least)  # products of more than three factors are made in groups
    return {ledger, *(n for n in (2, 5) if number % EVERY == 0 and n >= case.least)}


SIZES = [
    pytest.param(case, n, id=f"{case.name}-{n}")
    for number, case in enumerate(CASES.values())
    for n in sorted(sizes_of(number, case))
]


@pytest.fixture(scope="module")
def relay(tmp_path_factory):
    with Relay(tmp_path_factory.mktemp("relay"), [f"p{i + 1}" for i in range(5)]) as relay:
        yield relay


@pytest.mark.parametrize(("case", "n"), SIZES)
def test_every_party_over_nats_equals_the_reference_and_writes_the_same_ledger(case, n, relay):
    roster = case.roster(n)
    inputs = case.inputs(roster)
    meeting = Meeting(relay, roster)
    try:
        played = meeting.play(lambda me, run: (case.run(run, of_party(inputs, me)), run.ledger.template()))
        assert meeting.errors == {}
    finally:
        meeting.close()
    assert relay.streams() == []
    case.check(merged({p: result for p, (result, _) in played.items()}), inputs)
    templates = {template for _, template in played.values()}
    assert len(templates) == 1
    if n == max(3, case.least):
        assert templates == {(LEDGERS / f"{case.name}.txt").read_text()}
