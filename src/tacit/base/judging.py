"""How a model of the core is judged: the request, what each party makes of its own records for it, and what is told."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from tacit.arrays import F64, I64
from tacit.choreo import Holder
from tacit.choreo.declaration import Number, write_among, wrong_value
from tacit.errors import LocalError, TacitError
from tacit.federation import Federation
from tacit.federation.backend import Here
from tacit.federation.part import Part, kinds_of
from tacit.federation.slices import cut_rows
from tacit.progress import watching
from tacit.protocols.judge.shared import HeldOut
from tacit.protocols.learners.answers import KnownModel
from tacit.protocols.learners.targets import LEAST_CLASS
from tacit.protocols.part import hidden_of
from tacit.registry import Outcome
from tacit.report.evaluation import SITE, Evaluation
from tacit.report.judgement import Judged, evaluation_of_judgement
from tacit.request import Beside, Computed, Input, Records, Request

Decide = Callable[[F64], F64]
Label = bool | int | float | str
By = str | Mapping[str, Sequence[Any]] | None
ALONE = "alone"
BINS = 128
TWO = 2
HOW_BY_ROWS = "every site judged its own records, and counts were added up in shares"
HOW_APART = "values and counts stayed in shares: nobody has either about a record"


@dataclass(frozen=True)
class Question:
    """How a model is to be judged: on which records, by what groups, against what, and how many records are few.

    raw: the records as sites hold them, of which groups are made. learner: what a site would train alone. learnt_on:
    the records that the joint model has learnt from, as sites hold them.
    """

    raw: Federation
    learner: Any
    by: By = None
    against: str | None = None
    learnt_on: Federation | None = None
    pos_label: Label | None = None
    least: int = LEAST_CLASS
    categories: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Groups:
    """Groups of records: the values of a column; or sites, if there is no column."""

    by: str = ""
    column: str = ""
    values: tuple[Any, ...] = ()


def judge_in_shares(model: Any, federation: Federation, name: str, asked: Question) -> tuple[Evaluation, list[Outcome]]:
    """Return how good a fitted model of the core is, and the runs that it took to know."""
    check_asked(model, asked)
    groups = find_groups(asked)
    by_rows = federation.partition == "horizontal"
    known = model.match_records(federation)
    numbers = is_regressor(model)
    told: tuple[Input, ...] = ()
    outcomes: Sequence[Outcome] = ()
    decide = model.public_decision() if by_rows else None
    if by_rows and decide is None:
        answers, outcomes = model.ask_apart(federation)
        told = (answers,)
    labels = None if numbers else tuple(model.classes_.tolist())
    step = partial(hold_out, decide, labels, groups, federation.labeller)
    inputs: dict[str, Input] = {"data": Records(), "own": Computed(Holder, step, (Records(), Beside(asked.raw), *told))}
    if not by_rows:
        inputs["model"] = Computed(Holder, partial(give_model, model.known_model(known)), (Records(),))
    if asked.against is not None:
        alone = partial(judge_alone, asked.learner, labels)
        inputs["alone"] = Computed(Holder, alone, (Beside(asked.raw), Beside(asked.learnt_on)))
    params: dict[str, Any] = {
        "partition": federation.partition,
        "n_classes": 0 if labels is None else len(labels),
        "bins": BINS,
        "n_groups": len(groups.values),
        "by_site": groups.by == SITE,
        "beside": asked.against is not None,
        "least_shown": asked.least,
    }
    if sigmoid_of(model) is not None:
        params["sigmoid"] = sigmoid_of(model)
    if numbers:
        params |= dict(zip(("middle", "reach"), span_of(model), strict=True))
    done = known.run(Request("judge_model", inputs, params, model._repeatable(federation)))  # noqa: SLF001 - of the core
    names = tuple(federation.parts) if groups.by == SITE else tuple(map(str, groups.values))
    judged = Judged(
        name,
        HOW_BY_ROWS if by_rows else HOW_APART,
        () if labels is None else labels,
        asked.pos_label,
        names,
        groups.by,
        asked.least,
        sigmoid_of(model),
    )
    return evaluation_of_judgement(done.result, judged), [*outcomes, done]


def check_asked(model: Any, asked: Question) -> None:
    """Refuse what does not fit the model or the records, before anybody is asked."""
    if not (kind := Number(1, whole=True)).allows(asked.least):
        raise wrong_value("min_count", "evaluate", kind.words, asked.least)
    if asked.against not in (None, ALONE):
        raise wrong_value("against", "evaluate", f"None or a str {write_among((ALONE,))}", asked.against)
    if asked.against is not None and asked.learnt_on is None:
        raise LocalError(
            "against='alone' has each site train the same model on its own training records: give them as learnt_on="
        )
    if asked.against is not None and asked.by not in (None, SITE):
        raise LocalError("against='alone' tells figures of sites, and by= of other groups: ask for one at a time")
    apart = asked.raw.partition != "horizontal"
    if apart and (asked.against is not None or asked.by == SITE):
        raise LocalError("over columns and cells no record is of one site: leave out by='site' and against='alone'")
    if asked.pos_label is not None:
        known = [] if is_regressor(model) else model.classes_.tolist()
        if len(known) != TWO or asked.pos_label not in known:
            raise LocalError(f"pos_label={asked.pos_label!r} is not one of the two classes of the model ({known})")


def find_groups(asked: Question) -> Groups:
    """Return by which values of which column records are told apart."""
    if asked.by is None:
        return Groups()
    if asked.by == SITE:
        return Groups(SITE)
    if isinstance(asked.by, str):
        found = find_categories(asked.by, asked)
        if not found:
            raise LocalError(
                f"by={asked.by!r}: no categories of this column are declared: name them, by={{{asked.by!r}: [...]}}"
            )
        column, values = asked.by, found
    else:
        if len(asked.by) != 1:
            raise LocalError("by= takes one column with its categories: ask for one at a time")
        ((column, given),) = asked.by.items()
        values = tuple(given)
    if column not in asked.raw.features:
        raise LocalError(f"by={column!r} is not a column of these records: name one of {', '.join(asked.raw.features)}")
    return Groups(column, column, values)


def find_categories(column: str, asked: Question) -> tuple[Any, ...]:
    """Return the declared categories of a column: of the federation, of a step of the pipeline, or of dictionaries."""
    raw = asked.raw
    if column in raw.categories:
        return tuple(raw.categories[column])
    if column in asked.categories:
        return tuple(asked.categories[column])
    known = (part.dictionary.get(column, ()) for part in raw.parts.values()) if raw.holds_records else ()
    return tuple(sorted({text for own in known for text in own}))


def span_of(model: Any) -> tuple[float, float]:
    """Return the middle of a regression's targets, and how far they reach."""
    of = model.model_
    if hasattr(of, "reach"):
        return float(of.middle), float(of.reach)
    low, high = getattr(of, "target_range", None) or (-1.0, 1.0)
    return (low + high) / 2.0, (high - low) / 2.0 or 1.0


