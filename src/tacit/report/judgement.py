"""What `tacit.evaluate` returns of a judged model: figures that follow from what the sites told, and what they did not.

A bin next to the value where classes change may have a few records of a class, as many as the confusion counts tell.
Areas are of these bins. In curves such a bin is put together with the next ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.numeric.scores.metrics import average_precision, interval_of_area, merge_bins, roc_auc
from tacit.protocols.judge.bins import Bins
from tacit.protocols.judge.model import Judgement, step_of
from tacit.protocols.judge.sums import OFF
from tacit.report.curves import Curve, Label, Residuals
from tacit.report.evaluation import Beside, Evaluation

FIGURES_OF_CLASSES = ("accuracy", "balanced_accuracy", "roc_auc")
TWO = 2


@dataclass(frozen=True)
class Judged:
    """What was judged: the name of the records, classes of the model (none of numbers), groups, and how many are few.

    positive: of two classes that of which figures are. sigmoid: A and B of its probabilities, if the model has some.
    """

    name: str
    how: str
    classes: tuple[Label, ...]
    positive: Label | None
    groups: tuple[str, ...]
    by: str
    least: int
    sigmoid: tuple[float, float] | None = None


def evaluation_of_judgement(found: Judgement, judged: Judged) -> Evaluation:
    """Return the evaluation that follows from what everybody was told."""
    groups = {}
    for g, name in enumerate(judged.groups if judged.by else ()):
        label = f"records of {name}"
        groups[name] = _of_group(found, judged, g, label)
    beside = [_beside(site, found, judged) for site in (found.held if found.sites is not None else ())]
    return _of_set(found, judged, 0, judged.name, groups=groups, beside=beside)


def _of_group(found: Judgement, judged: Judged, g: int, name: str) -> Evaluation:
    if not found.groups[g]:
        return Evaluation(name, list(judged.classes), _no_counts(judged), [], suppressed=True, least=judged.least,
                          positive=judged.positive)  # fmt: skip
    return _of_set(found, judged, g + 1, name, groups={}, beside=[])


def _of_set(
    found: Judgement, judged: Judged, line: int, name: str, *, groups: dict[str, Evaluation], beside: Sequence[Beside]
) -> Evaluation:
    """Return the evaluation of all records, line 0, or of a group."""
    whole = line == 0
    more = {
        "groups": groups,
        "by": judged.by if whole else "",
        "beside": list(beside),
        "least": judged.least,
        "how": judged.how if whole else "",
        "warnings": list(find_concerns(found, judged)) if whole else [],
    }
    if not judged.classes:
        errors = _residuals(found.errors[line])
        return Evaluation(name, [], [], [], errors=errors, suppressed=errors is None, **more)  # type: ignore[arg-type]
    shown = bool(found.classes.any())
    cells = found.cells[line]
    curves = [_curve(found.bins, found.brier, judged)] if whole and found.bins is not None else []
    rest = found.records - int(cells.sum()) if whole and shown else 0
    told = {"positive": judged.positive, "no_class": rest, "suppressed": not shown}
    return Evaluation(name, list(judged.classes), cells.tolist(), curves, **told, **more)  # type: ignore[arg-type]


def _no_counts(judged: Judged) -> list[list[int]]:
    K = len(judged.classes)
    return np.zeros((K, K), dtype=np.int64).tolist()


def _residuals(line: F64) -> Residuals | None:
    n, absolute, squared, spread = line.tolist()
    return None if np.isnan(n) else Residuals(int(n), None, absolute, squared, spread, off=OFF)


def find_concerns(found: Judgement, judged: Judged) -> Sequence[str]:
    """Return one line about classes of which nothing is told, or that have no record; none if there are none."""
    few = f"fewer than {judged.least}"
    if not judged.classes:
        absent = found.records < judged.least
        return [f"there are {found.records} records, {few}: all figures are suppressed"] if absent else []
    if not found.classes.any():
        all_of_it = f"a class has {few} records among the {found.records} that were judged: all figures are suppressed"
        return [f"{all_of_it}, since those of the others would tell of it; judge more records"]
    hidden = [str(c) for c, shown in zip(judged.classes, found.classes.tolist(), strict=True) if not shown]
    sizes = found.cells[0].sum(axis=1)
    empty = [
        str(c)
        for c, shown, n in zip(judged.classes, found.classes.tolist(), sizes.tolist(), strict=True)
        if shown and not n
    ]
    said = [
        *([f"{_name(hidden)} {few} records and {_verb(hidden)} of no class here"] if hidden else []),
        *([f"{_name(empty)} no record"] if empty else []),
    ]
    if not said:
        return []
    return [f"among the {found.records} records that were judged {' and '.join(said)}: figures of it are NaN"]


def _name(classes: Sequence[str]) -> str:
    return f"class {classes[0]} has" if len(classes) == 1 else f"classes {', '.join(classes)} have"


def _verb(classes: Sequence[str]) -> str:
    return "counts as" if len(classes) == 1 else "count as"


def _beside(site: str, found: Judgement, judged: Judged) -> Beside:
    told = (found.sites or {}).get(site)
    if told is None:
        return Beside(site, suppressed=True)
    names = FIGURES_OF_CLASSES if judged.classes else ("r2",)
    joint, alone = (
        {name: float(x) for name, x in zip(names, values.tolist(), strict=False)} for values in (told.joint, told.alone)
    )
    kept = [name for name in names if np.isfinite(joint[name]) or np.isfinite(alone[name])]
    return Beside(site, {n: joint[n] for n in kept}, {n: alone[n] for n in kept}, step_of(found.held[site]))


# Curves


def _curve(bins: Bins, brier: float, judged: Judged) -> Curve:
    """Return the curve of the positive class."""
    second = judged.positive is None or judged.positive == judged.classes[1]
    N, P = (side.astype(np.float64) for side in bins.counts)
    cuts = bins.values
    if not second:  # the other class scores highest where this one scores lowest
        P, N, cuts = N[::-1], P[::-1], -cuts[::-1]
    ends = merge_bins(P, N, judged.least)
    starts = np.concatenate([[0], ends[:-1]])
    p, n = (np.add.reduceat(side, starts) for side in (P, N))
    told = _calibrate(p, n, cuts[ends[:-1] - 1], judged, second=second)
    return Curve(
        judged.classes[1 if second else 0],
        cuts[ends[:-1] - 1].tolist(),
        p.astype(np.int64).tolist(),
        n.astype(np.int64).tolist(),
        roc_auc(P, N),
        average_precision(P, N),
        *told,
        brier_score=brier if np.isfinite(brier) else None,
        roc_auc_interval=interval_of_area(P, N),
    )


def _chances(cuts: F64, judged: Judged, *, second: bool) -> tuple[F64, F64]:
    """Return the least and the largest probability in each bin."""
    A, B = judged.sigmoid or (0.0, 0.0)
    f = cuts if second else -cuts
    p = 1.0 / (1.0 + np.exp(np.clip(A * f + B, -700.0, 700.0)))
    p = p if second else 1.0 - p
    edges = np.concatenate([[0.0], p, [1.0]])
    return edges[:-1], edges[1:]


def _calibrate(P: F64, N: F64, cuts: F64, judged: Judged, *, second: bool) -> tuple[list[int], list[int], list[float]]:
    """Return how many records each bin has, how many of the class, and the probability in its middle."""
    if judged.sigmoid is None:
        return [], [], []
    low, high = _chances(cuts, judged, second=second)
    whole: I64 = (P + N).astype(np.int64)
    return whole.tolist(), P.astype(np.int64).tolist(), ((low + high) / 2.0).tolist()
