"""`tacit.cross_val_score`: how good a model is on records that it has not seen, fold by fold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import train_test_split as sklearn_split

from tacit.arrays import F64, I64, Array
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
POOLED = "a run for each fold, and its records judged in one place by a scorer of scikit-learn"
WHO, SITE = "cross_validate", "site"
REPEATS = Number(1, whole=True)
FOLDS = Number(2, whole=True)


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


@dataclass(frozen=True)
class Folds:
    """How records are divided, and by what models are scored; `groups`, repeats and single sites in simulation only."""

    cv: int | str
    groups: Array | None
    repeats: int
    scoring: str | None
    seed: int

    def check(self, federation: Federation) -> None:
        """Raise if this is no way to divide the records."""
        if self.cv != SITE and not FOLDS.allows(self.cv):
            raise wrong_value("cv", WHO, f"{FOLDS.words}, or the str '{SITE}'", self.cv)
        if not REPEATS.allows(self.repeats):
            raise wrong_value("n_repeats", WHO, REPEATS.words, self.repeats)
        known = (*FIGURES, *ERROR_FIGURES)
        if self.scoring is not None and self.scoring not in known and self.scoring not in get_scorer_names():
            rule = f"a str {write_among(known)}, or in simulation the name of a scorer of scikit-learn"
            raise wrong_value("scoring", WHO, rule, self.scoring)
        asked = {"cv='site'": self.cv == SITE, "groups": self.groups is not None, "n_repeats": self.repeats > 1}
        asked[f"scoring={self.scoring!r}"] = self.scoring is not None and self.scoring not in known
        alone = next((name for name, given in asked.items() if given), None)
        if alone is not None and not federation.holds_records:
            raise LocalError(f"{alone} needs all records in this process, and sites deal theirs once: leave it out")
        if self.cv == SITE and (federation.partition != "horizontal" or self.groups is not None or self.repeats > 1):
            raise LocalError("cv='site' leaves out one site after the other, by rows: leave groups and n_repeats out")
        if self.groups is not None and len(self.groups) != federation.n_rows:
            raise LocalError(
                f"groups has {len(self.groups)} entries for {federation.n_rows} records: give one for each"
            )

    def divide(self, federation: Federation) -> Iterator[tuple[str, Federation, Federation]]:
        """Yield the name of each fold, the records to learn from, and those to judge by."""
        if self.cv == SITE:
            for party, rows in federation.rows.items():
                if len(rows):
                    held = np.isin(np.arange(federation.n_rows), rows)
                    yield party, federation.take_rows(~held), federation.take_rows(held)
            return
        count = int(self.cv)
        for repeat in range(self.repeats):
            told = f" of repeat {repeat + 1}" if self.repeats > 1 else ""
            if self.groups is not None:
                fold = deal_groups(self.groups, count, self.seed + repeat)
                cuts = ((federation.take_rows(fold != q), federation.take_rows(fold == q)) for q in range(count))
            else:
                dealt = deal_folds(federation, count, WHO, self.seed + repeat)
                others = [[k for k in range(count) if k != q] for q in range(count)]
                cuts = ((dealt.take(*others[q]), dealt.take(q)) for q in range(count))
            for q, (learn, judge) in enumerate(cuts, 1):
                yield f"fold {q}{told}", learn, judge


def deal_groups(groups: Array, count: int, seed: int) -> I64:
    """Return the fold of each record: groups stay whole, and the largest ones go to the smallest folds first."""
    names, at = np.unique(groups, return_inverse=True)
    if len(names) < count:
        raise LocalError(f"{len(names)} groups are too few for {count} folds: ask for fewer")
    sizes = np.bincount(at)
    order = np.random.default_rng(seed).permutation(len(names))
    fold, held = np.zeros(len(names), dtype=np.int64), np.zeros(count)
    for g in order[np.argsort(-sizes[order], kind="stable")]:
        fold[g] = int(held.argmin())
        held[fold[g]] += sizes[g]
    return fold[at]


def cross_val_score(model: Any, federation: Federation, *, cv: int | str = 5, **options: Any) -> F64:
    """Return the score of every fold, by a model that did not see its records, as scikit-learn does.

    `cross_validate`, which takes the same arguments, also returns what that opened.
    """
    return cross_validate(model, federation, cv=cv, **options).scores


def cross_validate(
    model: Any,
    federation: Federation,
    *,
    cv: int | str = 5,
    scoring: str | None = None,
    groups: Any = None,
    n_repeats: int = 1,
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
        cv: number of folds; in simulation also "site": each site in turn is left out and judged.
        scoring: a figure of `Evaluation`; accuracy, or R^2 of a regressor, by default. In simulation also one of
            scikit-learn's scorers by its name, such as "neg_log_loss", on the records of the fold in one place.
        groups: in simulation, a value for each record in the order of `pooled`: records with the same value, such as a
            person's, are in the same fold.
        n_repeats: in simulation, how often all is repeated with other folds.
        random_state: an int gives the same folds every time; None gives new ones.
    """
    if not isinstance(federation, Federation):
        raise LocalError(
            f"cross_validate needs a Federation, got a {type(federation).__name__}: use scikit-learn's for plain arrays"
        )
    folds = Folds(cv, None if groups is None else np.asarray(groups), n_repeats, scoring, draw_seed(random_state))
    folds.check(federation)
    return validate(model, federation, folds)


