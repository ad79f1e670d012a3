"""Noisy sums, scores and statistics of columns as cases: with next to no noise they are those of pooled records."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score

from conformance.case import Case, Inputs, flat
from tacit.base.estimator import choose_classes
from tacit.choreo import At, Coordinator, Holder, Roster, Run, State
from tacit.federation.part import Part
from tacit.protocols.noisy.noisy_columns import noisy_columns
from tacit.protocols.noisy.noisy_scores import Answered, Scored, noisy_errors, noisy_scores
from tacit.protocols.noisy.noisy_sum import Noise, noisy_sum
from tacit.protocols.sums.secure_sum import protect

LOUD = 1e15  # an epsilon by which noise is a few units of the grid
ENTRIES, VARIANCE = 2000, 10**8


BINS = 16


def scores_case(name: str, classes: int) -> Case:
    """Counts of scores, equal to those of all records."""

    def inputs(roster: Roster) -> Inputs:
        rng, held = np.random.default_rng(4), {}
        for i, party in enumerate(roster[Holder]):
            values, codes = rng.normal(size=(40 + i, 1 if classes == 2 else classes)), rng.integers(0, classes, 40 + i)
            held[party] = Scored(values, codes, choose_classes(values))
        return {"scored": (Holder, held)}

    def accepts(result: Any, given: Inputs) -> None:
        scored = given["scored"][1].values()
        tally = result["tally"]
        codes, chosen = (np.concatenate([getattr(each, key) for each in scored]) for key in ("codes", "chosen"))
        np.testing.assert_array_equal(tally["confusion"], confusion_matrix(codes, chosen))
        values = np.concatenate([each.values for each in scored])
        for k, (column, curve) in enumerate(zip(values.T, tally["curves"].values(), strict=True)):
            low, high = curve["roc_auc"]
            assert low <= roc_auc_score(codes == (1 if classes == 2 else k), column) <= high
            assert sum(curve["positives"]) + sum(curve["negatives"]) == len(codes)

    given = {"epsilon": LOUD, "delta": 1e-9, "n_classes": classes, "bins": BINS}
    return Case(f"noisy_scores_{name}", inputs, partial(play_tally, flat(noisy_scores), **given), accepts)


def play_tally(play: Any, run: Run, **given: Any) -> Any:
    held = given.pop(next(name for name in ("scored", "answered") if name in given))
    return {"tally": spread(play(run, held, **given).tally)}


def spread(value: Any) -> Any:
    """Return a record by its fields, however deep."""
    if isinstance(value, tuple):
        return {str(i): spread(each) for i, each in enumerate(value)}
    return {n: spread(getattr(value, n)) for n in value.field_names()} if isinstance(value, State) else value


def errors_case() -> Case:
    """Sums of errors, equal to those of all records within the grid."""

    def inputs(roster: Roster) -> Inputs:
        rng = np.random.default_rng(4)
        made = {party: rng.uniform(-6, 6, size=(2, 50 + i)) for i, party in enumerate(roster[Holder])}
        return {"answered": (Holder, {party: Answered(*each) for party, each in made.items()})}

    def accepts(result: Any, given: Inputs) -> None:
        answered = given["answered"][1].values()
        y, f = (np.clip(np.concatenate([getattr(a, key) for a in answered]), -5, 5) for key in ("targets", "answers"))
        e = y - f
        means = [e.mean(), np.abs(e).mean(), (e**2).mean(), y.var()]
        np.testing.assert_allclose(result["tally"]["means"], means, rtol=0.01, atol=0.02)
        assert result["tally"]["counts"].sum() == result["tally"]["records"] == len(y)
        found = np.searchsorted(result["tally"]["cuts"], e, side="right")
        np.testing.assert_allclose(result["tally"]["counts"], np.bincount(found, minlength=BINS), atol=2)

    given = {"epsilon": LOUD, "delta": 1e-9, "privacy_targets": (-5.0, 5.0), "bins": BINS}
    return Case("noisy_errors", inputs, partial(play_tally, flat(noisy_errors), **given), accepts)


NAMES = ("a", "b", "c", "d", "e")


def columns_case(name: str, **params: Any) -> Case:
    """Statistics of columns with gaps, equal to those of the pooled records, within the grid and the noise of LOUD."""

    def inputs(roster: Roster) -> Inputs:
        rng, parts = np.random.default_rng(4), {}
        for i, party in enumerate(roster[Holder]):
            X = rng.normal(size=(30 + i, len(NAMES))) * [1.0, 30.0, 0.1, 1.0, 1.0] + [0.0, 50.0, 0.0, 3.0, 0.0]
            X[:, 3], X[::5, 1] = np.rint(X[:, 3]), np.nan
            parts[party] = Part(X, None, None, NAMES, None)
        return {"data": (Holder, parts)}

    spent = {"epsilon": LOUD, "delta": 1e-9}
    asked = {"names": ("b", "a"), "histograms": ("a", "c"), "categories": {"d": (3.0, 2.0)}, **params}
    return Case(
        f"noisy_columns_{name}",
        inputs,
        partial(flat(noisy_columns), **spent, **asked),
        partial(check_columns, asked=asked),
    )


def check_columns(result: Any, inputs: Inputs, *, asked: Any) -> None:
    X = np.concatenate([part.X for part in inputs["data"][1].values()])
    b, a, c, d = (X[:, NAMES.index(name)] for name in "bacd")
    found, made = result["moments"], result["histograms"]
    ranges, within = asked.get("ranges"), list(zip(result["extent"]["low"], result["extent"]["high"], strict=True))
    assert ranges is None or within == [ranges[name] for name in "bac"]
    inside = [np.clip(values, *each) for values, each in zip((b, a, c), within, strict=True)]
    np.testing.assert_allclose(found["mean"][:2], [np.nanmean(v) for v in inside[:2]], atol=0.3)
    np.testing.assert_allclose(np.sqrt(found["var"][:2]), [np.nanstd(v) for v in inside[:2]], rtol=0.02)
    np.testing.assert_allclose(found["present"][:2], [(~np.isnan(v)).sum() for v in (b, a)], atol=0.1)
    for values, low, high, counts in zip(inside[1:], made["low"], made["high"], made["counts"], strict=True):
        np.testing.assert_allclose(counts, np.histogram(np.clip(values, low, high), 32, (low, high))[0], atol=0.5)
    np.testing.assert_allclose(result["values"], [[(d == 2).sum(), (d == 3).sum()]], atol=0.5)
    assert set(result["spent"]) == {"means", "histograms", "declared values", *(() if ranges else ("bounds",))}


def sum_case(name: str) -> Case:
    """A sum with noise, whose size is the one that was agreed on."""

    def inputs(roster: Roster) -> Inputs:
        return {"x": (Holder, {p: np.full(ENTRIES, i) for i, p in enumerate(roster[Holder])})}

    def play(run: Run, x: At[Any]) -> Any:
        by = protect(run)
        noise = Noise(VARIANCE, 1.0, len(run.roster[Holder]))
        return noisy_sum(run, x, to=Coordinator, by=by, noise=noise, what="counts", doubled=np.arange(ENTRIES // 2))

    def accepts(result: Any, given: Inputs) -> None:
        parties = len(given["x"][1])
        (total,) = (result if isinstance(result, dict) else result._entries).values()
        half = (total - parties * (parties - 1) / 2).reshape(2, -1)
        spread = half.std(axis=1) / np.sqrt(parties * VARIANCE)
        np.testing.assert_allclose(spread, [np.sqrt(2), 1.0], rtol=0.12)  # five standard errors

    return Case(f"noisy_sum{name}", inputs, play, accepts)


CASES: tuple[Case, ...] = (
    sum_case(""),
    scores_case("2_classes", 2),
    scores_case("3_classes", 3),
    errors_case(),
    columns_case("bounds"),
    columns_case("ranges", ranges={"a": (-2.0, 2.0), "b": (0.0, 128.0), "c": (-1.0, 1.0)}),
)
