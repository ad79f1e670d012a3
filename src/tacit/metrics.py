"""`tacit.evaluate`: how good a fitted model is on records that stay where they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, I64
from tacit.base.estimator import choose_classes
from tacit.base.judging import By, Label, Question, judge_in_shares
from tacit.base.private import charge, spend
from tacit.choreo import Holder
from tacit.choreo.declaration import Number, wrong_value
from tacit.errors import LocalError, warn_caller
from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.numeric.privacy.accountant import epsilon_of
from tacit.progress import watching
from tacit.protocols.learners.targets import LEAST_CLASS
from tacit.protocols.noisy.ground import DELTA, EPSILON, HONEST
from tacit.protocols.noisy.noisy_scores import Answered, Scored, check_targets
from tacit.registry import Outcome
from tacit.report.evaluation import Evaluation, evaluation_of, evaluation_of_errors
from tacit.report.outcome import add_outcome
from tacit.request import Computed, Records

Decide = Callable[[F64], F64]
Find = Callable[[Any, str, Part], Any]  # the labels of a party's records, as the model knows them
Judge = Callable[[Any, Any, F64], Any]  # what labels and decision values tell of a model
BINS, NOISY_BINS = 256, 16
NOISY = "counted at every site, and summed under masks with noise of every site: differentially private"


@dataclass(frozen=True)
class Privacy:
    """With how much noise records are judged, and between which numbers their targets lie."""

    epsilon: float
    delta: float
    honest: int | None
    target_range: tuple[float, float] | None

    def check(self, model: Any, federation: Federation) -> None:
        """Raise if noise does not cover what is asked for."""
        for name, kind in (("epsilon", EPSILON), ("delta", DELTA), ("honest", HONEST)):
            if not kind.allows(getattr(self, name)):
                raise wrong_value(name, "evaluate", kind.words, getattr(self, name))
        if model.public_decision() is None:
            raise LocalError(f"epsilon={self.epsilon:g} does not cover a model that stays in shares: leave it out")
        spend(federation, self.epsilon, self.delta, self.honest)

    def within(self, model: Any) -> tuple[float, float]:
        """Return between which numbers the targets of a regressor lie: as given, else as it was trained."""
        low, high = check_targets(self.target_range or getattr(model, "target_range", None))
        return float(low), float(high)


def evaluate(
    model: Any,
    federation: Federation,
    *,
    name: str = "records",
    by: By = None,
    against: str | None = None,
    learnt_on: Federation | None = None,
    pos_label: Label | None = None,
    min_count: int | None = None,
    verbose: bool | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    honest: int | None = None,
    target_range: tuple[float, float] | None = None,
    bins: int | None = None,
) -> Evaluation:
    """Return how good a fitted model is on the labelled records of a federation, and add the result to `model.report_`.

    Over rows every party judges its own records with the public model, and counts are added up in shares. Over columns
    and cells values and counts stay in shares. What is told is the confusion counts, of two classes a curve in bins,
    and of numbers rounded mean errors; never of 1 to `min_count` - 1 records of a class.

    Args:
        model: a fitted classifier or regressor, a search that trained one, or a `Pipeline` that ends in any of them.
        federation: labelled records, held by the parties that trained the model.
        name: name of these records in the report.
        by: figures of groups of records too: "site"; the name of a column whose categories are declared; or
            {column: [categories]}. A group is suppressed if it, or all others, have a few records of a class.
        against: "alone": each site also trains the same model on its own records of `learnt_on`, and tells rounded
            figures of both models on its own records here. None: nobody trains.
        learnt_on: the records that the model was fitted on; a study knows them itself.
        pos_label: of two classes, the one that sensitivity, curves and areas are of; the second by default.
        min_count: fewer records of a class than this are few; 10 by default, and at least 10 between organisations.
        verbose: as in estimators: None shows a line of progress in a terminal or notebook, after 2 s.
        epsilon: judge with differential privacy for the judged records, over rows and with a public model: one of these
            records changes the log-odds of any outcome by at most this much (docs/privacy.md). Records of unknown
            classes are not counted, and none is refused. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        target_range: with epsilon, the bounds (low, high) of a regressor's targets; its own by default.
        bins: with epsilon, number of bins of the score histograms; 16 by default.
    """
    asked: dict[str, Any] = {"name": name, "by": by, "against": against, "pos_label": pos_label, "min_count": min_count}
    if epsilon is not None:
        asked |= {"epsilon": epsilon, "delta": delta, "honest": honest, "target_range": target_range}
    if bins is not None:
        asked["bins"] = bins
    if isinstance(federation, Federation):
        federation = federation.backend.to_judge(federation, model, asked)
    piped = hasattr(model, "prepare")
    last, records = (model[-1], model.prepare(federation)) if piped else (model, federation)
    answers = getattr(last, "best_estimator_", last)
    with watching("evaluate", verbose):
        check_model(answers, records, "evaluate", 1)
        if epsilon is not None:
            _refuse_with_noise(by=by, against=against, pos_label=pos_label, min_count=min_count)
            private = Privacy(epsilon, delta, honest, target_range)
            evaluation, outcomes = _judge_noisy(private, answers, records, name, NOISY_BINS if bins is None else bins)
        else:
            _refuse_exact(answers, records)
            if bins is not None:
                raise LocalError(
                    "bins= is for judging with epsilon; without it bins follow from the records: leave it out"
                )
            how = Question(
                raw=federation,
                learner=getattr(model, "best_estimator_", model),
                by=by,
                against=against,
                learnt_on=learnt_on,
                pos_label=pos_label,
                least=LEAST_CLASS if min_count is None else min_count,
                categories=_known_categories(model),
            )
            evaluation, outcomes = judge_in_shares(answers, records, name, how)
    _report(last, evaluation, outcomes)
    if epsilon is not None:
        spent = epsilon_of(math.sqrt(sum(outcomes[-1].result.spent.values())), delta)
        paid = {f"epsilon that was spent on judging {name}": round(spent, 4)}
        paid |= charge(federation, sum(outcomes[-1].result.spent.values()), delta)
        last.report_.figures = {**(last.report_.figures or {}), **paid}
    if piped:
        model.combine_reports()
    return evaluation


def _refuse_exact(model: Any, federation: Federation) -> None:
    """Refuse a model in shares over columns and cells, whose answers its asker is told."""
    if federation.partition != "horizontal" and model.public_model() is None:
        raise LocalError(
            "over columns and cells the answers of a model in shares are told to who asks: compare its predict with the"
            " labels there, or train with landmarks"
        )


def _refuse_with_noise(**given: Any) -> None:
    """Refuse what noisy sums do not tell."""
    for name, value in given.items():
        if value is not None:
            raise LocalError(f"{name}= is for judging without epsilon: leave out one of them")


def _known_categories(model: Any) -> dict[str, Sequence[Any]]:
    """Return the categories that steps of a pipeline have for columns by their names."""
    found: dict[str, Sequence[Any]] = {}
    for _, step in getattr(model, "steps", ()):
        known = getattr(step, "categories_", None)
        found |= dict(known) if isinstance(known, Mapping) else {}
    return found


def _judge_noisy(
    private: Privacy, model: Any, federation: Federation, name: str, bins: int
) -> tuple[Evaluation, list[Outcome]]:
    """Return how good a public model is, by noisy sums, and the run that it took to know."""
    if not (kind := Number(2, whole=True)).allows(bins):
        raise wrong_value("bins", "evaluate", kind.words, bins)
    private.check(model, federation)
    model.match_records(federation, gaps=True)
    numbers = is_regressor(model)
    find, judge = (_targets_if_any, _answer) if numbers else (_codes_if_known, _score)
    of_holders = Computed(Holder, partial(_judge_each, model, find, judge), (Records(),))
    asked: dict[str, Any] = {"bins": bins, **spend(federation, private.epsilon, private.delta, private.honest)}
    if numbers:
        within = private.within(model)
        done = federation.run("noisy_errors", {"answered": of_holders}, **asked, privacy_targets=within)
        return evaluation_of_errors(done.result.tally, name=name, how=NOISY), [done]
    done = federation.run("noisy_scores", {"scored": of_holders}, **asked, n_classes=len(model.classes_))
    return evaluation_of(done.result.tally, model.classes_, name=name, how=NOISY), [done]


def _judge_each(model: Any, find: Find, judge: Judge, party: str, part: Part) -> Any:
    """Return what a public model says of each record by itself: rounding depends on no record beside it."""
    decide = model.public_decision()
    with np.errstate(all="ignore"):  # a record may hold anything
        values = [decide(part.X[i : i + 1]) for i in range(max(1, len(part.X)))]
    return judge(model, find(model, party, part), np.concatenate(values))


def _codes_if_known(model: Any, party: str, part: Part) -> I64:
    """Return the class of every record by its number; -1 of one that the model does not know, or without a label."""
    del party
    numbers = {label: k for k, label in enumerate(model.classes_.tolist())}
    labels = [None] * len(part.X) if part.y is None else part.y.tolist()
    return np.array([numbers.get(label, -1) for label in labels], dtype=np.int64)


def _targets_if_any(model: Any, party: str, part: Part) -> F64:
    """Return the target of every record; NaN where there is no number."""
    del model, party
    if part.y is None or part.y.dtype.kind not in "iufb":
        return np.full(len(part.X), np.nan)
    return part.y.astype(np.float64)


def _answer(model: Any, targets: F64, values: F64) -> Answered:
    """Return the targets of a party's own records beside a regressor's answers."""
    del model
    return Answered(targets, values[:, 0])


def _score(model: Any, codes: I64, values: F64) -> Scored:
    """Return the classes of a party's own records beside a classifier's decision values."""
    del model
    return Scored(values, codes, choose_classes(values))


def check_model(model: Any, federation: Any, who: str, min_count: int) -> Any:
    """Return what answers of a fitted model, a search or a pipeline; raise if `who` cannot ask it about the records."""
    last = model[-1] if hasattr(model, "prepare") else model
    last = getattr(last, "best_estimator_", last)
    if not (hasattr(last, "ask") and (is_classifier(last) or is_regressor(last))):
        raise LocalError(
            f"{who} needs a classifier or a regressor of tacit, got a {type(last).__name__}: give a fitted one"
        )
    check_is_fitted(last)
    if not isinstance(federation, Federation):
        raise LocalError(f"{who} needs a Federation that holds labelled records, got a {type(federation).__name__}")
    if not federation.backend.prepares:
        raise LocalError(
            f"{who} runs in simulation, or as [evaluate] of a study between organisations: propose a study"
        )
    if not (kind := Number(1, whole=True)).allows(min_count):
        raise wrong_value("min_count", who, kind.words, min_count)
    return last


def _report(model: Any, evaluation: Evaluation, outcomes: Sequence[Outcome]) -> None:
    for line in evaluation.warnings:
        warn_caller(line)
    for outcome in outcomes:
        add_outcome(model.report_, outcome)
    model.report_.evaluations[evaluation.name] = evaluation
