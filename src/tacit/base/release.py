"""The release gate: what a model gives away to whoever gets it, measured before anybody does.

    stored records       whose records the model file contains
    membership, values   attacks with twins of the model: the same training on halves of the records, in simulation

With records that were not in the training the model itself is attacked, and without them its twins are, one by all
others, which tells as much about the training. Nothing is sent: all of it happens where the records are. Between
organisations every site does so on its own records (`base.release_between`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, Array
from tacit.attacks.attribute_inference import attribute_inference
from tacit.attacks.membership_inference import membership_inference
from tacit.attacks.twins import Target, target_model, target_twins, train_between, train_twins
from tacit.base.shared import write_concerns_only
from tacit.errors import LocalError
from tacit.federation import Federation, as_table
from tacit.federation.frames import is_frame
from tacit.report.release import Limits, Line, Release

TWINS = 16
FEWEST = 20  # members, and others, below which no share is worth printing
BRING = "bring the records of the training"
ATTACKS = {  # with twins, by the limit that each has
    "membership_auc": "membership: area under the curve",
    "true_positives": "membership: found at 1 % false alarms",
    "attribute_advantage": "attribute: members guessed beyond others",
}


class Releasable:
    """A fitted model that is checked before it is given away."""

    def release_check(
        self, X: Any = None, y: Any = None, *, others: Any = None, limits: Limits | None = None, twins: int = TWINS
    ) -> Release:
        """Attack the model as somebody who has it could; write the result into `report_`, and return it.

        Args:
            X: the training records, whole, or as a `Federation` that holds them. Without them only the content of the
                model is checked. A pipeline prepares texts and dates, and its last step is attacked.
            y: their labels, with whole records.
            others: labelled records (X, y) of the same kind that were not in the training. With them the model itself
                is attacked; without them, models of the same kind (twins).
            limits: how much the model may give away, as in the table [release] of a policy.
            twins: number of models that the attacker trains.
        """
        check_is_fitted(self)
        made: Any = self
        attacked = made
        if hasattr(made, "prepare") and _has_texts(X):
            attacked, X = last_of(made), made.prepare(X)
            others = None if others is None else (made.prepare(others[0]), others[1])
        found = check_release(made, attacked, _Records.of(X, y, others), limits or Limits(), twins)
        for reported in (made, last_of(made)):
            reported.report_.release = found
        return found

    def _check_export(self) -> None:
        """Raise if the model was refused, or contains what no release check would let pass."""
        earlier = getattr(getattr(last_of(self), "report_", None), "release", None)
        if earlier is None:
            earlier = Release(list(look_inside(self, Limits())))
        earlier.check()


@dataclass(frozen=True)
class _Records:
    """The records of the training, and others that were not in it."""

    X: Any
    y: Array
    member: Any

    @staticmethod
    def of(X: Any, y: Any, others: Any) -> _Records | None:
        """Return them as one table; None if there are none."""
        if X is None:
            return None
        if isinstance(X, Federation):
            if not X.holds_records:
                raise LocalError(
                    "the records of this federation are at their sites, which check a model before it is sent: use"
                    " fit(federation.gated()), or [release] in the study's file"
                )
            X.check_dense("release_check")
            X, y, _ = X.pooled()
        if y is None:
            raise LocalError("release_check needs the labels of the records: give y as well")
        own, labels = _as_numbers(X), np.asarray(y)
        if others is None:
            return _Records(own, labels, None)
        more, their = _as_numbers(others[0]), np.asarray(others[1])
        member = np.arange(len(own) + len(more)) < len(own)
        return _Records(np.vstack([own, more]), np.concatenate([labels, their]), member)

    @property
    def own(self) -> F64:
        """The records of the training."""
        found: F64 = self.X if self.member is None else self.X[self.member]
        return found


def _as_numbers(X: Any) -> F64:
    if issparse(X):
        raise LocalError("Sparse data was passed, and release_check needs all cells of records: give X.toarray()")
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise LocalError(
            "release_check attacks records of numbers, and these have texts or dates: check a pipeline that prepares"
            " them"
        ) from None


def _has_texts(X: Any) -> bool:
    """Whether records have texts or dates, which the steps of a pipeline make numbers of."""
    if isinstance(X, Federation):
        return bool(X.kinds or X.categories)
    if not is_frame(X):
        return False
    held = as_table(X, raw=True)
    return bool(held.texts or held.dates)


def check_release(model: Any, attacked: Any, records: _Records | None, limits: Limits, twins: int) -> Release:
    """Return the table of a fitted model. `attacked`: the model, or its last step, whose records are prepared ones."""
    handle = getattr(model, "handle_", None)
    if handle is not None:
        raise LocalError(f"the model is {handle}: there is nothing here that could be released")
    inside = list(look_inside(model, limits))
    stored = inside[0].figure
    if stored:  # whoever has the file reads them: nothing is left to infer
        return Release(inside, "The file contains records, so no attack on answers was tried.")
    lines, how = _attack(attacked, records, limits, twins)
    return Release([*inside, *lines], how)


def look_inside(model: Any, limits: Limits) -> Iterator[Line]:
    """Yield what the model itself contains."""
    whose = {party: what for each in list_models(model) for party, what in each.records_of().items()}
    yield at_most("stored records: sites", "stored_records", len(whose), limits, "; ".join(whose.values()))


def _attack(model: Any, records: _Records | None, limits: Limits, twins: int) -> tuple[list[Line], str]:
    """Return what attacks with twins find, and how they went."""
    targets = BRING if records is None else _find_targets(model, records, twins)
    if records is None or isinstance(targets, str):
        missing = [unmeasured(name, limit, limits, str(targets)) for limit, name in ATTACKS.items()]
        return missing, "Only what the model contains was looked at."
    found, guessed = membership_inference(targets), attribute_inference(targets, records.X, records.y)
    column = model.federation_.features[guessed.column] if guessed.column >= 0 else ""
    figures = {
        "membership_auc": (found.auc, f"loss threshold {found.loss_auc:.3f}"),
        "true_positives": (found.true_positives, f"loss threshold {found.loss_true_positives:.3f}"),
        "attribute_advantage": (max(0.0, guessed.advantage), column),
    }
    lines = [at_most(name, limit, figures[limit][0], limits, figures[limit][1]) for limit, name in ATTACKS.items()]
    against = "the model itself was" if len(targets) == 1 else "each was, by all others,"
    return lines, f"{twins} twins were trained in simulation, and {against} attacked."


def _find_targets(model: Any, records: _Records, twins: int) -> list[Target] | str:
    """Return what is attacked by twins; why nothing is, if they cannot be trained."""
    X, y, member = records.X, records.y, records.member
    _check_fit(model, X, y)
    if min([len(X) // 2] if member is None else [member.sum(), (~member).sum()]) < FEWEST:
        return f"fewer than {FEWEST} members or others tell nothing: bring more records"
    missing = bool(np.isnan(X).any())  # a pipeline may fill them
    train = train_between(model, tuple(model.federation_.parts), model.federation_.partition, allow_missing=missing)
    share = 0.5 if member is None else min(0.75, member.mean())
    try:
        with write_concerns_only():
            made = train_twins(train, X, y, count=twins, share=share)
    except LocalError as error:
        return f"twins cannot be trained on a share of the records ({error}); bring others as well"
    return target_twins(made) if member is None else target_model(model, X, y, member, made)


def _check_fit(model: Any, X: F64, y: Array) -> None:
    """Raise if these cannot be records that the model was trained on."""
    columns, classes = model.federation_.n_features, getattr(last_of(model), "classes_", None)
    if X.ndim != 2 or X.shape[1] != columns:  # noqa: PLR2004 - a table
        raise LocalError(
            f"the model has {columns} columns, and the records have the shape {X.shape}: give records with its columns"
        )
    if len(y) != len(X):
        raise LocalError(f"there are {len(X)} records and {len(y)} labels: give one for each")
    if classes is not None and not np.isin(y, classes).all():
        odd = y[~np.isin(y, classes)][0]
        raise LocalError(f"label {odd} is not one of the model's classes, {', '.join(map(str, classes))}: correct it")


def at_most(name: str, limit: str, figure: float, limits: Limits, note: str = "") -> Line:
    """Return the line of a figure that is refused above its limit."""
    allowed = getattr(limits, limit)
    return Line(name, limit, float(figure), allowed, figure > allowed, note)


def unmeasured(name: str, limit: str, limits: Limits, why: str) -> Line:
    """Return the line of a figure that is missing."""
    return Line(name, limit, None, getattr(limits, limit), not limits.unmeasured, why)


def list_models(fitted: Any) -> Iterator[Any]:
    """Yield what a model file holds of every step; steps of other packages say nothing of records."""
    for step in [step for _, step in fitted.steps] if hasattr(fitted, "steps") else [fitted]:
        model = getattr(last_of(step), "model_", None)
        if hasattr(model, "records_of"):
            yield model


def last_of(model: Any) -> Any:
    """Return the estimator whose model is released: of a pipeline the last step, of a search the best candidate."""
    while hasattr(model, "steps") or hasattr(model, "best_estimator_"):
        model = model.steps[-1][1] if hasattr(model, "steps") else model.best_estimator_
    return model
