"""A map of scores of what a search tried, where two parameters vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tacit.report.canvas import INK, axes, draw
from tacit.report.plots import WIDTH
from tacit.report.score_plots import SHADES
from tacit.report.words import Candidate, clean, word

MIDDLE = 0.55  # of the colour scale: above it text is white


def scores_map(candidates: Sequence[Candidate], metric: str) -> str:
    """Draw scores by the two parameters that vary; return empty text if it is not two."""
    names = list(dict.fromkeys(name for each in candidates for name in each["params"]))
    values = {name: list(dict.fromkeys(word(each["params"].get(name, "")) for each in candidates)) for name in names}
    varied = [name for name in names if len(values[name]) > 1]
    if len(varied) != 2:  # noqa: PLR2004 - a map has two sides
        return ""
    across, down = varied
    grid = np.full((len(values[down]), len(values[across])), np.nan)
    for each in candidates:
        params = {name: word(each["params"].get(name, "")) for name in varied}
        grid[values[down].index(params[down]), values[across].index(params[across])] = each["score"]
    label = f"Map of {metric} by {across} and {down}, best {np.nanmax(grid):.4f}"
    size = (WIDTH, 1.4 + 0.42 * len(grid))
    return draw("candidates", label, size, lambda figure: _paint(figure, grid, across, down, values, clean(metric)))


def _paint(figure: Figure, grid: Any, across: str, down: str, values: dict[str, list[str]], metric: str) -> None:
    ax = axes(figure, f"{metric.capitalize()} over the folds, by {across} and {down}", across, down)
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    sides = (np.arange(n + 1) - 0.5 for n in grid.shape[::-1])
    # squares, no picture: a page fetches none
    ax.pcolormesh(*sides, grid, cmap=SHADES, vmin=low, vmax=high + 1e-9, edgecolors="white", linewidth=2)
    ax.invert_yaxis()
    for (i, j), score in np.ndenumerate(grid):
        if np.isfinite(score):
            strong = score == high
            bright = (score - low) / max(high - low, 1e-9) > MIDDLE
            ax.text(j, i, f"{score:.4f}", ha="center", va="center", fontsize=9, color="white" if bright else INK,
                    fontweight="bold" if strong else "normal")  # fmt: skip
    ax.set_xticks(range(len(values[across])), values[across])
    ax.set_yticks(range(len(values[down])), values[down])
    ax.grid(visible=False)
