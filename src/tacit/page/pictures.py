"""Pictures: who could work out whose records with whom, who sends to whom, and plots that obey the page's policy."""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from tacit.choreo.ledger import read_template
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.requests import sites_of
from tacit.federation.exposure import Exposure

Mark = Literal["joins", "may join", "is worked out", "may be worked out"]
WIDE, HIGH = 640, 340  # of the picture of who sends to whom
EDGE_X, EDGE_Y = 90, 44  # that is left free around the sites
SEPARATE = re.compile(r"\s*;\s*")
FONT = re.compile(r"(?:(?P<weight>bold|\d{3})\s+)?(?P<size>[\d.]+)px\s+(?P<family>.+)")


@dataclass(frozen=True)
class Row:
    """One coalition: what each site is in it, and the text that says it."""

    marks: dict[str, Mark]
    text: str


def draw_coalitions(job: Job, exposures: list[Exposure]) -> list[Row]:
    """Return a row for each coalition that can work out records."""
    return [Row(_marks(job, found), found.text) for found in exposures]


def _marks(job: Job, found: Exposure) -> dict[str, Mark]:
    sites = job.roster.parties
    if found.who == "alone":
        return {site: "joins" if site == found.site else "is worked out" for site in sites}
    if found.who == "with one":
        return {site: _with_one(site, found) for site in sites}
    if found.who == "members":
        return {site: _of_members(site, found, job.coordinator) for site in sites}
    return {site: "may be worked out" if site in found.parties else "joins" for site in sites}


def _with_one(site: str, found: Exposure) -> Mark:
    if site == found.site:
        return "joins"
    return "may join" if site in found.parties else "is worked out"


def _of_members(site: str, found: Exposure, coordinator: str) -> Mark:
    if site in found.parties:
        return "joins"
    return "may join" if site == coordinator else "is worked out"


@dataclass(frozen=True)
class Place:
    """A site in the picture of who sends to whom."""

    name: str
    x: float
    y: float


@dataclass(frozen=True)
class Line:
    """Messages from one site to another, as the disclosure allows them."""

    sender: str
    receiver: str
    x1: float
    y1: float
    x2: float
    y2: float


def seat_sites(job: Job) -> dict[str, Place]:
    """Return where each site stands: the coordinator in the middle, the others around it."""
    site, around = job.coordinator, job.parties
    places = {site: Place(site, WIDE / 2, HIGH / 2)}
    for i, party in enumerate(around):
        angle = -math.pi / 2 + 2 * math.pi * (i + 0.5) / len(around)
        x, y = WIDE / 2 + (WIDE / 2 - EDGE_X) * math.cos(angle), HIGH / 2 + (HIGH / 2 - EDGE_Y) * math.sin(angle)
        places[party] = Place(party, round(x, 1), round(y, 1))
    return places


def draw_lines(job: Job, places: dict[str, Place]) -> list[Line]:
    """Return a line for each two sites between which the disclosure of a job lets messages go."""
    pairs: dict[tuple[str, str], None] = {}
    for line in read_template(job.disclosure):
        if not line.opens:
            senders, receivers = (sites_of(job, role) for role in line.roles.split(" > "))
            pairs.update(dict.fromkeys((a, b) for a in senders for b in receivers if a != b))
    return [_line(places[a], places[b]) for a, b in pairs]


def _line(a: Place, b: Place) -> Line:
    """Return a line beside the way between two places, so that the one back has room."""
    length = math.dist((a.x, a.y), (b.x, b.y)) or 1.0
    dx, dy = 5 * (b.y - a.y) / length, 5 * (a.x - b.x) / length
    ends = (a.x + dx, a.y + dy, b.x + dx, b.y + dy)
    return Line(a.name, b.name, *(round(end, 1) for end in ends))


def inline_plot(svg: str) -> Markup:
    """Return a plot of a report whose look is in attributes: styles in the text are what the page's policy forbids."""
    return Markup(re.sub(r'\sstyle="([^"]*)"', lambda found: _attributes(found[1]), svg))  # noqa: S704 - made by `report`


def _attributes(style: str) -> str:
    found: dict[str, str] = {}
    for rule in filter(None, SEPARATE.split(html.unescape(style))):
        name, _, value = rule.partition(":")
        font = FONT.fullmatch(value.strip()) if name.strip() == "font" else None
        if font is None:
            found[name.strip()] = value.strip()
        else:
            found |= {"font-size": font["size"], "font-weight": font["weight"] or "normal"}
    return "".join(f' {name}="{html.escape(value)}"' for name, value in found.items())
