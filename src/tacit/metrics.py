"""`tacit.evaluate`: how good a fitted model is on records that stay where they are."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, I64
from tacit.base.estimator import choose_classes
from tacit.base.private import spend
from tacit.base.shared import check_coordinator, refuse_absence
from tacit.choreo import Holder, Labeller
from tacit.choreo.declaration import Number, OneOf, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.federation.plan import Partition
from tacit.models.noisy import NoisyModel
from tacit.numeric.privacy.accountant import epsilon_of
from tacit.numeric.scores.metrics import gather_votes, spread_votes
from tacit.numeric.scores.platt import classes_of
from tacit.numeric.svm.problems import OVO, OVR
from tacit.progress import watching
from tacit.protocols.noisy.noisy_scores import check_targets
from tacit.protocols.noisy.settings import DELTA, EPSILON, HONEST
from tacit.protocols.scores.error_sums import Answered
from tacit.protocols.scores.score_counts import Evaluated, Scored, Tally
from tacit.protocols.sums.secure_sum import METHODS, OF_SOME
from tacit.registry import Outcome
from tacit.report.evaluation import Evaluation, evaluation_of, evaluation_of_errors
from tacit.report.outcome import add_outcome, list_absent, say_absent
from tacit.request import Computed, Input, Records

Decide = Callable[[F64], F64]
Find = Callable[[Any, str, Part], Any]  # the labels of a party's records, as the model knows them
Judge = Callable[[Any, Any, F64], Any]  # what labels and decision values tell of a model
PerSite = bool | Sequence[str] | Mapping[str, int]
BINS, NOISY_BINS = 256, 16
NOISY = "counted at every site, and summed under masks with noise of every site: differentially private"
USUAL = 5  # min_count of models that have none


@dataclass(frozen=True)
class Privacy:
    """With how much noise records are judged, and between which numbers their targets lie."""

    epsilon: float
    delta: float
    honest: int | None
    target_range: tuple[float, float] | None

    def check(self, model: Any, federation: Federation, sites: Mapping[str, int], settings: Mapping[str, Any]) -> None:
        """Raise if noise does not cover what is asked for."""
        for name, kind in (("epsilon", EPSILON), ("delta", DELTA), ("honest", HONEST)):
            if not kind.allows(getattr(self, name)):
                raise wrong_value(name, "evaluate", kind.words, getattr(self, name))
        way = settings.get("method")
        what = {
            "per_site, which shows counts of single sites": bool(sites),
            "a model that stays in shares": model.public_decision() is None,
            f"secure_sum={way!r}, with which the noise of parties that stay away is missing": way in OF_SOME,
        }
        for words in (words for words, asked in what.items() if asked):
            raise LocalError(f"epsilon={self.epsilon:g} does not cover {words}: leave out one of them")
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
    per_site: PerSite = (),
    bins: int | None = None,
    min_count: int | None = None,
    secure_sum: str | None = None,
    verbose: bool | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    honest: int | None = None,
    target_range: tuple[float, float] | None = None,
) -> Evaluation:
    """Return how good a fitted model is on the labelled records of a federation, and add the result to `model.report_`.

    Over rows every party scores its own records, and masked sums of counts are opened. Over columns the labeller counts
    alone: it has the labels and is told the decision values. Nothing is told about a class with fewer than `min_count`
    records. For a regressor, masked sums of its errors are opened: mean errors, R^2 and a histogram.

    Args:
        model: a fitted classifier or regressor, a search that trained one, or a `Pipeline` that ends in any of them.
        federation: labelled records, held by the parties that trained the model.
        name: name of these records in the report.
        per_site: sites that agree to show the counts of their own records: a list of names, or {name: that site's own
            min_count}; True: all sites.
        bins: number of bins of the score histograms. More bins give closer bounds on areas under curves, and show the
            coordinator more. None: 256, or 16 with epsilon.
        min_count: a class or a bin with fewer records than this is not told; the model's own value by default.
        secure_sum: how sums are masked; the model's own by default. "threshold" lets parties be absent.
        verbose: as in estimators: None shows a line of progress in a terminal or notebook, after 2 s.
        epsilon: judge with differential privacy for the judged records, over rows and with a public model: one of these
            records changes the log-odds of any outcome by at most this much (docs/privacy.md). Records of unknown
            classes are not counted, and none is refused. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        target_range: with epsilon, the bounds (low, high) of a regressor's targets; its own by default.
    """
    asked: dict[str, Any] = {"name": name, "per_site": per_site, "bins": bins, "min_count": min_count}
    asked |= {"secure_sum": secure_sum}
    if epsilon is not None:
        asked |= {"epsilon": epsilon, "delta": delta, "honest": honest, "target_range": target_range}
    if isinstance(federation, Federation):
        federation = federation.backend.to_judge(federation, model, asked)
    if hasattr(model, "prepare"):  # a pipeline
        last = evaluate(model[-1], model.prepare(federation), **asked, verbose=verbose)
        model.combine_reports()
        return last
    reported, model = model, getattr(model, "best_estimator_", model)
    own = getattr(model, "min_count", USUAL)
    least = min_count if min_count is not None else USUAL if isinstance(own, str) else int(own)
    bins = bins if bins is not None else BINS if epsilon is None else NOISY_BINS
    _check(model, federation, bins, least)
    sites = _choose_sites(per_site, tuple(federation.parts), least)
    if sites and federation.partition != "horizontal":
        raise LocalError(
            "per_site is for records that sites hold by rows: over columns no record belongs to one site; leave it out"
        )
    judge: Callable[..., tuple[Evaluation, list[Outcome]]] = _judge_errors if is_regressor(model) else _judge_classes
    counting = {"bins": bins, "min_count": least, **_choose_sums(model, secure_sum, federation.partition)}
    if epsilon is not None:
        judge = partial(_judge_noisy, Privacy(epsilon, delta, honest, target_range))
    with watching("evaluate", verbose):
        evaluation, outcomes = judge(model, federation, name, sites, counting)
    _report(reported, evaluation, outcomes)
    if epsilon is not None:
        spent = epsilon_of(math.sqrt(sum(outcomes[-1].result.spent.values())), delta)
        paid = {f"epsilon that was spent on judging {name}": round(spent, 4)}
        reported.report_.figures = {**(reported.report_.figures or {}), **paid}
    return evaluation


def _judge_classes(
    model: Any, federation: Federation, name: str, sites: dict[str, int], settings: dict[str, Any]
) -> tuple[Evaluation, list[Outcome]]:
    """Return what a classifier gets right, and the runs that it took to know."""
    least, bins = settings["min_count"], settings["bins"]
    scored, outcomes = _judge_own(model, federation, _codes, _score)
    asked = {"n_classes": len(model.classes_), **settings}
    if federation.partition == "horizontal":
        more = {"per_site": sites or None, "probability": _with_probability(model), **_exactness(model)}
        counted = federation.run("score_counts", {"scored": scored}, **asked, **more)
        found = counted.result
        how = f"counted at {_count_present(federation, counted)} sites and summed under masks, scores in {bins} bins"
    else:
        counted = federation.run("labeller_counts", {"scored": scored}, **asked)
        found = Evaluated(tally=counted.result, sites={}, unwilling=())
        how = f"counted by {federation.labeller}, who has the labels and was told the decision values"
    if _votes(model):
        tallies = {site: _in_votes(each, len(model.classes_)) for site, each in found.sites.items()}
        found = dataclasses.replace(found, tally=_in_votes(found.tally, len(model.classes_)), sites=tallies)
    own = {
        site: evaluation_of(each, model.classes_, name=f"records of {site}", how="counted by the site")
        for site, each in found.sites.items()
    }
    concerns = [*_find_left_out(model, found.tally, least), *_find_hidden(sites, found), *say_absent(counted.history)]
    evaluation = evaluation_of(found.tally, model.classes_, name=name, how=how, warnings=concerns, sites=own)
    return evaluation, [*outcomes, counted]


def _judge_errors(
    model: Any, federation: Federation, name: str, sites: dict[str, int], settings: dict[str, Any]
) -> tuple[Evaluation, list[Outcome]]:
    """Return how far a regressor is off, and the runs that it took to know."""
    if sites:
        raise LocalError("per_site shows counts of classes, and a regressor has none: leave it out")
    answered, outcomes = _judge_own(model, federation, _targets, _answer)
    if federation.partition == "horizontal":
        counted = federation.run("error_sums", {"answered": answered}, **settings)
        present = _count_present(federation, counted)
        how = f"added up at {present} sites and summed under masks, errors in {settings['bins']} bins"
    else:
        counted = federation.run("labeller_errors", {"answered": answered}, **settings)
        how = f"added up by {federation.labeller}, who has the targets and was told the answers"
    concerns = say_absent(counted.history)
    return evaluation_of_errors(counted.result, name=name, how=how, warnings=concerns), [*outcomes, counted]


def _judge_noisy(
    private: Privacy, model: Any, federation: Federation, name: str, sites: dict[str, int], settings: dict[str, Any]
) -> tuple[Evaluation, list[Outcome]]:
    """Return how good a public model is, by noisy sums, and the run that it took to know."""
    private.check(model, federation, sites, settings)
    model.match_records(federation, gaps=True)
    numbers = is_regressor(model)
    find, judge = (_targets_if_any, _answer) if numbers else (_codes_if_known, _score)
    step = partial(_judge_each, model, find, judge)
    sums: dict[str, Any] = {key: settings[key] for key in ("bins", "method", "segments") if key in settings}
    asked = {**sums, **spend(federation, private.epsilon, private.delta, private.honest)}
    of_holders = Computed(Holder, step, (Records(),))
    if numbers:
        within = private.within(model)
        done = federation.run("noisy_errors", {"answered": of_holders}, **asked, privacy_targets=within)
        found = evaluation_of_errors(done.result.tally, name=name, how=NOISY)
    else:
        done = federation.run("noisy_scores", {"scored": of_holders}, **asked, n_classes=len(model.classes_))
        tally = _in_votes(done.result.tally, len(model.classes_)) if _votes(model) else done.result.tally
        found = evaluation_of(tally, model.classes_, name=name, how=NOISY)
    return found, [done]


def _judge_each(model: Any, find: Find, judge: Judge, party: str, part: Part) -> Any:
    """Return what a public model says of each record by itself: rounding depends on no record beside it."""
    decide = model.public_decision()
    exact = isinstance(model.public_model(), NoisyModel) or not len(part.X)
    step = len(part.X) or 1 if exact else 1
    with np.errstate(all="ignore"):  # a record may hold anything
        values = [decide(part.X[i : i + step]) for i in range(0, max(1, len(part.X)), step)]
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


def _judge_own(model: Any, federation: Federation, find: Find, judge: Judge) -> tuple[Input, tuple[Outcome, ...]]:
    """Return what each party that has labels knows of its own records, and the runs that it took to know.

    Whoever has a public model needs nobody else; another one is asked, and its answers stay with who asked.
    """
    by_rows = federation.partition == "horizontal"
    decide = model.public_decision() if by_rows else None
    if decide is not None:
        model.match_records(federation)
        return Computed(Holder, partial(_judge_alone, model, decide, find, judge), (Records(),)), ()
    check = partial(_check_own, model, find, federation.labeller)
    for party, part in federation.parts.items() if federation.holds_records else ():
        check(party, part)
    federation.backend.check_records(check)
    answers, outcomes = model.ask_apart(federation)
    step = partial(_judge_answers, model, find, judge)
    return Computed(Holder if by_rows else Labeller, step, (Records(), answers)), outcomes


def _judge_alone(model: Any, decide: Decide, find: Find, judge: Judge, party: str, part: Part) -> Any:
    return judge(model, find(model, party, part), decide(part.X))


def _check_own(model: Any, find: Find, labeller: str | None, party: str, part: Part) -> None:
    """Let a party that has labels refuse them before anything is asked."""
    if labeller in {None, party}:
        find(model, party, part)


def _judge_answers(model: Any, find: Find, judge: Judge, party: str, part: Part, answers: F64) -> Any:
    return judge(model, find(model, party, part), answers)


def _answer(model: Any, targets: F64, values: F64) -> Answered:
    """Return the targets of a party's own records beside a regressor's answers."""
    del model
    return Answered(targets, values[:, 0])


def _score(model: Any, codes: I64, values: F64) -> Scored:
    """Return the classes of a party's own records beside a classifier's decision values."""
    chances = np.empty((len(values), 0))
    if _with_probability(model):
        chances = model.probabilities(values)[:, list(classes_of(values.shape[1]))]
    return Scored(spread_votes(values) if _votes(model) else values, chances, codes, choose_classes(values))


def _votes(model: Any) -> bool:
    """Return whether values of classes are votes of pairs."""
    return len(model.classes_) > 2 and getattr(model, "multi_class", OVR) == OVO  # noqa: PLR2004 - two are one pair


def _in_votes(tally: Tally, k: int) -> Tally:
    """Return a tally whose curves are cut at decision values."""
    curves = (dataclasses.replace(curve, cuts=gather_votes(curve.cuts, k)) for curve in tally.curves)
    return dataclasses.replace(tally, curves=tuple(curves))


def _targets(model: Any, party: str, part: Part) -> F64:
    del model
    if part.y is None and len(part.X):
        raise LocalError(f"{party} has records without targets, and evaluate needs them: give y=")
    held = np.empty(0) if part.y is None else part.y
    if held.dtype.kind not in "iufb":
        raise LocalError(
            f"{party} has {held.dtype} as targets, and a regressor is judged by numbers: give numbers as y="
        )
    return held.astype(np.float64)


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


def _check(model: Any, federation: Any, bins: int, least: int) -> None:
    check_model(model, federation, "evaluate", least)
    if not (kind := Number(2, whole=True)).allows(bins):
        raise wrong_value("bins", "evaluate", kind.words, bins)
    learns = "the counts, from which it can subtract its own"
    check_coordinator(federation, learns, accept_risk=getattr(model, "accept_risk", False))


def _codes(model: Any, party: str, part: Part) -> I64:
    if part.y is None:
        if len(part.X):
            raise LocalError(f"{party} has records without labels, and evaluate needs their classes: give y=")
        return np.empty(0, dtype=np.int64)
    numbers = {label: k for k, label in enumerate(model.classes_.tolist())}
    codes = np.array([numbers.get(label, -1) for label in part.y.tolist()], dtype=np.int64)
    if (unknown := np.flatnonzero(codes < 0)).size:
        such = f"records of classes that the model does not know, such as {part.y[unknown[0]].item()!r}"
        raise LocalError(f"{party} has {unknown.size} {such}: leave them out, or train with them")
    return codes


def _with_probability(model: Any) -> bool:
    return bool(getattr(model, "probability", False) and model.probA_.size)


def protection_of(model: Any) -> dict[str, Any]:
    """Return how the sums of a model are protected."""
    return {"method": model.secure_sum, "segments": model.segments} if hasattr(model, "secure_sum") else {}


def _choose_sums(model: Any, secure_sum: str | None, partition: Partition) -> dict[str, Any]:
    """Return how the sums of an evaluation are protected; over columns there are none."""
    if secure_sum is not None and not (kind := OneOf(METHODS)).allows(secure_sum):
        raise wrong_value("secure_sum", "evaluate", kind.words, secure_sum)
    refuse_absence(secure_sum or "", partition)
    if partition != "horizontal":
        return {}
    return protection_of(model) if secure_sum is None else {"method": secure_sum}


def _exactness(model: Any) -> dict[str, Any]:
    return {"fraction_bits": model.fraction_bits} if hasattr(model, "fraction_bits") else {}


def _count_present(federation: Federation, outcome: Outcome) -> int:
    return len(federation) - len(list_absent(outcome.history))


def _choose_sites(per_site: PerSite, parties: tuple[str, ...], least: int) -> dict[str, int]:
    """Return the sites that show counts of their own, each with its own min_count."""
    if isinstance(per_site, bool):
        return dict.fromkeys(parties, least) if per_site else {}
    if isinstance(per_site, Mapping):
        return {str(site): int(own) for site, own in per_site.items()}
    return dict.fromkeys([per_site] if isinstance(per_site, str) else per_site, least)


def _find_left_out(model: Any, tally: Tally, least: int) -> list[str]:
    rule = f"fewer than min_count={least} records: they are left out of all figures"
    return [f"class {model.classes_[k]} has {rule}" for k in tally.left_out]


def _find_hidden(asked: Mapping[str, int], found: Evaluated) -> Iterator[str]:
    few = ", ".join(found.unwilling)
    if few:
        yield f"{few}: fewer than min_count records of a class, so no counts of their own are shown"
    if not found.sites and len(found.unwilling) < len(asked):
        yield f"no site's own counts are shown, since those of {few} would follow from them by subtraction"


def _report(model: Any, evaluation: Evaluation, outcomes: Sequence[Outcome]) -> None:
    for line in evaluation.warnings:
        warnings.warn(line, UserWarning, stacklevel=4)
    for outcome in outcomes:
        add_outcome(model.report_, outcome)
    model.report_.evaluations[evaluation.name] = evaluation