def sigmoid_of(model: Any) -> tuple[float, float] | None:
    """Return A and B of the probabilities of two classes, if the model has some."""
    found = getattr(model.model_, "sigmoids", None)
    return None if found is None or len(found) != 1 else (float(found[0][0]), float(found[0][1]))


# What each party makes of its own records


def hold_out(
    decide: Decide | None,
    classes: tuple[Label, ...] | None,
    groups: Groups,
    labeller: str | None,
    party: str,
    part: Part,
    raw: Part,
    told: F64 | None = None,
) -> HeldOut:
    """Return what a party knows of the records to judge by: values by a public model, or as it was told them."""
    if part.y is None and len(part.X) and labeller in {None, party}:
        raise LocalError(f"{party} has records without labels, and evaluate needs them: give y=")
    width = 1 if classes is None or len(classes) == TWO else len(classes)
    values = told if told is not None else np.empty((0, width))
    if decide is not None:
        values = decide(part.X) if len(part.X) else values
    none: I64 = np.empty(0, dtype=np.int64)
    codes = none if classes is None or part.y is None else np.where(hidden_of(part), -1, codes_of(part.y, classes))
    targets = np.empty(0)
    if classes is None and part.y is not None:
        if part.y.dtype.kind not in "iufb":
            raise LocalError(f"{party} has {part.y.dtype} as targets, and a regressor is judged by numbers: give them")
        targets = part.y.astype(np.float64)
    return HeldOut(np.asarray(values, dtype=np.float64), codes, targets, group_of(raw, groups))


