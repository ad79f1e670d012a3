"""What the machines of the core share: one protocol trains them, and a public model comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, I64
from tacit.base.estimator import Federated
from tacit.base.judging import Question, judge_in_shares
from tacit.base.parameters import parameterized
from tacit.base.private import Private
from tacit.base.shared import compare_scales, warn_of
from tacit.choreo import Asker, Holder
from tacit.choreo.declaration import Either, Kind, Number, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.models.mapped import MappedModel
from tacit.protocols.classes import check_class_names
from tacit.protocols.features.maps import LAYER, LINEAR, PublicMap
from tacit.protocols.learners.answers import KnownModel
from tacit.protocols.learners.svm import HINGE
from tacit.protocols.shares.deposits import AUTO, COMMITTEE, choose_committee
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.outcome import report_on
from tacit.request import Computed, Input, Left, Records, Request
from tacit.svm.private import check_machine, receive_privately, request_privately

VARIED = ("alpha", "C", "kernel", "gamma", "degree", "coef0", "features", "activation", "n_hidden", "scale")
NAMED, CLOSE = 5, 1e-3
MOST_ALPHA = 1e6  # as in a job: beyond, few records leave weights no bits
PROTECTION = "shares: while the coordinator, which deals the random numbers, works together with nobody"
NOT_PROTECTED = (
    (
        "Everything, from the coordinator together with any one party: its random numbers take the masks off what"
        " parties open to each other."
    ),
    "What the model itself reveals: its weights and its synthetic landmarks are public.",
)


@parameterized
class Machine(Private, Federated):
    """What the machines of the core share: one protocol, and a public model that comes back."""

    PROTOCOL: ClassVar[str]
    PRIVATELY: ClassVar[str]  # the protocol with epsilon
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        "alpha": Either((OneOf(("auto",)), Number(0, MOST_ALPHA, above=True))),
        "committee": COMMITTEE,
    }
    SPLITS = ("horizontal", "vertical", "arbitrary")
    LEARNS = "all records: it deals the random numbers that hide them"
    saves: ClassVar[str] = "alpha_"

    target_range: Any = field(init=False, default=None)  # of a classifier, which has none
    classes: Any = field(init=False, default=None)  # of a regression, which has none
    model_: Any = field(init=False)  # public, but for an exact SVM, whose parties keep shares
    alpha_: float = field(init=False)

    _: KW_ONLY
    alpha: float | str = "auto"
    committee: str | Sequence[str] = AUTO
    device: str = "cpu"

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.epsilon is not None:
            check_machine(self)

    def _check_comparison(self) -> None:
        self.refuse_epsilon("compare=True, which puts exact figures of the records into the report")

    @property
    def takes_sparse(self) -> bool:
        """Whether plain records may be sparse: over rows, on the processor, without noise."""
        least_squares = getattr(self, "loss", "") != "hinge"
        return self.partition_ == "horizontal" and self.device == "cpu" and least_squares and self.epsilon is None

    def _request(self, federation: Federation) -> Request:
        if self.epsilon is not None:
            return request_privately(self, federation)
        named = self.committee if isinstance(self.committee, str) else tuple(self.committee)
        asked = self._arguments(self.PROTOCOL, committee=named, **self._declare(federation))
        return Request(self.PROTOCOL, {"data": Records()}, asked, self._repeatable(federation))

    def search_request(self, federation: Federation, candidates: Sequence[Mapping[str, Any]]) -> Request:
        """Return what a search would have the federation run; raises whatever `fit` would refuse of any candidate."""
        check_candidates(self, candidates)
        self.check_federation(federation)
        own = {"layered": self.PROTOCOL == "train_elm", **self._declare(federation)}
        if own["layered"]:
            own |= {"kernel": "linear", "gamma": 1.0, "degree": 1, "coef0": 0.0}
        trials = tuple({name: plain_value(value) for name, value in each.items()} for each in candidates)
        asked = self._arguments("search_machine", settings=trials, **own)
        return Request("search_machine", {"data": Records()}, asked, self._repeatable(federation))

    def selection_request(self, federation: Federation, n_features_to_select: int | str) -> Request:
        """Return what a selection of columns by this machine's targets and weights asks for."""
        self.check_federation(federation)
        asked = self._arguments(
            "select_columns", n_features_to_select=n_features_to_select, **self._declare(federation)
        )
        return Request("select_columns", {"data": Records()}, asked, self._repeatable(federation))

    def search_report(self, federation: Federation, outcome: Outcome) -> Report:
        """Return the report of a search, with what it does not protect."""
        return report_on(self, federation, outcome, not_protected=NOT_PROTECTED, protection=PROTECTION)

    def _repeatable(self, federation: Federation) -> int | None:
        """Return from what a simulation's randomness follows: `random_state`, if that is a number."""
        fixed = isinstance(self.random_state, Integral) and federation.holds_records
        return int(self.random_state) if fixed else None

    def _declare(self, federation: Federation) -> dict[str, Any]:
        """Return what is public of the table, where all of it is in this process."""
        declared: dict[str, Any] = {} if self.classes is None else {"classes": tuple(np.unique(self.classes).tolist())}
        weight = getattr(self, "class_weight", None)
        declared |= {"class_prices": weight} if isinstance(weight, dict) else {"balanced": weight == "balanced"}
        if not federation.holds_records:
            return {"classify": not self.NUMBERS, **declared}
        parts = federation.parts.values()
        weights = [part.weight.max(initial=1.0) for part in parts if part.weight is not None]
        found: dict[str, Any] = {"classify": not self.NUMBERS, "weight_cap": float(max(weights, default=1.0))}
        found |= declared | {"least_class": 1}
        found["repeat"] = self._seed()
        y = np.concatenate([part.y for part in parts if part.y is not None])
        if not self.NUMBERS:
            names = {party: np.unique(part.y) for party, part in federation.parts.items() if part.y is not None}
            check_class_names({party: tuple(own.tolist()) for party, own in names.items()})
            found["classes"] = tuple(np.unique(y if self.classes is None else self.classes).tolist())
        elif self.target_range is None:
            found["target_range"] = (float(y.min()), float(y.max()))
        return found

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        if self.epsilon is not None:
            receive_privately(self, federation, outcome)
            return
        result = outcome.result
        the_map, weights = order_columns(result.map, result.weights, federation)
        self.model_ = MappedModel(the_map, weights, result.step, result.middle, result.reach, result.sigmoids)
        self.alpha_, self.n_features_in_ = result.alpha, result.map.columns
        if result.classes:
            self.classes_ = np.array(result.classes)
        known = (*NOT_PROTECTED, *tell_committee(self, federation))
        self.report_ = report_on(self, federation, outcome, not_protected=known, protection=PROTECTION)
        self.report_.figures = {
            "features": result.map.size - 1,
            "alpha": result.alpha,
            "weights are rounded to": result.step,
        }
        self.report_.warnings += warn_of_limits(self, the_map, federation)
        warn_of(self.report_, compare_scales(federation))

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records whose columns are with several owners; by rows none is needed."""
        if self.partition_ == "horizontal":
            return ()
        model = self.known_model(federation)
        known = Computed(Holder, partial(give_model, model), (Records(),))  # all who take part have it
        inputs: dict[str, Input] = {"data": Records(), "model": known}
        return (Request("answer_svm", inputs, {"partition": self.partition_}),)

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return the values of new records: by rows everybody's own, else the asker's."""
        if self.partition_ == "horizontal":
            return super().receive_values(federation, outcomes)
        model, answers = self.model_, outcomes[-1].result[federation.roster[Asker][0]]
        values: F64 = model.middle + model.reach * answers
        return values

    def told_values(self, plan: Sequence[Request]) -> Input:
        """Return the input that stands for the values of new records at who is told them."""
        return super().told_values(plan) if self.partition_ == "horizontal" else Left(Asker, plan[-1])

    def known_model(self, federation: Federation) -> KnownModel:
        """Return the model with columns in the order of their owners."""
        the_map, weights = self.model_.map, self.model_.weights
        if federation.partition == "vertical":
            order = np.concatenate([federation.columns[party] for party in federation.parts])
            the_map, weights = take_columns(the_map, weights, order)
        return KnownModel(the_map, weights)

    def _score_with(self, X: Any, y: Any, sample_weight: Any, metric: str) -> float:
        """Return how good the answers are; of records that nobody has as a whole counted in shares."""
        apart = isinstance(X, Federation) and y is None and X.partition != "horizontal"
        if not apart or self.public_model() is None:
            return super()._score_with(X, y, sample_weight, metric)
        check_is_fitted(self)

        def count() -> float:
            evaluation, _ = judge_in_shares(self, X, "records", Question(raw=X, learner=self, least=1))
            return evaluation.score

        found: float = X.backend.score(X, self, count)
        return found

    def public_decision(self) -> Callable[[F64], F64] | None:
        """Return what computes decision values; the model is public."""
        return partial(self.model_.decide, device=self.device)

    def public_model(self) -> Any:
        """Return the model: it is public."""
        return self.model_


