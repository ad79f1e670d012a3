"""`tacit.cross_val_score`: how good a model is on records that it has not seen, fold by fold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import train_test_split as sklearn_split

from tacit.arrays import F64
from tacit.base.parameters import FACE, draw_seed
from tacit.choreo.declaration import Number, write_among, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.slices import Deal, Dealt
from tacit.metrics import evaluate
from tacit.report import Evaluation, Report
from tacit.report.evaluation import ERROR_FIGURES, FIGURES
from tacit.report.report import combine

ONE_BY_ONE = "a run for each fold, and its records judged by tacit.evaluate"


@dataclass(frozen=True, repr=False)
class Validation:
    """What `tacit.cross_validate` found.

    Attributes:
        scores: one score for each fold, by a model that did not see its records.
        metric: what the scores are: accuracy or another figure of classes, R^2 of numbers.
        how: in which runs they were found.
        report: what these runs opened and cost together.
        evaluations: one for each fold, if every fold was judged by itself.
    """

    scores: F64
    metric: str
    how: str
    report: Report
    evaluations: list[Evaluation] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        """The standard deviation over the folds."""
        return float(np.std(self.scores))

    def __repr__(self) -> str:
        return f"<Validation: {self.metric} {self.mean:.4f} ± {self.deviation:.4f} over {len(self.scores)} folds>"


def cross_val_score(model: Any, federation: Federation, *, cv: int = 5, **options: Any) -> F64:
    """Return the score of every fold, by a model that did not see its records, as scikit-learn does.

    `cross_validate`, which takes the same arguments, also returns what that opened.
    """
    return cross_validate(model, federation, cv=cv, **options).scores


def cross_validate(
    model: Any,
    federation: Federation,
    *,
    cv: int = 5,
    scoring: str | None = None,
    random_state: Any = None,
) -> Validation:
    """Return how good a model is on records that it has not seen, fold by fold, and what was opened to find out.

    Every site divides its own records between the folds, class by class; over columns all sites divide them alike. A
    model is trained once for each fold, and `tacit.evaluate` judges it there. Steps of a `Pipeline` that do not use
    labels are fitted once, on all records, so that their sums are opened once; a step that selects features is fitted
    again for each fold.

    Args:
        model: a classifier or regressor, or a `Pipeline` that ends in one; it is cloned, and stays as it is.
        federation: labelled records.
        cv: number of folds.
        scoring: a figure of `Evaluation`; accuracy, or R^2 of a regressor, by default.
        random_state: an int gives the same folds every time; None gives new ones.
    """
    if not isinstance(federation, Federation):
        raise LocalError(
            f"cross_validate needs a Federation, got a {type(federation).__name__}: use scikit-learn's for plain arrays"
        )
    check_folds(cv, "cross_validate")
    seed = draw_seed(random_state)
    if hasattr(model, "steps") and not any(isinstance(step, SelectorMixin) for _, step in model.steps):
        return _after_preparing(model, federation, cv, scoring, seed)
    learner = seed_model(clone(model), seed)
    if scoring is not None and scoring not in (known := (*FIGURES, *ERROR_FIGURES)):
        raise wrong_value("scoring", "cross_validate", f"a str {write_among(known)} for this model", scoring)
    return _one_by_one(learner, federation, cv, scoring, seed)


def seed_model(model: Any, seed: int) -> Any:
    """Return the model with one public seed for all folds, where it has none."""
    drawn = [name for name in model.get_params() if name.rsplit("__", 1)[-1] == "random_state"]
    return model.set_params(**{name: seed for name in drawn if model.get_params()[name] is None})


def _after_preparing(model: Any, federation: Federation, cv: int, scoring: str | None, seed: int) -> Validation:
    """Fit the steps that look at no labels on all records, and validate the last on what they make of them."""
    *steps, (last, learner) = clone(model).steps
    reports = {}
    for name, step in ((name, step) for name, step in steps if step not in (None, "passthrough")):
        federation = step.fit(federation).transform(federation)
        reports[name] = step.report_
    found = cross_validate(learner, federation, cv=cv, scoring=scoring, random_state=seed)
    report = combine(type(model).__name__, {**reports, last: found.report})
    return dataclasses.replace(found, report=report, how=f"{found.how}; prepared once, on all records")


def _one_by_one(learner: Any, federation: Federation, cv: int, scoring: str | None, seed: int) -> Validation:
    fitted = list(_fit_folds(learner, federation, cv, seed))
    evaluations = [next(reversed(each.report_.evaluations.values())) for each in fitted]
    metric = scoring or evaluations[0].metric
    scores = [float(getattr(each, metric)) for each in evaluations]
    report = combine(type(learner).__name__, {f"fold {q}": each.report_ for q, each in enumerate(fitted, 1)})
    report.evaluations = {each.name: each for each in evaluations}
    return Validation(np.array(scores), metric, ONE_BY_ONE, report, evaluations)


def _fit_folds(learner: Any, federation: Federation, cv: int, seed: int) -> Iterator[Any]:
    """Train a model without each fold in turn, and judge it on the fold."""
    dealt = deal_folds(federation, cv, "cross_validate", seed)
    for q in range(cv):
        trained = clone(learner).fit(dealt.take(*(other for other in range(cv) if other != q)))
        evaluate(trained, dealt.take(q), name=f"records of fold {q + 1}", min_count=1)
        yield trained


# `tacit.train_test_split`: records set aside at each site, by a public seed; nothing is sent


SHARE = Number(0, 1, above=True)
FOLDS = Number(2, whole=True)


def train_test_split(
    federation: Any,
    *arrays: Any,
    test_size: float = 0.25,
    stratify: Any = None,
    random_state: Any = None,
) -> Any:
    """Return two federations: records to learn from, and records to judge by.

    Every site sets some of its own records aside, by a public seed, and tells nobody which or how many. Over columns
    all sites set the same records aside.

    Args:
        federation: a `Federation`; or plain arrays, which scikit-learn splits.
        arrays: more plain arrays.
        test_size: share of the records to judge by, between 0 and 1.
        stratify: True: each site divides its records class by class. The default, None, does so where every site has
            labels. Over columns only the labeller has labels, and the other sites must choose the same records without
            them.
        random_state: an int gives the same split every time; None gives a new one.
    """
    if not isinstance(federation, Federation):
        same = {"test_size": test_size, "stratify": stratify, "random_state": random_state}
        return sklearn_split(federation, *arrays, **same)
    if arrays:
        raise LocalError("a Federation holds its labels itself: give it alone to train_test_split")
    if isinstance(test_size, bool) or not SHARE.allows(test_size) or test_size == 1:
        raise wrong_value("test_size", "train_test_split", "a float in the range (0.0, 1.0)", test_size)
    shares = (1.0 - float(test_size), float(test_size))
    dealt = deal_out(federation, shares, "train_test_split", stratify, random_state)
    return dealt.take(0), dealt.take(1)


def deal_out(federation: Federation, shares: tuple[float, ...], who: str, stratify: Any, random_state: Any) -> Dealt:
    """Let every site deal its records into parts of these shares; refuse what `who` cannot do."""
    by_site = federation.partition == "horizontal"
    if stratify is not None and not isinstance(stratify, bool):
        given = type(stratify).__name__
        raise LocalError(f"{who}: sites divide by their own labels: stratify must be True, False or None, not {given}")
    if stratify and not by_site:
        raise LocalError(
            f"{who} cannot stratify records split by columns or cells: only {federation.labeller!r} has labels, and the"
            " other sites must find the same records; leave stratify= out"
        )
    if not FACE["random_state"].allows(random_state):
        raise wrong_value("random_state", who, FACE["random_state"].words, random_state)
    by_class = by_site if stratify is None else bool(stratify)
    dealt = federation.deal(Deal(shares, draw_seed(random_state), by_class))
    for part, share in enumerate(shares):
        if not any((own == part).any() for own in dealt.part.values()):
            raise LocalError(
                f"{who} leaves a part of {share:.0%} without any record: no site has one to spare;"
                " bring more records, or ask for fewer parts"
            )
    return dealt


def deal_folds(federation: Federation, cv: Any, who: str, random_state: Any) -> Dealt:
    """Let every site deal its records into so many folds, class by class where it has labels."""
    check_folds(cv, who)
    return deal_out(federation, (1.0 / int(cv),) * int(cv), who, None, random_state)


def check_folds(cv: Any, who: str) -> None:
    """Refuse what is no number of folds."""
    if not FOLDS.allows(cv):
        raise wrong_value("cv", who, FOLDS.words, cv)
