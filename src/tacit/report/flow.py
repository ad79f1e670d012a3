"""Who sends to whom: the sites around the coordinator, an arrow for everything that crossed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyArrowPatch

from tacit.choreo.ledger import Learnt
from tacit.report.canvas import ACCENT, ALONE, INK, colours, draw, entitle, short
from tacit.report.words import listing

Point = tuple[float, float]
WIDE, HIGH = 3.4, 1.9  # half axes of the ellipse the sites stand on; one unit is about one inch
STEP = 0.22  # from one line of text to the next
ACROSS = 92  # letters of a line
GAP = 0.07  # between the axis of a pair and each of its two arrows
STEEP = 0.3
MANY = 24  # beyond this the names overlap, and the table says it better
FEW, SHORT = (
    4,
    2,
)  # with more sites around the hub, or more to say of an arrow, arrows carry numbers and a key explains them


@dataclass(frozen=True)
class Arrow:
    """All messages from one site to another: (type, how often)."""

    sender: str
    receiver: str
    carries: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Kind:
    """Arrows that say the same and share one line of the key."""

    course: str
    carries: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self.course}: " + ", ".join(_times(*item) for item in self.carries)


@dataclass(frozen=True)
class Picture:
    """Who stands where, which arrows are drawn, and what the key says of them."""

    hub: str
    places: dict[str, Point]
    arrows: list[Arrow]
    ring: Kind | None
    kinds: list[Kind]

    @property
    def few(self) -> bool:
        """Whether there is room to write on the arrows themselves."""
        return len(self.places) <= FEW + 1 and all(len(a.carries) <= SHORT for a in self.arrows)

    def kind(self, arrow: Arrow) -> Kind:
        """Return what the key calls an arrow."""
        courses = {arrow.receiver: f"to {short(self.hub)}", arrow.sender: f"from {short(self.hub)}"}
        return Kind(courses.get(self.hub, "between two others"), arrow.carries)


def flow(learnt: Sequence[Learnt], parties: Sequence[str]) -> str:
    """Draw sites and arrows, labelled by message type and count."""
    arrows = gather(learnt)
    sites = list(dict.fromkeys([*parties, *(site for a in arrows for site in (a.sender, a.receiver))]))
    if not arrows or len(sites) > MANY:
        return ""
    picture = compose(arrows, sites)
    label = "Who sends to whom: " + "; ".join(
        f"{a.sender} to {a.receiver}: {listing(k for k, _ in a.carries)}" for a in arrows
    )
    palette = colours([row.message for row in learnt])
    return draw("flow", label, (7.2, 4.5 + STEP * len(_key(picture))), lambda figure: _flow(figure, picture, palette))


def gather(learnt: Sequence[Learnt]) -> list[Arrow]:
    """Return one arrow for each ordered pair that exchanged anything."""
    pairs: dict[tuple[str, str], dict[str, int]] = {}
    for row in learnt:
        kinds = pairs.setdefault((row.from_whom, row.who), {})
        kinds[row.message] = kinds.get(row.message, 0) + row.times
    return [Arrow(sender, receiver, tuple(kinds.items())) for (sender, receiver), kinds in pairs.items()]


def compose(arrows: list[Arrow], sites: list[str]) -> Picture:
    """Seat the sites; where every one sends every other the same, one dashed ring says it."""
    middle = hub(arrows, sites)
    around = [site for site in sites if site != middle]
    places = {middle: (0.0, 0.0)} | {site: _seat(i, len(around)) for i, site in enumerate(around)}
    peers = [a for a in arrows if middle not in (a.sender, a.receiver)]
    ring = Kind("each to every other", peers[0].carries) if common(peers, len(around)) else None
    drawn = [a for a in arrows if not (ring and a in peers)]
    bare = Picture(middle, places, drawn, ring, [])
    return replace(bare, kinds=list(dict.fromkeys(bare.kind(a) for a in drawn)))


def hub(arrows: Sequence[Arrow], sites: Sequence[str]) -> str:
    """Return who stands in the middle: the coordinator, or else the site that most messages touch."""
    if "coordinator" in sites:
        return "coordinator"
    return max(sites, key=lambda site: sum(n for a in arrows if site in (a.sender, a.receiver) for _, n in a.carries))


def common(peers: Sequence[Arrow], around: int) -> bool:
    """Whether every site around sends every other one the same."""
    return len(peers) == around * (around - 1) > 1 and len({a.carries for a in peers}) == 1


def _seat(i: int, n: int) -> Point:
    # half a step off the top: four sites stand in the corners, where labels have most room
    angle = math.pi / 2 + math.pi / n + 2 * math.pi * i / n
    return WIDE * math.cos(angle), HIGH * math.sin(angle)


def _flow(figure: Figure, picture: Picture, palette: dict[str, str]) -> None:
    entitle(figure, "Who sends to whom, and how often")
    ax = figure.add_subplot()
    if picture.ring:
        ax.add_patch(
            Ellipse((0, 0), 2 * WIDE, 2 * HIGH, fill=False, edgecolor=ALONE, linestyle=(0, (5, 4)), linewidth=1.1)
        )
    for arrow in picture.arrows:
        _arrow(ax, arrow, picture, palette)
    for site, place in picture.places.items():
        _site(ax, site, place, central=site == picture.hub)
    for row, (mark, words) in enumerate(_key(picture), start=2):
        ax.text(-WIDE, -HIGH - row * STEP, mark, color=ACCENT, fontsize=9, fontweight="bold", va="center")
        ax.text(-WIDE + 0.4, -HIGH - row * STEP, words, fontsize=9, va="center")
    _frame(ax, len(_key(picture)))


def _key(picture: Picture) -> list[tuple[str, str]]:
    ring = [("- -", str(picture.ring))] if picture.ring else []
    numbered = [] if picture.few else [(str(n), str(kind)) for n, kind in enumerate(picture.kinds, start=1)]
    return [line for mark, words in ring + numbered for line in _lines(mark, words)]


def _lines(mark: str, words: str) -> list[tuple[str, str]]:
    """Wrap what is longer than the figure is wide."""
    first, *rest = textwrap.wrap(words, ACROSS) or [""]
    return [(mark, first), *(("", more) for more in rest)]


def _frame(ax: Axes, lines: int) -> None:
    ax.set_xlim(-WIDE - 0.25, WIDE + 0.25)
    ax.set_ylim(-HIGH - 0.2 - STEP * (lines + 1), HIGH + 0.2)
    ax.set_aspect("equal")
    ax.set_axis_off()


def _arrow(ax: Axes, arrow: Arrow, picture: Picture, palette: dict[str, str]) -> None:
    a, b = picture.places[arrow.sender], picture.places[arrow.receiver]
    bend = 0.12 if picture.few else 0.07
    (ax0, ay0), (bx0, by0) = _edge(a, b, arrow.sender), _edge(b, a, arrow.receiver)
    out = _aside(a, b)
    start, end = (ax0 + GAP * out[0], ay0 + GAP * out[1]), (bx0 + GAP * out[0], by0 + GAP * out[1])
    patch = FancyArrowPatch(
        start, end, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", mutation_scale=11, shrinkA=4, shrinkB=6,
        color="#8795a1", linewidth=1.2,
    )  # fmt: skip
    ax.add_patch(patch)
    peak = GAP + bend * math.dist(start, end) / 2
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    if picture.few:
        _label(ax, middle, out, peak, [(_times(*item), palette[item[0]]) for item in arrow.carries])
    else:
        _badge(
            ax,
            (middle[0] + (peak - GAP) * out[0], middle[1] + (peak - GAP) * out[1]),
            picture.kinds.index(picture.kind(arrow)) + 1,
        )


def _aside(a: Point, b: Point) -> Point:
    """Return the unit vector to the right of the way from a to b: the side to which arc3 bends."""
    length = math.dist(a, b) or 1.0
    return (b[1] - a[1]) / length, (a[0] - b[0]) / length


def _edge(a: Point, b: Point, name: str) -> Point:
    """Return where the way from a to b leaves the box around a's name."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    share = min((0.1 + 0.05 * len(short(name))) / (abs(dx) or 1e-9), 0.19 / (abs(dy) or 1e-9))
    return a[0] + share * dx, a[1] + share * dy