def warn_of_limits(machine: Machine, the_map: PublicMap, federation: Federation) -> list[str]:
    """Return which columns the model does not use, and that alpha is another one than was asked for."""
    if the_map.kernel == LINEAR:
        unused = the_map.shift == 0
    else:
        unused = (np.ptp(the_map.centres, axis=0) == 0) & (the_map.kernel != LAYER) & (len(the_map.centres) > 1)
    named = [name for name, lost in zip(federation.features, unused, strict=True) if lost]
    warnings = []
    if named:
        said = ", ".join(named[:NAMED]) + (f" and {len(named) - NAMED} more" if len(named) > NAMED else "")
        warnings.append(
            f"columns that count as constant: {said}: few records differ there, or differences are some thousandths"
            " of the values; in the latter case put a FederatedScaler before"
        )
    if the_map.kernel == "rbf" and the_map.columns > len(the_map.centres):
        warnings.append(
            f"{the_map.columns} columns are more than {len(the_map.centres)} landmarks can stand for: select columns"
            " before, with FederatedSelector, or take kernel='linear'"
        )
    if not isinstance(machine.alpha, str) and machine.alpha_ > (1.0 + CLOSE) * machine.alpha:
        warnings.append(f"alpha = {machine.alpha:g} leaves no room in 64 bits: {machine.alpha_:g} was taken instead")
    return warnings


