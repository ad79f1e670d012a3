"""From the outcome of a run to its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.data import Federation
from tacit.data.part import Part
from tacit.protocols.secure_sum import protects
from tacit.registry import Outcome
from tacit.report.disclosures import traffic
from tacit.report.report import Report, default_not_protected


def report_on(
    estimator: Any, federation: Federation, outcome: Outcome, *, not_protected: Sequence[str] = (), protection: str | None = None
) -> Report:
    """What `fit` leaves in `report_`; `protection` where it is not that of a secure sum."""
    name = type(estimator).__name__
    return Report(
        title=_title(name, federation),
        estimator=name,
        params=estimator.get_params(),
        partition=federation.partition,
        runtime=federation.runtime,
        protection=protection or protects(estimator.secure_sum, estimator.segments),
        parties={**{p: holdings(federation, p, part) for p, part in federation.parts.items()}, **_site(federation)},
        rounds=outcome.ledger.rounds,
        seconds=outcome.seconds,
        cpu=outcome.cpu,
        bytes=outcome.ledger.bytes,
        history=outcome.history,
        traffic=traffic(outcome.ledger),
        opens=list(outcome.ledger.opens),
        learnt=outcome.ledger.learnt(),
        not_protected=[*not_protected, *default_not_protected()],
        warnings=[*federation.warnings],
    )


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