def codes_of(y: Any, classes: tuple[Label, ...]) -> I64:
    """Return the number of each record's class, -1 of one that the model does not know."""
    numbers = {label: k for k, label in enumerate(classes)}
    return np.array([numbers.get(label, -1) for label in y.tolist()], dtype=np.int64)


def group_of(raw: Part, groups: Groups) -> I64:
    """Return the group of each record, -1 for none; nothing if the party does not have the column."""
    if not groups.column or groups.column not in raw.features:
        return np.empty(0, dtype=np.int64) if groups.column else np.full(len(raw.X), -1, dtype=np.int64)
    j = raw.features.index(groups.column)
    cells = np.asarray(raw.X[:, [j]], dtype=np.float64)[:, 0]
    texts = raw.texts.get(groups.column)
    found = np.full(len(cells), -1, dtype=np.int64)
    for g, value in enumerate(groups.values):
        if texts is not None:
            code = texts.index(str(value)) if str(value) in texts else None
        else:
            code = g if isinstance(value, str) else value  # numbers that stand for declared texts
        if code is not None:
            found[cells == code] = g
    if raw.owned is not None:
        found[~raw.owned[:, j]] = -1
    return found


def give_model(model: KnownModel, party: str, part: Part) -> KnownModel:
    """Return the model, which is the same for every party."""
    del party, part
    return model


def judge_alone(learner: Any, classes: tuple[Label, ...] | None, party: str, part: Part, learnt: Part) -> HeldOut:
    """Return the values that a site's own model gives its records; none if it cannot train one."""
    none: I64 = np.empty(0, dtype=np.int64)
    width = 1 if classes is None or len(classes) == TWO else len(classes)
    empty = HeldOut(np.empty((0, width)), none, np.empty(0), none)
    if not len(part.X):
        return empty
    try:
        with warnings.catch_warnings(), watching(f"alone at {party}", verbose=False):
            warnings.simplefilter("ignore")
            own = clone(learner).fit(federate_alone(learnt))
            values = values_of(own, federate_alone(part), classes)
    except (TacitError, ValueError):  # such as records of one class
        return empty
    return HeldOut(values, none, np.empty(0), none)


def federate_alone(part: Part) -> Federation:
    """Return a party's own records as a simulation by itself, in two halves."""
    n, d = np.asarray(part.X.shape).tolist()
    rows = {"one": np.arange(0, n, 2), "two": np.arange(1, n, 2)}
    parts = {name: cut_rows(part, own) for name, own in rows.items()}
    columns = dict.fromkeys(parts, np.arange(d))
    facts = ("horizontal", parts, rows, columns, part.features, True, None, "site", (), Here())
    return Federation(*facts, kinds=kinds_of(parts))  # type: ignore[arg-type]  # a partition by its name


def values_of(own: Any, federation: Federation, classes: tuple[Label, ...] | None) -> F64:
    """Return the values of a site's own model, as the joint one would give them."""
    if classes is None:
        return np.asarray(own.predict(federation), dtype=np.float64)[:, None]
    known = list(own.classes_.tolist())
    values = np.asarray(own.decision_function(federation), dtype=np.float64)
    if known == list(classes):
        return values.reshape(len(values), -1)
    each = np.column_stack([-values, values]) if values.ndim == 1 else values
    found = np.full((len(each), len(classes)), -np.inf)
    for k, label in enumerate(known):
        if label in classes:
            found[:, classes.index(label)] = each[:, k]
    return found