def _times(kind: str, n: int) -> str:
    return f"{short(kind)} ×{n:,}"  # noqa: RUF001  (a multiplication sign is meant)


def _label(ax: Axes, middle: Point, out: Point, peak: float, lines: list[tuple[str, str]]) -> None:
    away = peak + 0.03 + abs(out[1]) * STEP * len(lines) / 2  # half the height of the label
    x, y = middle[0] + away * out[0], middle[1] + away * out[1] + STEP * (len(lines) - 1) / 2
    side = "center" if abs(out[0]) < STEEP else "left" if out[0] > 0 else "right"
    for i, (words, colour) in enumerate(lines):
        ax.text(x, y - i * STEP, words, color=colour, fontsize=8.5, fontweight="bold", ha=side, va="center")


def _badge(ax: Axes, at: Point, number: int) -> None:
    pad = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": "none"}
    ax.text(*at, str(number), color=ACCENT, fontsize=8.5, fontweight="bold", ha="center", va="center", bbox=pad)


def _site(ax: Axes, site: str, at: Point, *, central: bool) -> None:
    edge = ACCENT if central else INK
    pad = {"boxstyle": "round,pad=0.55", "facecolor": ACCENT if central else "white", "edgecolor": edge}
    ax.text(
        *at,
        short(site),
        color="white" if central else INK,
        ha="center",
        va="center",
        fontweight="bold",
        fontsize=10,
        bbox=pad,
    )
