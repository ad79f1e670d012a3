"""How the drawings of paper 004 look: values in, matplotlib figures out, in the style of tacit's reports."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from drawing_data import BARS, CLASSES, CURVES, FEWER, LIBSVM, PAN, ROWS
from tacit.report.canvas import ACCENT, ALONE, CENTRAL, INK, MUTED, TYPES, entitle
from trial import Results, percent

MARK = {"marker": "o", "markersize": 4, "linewidth": 1.6}
SHARE, PERCENT = PercentFormatter(1.0, decimals=0, symbol=" %"), PercentFormatter(100.0, decimals=0, symbol=" %")
SECONDS = FuncFormatter(lambda value, _: f"{value:g}")


# Fig. 3.5


def accuracy_by_share(figure: Figure, found: Results) -> None:
    """Draw a curve for each dataset, named at its end."""
    ax = _axes(
        figure, "Fig. 3.5: accuracy by the share of rows that are landmarks", "landmarks, of the rows", "accuracy"
    )
    names = list(dict.fromkeys(name for name, _ in found))
    for colour, name in zip(TYPES, names, strict=True):
        shares = [float(share) for task, share in found if task == name]
        values = [percent(found[name, f"{share:.2f}"]) for share in shares]
        ax.plot(shares, values, color=colour, label=name, **MARK)
    _percent(ax)
    ax.xaxis.set_major_formatter(SHARE)
    ax.set_xticks(sorted({float(share) for _, share in found}))
    _named_at_the_end(ax)
    _note(
        figure,
        "Five parties, the paper's C and gamma, min_cluster = 1; five folds, one seed (Splice: its own split, gamma ="
        " 2^-5).",
    )


def _named_at_the_end(ax: Axes) -> None:
    """Write names in place of a legend, moved apart where curves end close together."""
    low, high = ax.get_ylim()
    gap, at = 0.06 * (high - low), -np.inf
    for line in sorted(ax.get_lines(), key=lambda line: line.get_ydata()[-1]):
        at = max(line.get_ydata()[-1], at + gap)
        ax.annotate(
            str(line.get_label()), (1.0, at), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
            va="center", fontsize=9, color=line.get_color(), annotation_clip=False,
        )  # fmt: skip


# Figs 3.10 to 3.12


def time_and_rounds(figure: Figure, found: Results, sizes: dict[str, tuple[int, int]]) -> None:
    """Draw seconds above and rounds below; by rows on the left, by features on the right."""
    entitle(figure, "Fig. 3.10: training time and rounds, by rows (a) and by features (b)")
    grid = figure.subplots(2, 2, sharex="col", sharey="row")
    for column, (what, size) in enumerate((("(a) by rows", 0), ("(b) by features", 1))):
        names = sorted(sizes, key=lambda name: sizes[name][size])
        labels = [f"{name}--{sizes[name][size]}" for name in names]
        _dots(grid[0, column], [_mean(found[name,], "cpu") for name in names])
        _bars(grid[1, column], labels, [_mean(found[name,], "rounds") for name in names])
        grid[0, column].set_title(what)
        grid[1, column].tick_params(axis="x", rotation=55)
        for label in grid[1, column].get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    grid[0, 0].set_yscale("log")
    grid[0, 0].yaxis.set_major_formatter(SECONDS)
    grid[0, 0].yaxis.set_minor_formatter(NullFormatter())
    grid[0, 0].set_ylabel("CPU seconds, all parties\n(log scale)")
    grid[1, 0].set_ylabel("rounds to a gap of 1e-3")
    _note(
        figure,
        "Five parties, all rows, 15 % landmarks (at most 1000), the paper's C and gamma (Splice: gamma = 2^-5),"
        " defaults.",
    )


def _dots(ax: Axes, values: list[float]) -> None:
    """Draw dots, not bars: a logarithmic axis has no zero for bars to stand on."""
    ax.plot(values, "o", color=ACCENT, markersize=7)
    _numbers(ax, values)


def _bars(ax: Axes, labels: list[str], values: list[float]) -> None:
    ax.bar(range(len(labels)), values, width=0.62, color=CENTRAL)
    ax.set_xticks(range(len(labels)), labels)
    ax.grid(visible=False, axis="x")
    _numbers(ax, values)


def _numbers(ax: Axes, values: list[float]) -> None:
    for x, value in enumerate(values):
        ax.annotate(_short(value), (x, value), (0, 5), textcoords="offset points", ha="center", fontsize=8)
    ax.margins(y=0.14)


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _mean(trials: Iterable[object], what: str) -> float:
    return float(np.mean([getattr(trial, what) for trial in trials]))


def time_by_landmarks(figure: Figure, found: Results) -> None:
    """Draw a curve for each dataset, both axes logarithmic."""
    ax = _axes(
        figure,
        "Fig. 3.11: training time by the number of landmarks",
        "landmarks (log scale)",
        "CPU seconds, all parties (log scale)",
    )
    for colour, name in zip(TYPES, dict.fromkeys(name for name, _ in found), strict=False):
        numbers = [int(n) for task, n in found if task == name]
        ax.plot(numbers, [_mean(found[name, str(n)], "cpu") for n in numbers], color=colour, label=name, **MARK)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(sorted({int(n) for _, n in found}))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(SECONDS)
        axis.set_minor_formatter(NullFormatter())
    ax.legend(loc="upper left")
    _note(figure, "Five parties, all rows, the paper's C and gamma (Splice: gamma = 2^-5), min_cluster = 1.")


def time_by_procedure(figure: Figure, found: dict[str, dict[str, float]], sizes: dict[str, tuple[int, int]]) -> None:
    """Draw shares of the time, and the whole as a number."""
    ax = _axes(figure, "Fig. 3.12: where the time goes", "share of the CPU seconds of all parties", "")
    names = sorted(found, key=lambda name: sizes[name][0])
    totals = {name: sum(found[name].values()) for name in names}
    left = np.zeros(len(names))
    for colour, what in zip((TYPES[1], TYPES[3], TYPES[2], ACCENT), found[names[0]], strict=True):
        widths = np.array([found[name][what] / totals[name] for name in names])
        ax.barh(range(len(names)), widths, left=left, height=0.62, color=colour, label=what)
        left += widths
    ax.set_yticks(range(len(names)), [f"{name}, {sizes[name][0]} rows" for name in names], color=INK)
    for row, name in enumerate(names):
        ax.annotate(
            f"{_short(totals[name])} s", (1.0, row), (5, 0), textcoords="offset points", va="center", fontsize=9,
            annotation_clip=False,
        )  # fmt: skip
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(SHARE)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, handlelength=1, handleheight=1)
    _note(
        figure,
        "Five parties, all rows, 15 % landmarks (at most 1000), defaults. Training: what the procedures leave of the"
        " whole.",
    )


# Figs 4.5 to 4.9


def classes_by_landmarks(figure: Figure, found: Results) -> None:
    """Draw a panel for each dataset."""
    entitle(figure, "Fig. 4.5: accuracy by landmarks")
    for ax, task in zip(figure.subplots(2, 3, sharex=True).flat, CLASSES, strict=True):
        for name, colour in ((PAN, ACCENT), (FEWER, CENTRAL)):
            ax.plot(*curve(found, task.name, "CV1", name), color=colour, label=name, **MARK)
        ax.axhline(
            percent(found[task.name, "CV1", LIBSVM, ""]),
            color=MUTED,
            linestyle="--",
            linewidth=1.2,
            label="LIBSVM, all rows",
        )
        ax.set_title(_title(task.name))
        ax.xaxis.set_major_formatter(SHARE)
        ax.set_xticks([0.25, 0.45, 0.65, 0.85])
        _percent(ax)
        _room(ax)
    _outer_labels(figure, "landmarks, of the training rows", "accuracy")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="upper right", bbox_to_anchor=(1, 1.005), ncols=3)
    _note(
        figure,
        "One-versus-rest, five parties, the paper's C and gamma, min_cluster = 1; CV1: five folds (Letter: one).",
    )


def _title(name: str) -> str:
    return f"{name} ({ROWS[name]} rows)" if name in ROWS else name


def bars_of_validation(figure: Figure, found: Results, method: str, number: str) -> None:
    """Draw CV1 beside CV2 for each dataset."""
    whom = f"PAN, {100 * BARS:.0f} % landmarks" if method == PAN else "LIBSVM"
    ax = _axes(figure, f"Fig. {number}: accuracy of {whom}, under CV1 and CV2", "", "accuracy")
    share = f"{BARS:.2f}" if method == PAN else ""
    for offset, cv, colour in ((-0.19, "CV1", ACCENT if method == PAN else CENTRAL), (0.19, "CV2", ALONE)):
        each = [[t.percent for t in found[task.name, cv, method, share]] for task in CLASSES]
        errors = [np.std(e, ddof=1) / np.sqrt(len(e)) if len(e) > 1 else 0.0 for e in each]
        heights = [float(np.mean(e)) for e in each]
        x = np.arange(len(CLASSES)) + offset
        ax.bar(
            x,
            heights,
            width=0.36,
            color=colour,
            label=cv,
            yerr=errors,
            error_kw={"ecolor": INK, "elinewidth": 0.9, "capsize": 2},
        )
        for at, height, error in zip(x, heights, errors, strict=True):
            ax.annotate(
                f"{height:.1f}", (at, height + error), (0, 2), textcoords="offset points", ha="center", fontsize=8
            )
    ax.set_xticks(range(len(CLASSES)), [_title(task.name).replace(" (", "\n(") for task in CLASSES], color=INK)
    ax.grid(visible=False, axis="x")
    ax.set_ylim(0, 108)
    ax.set_yticks(range(0, 101, 20))
    _percent(ax)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, handlelength=1, handleheight=1)
    schemes = (
        "CV1: five folds over all rows. CV2: a fifth set apart, the models of five folds of the others judged by it."
    )
    _note(figure, f"{schemes}\nError bars: standard error over the models; Letter: one model.")


def curves_of_validation(figure: Figure, found: Results, cv: str, number: str) -> None:
    """Draw a curve for each dataset."""
    ax = _axes(
        figure,
        f"Fig. {number}: accuracy of PAN under {cv}, by landmarks",
        "landmarks, of the training rows",
        "accuracy",
    )
    for colour, task in zip(TYPES, CURVES, strict=False):
        shares, values = curve(found, task.name, cv, PAN)
        kept = [i for i, share in enumerate(shares) if share <= BARS]
        ax.plot([shares[i] for i in kept], [values[i] for i in kept], color=colour, label=_title(task.name), **MARK)
    ax.xaxis.set_major_formatter(SHARE)
    ax.set_xticks(sorted({float(key[3]) for key in found if key[3] and float(key[3]) <= BARS}))
    _percent(ax)
    _named_at_the_end(ax)
    what = (
        "five folds over all rows"
        if cv == "CV1"
        else "a fifth set apart; the models of five folds of the others judged by it"
    )
    _note(figure, f"{cv}: {what}. Five parties, the paper's C and gamma, min_cluster = 1.")


def curve(found: Results, task: str, cv: str, method: str) -> tuple[list[float], list[float]]:
    """Return shares and accuracies."""
    shares = [float(key[3]) for key in found if key[:3] == (task, cv, method)]
    return shares, [percent(found[task, cv, method, f"{share:.2f}"]) for share in shares]


# Words


def _axes(figure: Figure, title: str, x: str, y: str) -> Axes:
    entitle(figure, title)
    ax = figure.add_subplot()
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return ax


def _percent(ax: Axes) -> None:
    ax.yaxis.set_major_formatter(PERCENT)


def _room(ax: Axes) -> None:
    """Show at least ten points of accuracy, so that noise does not look like a trend."""
    low, high = ax.get_ylim()
    middle, half = (low + high) / 2, max(5.0, (high - low) / 2)
    ax.set_ylim(middle - half, middle + half)


def _outer_labels(figure: Figure, x: str, y: str) -> None:
    figure.supxlabel(x, fontsize=9, color=MUTED)
    figure.supylabel(y, fontsize=9, color=MUTED)


def _note(figure: Figure, words: str) -> None:
    """Write what was measured under the drawing."""
    figure.text(0.005, -0.01, words, fontsize=8, color=MUTED, va="top")