def validate(model: Any, federation: Federation, folds: Folds) -> Validation:
    """Return how good a model is over such folds."""
    if hasattr(model, "steps") and not any(isinstance(step, SelectorMixin) for _, step in model.steps):
        return _after_preparing(model, federation, folds)
    return _one_by_one(seed_model(clone(model), folds.seed), federation, folds)


def seed_model(model: Any, seed: int) -> Any:
    """Return the model with one public seed for all folds, where it has none."""
    drawn = [name for name in model.get_params() if name.rsplit("__", 1)[-1] == "random_state"]
    return model.set_params(**{name: seed for name in drawn if model.get_params()[name] is None})


def _after_preparing(model: Any, federation: Federation, folds: Folds) -> Validation:
    """Fit the steps that look at no labels on all records, and validate the last on what they make of them."""
    *steps, (last, learner) = clone(model).steps
    reports = {}
    for name, step in ((name, step) for name, step in steps if step not in (None, "passthrough")):
        federation = step.fit(federation).transform(federation)
        reports[name] = step.report_
    found = validate(learner, federation, folds)
    report = combine(type(model).__name__, {**reports, last: found.report})
    return dataclasses.replace(found, report=report, how=f"{found.how}; prepared once, on all records")


def _one_by_one(learner: Any, federation: Federation, folds: Folds) -> Validation:
    """Train a model without each fold in turn, and judge it on the fold."""
    metric, scores, reports, evaluations = folds.scoring, [], {}, []
    pooled = metric is not None and metric not in (*FIGURES, *ERROR_FIGURES)
    for name, learn, judge in folds.divide(federation):
        trained = clone(learner).fit(learn)
        if pooled:
            scores.append(_score_pooled(trained, judge, str(metric)))
        else:
            found = evaluate(trained, judge, name=f"records of {name}", min_count=1)
            metric = metric or found.metric
            scores.append(float(getattr(found, metric)))
            evaluations.append(found)
        reports[name] = trained.report_
    report = combine(type(learner).__name__, reports)
    report.evaluations = {each.name: each for each in evaluations}
    return Validation(np.array(scores), str(metric), POOLED if pooled else ONE_BY_ONE, report, evaluations)


def _score_pooled(model: Any, judge: Federation, scoring: str) -> float:
    """Return what a scorer of scikit-learn says of a model, on the records of a simulation in one place."""
    last, records = (model[-1], model.prepare(judge)) if hasattr(model, "prepare") else (model, judge)
    X, y, _ = records.pooled()
    return float(get_scorer(scoring)(last, X, y))


# `tacit.train_test_split`: records set aside at each site, by a public seed; nothing is sent


SHARE = Number(0, 1, above=True)


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


def deal_folds(federation: Federation, cv: int, who: str, random_state: Any) -> Dealt:
    """Let every site deal its records into so many folds, class by class where it has labels."""
    return deal_out(federation, (1.0 / cv,) * cv, who, None, random_state)
