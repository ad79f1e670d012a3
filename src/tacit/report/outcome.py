"""From the outcome of a run to its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.data import Federation
from tacit.data.part import Part
from tacit.protocols.secure_sum import protects
from tacit.registry import Outcome
from tacit.report.disclosures import traffic, united
from tacit.report.report import Report, default_not_protected

ON_SPARK = "Against whoever runs the cluster or the driver's code: Spark is one trust domain, and can read every partition."


def report_on(
    estimator: Any, federation: Federation, outcome: Outcome, *, not_protected: Sequence[str] = (), protection: str | None = None
) -> Report:
    """What `fit` leaves in `report_`; `protection` where it is not that of a secure sum."""
    name, history, trained = type(estimator).__name__, outcome.history, outcome.ledger.opens
    outcome, *later = [run for run in (federation.alignment, outcome) if run is not None]
    report = Report(
        title=_title(name, federation),
        estimator=name,
        params=estimator.get_params(),
        partition=federation.partition,
        runtime=federation.runtime,
        protection=protection or protects(estimator.secure_sum, estimator.segments),
        parties={**{p: holdings(federation, p, part) for p, part in federation.parts.items()}, **_site(federation)},
        rounds=outcome.ledger.rounds,
        seconds=outcome.seconds,
        cpu=dict(outcome.cpu),
        bytes=outcome.ledger.bytes,
        history=history,
        traffic=traffic(outcome.ledger),
        opens=list(outcome.ledger.opens),
        learnt=outcome.ledger.learnt(),
        not_protected=[*not_protected, *([ON_SPARK] if federation.runtime == "spark" else []), *default_not_protected()],
        warnings=[*federation.warnings],
    )
    for run in later:
        add_outcome(report, run)
    report.opens = list(dict.fromkeys([*trained, *report.opens]))  # what training opens is read first, though records were aligned before
    return report


def add_outcome(report: Report, outcome: Outcome) -> None:
    """What one more run on the same model disclosed and cost."""
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
    report.learnt = united([*report.learnt, *ledger.learnt()])


def holdings(federation: Federation, party: str, part: Part) -> str:
    """What a party holds, in words."""
    held = _counted(part) if federation.simulated else _named(federation, party, part)
    return held + (", and coordinates" if party == federation.coordinator else "")


def _title(name: str, federation: Federation) -> str:
    records = f" on {federation.n_rows} records" if federation.simulated else ""  # elsewhere, and not for us to count
    return f"{name}{records} between {len(federation)} parties"


def _counted(part: Part) -> str:
    size = f"{len(part.X)} records, {part.X.shape[1]} columns" if part.owned is None else f"{int(part.owned.sum())} cells"
    return size + (", the labels" if part.y is not None else "")


def _named(federation: Federation, party: str, part: Part) -> str:
    """As far as it was agreed: parties that are elsewhere show no data."""
    known = [name for name in part.features if name != f"{party}.*"] if federation.named else []
    own = {"vertical": "its own columns", "horizontal": "its own records"}.get(federation.partition, "its own cells")
    share = ", ".join(known) if known and federation.partition == "vertical" else own
    return share + (", the labels" if federation.labeller in {None, party} else "")


def _site(federation: Federation) -> dict[str, str]:
    return {} if federation.coordinator in federation.parts else {federation.coordinator: "no data; coordinates"}
