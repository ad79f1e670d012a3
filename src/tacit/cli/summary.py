"""A report short enough for a terminal: its figures, and who learnt what, alike parties sharing a line."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tacit.choreo.ledger import Opened
from tacit.cli.output import table
from tacit.report import Report
from tacit.report.decision import list_learnt
from tacit.report.disclosures import BESIDES, list_known
from tacit.report.words import cost_of, figure


def figures(report: Report) -> list[tuple[str, str]]:
    """Return the cost, the gap to the centralised learner and the warnings, a line each."""
    gap = [(name, figure(value)) for name, value in (report.comparison or {}).items()]
    return [
        ("cost", cost_of(report.rounds, report.bytes, report.seconds)),
        *gap,
        *(("warning", text) for text in report.warnings),
    ]


def summarise_known(opens: Sequence[Opened]) -> list[tuple[str, str]]:
    """Return what each role knows as the outermost protocol sums it up, with what that cannot say itself."""
    return list_known(opened for opened in opens if opened.protocol in {opens[0].protocol, *BESIDES})


def print_disclosures(screen: Console, report: Report) -> None:
    """Print who knows what after a run; the ledger of every message is in the report."""
    moved = "random words, words under masks and public keys, which tell nothing"
    rows = [(who, "; ".join(facts)) for who, facts in list_learnt(report)]
    screen.print("\nWho knows what after training", style="bold")
    screen.print(table("who", "knows", rows=[*rows, ("", f"(what else moved: {moved})")]))
