"""Who sends to whom: the sites around the coordinator, an arrow for everything that crossed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyArrowPatch

from tacit.choreo.ledger import Learnt
from tacit.report.canvas import ACCENT, INK, MUTED, colours, draw, entitle, short
from tacit.report.words import listing

Point = tuple[float, float]
BEND = 0.14
WIDE, HIGH = 3.4, 1.9  # half axes of the ellipse the sites stand on
STEEP = 0.3
STEP = 0.22  # from one line of a label to the next
FEW = 6  # with more sites around the hub, equal arrows are labelled once


@dataclass(frozen=True)
class Arrow:
    """All messages from one site to another: (type, how often)."""

    sender: str
    receiver: str
    carries: tuple[tuple[str, int], ...]


def flow(learnt: Sequence[Learnt], parties: Sequence[str]) -> str:
    """Sites and arrows, labelled by message type and count."""
    arrows = gather(learnt)
    if not arrows:
        return ""
    sites = list(dict.fromkeys([*parties, *(a.sender for a in arrows), *(a.receiver for a in arrows)]))
    label = "Who sends to whom: " + "; ".join(f"{a.sender} to {a.receiver}: {listing(k for k, _ in a.carries)}" for a in arrows)
    palette = colours([row.message for row in learnt])
    return draw("flow", label, (7.2, 4.6), lambda figure: _flow(figure, arrows, sites, palette))


def gather(learnt: Sequence[Learnt]) -> list[Arrow]:
    """One arrow for each ordered pair that exchanged anything."""
    pairs: dict[tuple[str, str], dict[str, int]] = {}
    for row in learnt:
        kinds = pairs.setdefault((row.from_whom, row.who), {})
        kinds[row.message] = kinds.get(row.message, 0) + row.times
    return [Arrow(sender, receiver, tuple(kinds.items())) for (sender, receiver), kinds in pairs.items()]


def hub(arrows: Sequence[Arrow], sites: Sequence[str]) -> str:
    """Who stands in the middle: the coordinator, or else the site that most messages touch."""
    if "coordinator" in sites:
        return "coordinator"
    return max(sites, key=lambda site: sum(n for a in arrows if site in (a.sender, a.receiver) for _, n in a.carries))


def common(peers: Sequence[Arrow], around: int) -> bool:
    """Whether every site sends every other one the same: then one ring says it all."""
    return len(peers) == around * (around - 1) > 1 and len({a.carries for a in peers}) == 1


def _flow(figure: Figure, arrows: list[Arrow], sites: list[str], palette: dict[str, str]) -> None:
    entitle(figure, "Who sends to whom, and how often")
    ax = figure.add_subplot()
    middle = hub(arrows, sites)
    around = [site for site in sites if site != middle]
    places = {middle: (0.0, 0.0)} | {site: _seat(i, len(around)) for i, site in enumerate(around)}
    spokes = [a for a in arrows if middle in (a.sender, a.receiver)]
    peers = [a for a in arrows if a not in spokes]
    ringed = common(peers, len(around))
    if ringed:
        _ring(ax, peers[0], palette)
    _arrows(ax, spokes if ringed else arrows, places, palette, few=len(around) <= FEW)
    for site, place in places.items():
        _site(ax, site, place, central=site == middle)
    _frame(ax)


def _seat(i: int, n: int) -> Point:
    # half a step off the top keeps the first spoke from being upright, where two labels would meet
    angle = math.pi / 2 + math.pi / n + 2 * math.pi * i / n
    return WIDE * math.cos(angle), HIGH * math.sin(angle)


def _frame(ax: Axes) -> None:
    ax.set_xlim(-WIDE - 0.25, WIDE + 0.25)
    ax.set_ylim(-HIGH - 0.45, HIGH + 0.15)
    ax.set_aspect("equal")
    ax.set_axis_off()


def _ring(ax: Axes, peer: Arrow, palette: dict[str, str]) -> None:
    ax.add_patch(Ellipse((0, 0), 2 * WIDE, 2 * HIGH, fill=False, edgecolor="#b4c0cb", linestyle=(0, (5, 4)), linewidth=1.1))
    lines = [("each to each other", MUTED), *_lines(peer, palette)]
    ax.plot([-1, 1], [-HIGH, -HIGH], color="white", linewidth=12, solid_capstyle="butt")
    _label(ax, (0, -HIGH - STEP / 2), "center", lines)


def _arrows(ax: Axes, arrows: Sequence[Arrow], places: dict[str, Point], palette: dict[str, str], *, few: bool) -> None:
    told: set[tuple[bool, tuple[tuple[str, int], ...]]] = set()
    for arrow in arrows:
        a, b = places[arrow.sender], places[arrow.receiver]
        style = f"arc3,rad={BEND}"
        ax.add_patch(FancyArrowPatch(a, b, connectionstyle=style, arrowstyle="-|>", mutation_scale=11, shrinkA=26, shrinkB=26,
                                     color="#8795a1", linewidth=1.2))  # fmt: skip
        kind = (b == (0.0, 0.0), arrow.carries)
        if few or kind not in told:
            _label(ax, *_beside(a, b), _lines(arrow, palette))
        told.add(kind)


def _beside(a: Point, b: Point) -> tuple[Point, str]:
    """Where a label stands off the outer side of matplotlib's arc3, and which of its edges points to the arrow."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = math.hypot(dx, dy) or 1.0
    out = (dy / length, -dx / length)
    away = BEND * length / 2 + 0.07 + 0.15 * abs(out[1])  # the top of the curve, and half the height of a label
    at = ((a[0] + b[0]) / 2 + away * out[0], (a[1] + b[1]) / 2 + away * out[1])
    if abs(out[0]) < STEEP:
        return at, "center"
    return at, "left" if out[0] > 0 else "right"


def _lines(arrow: Arrow, palette: dict[str, str]) -> list[tuple[str, str]]:
    return [(f"{short(kind)} ×{n:,}", palette[kind]) for kind, n in arrow.carries]  # noqa: RUF001  (a multiplication sign is meant)


def _label(ax: Axes, at: Point, side: str, lines: list[tuple[str, str]]) -> None:
    top = at[1] + STEP * (len(lines) - 1) / 2
    for i, (words, colour) in enumerate(lines):
        ax.text(at[0], top - i * STEP, words, color=colour, fontsize=8.5, fontweight="bold", ha=side, va="center")


def _site(ax: Axes, site: str, at: Point, *, central: bool) -> None:
    pad = {"boxstyle": "round,pad=0.55", "facecolor": ACCENT if central else "white", "edgecolor": ACCENT if central else INK}
    ax.text(*at, short(site), color="white" if central else INK, ha="center", va="center", fontweight="bold", fontsize=10, bbox=pad)
