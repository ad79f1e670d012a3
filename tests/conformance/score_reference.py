"""Metrics and probabilities as conformance cases: scikit-learn on the pooled records is the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.calibration import _sigmoid_calibration, calibration_curve
from sklearn.metrics import average_precision_score, brier_score_loss, confusion_matrix, roc_auc_score

from tacit.choreo import At, Coordinator, Holder, Run
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.scores.folds import choose_class
from tacit.numeric.scores.platt import classes_of, probabilities
from tacit.protocols.scores.platt import Scores, platt
from tacit.protocols.scores.score_counts import Counting, Scored, Tally, labeller_counts, score_counts
from tacit.protocols.settings import Sums
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice

LEAST, BINS, N = 3, 200, 150


def pooled(classes: int) -> Scored:
    """Decision values that are right more often than not; the last class is rare."""
    rng = np.random.default_rng(5)
    codes = rng.choice(classes, size=N, p=np.arange(classes, 0, -1) / (classes * (classes + 1) / 2)).astype(np.int64)
    columns = 1 if classes == 2 else classes
    values = np.round(rng.normal(size=(N, columns)) + np.stack([codes == k for k in classes_of(columns)], axis=1), 2)
    chances = probabilities(values, np.tile([-1.5, 0.5], (columns, 1)))[:, list(classes_of(columns))]
    return Scored(values, chances, codes, choose_class(values))


def parts(parties: Sequence[str], classes: int) -> dict[str, Scored]:
    """Unequal shares; the last of five has nothing."""
    whole = pooled(classes)
    cuts = [N // 5, N // 2, N - 20, N]
    ends = (*cuts[: len(parties) - 1], N)
    return {p: cut(whole, slice(a, b)) for p, a, b in zip(parties, (0, *ends), ends, strict=False)}


def cut(scored: Scored, rows: slice) -> Scored:
    return Scored(*(getattr(scored, name)[rows] for name in scored.field_names()))


def play_counts(
    run: Run, scored: At[Any], *, classes: int, sites: Sequence[str] = (), probability: bool = True, **protection: Any
) -> Any:
    per_site = dict.fromkeys(run.roster[Holder] if sites == "all" else sites, LEAST)
    found = score_counts(
        run,
        scored,
        counting=Counting(n_classes=classes, bins=BINS, min_count=LEAST),
        per_site=per_site,
        probability=probability,
        sums=Sums(**protection),
    )
    return {"all": flat(found.tally), **{site: flat(each) for site, each in found.sites.items()}}


def play_alone(run: Run, scored: At[Any], *, classes: int) -> Any:
    return flat(labeller_counts(run, scored, counting=Counting(n_classes=classes, bins=BINS, min_count=LEAST)))


def flat(tally: Tally) -> Any:
    """As plain arrays."""
    curves = {f"{name} {i}": getattr(c, name) for i, c in enumerate(tally.curves) for name in c.field_names()}
    bins = {f"bin {name} {i}": getattr(r, name) for i, r in enumerate(tally.reliability) for name in r.field_names()}
    return {"confusion": tally.confusion, **curves, **bins}


def check_counts(result: Any, inputs: Any, *, classes: int, sites: str = "") -> None:
    check_tally(result["all"], pooled(classes), classes)
    held = inputs["scored"][1]
    shown = [p for p, part in held.items() if len(part.codes)] if sites == "all" else []
    assert set(result) == {"all", *shown}
    for site in shown:
        check_tally(result[site], held[site], classes, exact=True)


def check_alone(result: Any, inputs: Any, *, classes: int) -> None:
    check_tally(result, inputs["scored"][1]["p1"], classes, exact=True)


def check_tally(told: Any, scored: Scored, classes: int, *, exact: bool = False) -> None:
    np.testing.assert_array_equal(
        told["confusion"], confusion_matrix(scored.codes, scored.chosen, labels=range(classes))
    )
    for i, k in enumerate(classes_of(scored.values.shape[1])):
        of, f = scored.codes == k, scored.values[:, i]
        if 0 < of.sum() < len(of):
            within(told[f"roc_auc {i}"], roc_auc_score(of, f), exact=exact)
            within(told[f"average_precision {i}"], average_precision_score(of, f), exact=exact)
        for side, total in ((f"positives {i}", of.sum()), (f"negatives {i}", (~of).sum())):
            assert told[side].sum() == total
            assert np.all((told[side] == 0) | (told[side] >= LEAST))
        if f"bin brier {i}" in told:
            check_bins(told, i, of, scored.probability[:, i])


def within(bounds: Any, figure: float, *, exact: bool) -> None:
    low, high = bounds
    assert low - 1e-12 <= figure <= high + 1e-12
    assert high - low < (1e-12 if exact else 0.1)


def check_bins(told: Any, i: int, of: Any, p: Any) -> None:
    """The bins of scikit-learn's calibration_curve, but those that are not shown."""
    np.testing.assert_allclose(told[f"bin brier {i}"], brier_score_loss(of, p), atol=1e-8)
    records = told[f"bin records {i}"]
    assert np.all((records == 0) | (records >= LEAST))
    seen = np.flatnonzero(records)
    true, predicted = calibration_curve(of, p, n_bins=10)
    number = np.flatnonzero(np.bincount(np.searchsorted(np.linspace(0, 1, 11)[1:-1], p), minlength=10))
    places = [list(number).index(d) for d in seen]
    np.testing.assert_allclose(told[f"bin positives {i}"][seen] / records[seen], true[places], atol=1e-8)
    np.testing.assert_allclose(told[f"bin predicted {i}"][seen], predicted[places], atol=1e-8)


def play_platt(run: Run, scores: At[Any], *, classes: int, witness: bool = False) -> Any:
    fixed = FixedPoint(32, terms=len(run.roster[Holder]))
    voice = Voice(run, protect(run, to=Coordinator), fixed, witness)
    sizes = np.bincount(pooled(classes).codes, minlength=classes).astype(float)
    return platt(run, scores, voice=voice, sizes=sizes)


def score_parts(parties: Sequence[str], classes: int) -> dict[str, Scores]:
    return {p: Scores(part.values, part.codes) for p, part in parts(parties, classes).items()}


def check_platt(result: Any, inputs: Any, *, classes: int) -> None:
    del inputs
    whole = pooled(classes)
    check_sigmoids(result, whole.values, whole.codes, atol=1e-6)


def check_sigmoids(result: Any, values: Any, codes: Any, *, atol: float) -> None:
    """scikit-learn's sigmoid of the same values."""
    assert len(result) == values.shape[1]
    for i, k in enumerate(classes_of(values.shape[1])):
        f = values[:, i]
        reference = np.array(_sigmoid_calibration(f, (codes == k).astype(float)))
        mine, theirs = (probabilities(f[:, None], AB[None]) for AB in (np.asarray(result)[i], reference))
        np.testing.assert_allclose(mine, theirs, atol=atol)
