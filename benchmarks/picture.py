"""A picture of what was measured, in the look of the reports."""

from __future__ import annotations

import io
from collections.abc import Callable

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing

from figures import Picture
from tacit.report.canvas import STYLE


def paint(file: str, title: str, size: tuple[float, float], painter: Callable[[Drawing], None]) -> Picture:
    """Return what the painter draws, as PNG."""
    buffer = io.BytesIO()
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=size, layout="constrained")
        painter(drawing)
        drawing.savefig(buffer, format="png", dpi=150, bbox_inches="tight", pad_inches=0.15, facecolor="white")
    return Picture(file, title, buffer.getvalue())
