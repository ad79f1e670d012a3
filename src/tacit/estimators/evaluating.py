"""`tacit.evaluate`: how good a fitted classifier is on records that stay where they are."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.choreo import I64, Holder, Labeller
from tacit.data import Federation
from tacit.data.part import Part
from tacit.errors import LocalError
from tacit.estimators.base import FederatedClassifier, chosen
from tacit.estimators.parameters import Number
from tacit.estimators.pipeline import Pipeline
from tacit.estimators.probability import SupportVectorClassifier
from tacit.estimators.search_base import FederatedSearch
from tacit.numeric.platt import classes_of
from tacit.protocols.score_counts import Scored, Tally
from tacit.registry import Inputs, Outcome
from tacit.report.evaluation import Evaluation, evaluation_of
from tacit.report.outcome import add_outcome

USUAL = 5  # min_count of models that have none


@dataclass(eq=False, repr=False)
class Recorded(Federation):
    """A federation that remembers what was run on it."""

    outcomes: list[Outcome] = field(default_factory=list)

    def execute(self, protocol: str, inputs: Inputs, **params: Any) -> Outcome:
        """Run a protocol, and keep what it left."""
        outcome = super().execute(protocol, inputs, **params)
        self.outcomes.append(outcome)
        return outcome


def evaluate(
    model: FederatedClassifier | FederatedSearch | Pipeline,
    federation: Federation,
    *,
    name: str = "records",
    per_site: bool | Sequence[str] | Mapping[str, int] = (),
    bins: int = 256,
    min_count: int | None = None,
) -> Evaluation:
    """How good a fitted classifier is on the labelled records of a federation; the result also goes into `model.report_`.

    Over rows every party scores its own records, and masked sums of counts are opened; over columns the labeller, who has the labels and
    is told the decision values, counts alone. Nothing about a class of fewer than `min_count` records is told.

    Args:
        model: a fitted classifier, a search that trained one, or a `Pipeline` that ends in either.
        federation: labelled records, between the parties that the model was trained by.
        name: what these records are, for the report.
        per_site: sites that agree to show the counts of their own records: names, or {name: that site's own min_count}; True: all.
        bins: of the score histograms: the more, the closer the bounds of areas under curves, and the more the coordinator sees.
        min_count: of how many records a class, or a bin, must be to be told; the model's own by default.
    """
    if isinstance(model, Pipeline):
        last = evaluate(model[-1], model.prepared(federation), name=name, per_site=per_site, bins=bins, min_count=min_count)
        model.tell()
        return last
    reported, model = model, cast("FederatedClassifier", getattr(model, "best_estimator_", model))
    own = getattr(model, "min_count", USUAL)
    least = min_count if min_count is not None else USUAL if isinstance(own, str) else int(own)
    _check(model, federation, bins, least)
    seen = Recorded(**{f.name: getattr(federation, f.name) for f in dataclasses.fields(Federation)})
    scored = _scored(model, seen)
    settings = {"classes": len(model.classes_), "bins": bins, "min_count": least}
    if federation.partition == "horizontal":
        sites = _sites(per_site, tuple(federation.parts), least)
        found = seen.execute("score_counts", {"scored": (Holder, scored)}, **settings, **_protection(model), per_site=sites,
                             probability=bool(_with_probability(model))).result  # fmt: skip
        how = f"counted at {len(scored)} sites and summed under masks, scores in {bins} bins"
        told = _hidden(sites, found)
    elif per_site:
        raise LocalError("per_site is for records that sites hold by rows: over columns no record is of one site; leave it out")
    else:
        found = {"tally": seen.execute("labeller_counts", {"scored": (Labeller, scored)}, **settings).result, "sites": {}}
        told = []
        how = f"counted by {federation.labeller}, who has the labels and was told the decision values"
    own = {site: evaluation_of(each, model.classes_, name=f"records of {site}", how="counted by the site")
           for site, each in found["sites"].items()}  # fmt: skip
    told = [*_left_out(model, found["tally"], least), *told]
    evaluation = evaluation_of(found["tally"], model.classes_, name=name, how=how, warnings=told, sites=own)
    _report(reported, evaluation, seen.outcomes)
    return evaluation


def _check(model: Any, federation: Any, bins: int, least: int) -> None:
    if not isinstance(model, FederatedClassifier):
        raise LocalError(f"evaluate needs a classifier of tacit, got a {type(model).__name__}: give a fitted one")
    check_is_fitted(model)
    if not isinstance(federation, Federation):
        raise LocalError(f"evaluate needs a Federation that holds labelled records, got a {type(federation).__name__}: build one of them")
    if not federation.simulated:
        raise LocalError("evaluate runs in simulation only in this version: between organisations each site can score its own records")
    for name, value, least_allowed in (("bins", bins, 2), ("min_count", least, 1)):
        if not (rule := Number(least_allowed, whole=True))(value):
            raise LocalError(f"The '{name}' parameter of evaluate must be {rule}. Got {value!r} instead.")
    if federation.coordinator in federation.parts and not getattr(model, "accept_risk", False):
        raise LocalError(
            f"party {federation.coordinator!r} would coordinate and learn the counts, from which it can subtract its own: name a site"
            " without data, or say accept_risk=True"
        )


def _scored(model: FederatedClassifier, federation: Federation) -> dict[str, Scored]:
    """What each party that has labels knows of its records."""
    codes = {p: _codes(model, p, part) for p, part in federation.parts.items() if federation.labeller in {None, p}}
    values = model._values(federation)  # noqa: SLF001 - estimators of this package share it
    chances = np.empty((len(values), 0))
    if isinstance(model, SupportVectorClassifier) and _with_probability(model):
        chances = model._probabilities(values)[:, list(classes_of(values.shape[1]))]  # noqa: SLF001
    rows, classes = federation.rows, chosen(values)
    return {p: Scored(values[rows[p]], chances[rows[p]], codes[p], classes[rows[p]]) for p in codes}


def _codes(model: FederatedClassifier, party: str, part: Part) -> I64:
    if part.y is None:
        if len(part.X):
            raise LocalError(f"{party} has records without labels, and evaluate needs to know their classes: give y= with the records")
        return np.empty(0, dtype=np.int64)
    numbers = {label: k for k, label in enumerate(model.classes_.tolist())}
    codes = np.array([numbers.get(label, -1) for label in part.y.tolist()], dtype=np.int64)
    if (unknown := np.flatnonzero(codes < 0)).size:
        raise LocalError(
            f"{party} has {unknown.size} records of classes that the model does not know, such as"
            f" {part.y[unknown[0]].item()!r}: leave them out, or train with them"
        )
    return codes


def _with_probability(model: Any) -> bool:
    return bool(getattr(model, "probability", False) and model.probA_.size)


def _protection(model: Any) -> dict[str, Any]:
    if not hasattr(model, "secure_sum"):
        return {}
    return {"method": model.secure_sum, "segments": model.segments, "fraction_bits": model.fraction_bits}


def _sites(per_site: bool | Sequence[str] | Mapping[str, int], parties: tuple[str, ...], least: int) -> dict[str, int]:  # noqa: FBT001 - one of three
    if isinstance(per_site, bool):
        return dict.fromkeys(parties, least) if per_site else {}
    if isinstance(per_site, Mapping):
        return {str(site): int(own) for site, own in per_site.items()}
    return dict.fromkeys([per_site] if isinstance(per_site, str) else per_site, least)


def _left_out(model: FederatedClassifier, tally: Tally, least: int) -> list[str]:
    few = [model.classes_[k] for k in tally.left_out]
    return [f"class {label} has fewer than min_count={least} records: they are left out of all figures" for label in few]


def _hidden(asked: Mapping[str, int], found: Mapping[str, Any]) -> list[str]:
    few = list(found["unwilling"])
    told = [f"{', '.join(few)}: fewer than min_count records of a class, so no counts of their own are shown"] if few else []
    if not found["sites"] and len(few) < len(asked):
        told.append(f"no site's own counts are shown, since those of {', '.join(few)} would follow from them by subtraction")
    return told


def _report(model: Any, evaluation: Evaluation, outcomes: Sequence[Outcome]) -> None:
    for line in evaluation.warnings:
        warnings.warn(line, UserWarning, stacklevel=4)
    for outcome in outcomes:
        add_outcome(model.report_, outcome)
    model.report_.evaluations[evaluation.name] = evaluation
