"""What all plots share: the palette, one look, and SVG that can stand beside others in one page."""

from __future__ import annotations

import html
import io
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tacit.errors import LocalError
from tacit.files import write_whole
from tacit.report.words import clean

INK, MUTED, LINE, ACCENT = "#1f2933", "#616e7c", "#d5dce3", "#0f766e"
ALONE, CENTRAL = "#b4c0cb", "#334e68"
TYPES = ("#0f766e", "#d99a2b", "#5661b3", "#c2607a", "#4f9bd0", "#7aa35b", "#9c6b4e", "#7b8794")
LONGEST = 26
DPI = 150  # of pictures in pixels

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.parse_math": False,  # a party called "$x$" is a name, not a formula
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.02,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#edf0f3",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "none",  # text stays text: it can be searched, selected and read aloud
    "svg.hashsalt": "tacit",  # the same run gives the same file
}


@dataclass(frozen=True)
class Picture:
    """What is drawn: by which name and label, how large, and by whom."""

    name: str
    label: str
    size: tuple[float, float]
    paint: Callable[[Figure], None]

    def to_svg(self) -> str:
        """Return an SVG whose ids all begin with the name and whose aria-label is the label."""
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        return _inline(self.render("svg", metadata).decode(), self.name, self.label)

    def render(self, kind: str, metadata: Mapping[str, str | None]) -> bytes:
        """Return the picture as a file of this kind."""
        buffer = io.BytesIO()
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            # the browser draws the text; that matplotlib's own font lacks a letter matters to nobody
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure = Figure(figsize=self.size, layout="constrained")
            self.paint(figure)
            figure.savefig(buffer, format=kind, dpi=DPI, metadata=dict(metadata))
        return buffer.getvalue()


def draw(name: str, label: str, size: tuple[float, float], paint: Callable[[Figure], None]) -> str:
    """Return an SVG whose ids all begin with `name` and whose aria-label is `label`."""
    return Picture(name, label, size, paint).to_svg()


def entitle(figure: Figure, title: str) -> None:
    """Set a title at the left edge, so that the figures of a page line up."""
    figure.suptitle(title, x=0.005, horizontalalignment="left")


def axes(figure: Figure, title: str, x: str, y: str) -> Axes:
    """Return the one plot of a figure, with its title and labels."""
    entitle(figure, title)
    ax = figure.add_subplot()
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return ax


def short(name: str) -> str:
    """Shorten a name so that it leaves room for the plot."""
    name = clean(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def colours(kinds: list[str]) -> dict[str, str]:
    """Return one colour for each message type, the same in every plot of a report."""
    return {kind: TYPES[i % len(TYPES)] for i, kind in enumerate(dict.fromkeys(kinds))}


def _inline(svg: str, name: str, label: str) -> str:
    box = re.search(r'viewBox="[^"]*"', svg)
    body = svg[svg.index(">", svg.index("<svg")) + 1 :].strip()
    body = re.sub(
        r"<style.*?</style>", "", body, flags=re.DOTALL
    )  # its selector is *, which would reach the whole page
    body = re.sub(r"<[^>]+>", lambda tag: _prefix(tag[0], name), body)
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    # no width and height: the page decides
    return f'<svg {space} {box[0] if box else ""} role="img" aria-label="{html.escape(clean(label))}">\n{body}'


def _prefix(tag: str, name: str) -> str:
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    return re.sub(r'(url\(|href=")#', rf"\g<1>#{name}-", tag)


# What can be looked at: a picture that a notebook shows and a file holds


PICTURES: dict[str, Mapping[str, str | None]] = {  # without a date: the same run gives the same file
    ".svg": {},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


class Drawn(ABC):
    """Something with a picture."""

    @property
    @abstractmethod
    def picture(self) -> Picture:
        """What is drawn of it."""

    def to_svg(self) -> str:
        """Return the picture as SVG text."""
        return self.picture.to_svg()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, in the format that its suffix names: .svg, .png or .pdf."""
        suffix = Path(path).suffix.lower()
        if suffix not in PICTURES:
            raise LocalError(f"{path} names no kind of picture: let it end in {', '.join(PICTURES)}")
        vector = suffix == ".svg"
        made = self.to_svg().encode() if vector else self.picture.render(suffix[1:], PICTURES[suffix])
        return write_whole(path, made, "the picture")

    def _repr_svg_(self) -> str:
        return self.to_svg()
