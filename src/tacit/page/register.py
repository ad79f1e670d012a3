"""The register: everything that was ever opened from each dataset of this site, on a line of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from tacit.choreo.fact import Fact
from tacit.choreo.ledger import read_opened
from tacit.consortium.consent.asked import Asked
from tacit.consortium.consent.register import Register
from tacit.consortium.consent.register_file import Entry
from tacit.errors import LocalError
from tacit.page.readers import is_grave, rank
from tacit.page.visit import Views, Visit
from tacit.report.card import outermost

ASKED = 20  # looks at the data that are shown


@dataclass(frozen=True)
class Moment:
    """One job of the register: where it stands on the line, and what it opened to whom."""

    entry: Entry
    at: float  # 0 for the first entry of the dataset, 1 for the last
    opened: tuple[tuple[str, tuple[Fact, ...]], ...]


def show(visit: Visit) -> Response:
    """Show what was opened, by dataset, and which jobs were tried on the data."""
    state = visit.desk.state / "registers"
    datasets: dict[str, list[Entry]] = {}
    for entry in Register(state).entries():
        datasets.setdefault(entry.dataset, []).append(entry)
    asked = list(Asked(state).lines())[::-1][:ASKED]
    found = {name: place(entries) for name, entries in datasets.items()}
    return visit.page("register.html", datasets=found, asked=asked, grave=is_grave)


def place(entries: list[Entry]) -> list[Moment]:
    """Return the entries of a dataset, the latest first, each with its place on the line of time."""
    times = [entry.at for entry in entries]
    first, span = min(times), (max(times) - min(times)).total_seconds()
    return [Moment(e, _share(e.at, first, span), _opened(e)) for e in sorted(entries, key=lambda e: e.at, reverse=True)]


def _share(at: datetime, first: datetime, span: float) -> float:
    return round((at - first).total_seconds() / span, 4) if span else 1.0


def _opened(entry: Entry) -> tuple[tuple[str, tuple[Fact, ...]], ...]:
    """Return what each role knows since, the gravest first; nothing, of a line that another version wrote."""
    roles: dict[str, dict[Fact, None]] = {}
    try:
        for opened in outermost(read_opened(entry.opens)):
            roles.setdefault(opened.role, {}).update(dict.fromkeys(opened.facts))
    except LocalError:
        return ()
    ordered = [(role, tuple(sorted(facts, key=rank))) for role, facts in roles.items()]
    return tuple(sorted(ordered, key=lambda each: rank(each[1][0])))


VIEWS: Views = {("GET", "/register"): show}
