"""000's Fig. 4: how far z moves, and how accurate the classifier is, by iteration; three datasets, four variants."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from threadpoolctl import threadpool_limits

import tacit
from consensus import COLUMNS, PARTIES, RHO, C, halves
from figures import Data, Picture, Step
from picture import paint
from tacit.report.canvas import MUTED, TYPES, entitle

TITLE = "Fig. 4: how far z moves and how accurate the classifier is, by iteration"
SETS = ("wdbc", "higgs", "digits even/odd")
VARIANTS: dict[str, dict[str, Any]] = {
    "by rows, linear": {},
    "by rows, RBF": {"kernel": "rbf"},
    "by columns, linear": COLUMNS,
    "by columns, RBF": {"kernel": "rbf", **COLUMNS},
}
SCHEMES: dict[str, dict[str, Any]] = {
    "default": {},
    f"the paper's, rho={RHO:g}": {"rho": RHO, "over_relaxation": 1.0, "disclose": "loss"},
}
STYLES = ("-", (0, (4, 2)))
ROUNDS, ROWS = 100, 1000
AT = (1, 2, 3, 5, 8, 13, 20, 35, 60, 100)  # where a run over columns is cut short to be judged
MOVED = {0: "|z - z before|^2", 2: "|z - z before|^2 / |r|^2"}
Curve = dict[int, float]


def figures(quick: bool) -> Iterator[Picture | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure the curves and draw them."""
    found, cells = {}, list(product(SETS, VARIANTS, SCHEMES))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs are cut short
        for done, (name, variant, scheme) in enumerate(cells):
            yield Step(f"{name}, {variant}", done, len(cells))
            data = halves(name, 300 if quick else ROWS)
            found[name, variant, scheme] = curves(data, VARIANTS[variant] | SCHEMES[scheme])
    yield paint("consensus_by_iteration.png", TITLE, (13.0, 6.2), partial(_paint, found=found))


def curves(data: Data, how: dict[str, Any]) -> tuple[Curve, Curve]:
    """Return how far z moves in each iteration, squared, and the accuracy after it."""
    if "partition" in how:
        return _over_columns(data, how)
    model = _model(how, ROUNDS).fit(data.X, data.y, watch=(data.Z, data.z))
    history = dict(enumerate((h for h in model.report_.history if "moved" in h), start=1))
    return {t: h["moved"] for t, h in history.items()}, {t: h["accuracy"] for t, h in history.items()}


def _over_columns(data: Data, how: dict[str, Any]) -> tuple[Curve, Curve]:
    """No party has whole records, so the accuracy is that of shorter runs.

    |z - z before| is known over the length of the multipliers.
    """
    accuracy: Curve = {}
    for rounds in AT:
        model = _model(how, rounds).fit(data.X, data.y)
        accuracy[model.n_iter_] = model.score(data.Z, data.z)
    moved = {t: h["dual"] ** 2 for t, h in enumerate(model.report_.history, start=1) if "dual" in h}
    return moved, accuracy


def _model(how: dict[str, Any], rounds: int) -> Any:
    kept = {name: value for name, value in how.items() if name != "disclose" or "partition" not in how}
    return tacit.ConsensusSVC(C=C, n_parties=PARTIES, max_rounds=rounds, tol=1e-6, random_state=0, **kept)


def _paint(figure: Drawing, found: dict[tuple[str, str, str], tuple[Curve, Curve]]) -> None:
    entitle(figure, f"Consensus by iteration: {PARTIES} parties, C={C:g}, half of the records to learn from")
    top, bottom = figure.subplots(2, len(VARIANTS), sharex=True, squeeze=False)
    for k, variant in enumerate(VARIANTS):
        _axes(top[k], variant, MOVED.get(k, ""), bottom[k], "" if k else "test accuracy")
        for (name, of, scheme), (moved, accuracy) in found.items():
            if of == variant:
                look = {
                    "color": TYPES[SETS.index(name)],
                    "linestyle": STYLES[list(SCHEMES).index(scheme)],
                    "linewidth": 1.3,
                }
                top[k].plot(list(moved), list(moved.values()), **look)
                bottom[k].plot(list(accuracy), list(accuracy.values()), **look)
    entries = [Line2D([], [], color=TYPES[k], label=name) for k, name in enumerate(SETS)]
    entries += [
        Line2D([], [], color=MUTED, linestyle=style, label=scheme)
        for style, scheme in zip(STYLES, SCHEMES, strict=True)
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=len(entries))


def _axes(above: Axes, title: str, moved: str, below: Axes, accuracy: str) -> None:
    above.set_title(title)
    above.set_yscale("log")
    above.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}"))  # the look has no formulas
    above.set_ylabel(moved)
    below.set_ylabel(accuracy)
    below.set_xlabel("iteration")
    below.set_ylim(0.45, 1.01)
