"""From the outcome of a run to its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.protocols.sums.secure_sum import PROTECTION
from tacit.registry import Outcome
from tacit.report.disclosures import traffic, unite
from tacit.report.report import Report, default_not_protected
from tacit.report.words import listing

ON_SPARK = (
    "Against whoever runs the cluster or the driver's code: Spark is one trust domain, and can read every partition."
)

MISSING = "missing"  # the note of who was left out
STAYED_AWAY = "nothing: it stayed away"


def report_on(
    estimator: Any,
    federation: Federation,
    outcome: Outcome,
    *,
    not_protected: Sequence[str] = (),
    protection: str | None = None,
) -> Report:
    """Return what `fit` leaves in `report_`; `protection` is given where it is not that of a secure sum."""
    name, history, trained, concerns = type(estimator).__name__, outcome.history, outcome.ledger.opens, outcome.concerns
    outcome, *later = [run for run in (federation.alignment, outcome) if run is not None]
    report = Report(
        title=_title(name, federation),
        estimator=name,
        params=estimator.get_params(),
        partition=federation.partition,
        runtime=federation.runtime,
        protection=protection or PROTECTION,
        parties={**_holdings_of_all(federation, list_absent(history)), **_site(federation)},
        rounds=outcome.ledger.rounds,
        seconds=outcome.seconds,
        cpu=dict(outcome.cpu),
        bytes=outcome.ledger.bytes,
        history=history,
        traffic=traffic(outcome.ledger),
        opens=list(outcome.ledger.opens),
        learnt=outcome.ledger.learnt(),
        not_protected=[
            *not_protected,
            *([ON_SPARK] if federation.runtime == "spark" else []),
            *default_not_protected(),
        ],
        warnings=[*federation.warnings, *concerns, *say_absent(history, name)],
    )
    for run in later:
        add_outcome(report, run)
    report.opens = list(
        dict.fromkeys([*trained, *report.opens])
    )  # what training opens is read first, though records were aligned before
    return report


def add_outcome(report: Report, outcome: Outcome) -> None:
    """Add what one more run on the same model disclosed and cost."""
    ledger = outcome.ledger
    report.traffic += [(report.rounds + at, report.bytes + size) for at, size in traffic(ledger)]
    report.rounds, report.bytes, report.seconds = (
        report.rounds + ledger.rounds,
        report.bytes + ledger.bytes,
        report.seconds + outcome.seconds,
    )
    for party, seconds in outcome.cpu.items():
        report.cpu[party] = report.cpu.get(party, 0.0) + seconds
    report.opens += [opened for opened in ledger.opens if opened not in report.opens]
    report.learnt = unite([*report.learnt, *ledger.learnt()])


def list_absent(history: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the parties that a run was played without, as its notes say."""
    return tuple(dict.fromkeys(name for note in history if MISSING in note for name in note[MISSING].split(", ")))


def say_absent(history: Sequence[Mapping[str, Any]], what: str = "this") -> list[str]:
    """Return a line about the parties that a run was played without; none if all were there."""
    absent = list_absent(history)
    return [f"{what} is without the records of {listing(absent)}, which stayed away"] if absent else []


def holdings(federation: Federation, party: str, part: Part) -> str:
    """Return what a party holds, in words."""
    held = _count_records(part) if federation.holds_records else _named(federation, party, part)
    return held + (", and coordinates" if party == federation.coordinator else "")


def _holdings_of_all(federation: Federation, absent: Sequence[str]) -> dict[str, str]:
    present = {p: holdings(federation, p, part) for p, part in federation.parts.items() if p not in absent}
    return {**present, **dict.fromkeys(absent, STAYED_AWAY)}


def _title(name: str, federation: Federation) -> str:
    records = (
        f" on {federation.n_rows} records" if federation.holds_records else ""
    )  # elsewhere, and not for us to count
    return f"{name}{records} between {len(federation)} parties"


def _count_records(part: Part) -> str:
    size = (
        f"{len(part.X)} records, {part.X.shape[1]} columns" if part.owned is None else f"{int(part.owned.sum())} cells"
    )
    return size + (", the labels" if part.y is not None else "")


def _named(federation: Federation, party: str, part: Part) -> str:
    """Return the names of features as far as they were agreed: parties that are elsewhere show no data."""
    known = [name for name in part.features if name != f"{party}.*"] if federation.named else []
    own = {"vertical": "its own columns", "horizontal": "its own records"}.get(federation.partition, "its own cells")
    share = ", ".join(known) if known and federation.partition == "vertical" else own
    return share + (", the labels" if federation.labeller in {None, party} else "")


def _site(federation: Federation) -> dict[str, str]:
    return {} if federation.coordinator in federation.parts else {federation.coordinator: "no data; coordinates"}
