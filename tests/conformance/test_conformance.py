"""Every protocol, in one process and with every party apart, with 2, 3 and 5 parties, equals its reference.

What it tells is what a person approved: the golden ledger of three parties, or of the fewest that a case takes.
"""

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


def parties_of(case: Case) -> int:
    """Return how many parties a golden ledger is of."""
    return max(3, case.least)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_case_equals_its_reference_and_its_golden_ledger_and_so_does_every_party_in_its_own_thread(case):
    roster = case.roster(parties_of(case))
    result, (whole,) = together(case, roster)
    golden = LEDGERS / f"{case.name}.txt"
    if os.environ.get("TACIT_WRITE_LEDGERS"):
        golden.write_text(whole.template())
    assert golden.exists(), f"no golden ledger: make ledgers writes {golden.name}; read it before you commit it"
    assert whole.template() == golden.read_text()
    if not case.long:
        case.check(result, case.inputs(roster))
        check_apart(case, roster, whole)


@pytest.mark.parametrize(
    ("case", "n"),
    [
        pytest.param(case, n, id=f"{case.name}-{n}", marks=SLOW if n == 5 or case.long else ())
        for case in CASES.values()
        for n in PARTIES
        if n >= case.least and (case.long or n != parties_of(case))
    ],
)
def test_another_number_of_parties_equals_the_reference_too(case, n):
    roster = case.roster(n)
    result, (whole,) = together(case, roster)
    case.check(result, case.inputs(roster))
    if n != 2:
        check_apart(case, roster, whole)


def check_apart(case: Case, roster: Roster, whole: Ledger) -> None:
    """Check what parties in threads of their own make of a case, by its reference and the ledger of one process."""
    result, ledgers = apart_in_threads(case, roster)
    case.check(result, case.inputs(roster))
    for ledger in (*ledgers, *([] if case.long else [whole])):  # how often a study compares follows from its scores
        assert ledger.template() == whole.template()
        assert [(r.place, r.type) for r in ledger] == [(r.place, r.type) for r in ledgers[0]]
    for rows in zip(*ledgers, strict=True):
        seen = {r.bytes for r in rows} - {None}
        assert len(seen) == 1, "sender and receiver saw the same bytes, nobody else saw any"


def test_every_golden_file_belongs_to_a_case():
    assert {f.stem for f in LEDGERS.glob("*.txt")} == set(CASES)
