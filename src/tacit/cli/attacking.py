"""What `tacit attack` does."""

from __future__ import annotations

import io
from dataclasses import asdict
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from sklearn.datasets import load_breast_cancer

from tacit.attacks.catalogue import ATTACKS, Attack, attack_of
from tacit.attacks.study import Point
from tacit.choreo import F64, I64
from tacit.cli.output import check_targets, console, print_json, steps, table
from tacit.data import read
from tacit.errors import LocalError
from tacit.files import write_whole
from tacit.report.canvas import STYLE, axes

FORMATS = (".svg", ".png")


def run(name: str | None, estimator: str | None, data: Path | None, label: str, plot: Path | None, *, as_json: bool) -> None:
    """List the attacks, or run one and tell what it found."""
    if name is None:
        _list(estimator, as_json=as_json)
        return
    chosen = attack_of(name, estimator)
    check_targets({"--plot": plot}, [data] if data else [])
    if plot and plot.suffix.lower() not in FORMATS:
        raise LocalError(f"--plot {plot} is neither {' nor '.join(FORMATS)}: name it so")
    with steps(2) as bar:
        with bar.doing("reading"):
            X, y = _records(data, label)
        with bar.doing("attacking"):
            points = chosen.points(X, y)
    if plot:
        write_whole(plot, drawn(chosen, points, plot.suffix[1:].lower()), "the plot")
    _tell(chosen, points, plot, as_json=as_json)


def _list(estimator: str | None, *, as_json: bool) -> None:
    found = [a for a in ATTACKS.values() if estimator is None or estimator in a.against]
    if not found:
        known = sorted({name for a in ATTACKS.values() for name in a.against})
        raise LocalError(f"no attack is against '{estimator}': use one of {', '.join(known)}")
    if as_json:
        print_json({"attacks": [{"name": a.name, "against": list(a.against), "shows": a.shows} for a in found]})
    else:
        console().print(table("attack", "against", "shows", rows=[(a.name, ", ".join(a.against), a.shows) for a in found]))


def _records(data: Path | None, label: str) -> tuple[F64, I64]:
    if data is None:
        X, y = load_breast_cancer(return_X_y=True)
        return X, y
    whole = read(data, label, ())
    if whole.y is None or len(np.unique(whole.y)) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(f"{data} needs two classes in column {label!r}: name the column with --label")
    return whole.X, np.unique(whole.y, return_inverse=True)[1].astype(np.int64)


def _tell(attack: Attack, points: list[Point], plot: Path | None, *, as_json: bool) -> None:
    if as_json:
        told = {"attack": attack.name, "against": list(attack.against), "knows": attack.knows, "measures": attack.measures}
        print_json({**told, "points": [asdict(point) for point in points], "plot": str(plot) if plot else None})
        return
    screen = console()
    screen.print(f"{attack.name}: {attack.shows}", style="bold", markup=False)
    rows = [(p.variant, f"{p.knows:g}", f"{p.found:.2g}") for p in points]
    screen.print(table("variant", attack.knows, attack.measures, rows=rows))
    if plot:
        screen.print(f"plot: {plot}", markup=False, soft_wrap=True)


def drawn(attack: Attack, points: list[Point], form: str) -> bytes:
    """A line for each variant; errors on a logarithmic scale, down to rounding."""
    buffer = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 3.6), layout="constrained", dpi=150)
        ax = axes(figure, f"{attack.name}: {attack.shows}", attack.knows, attack.measures)
        for variant in dict.fromkeys(p.variant for p in points):
            own = [p for p in points if p.variant == variant]
            ax.plot([p.knows for p in own], [max(p.found, 1e-16) for p in own], marker="o", label=variant)
        if all(float(p.knows).is_integer() for p in points):
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if "error" in attack.measures:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0e}")
        else:
            ax.set_ylim(-0.03, 1.03)
        ax.legend()
        figure.savefig(buffer, format=form, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()
