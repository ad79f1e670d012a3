"""Show what a method gives away: list the attacks, or run one.

Example: tacit attack gram_inversion --plot inversion.svg
"""

from __future__ import annotations

import io
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from sklearn.datasets import load_breast_cancer
from typer import Argument, Option

from tacit.arrays import F64, I64
from tacit.attacks.catalogue import attack_of, list_attacks
from tacit.attacks.learners import Attack, Point
from tacit.cli.options import AsJson
from tacit.cli.output import check_targets, console, print_json, steps, table
from tacit.errors import LocalError
from tacit.federation import read
from tacit.files import write_whole
from tacit.report.canvas import STYLE, axes

FORMATS = (".svg", ".png")


def attack(
    name: Annotated[str | None, Argument(metavar="NAME", help="The attack to run; without it all are listed.")] = None,
    *,
    estimator: Annotated[str | None, Option(metavar="NAME", help="Only attacks against this estimator.")] = None,
    data: Annotated[
        Path | None, Option(metavar="FILE", help="Records to attack; by default scikit-learn's breast-cancer records.")
    ] = None,
    label: Annotated[str, Option(metavar="COLUMN", help="The column that holds the classes.")] = "label",
    plot: Annotated[
        Path | None, Option(metavar="FILE", help="Draw how much is found against how much is known, as .svg or .png.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the attacks, or run one and tell what it found."""
    if name is None:
        _list_attacks(estimator, as_json=as_json)
        return
    chosen = attack_of(name, estimator)
    check_targets({"--plot": plot}, [data] if data else [])
    if plot and plot.suffix.lower() not in FORMATS:
        raise LocalError(f"--plot {plot} ends in neither {' nor '.join(FORMATS)}: rename it")
    with steps(2) as bar:
        with bar.doing("reading"):
            X, y = _read_records(data, label)
        with bar.doing("attacking"):
            points = _only(chosen.points(X, y), estimator)
    if plot:
        write_whole(plot, draw(chosen, points, plot.suffix[1:].lower()), "the plot")
    _tell(chosen, points, plot, as_json=as_json)


def _only(points: list[Point], estimator: str | None) -> list[Point]:
    """Return the points of one estimator, where an attack names them."""
    return [p for p in points if estimator and p.variant.startswith(f"{estimator}(")] or points


def _list_attacks(estimator: str | None, *, as_json: bool) -> None:
    found = [a for a in list_attacks().values() if estimator is None or estimator in a.against]
    if not found:
        known = sorted({name for a in list_attacks().values() for name in a.against})
        raise LocalError(f"there is no attack against '{estimator}': use one of {', '.join(known)}")
    if as_json:
        print_json(attacks=[{"name": a.name, "against": a.against, "shows": a.shows} for a in found])
    else:
        rows = [(a.name, ", ".join(a.against), a.shows) for a in found]
        console().print(table("attack", "against", "shows", rows=rows))


def _read_records(data: Path | None, label: str) -> tuple[F64, I64]:
    if data is None:
        X, y = load_breast_cancer(return_X_y=True)
        return X, y
    whole = read(data, label, (), sparse=False)
    if whole.y is None or len(np.unique(whole.y)) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(f"{data} needs two classes in column {label!r}: name the column with --label")
    return whole.X, np.unique(whole.y, return_inverse=True)[1].astype(np.int64)


def _tell(attack: Attack, points: list[Point], plot: Path | None, *, as_json: bool) -> None:
    if as_json:
        told = {"attack": attack.name, "against": attack.against, "knows": attack.knows, "measures": attack.measures}
        print_json(**told, points=[asdict(point) for point in points], plot=str(plot) if plot else None)
        return
    screen = console()
    screen.print(f"{attack.name}: {attack.shows}", style="bold", markup=False)
    rows = [(p.variant, f"{p.knows:g}", f"{p.found:.2g}") for p in points]
    screen.print(table("variant", attack.knows, attack.measures, rows=rows))
    if plot:
        screen.print(f"plot: {plot}", markup=False, soft_wrap=True)


def draw(attack: Attack, points: list[Point], form: str) -> bytes:
    """Return a plot with a line for each variant; errors on a logarithmic scale, down to rounding."""
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