def tell_committee(machine: Any, federation: Federation) -> tuple[str, ...]:
    """Return what the members of a committee could find together; nothing if all parties computed."""
    holders = federation.roster[Holder]
    members = choose_committee(machine.committee, holders, federation.partition)
    if len(members) == len(holders):
        return ()
    what = "rows of features and labels" if getattr(machine, "loss", "") == HINGE else "exact sums over its records"
    return (f"Of each other party its {what}, from {', '.join(members)} together: they computed for all.",)


def check_candidates(machine: Machine, candidates: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what no candidate can be, and what a search in shares does not vary."""
    machine.refuse_epsilon("a search, which trains many models: choose parameters by what is public")
    if getattr(machine, "is_exact", False):
        raise LocalError("features='exact' keeps its models in shares, and no search compares them: use landmarks")
    varied = [name for name in VARIED if hasattr(machine, name)]
    for each in candidates:
        other = [name for name in each if name not in varied]
        if other:
            name = type(machine).__name__
            raise LocalError(f"a search does not vary {other[0]!r} of {name}: it varies {', '.join(varied)}")
        clone(machine).set_params(**each).check_parameters()


def plain_value(value: Any) -> Any:
    """Return a value as a job writes it down."""
    return value.item() if hasattr(value, "item") else value


def give_model(model: KnownModel, party: str, part: Part) -> KnownModel:
    """Return the model, which is the same for every party."""
    del party, part
    return model


def order_columns(the_map: PublicMap, weights: F64, federation: Federation) -> tuple[PublicMap, F64]:
    """Return a map and weights for records whose columns are in the order of the table, not of their owners."""
    if federation.partition != "vertical":
        return the_map, weights
    order = np.concatenate([federation.columns[party] for party in federation.parts])
    return take_columns(the_map, weights, np.argsort(order))


def take_columns(the_map: PublicMap, weights: F64, order: I64) -> tuple[PublicMap, F64]:
    """Return a map and weights for records whose columns are in another order."""
    if the_map.kernel == LINEAR:
        weights = np.concatenate([weights[order], weights[-1:]])
    return the_map.take_columns(order), weights
