"""Every protocol, in one process and with every party apart, with 2, 3 and 5 parties, equals its reference."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.case import Case, merged, of_party
from conformance.cases import CASES
from tacit.choreo import Ledger, Roster, Run
from tacit.crypto.pads.entropy import RootEntropy
from tacit.runtimes.apart import in_threads
from tacit.runtimes.together import Together

LEDGERS = Path(__file__).parent.parent / "ledgers"
PARTIES = (2, 3, 5)
SLOW = pytest.mark.slow


def sizes(*quick: int) -> list[Any]:
    """Every case with every number of parties; those that are not quick are left to `make test-all`."""
    every = [(case, n) for case in CASES.values() for n in PARTIES if n >= case.least]
    return [
        pytest.param(case, n, id=f"{case.name}-{n}", marks=() if _is_quick(case, n, quick) else SLOW)
        for case, n in every
    ]


def _is_quick(case: Case, n: int, quick: tuple[int, ...]) -> bool:
    return not case.long and (n in quick or n == case.least > 3)


def together(case: Case, roster: Roster) -> tuple[Any, list[Ledger]]:
    inputs = case.inputs(roster)
    with Together(roster, job=b"conformance", entropy=RootEntropy(roster.parties, b"conformance")) as run:
        return merged({"all": case.run(run, inputs)}), [run.ledger]


def apart_in_threads(case: Case, roster: Roster) -> tuple[Any, list[Ledger]]:
    inputs = case.inputs(roster)

    def play(run: Run) -> tuple[Any, Ledger]:
        return case.run(run, of_party(inputs, run.present[0])), run.ledger

    done = in_threads(roster, play, job=b"conformance", entropy=lambda me: RootEntropy([me], b"conformance"))
    return merged({p: result for p, (result, _) in done.items()}), [ledger for _, ledger in done.values()]


@pytest.mark.parametrize(("case", "n"), sizes(2, 3))
def test_together_equals_the_centralised_reference(case, n):
    roster = case.roster(n)
    result, _ = together(case, roster)
    case.check(result, case.inputs(roster))


@pytest.mark.parametrize(("case", "n"), sizes(3))
def test_every_party_in_its_own_thread_equals_the_reference_and_writes_the_same_ledger(case, n):
    roster = case.roster(n)
    result, ledgers = apart_in_threads(case, roster)
    case.check(result, case.inputs(roster))
    _, (whole,) = together(case, roster)
    for ledger in (*ledgers, *([] if case.long else [whole])):  # how often a study compares follows from its scores
        assert ledger.template() == whole.template()
        assert [(r.place, r.type) for r in ledger] == [(r.place, r.type) for r in ledgers[0]]
    for rows in zip(*ledgers, strict=True):
        seen = {r.bytes for r in rows} - {None}
        assert len(seen) == 1, "sender and receiver saw the same bytes, nobody else saw any"


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_ledger_equals_the_golden_file_that_a_person_approved(case):
    _, (ledger,) = together(case, case.roster(max(3, case.least)))
    golden = LEDGERS / f"{case.name}.txt"
    if os.environ.get("TACIT_WRITE_LEDGERS"):
        golden.write_text(ledger.template())
    assert golden.exists(), f"no golden ledger: make ledgers writes {golden.name}; read it before you commit it"
    assert ledger.template() == golden.read_text()


def test_every_golden_file_belongs_to_a_case():
    assert {f.stem for f in LEDGERS.glob("*.txt")} == set(CASES)
