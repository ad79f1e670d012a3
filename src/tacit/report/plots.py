"""The plots of a report, as SVG text. Each is empty text where there is nothing to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from tacit.choreo.ledger import Learnt
from tacit.report.canvas import ACCENT, ALONE, CENTRAL, INK, axes, colours, draw, entitle, short
from tacit.report.words import KILO, clean, human_bytes

WIDTH = 7.2
DECADES = 100  # a curve that falls further than this is read on a logarithmic axis
Series = list[tuple[float, float]]


def scores(values: dict[str, float] | None, metric: str = "accuracy") -> str:
    """Draw the scores as bars: each party alone, all together, centralised."""
    if not values:
        return ""
    label = f"Bars of {metric}: " + ", ".join(f"{name} {value:.4f}" for name, value in values.items())
    return draw(
        "scores", label, (WIDTH, 1.2 + 0.38 * len(values)), lambda figure: _scores(figure, values, clean(metric))
    )


def _scores(figure: Figure, values: dict[str, float], metric: str) -> None:
    left, right = _range(list(values.values()))
    note = f" (the axis starts at {left:g})" if left else ""
    ax = axes(figure, f"{metric.capitalize()}: alone, together, centralised", f"{metric}{note}", "")
    rows = range(len(values))
    ax.barh(rows, [v - left for v in values.values()], left=left, height=0.62, color=[_shade(name) for name in values])
    for row, (name, value) in enumerate(values.items()):
        _print(ax, row, value, left, strong=_shade(name) == ACCENT)
    ax.set_xlim(left, right + 0.1 * (right - left))
    ax.set_yticks(rows, [short(name) for name in values], color=INK)
    ax.invert_yaxis()
    _quiet(ax)


def _range(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(1.0, *values)
    if low < 0:
        return low, high
    # bars that all end near 1 differ only in their tips, so the axis is cut, and says so
    # (chance level of two classes)
    return (max(0.0, int(low * 20 - 1) / 20) if low > 0.5 else 0.0), high  # noqa: PLR2004


def _shade(label: str) -> str:
    words = label.lower()
    if "together" in words or "tacit" in words:
        return ACCENT
    return ALONE if "alone" in words else CENTRAL


def _print(ax: Axes, row: int, value: float, left: float, *, strong: bool) -> None:
    weight = "bold" if strong else "normal"
    ax.annotate(
        f"{value:.4f}",
        (max(value, left), row),
        (5, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        fontweight=weight,
    )


def _quiet(ax: Axes) -> None:
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)


def traffic(points: Sequence[tuple[int, int]]) -> str:
    """Draw the bytes sent so far, by communication round."""
    if not points:
        return ""
    total = human_bytes(points[-1][1])
    label = f"Cumulative bytes over {len(points)} communication rounds, {total} in all"
    return draw("traffic", label, (WIDTH, 2.7), lambda figure: _traffic(figure, points, total))


def _traffic(figure: Figure, points: Sequence[tuple[int, int]], total: str) -> None:
    unit, scale = _unit(points[-1][1])
    ax = axes(figure, f"Bytes sent so far: {total} in all", "communication round", f"sent so far ({unit})")
    x, y = [0, *(p[0] for p in points)], [0.0, *(p[1] / scale for p in points)]
    ax.step(x, y, where="post", color=ACCENT, linewidth=1.8)
    ax.fill_between(x, y, step="post", color=ACCENT, alpha=0.1, linewidth=0)
    ax.plot(x[-1], y[-1], "o", color=ACCENT, markersize=4)
    ax.set_ylim(0, max(y) * 1.12 or 1)
    ax.set_xlim(0, x[-1] + 0.02 * x[-1])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _unit(largest: float) -> tuple[str, float]:
    names = ("bytes", "kB", "MB", "GB")
    power = min(len(names) - 1, max(0, (len(str(int(largest))) - 1) // 3))
    return names[power], float(KILO**power)


def sent(learnt: Sequence[Learnt]) -> str:
    """Draw the bytes that each site sent, by message type."""
    table: dict[str, dict[str, int]] = {}
    for row in learnt:
        kinds = table.setdefault(row.from_whom, {})
        kinds[row.message] = kinds.get(row.message, 0) + row.bytes
    if not any(sum(kinds.values()) for kinds in table.values()):
        return ""
    label = "Bytes sent: " + ", ".join(f"{name} {human_bytes(sum(kinds.values()))}" for name, kinds in table.items())
    palette = colours([row.message for row in learnt])
    return draw("sent", label, (WIDTH, 1.5 + 0.38 * len(table)), lambda figure: _sent(figure, table, palette))


def _sent(figure: Figure, table: dict[str, dict[str, int]], palette: dict[str, str]) -> None:
    totals = [sum(kinds.values()) for kinds in table.values()]
    unit, scale = _unit(max(totals))
    ax = axes(figure, "Bytes sent by each site, by message type", f"sent ({unit})", "")
    _stack(ax, table, palette, scale)
    for row, total in enumerate(totals):
        ax.annotate(
            human_bytes(total), (total / scale, row), (5, 0), textcoords="offset points", va="center", fontsize=9
        )
    ax.set_xlim(0, max(totals) / scale * 1.14)
    ax.set_yticks(range(len(table)), [short(name) for name in table], color=INK)
    ax.invert_yaxis()
    _quiet(ax)
    figure.legend(loc="outside lower left", ncols=4, handlelength=1, handleheight=1)


def _stack(ax: Axes, table: dict[str, dict[str, int]], palette: dict[str, str], scale: float) -> None:
    left = [0.0] * len(table)
    for kind, colour in palette.items():
        widths = [kinds.get(kind, 0) / scale for kinds in table.values()]
        ax.barh(range(len(table)), widths, left=left, height=0.62, color=colour, label=short(kind))
        left = [a + b for a, b in zip(left, widths, strict=True)]


def history(records: Sequence[dict[str, Any]]) -> str:
    """Draw a curve for each public figure that has at least two values."""
    curves = {name: points for name, points in series(records).items() if len(points) > 1}
    if not curves:
        return ""
    label = "Curves over training rounds: " + ", ".join(
        f"{name} ends at {points[-1][1]:.4g}" for name, points in curves.items()
    )
    return draw("history", label, (WIDTH, 0.5 + 2.3 * -(-len(curves) // 2)), lambda figure: _history(figure, curves))


def series(records: Sequence[dict[str, Any]]) -> dict[str, Series]:
    """Return the numeric figures by name, each over the training round it was noted in."""
    curves: dict[str, Series] = {}
    for position, record in enumerate(records, start=1):
        t = record.get("round", position)
        for name, value in record.items():
            if name != "round" and _number(value) and _number(t):
                curves.setdefault(name, []).append((t, value))
    return curves


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _history(figure: Figure, curves: dict[str, Series]) -> None:
    entitle(figure, "Public figures by training round")
    columns = min(2, len(curves))
    grid = figure.add_gridspec(-(-len(curves) // columns), columns)
    for place, (name, points) in enumerate(curves.items()):
        ax = figure.add_subplot(grid[divmod(place, columns)])
        _curve(ax, short(name.replace("_", " ")), points)


def _curve(ax: Axes, name: str, points: Series) -> None:
    x, y = [p[0] for p in points], [p[1] for p in points]
    wide = min(y) > 0 and max(y) / min(y) > DECADES
    ax.plot(x, y, color=ACCENT, linewidth=1.6, marker="o", markersize=2.5)
    ax.set_title(name)
    ax.set_xlabel("training round")
    ax.set_ylabel(f"{name} (log scale)" if wide else name)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if wide:
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:.4g}")
    )  # powers would come as formulas, which are off
