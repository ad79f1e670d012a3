"""What all learners share: plain arrays become a simulated federation, answers become labels or numbers."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.arrays import F64, Array
from tacit.base.by_name import estimators
from tacit.base.parameters import arguments_for, check, parameterized
from tacit.base.public import Public
from tacit.base.saved import Savable
from tacit.base.shared import Simulation, check_coordinator, refuse_sparse, set_features
from tacit.choreo import Asker, Holder
from tacit.errors import LocalError
from tacit.federation import Federation, as_table
from tacit.federation.columns import check_prepared
from tacit.federation.frames import refuse_texts
from tacit.federation.part import Part, map_parts
from tacit.federation.plan import Partition
from tacit.models.handle import Handle
from tacit.numeric.scores import folds
from tacit.protocols.classes import check_class_weight
from tacit.registry import Outcome, declared
from tacit.request import Computed, Input, Left, Records, Request
from tacit.sparse import is_sparse

choose_classes = folds.choose_class  # of decision values

Comparison = dict[str, float | int | str]  # with the centralised learner
SUMS = "the sums, from which it can subtract its own rows"


@dataclass(frozen=True)
class Asked:
    """The answer to a question about records: values, a column per problem, and the runs that they took."""

    values: F64
    outcomes: tuple[Outcome, ...]


@parameterized
class Federated(Simulation, Savable, Public, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Fits a `Federation`, or plain arrays by simulating `n_parties`."""

    NUMBERS: ClassVar[bool] = False  # whether targets are numbers
    SPLITS: ClassVar[tuple[Partition, ...]]  # that it can be trained on; plain arrays are split in the first way
    LEARNS: ClassVar[str] = SUMS  # what a party that coordinates would learn
    ADVISED: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)  # parameters by which it is another method for an advisor

    job_: str = field(init=False, default="")  # under which sites keep the model; empty if it was trained here
    until_: str = field(init=False, default="")  # the day until which they do at least

    _: KW_ONLY
    accept_risk: bool = False

    @abstractmethod
    def _request(self, federation: Federation) -> Request:
        """Return what training asks for; parameters and federation were checked."""

    @abstractmethod
    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        """Set the model and `report_`."""

    @abstractmethod
    def _check_targets(self, y: Array) -> None:
        """Refuse targets of the wrong kind."""

    @abstractmethod
    def _gap(self, federation: Federation) -> Comparison:
        """Return how far the model is from the centralised learner's."""

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        check(self)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, compare: bool = False) -> Self:
        """Train together.

        Args:
            X: a `Federation` that holds the labels, or plain records, which are then split between `n_parties`.
            y: labels, with plain records.
            sample_weight: weights, with plain records.
            compare: in simulation, also train the centralised learner, and put the difference into `report_`.
        """
        if compare:
            self._check_comparison()
        federation = self.federate(X, y, sample_weight)
        with self._watching():
            federation.backend.fit(federation, self, partial(self._train, federation))
            if compare and federation.holds_records:
                self.report_.comparison = self._gap(federation)
        return self

    def _check_comparison(self) -> None:
        """Raise if the model must not be compared with the centralised learner's."""

    def _train(self, federation: Federation) -> Self:
        return self.receive(federation, federation.run(self.request(federation)))

    def federate(self, X: Any, y: Any = None, sample_weight: Any = None) -> Federation:
        """Return the federation that `fit` trains on: the given one, or plain records split between `n_parties`."""
        if not isinstance(X, Federation):
            self._met = self.partition or self.SPLITS[0]
            self.check_parameters()
            return self._federate_records(X, y, sample_weight)
        if y is not None or sample_weight is not None:
            name = type(self).__name__
            raise LocalError(
                f"{name}.fit got a Federation and also y or sample_weight: leave these out, the federation has its own"
            )
        self._meet(X)
        return X

    def request(self, federation: Federation) -> Request:
        """Return what `fit` would have the federation run; raise whatever it would refuse before anything is sent."""
        self.check_federation(federation)
        return self._request(federation)

    @property
    def partition_(self) -> Partition:
        """How records are split: as `partition` says, else as in the last federation that the estimator was given."""
        fitted = getattr(self, "federation_", None)
        return self.partition or getattr(self, "_met", None) or (fitted.partition if fitted else self.SPLITS[0])

    def receive(self, federation: Federation, outcome: Outcome) -> Self:
        """Become the fitted estimator that the outcome of the request makes."""
        self._met = federation.partition
        set_features(self, federation)
        self._receive(federation, outcome)
        self.federation_ = federation.without_records()
        self.job_, self.until_ = outcome.job, outcome.until
        return self

    def check_federation(self, federation: Federation) -> None:
        """Raise if the estimator cannot be trained on it: by its parameters, the split, labels, or who coordinates."""
        self._meet(federation)
        if federation.holds_records:
            self._check_records(federation)
        else:  # whoever holds them checks them
            check_prepared(federation, type(self).__name__, gaps=self.takes_gaps)
            federation.backend.check_targets(numbers=self.NUMBERS)
        self._check_site(federation)

    @property
    def takes_gaps(self) -> bool:
        """Whether a training takes records that lack values."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether plain records may be sparse, as SciPy has them."""
        return False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        return tags

    def _meet(self, federation: Federation) -> None:
        """Take the split of the federation where `partition` leaves it open, and check the parameters for it."""
        name, split = type(self).__name__, _adverb(federation.partition)
        if federation.partition not in self.SPLITS:
            ways, others = " or ".join(map(_adverb, self.SPLITS)), ", ".join(self._others(federation.partition))
            raise LocalError(f"{name} trains on records split {ways}, and these are split {split}: use one of {others}")
        if self.partition is not None and federation.partition != self.partition:
            raise LocalError(
                f"{name}(partition={self.partition!r}) got a federation split {split}: set partition to match it"
            )
        self._met = federation.partition
        self.check_parameters()

    def _others(self, partition: str) -> Iterator[str]:
        """Yield the estimators of the same kind that train on records split this way."""
        kinds = (kind for kind in (ClassifierMixin, RegressorMixin) if isinstance(self, kind))
        for name, other in estimators(next(kinds, Federated)).items():
            if partition in getattr(other, "SPLITS", ()):
                yield name

    def _check_records(self, federation: Federation) -> None:
        check_prepared(federation, type(self).__name__, gaps=self.takes_gaps)
        if all(part.y is None for part in federation.parts.values()):
            name = type(self).__name__
            raise LocalError(f"{name} needs labels, and no party of the federation holds any: build it with y=")
        map_parts(lambda _, part: self._check_targets(part.y) if part.y is not None and len(part.y) else None,
                  federation.parts)  # fmt: skip

    def _check_site(self, federation: Federation) -> None:
        """Refuse parties, or a coordinator, that training would give too much to."""
        check_coordinator(federation, self.LEARNS, accept_risk=self.accept_risk)

    def _federate_records(self, X: Any, y: Any, sample_weight: Any, *, varied: bool = True) -> Federation:
        refuse_texts(X, type(self).__name__)
        gaps = self.takes_gaps
        finite = "allow-nan" if gaps else True
        records, labels = validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if self.takes_sparse else False,
            dtype=np.float64,
            ensure_min_samples=2,
            y_numeric=self.NUMBERS,
            ensure_all_finite=finite,
        )
        self._check_targets(labels)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, records)
        if varied:
            self._check_variety(labels if sample_weight is None else labels[sample_weight > 0])
        more: dict[str, Any] = {"sample_weight": sample_weight, "allow_missing": gaps}
        return self._simulate(records, labels, partition=self.partition_, **more)

    def _check_variety(self, y: Array) -> None:
        """Refuse plain arrays whose targets are too much alike."""

    def _arguments(self, protocol: str, **given: Any) -> dict[str, Any]:
        """Return the parameters of a protocol: those that are given, and the estimator's own."""
        own: dict[str, Any] = {"partition": self.partition_}
        if "seed" in declared(protocol).takes and "seed" not in given:
            own["seed"] = self._seed()
        return arguments_for(self, protocol, **{**own, **given})

    def public_decision(self) -> Callable[[F64], F64] | None:
        """Return what computes the values of records, if the model is public: whoever has it needs nobody else."""
        return None

    @property
    def handle_(self) -> Handle | None:
        """The handle of a model that the sites keep in shares; None for a public or a simulated model."""
        check_is_fitted(self)
        if not self.job_ or self.public_model() is not None:
            return None
        mine = self.federation_
        job = self.job_.partition(".")[0]  # of a study, the number of the request follows
        return Handle(type(self).__name__, job, (*mine.parts, mine.coordinator), self.until_)

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the requests by which a fitted model is asked about new records; none if it is public."""
        del federation
        return ()

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return the values of new records, one column per problem, from the outcomes of these requests."""
        del outcomes
        decide = cast("Callable[[F64], F64]", self.public_decision())  # estimators without a public model override this
        return federation.join_rows({party: decide(part.X) for party, part in federation.parts.items()})

    def told_values(self, plan: Sequence[Request]) -> Input:
        """Return the input that stands for the values of new records at who is told them, once the plan was run."""
        decide = self.public_decision()
        if decide is None:
            return Left(Holder if self.partition_ == "horizontal" else Asker, plan[-1])
        return Computed(Holder, partial(_decide_own, decide), (Records(),))

    def ask_apart(self, federation: Federation) -> tuple[Input, tuple[Outcome, ...]]:
        """Ask about records that stay where they are; return what stands for the values, and the runs they took."""
        known = self.match_records(federation)
        plan = self.request_values(known)
        with self._watching():
            outcomes = tuple(self._run_plan(known, plan))
        return known.backend.settle(self.told_values(plan), dict(zip(plan, outcomes, strict=True))), outcomes

    def ask(self, X: Any) -> Asked:
        """Return decision values of whole records or of a `Federation` of split ones, and the runs that they took."""
        check_is_fitted(self)
        if isinstance(X, Federation):
            X.backend.check_new_records()
        return self._answer(self.match_records(X))

    def _answer(self, federation: Federation) -> Asked:
        outcomes = self._run_values(federation)
        return Asked(self.receive_values(federation, outcomes), outcomes)

    def _run_values(self, federation: Federation) -> tuple[Outcome, ...]:
        with self._watching():
            return tuple(self._run_plan(federation, self.request_values(federation)))

    def _run_plan(self, federation: Federation, plan: Sequence[Request]) -> Iterator[Outcome]:
        return federation.run_plan(plan)

    def _answer_with(self, X: Any, read: Callable[[F64], Any]) -> Any:
        """Return what `read` makes of the values of records; of records at sites, an `Answers` that says who has it."""
        check_is_fitted(self)
        if not isinstance(X, Federation):
            return read(self._values(X))
        return X.backend.answer(X, self, lambda: read(self._values(X)))

    def _score_with(self, X: Any, y: Any, sample_weight: Any, metric: str) -> float:
        """Return how good the answers are: by a metric where labels are here, else as the sites count them."""
        check_is_fitted(self)

        def compare() -> float:
            targets, weight = _find_targets(X, y, sample_weight)
            # looked up when it is needed: a training does not wait for what judges it
            compute = getattr(import_module("sklearn.metrics"), metric)
            return float(compute(targets, self.predict(X), sample_weight=weight))

        return X.backend.score(X, self, compare) if isinstance(X, Federation) and y is None else compare()

    def _values(self, X: Any) -> F64:
        decide = None if isinstance(X, Federation) else self.public_decision()
        return self.ask(X).values if decide is None else decide(self._as_numbers(X))

    def _as_numbers(self, X: Any) -> F64:
        """Return whole new records as numbers."""
        refuse_texts(X, type(self).__name__)
        if is_sparse(X) and self.takes_sparse:  # what a step before made
            validate_data(self, X, reset=False, skip_check_array=True)
            return X  # type: ignore[return-value]  # it stands for an array
        sparse = "csr" if self.takes_sparse else False
        records: F64 = validate_data(self, X, reset=False, accept_sparse=sparse, dtype=np.float64)
        return as_table(records).X if issparse(records) else records

    def match_records(self, X: Any, *, gaps: bool = False) -> Federation:
        """Return new records between the parties of the model; refuse those that it cannot be asked about.

        With `gaps` records that lack values are not refused.
        """
        if not isinstance(X, Federation):
            return self.federation_.split(self._as_numbers(X))
        mine = self.federation_
        if set(X.parts) != set(mine.parts) or X.coordinator != mine.coordinator:
            who = f"{', '.join(mine.parts)}; coordinator {mine.coordinator}"
            raise LocalError(f"the new records must be held by the same parties as in training: {who}")
        for party, part in mine.parts.items():
            if X.parts[party].features != part.features:
                features = ", ".join(part.features)
                raise LocalError(
                    f"the new records are not split like the training records: {party!r} must hold {features}"
                )
        check_prepared(X, type(self).__name__, gaps=gaps)
        refuse_sparse(self, X)
        # shares of a model stand in this order
        return dataclasses.replace(X, parts={party: X.parts[party] for party in mine.parts})


class FederatedClassifier(ClassifierMixin, Federated):  # type: ignore[misc]  # scikit-learn is untyped
    """Learns classes; `_receive` sets `classes_` too."""

    classes_: Array

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of whole records, or of a `Federation` whose records stay split.

        Between organisations the answers stay with whoever is told them, and an `Answers` says who that is.
        """
        return self._answer_with(X, lambda values: values[:, 0] if values.shape[1] == 1 else values)

    def predict(self, X: Any) -> Any:
        """Return the class of every record; between organisations an `Answers`, as `decision_function` does."""
        return self._answer_with(X, lambda values: self.classes_[choose_classes(values)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on whole records, or on a labelled `Federation`; between sites by masked counts."""
        return self._score_with(X, y, sample_weight, "accuracy_score")

    def _check_targets(self, y: Array) -> None:
        if type_of_target(y, input_name="y") == "continuous":
            name = type(self).__name__
            raise LocalError(
                f"Unknown label type: continuous. {name} tells classes apart, and the labels are numbers with"
                f" fractions: use {' or '.join(_name_regressors(type(self).__module__))}"
            )
        check_classification_targets(y)

    def _check_records(self, federation: Federation) -> None:
        super()._check_records(federation)
        held, weights = (part.y for part in federation.parts.values()), getattr(self, "class_weight", None)
        if weights is not None:
            names = np.unique(np.concatenate([y for y in held if y is not None]))
            check_class_weight(tuple(names.tolist()), weights)

    def _check_variety(self, y: Array) -> None:
        check_two_classes(self, y)


class FederatedRegressor(RegressorMixin, Federated):  # type: ignore[misc]  # scikit-learn is untyped
    """What all estimators share that learn a number for each record."""

    NUMBERS = True

    def predict(self, X: Any) -> Any:
        """Return the predicted number of every record; between organisations an `Answers` that says who has them."""
        return self._answer_with(X, lambda values: values[:, 0])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R^2 on whole records, or on a `Federation` that holds the targets; between sites by masked sums."""
        return self._score_with(X, y, sample_weight, "r2_score")

    def _check_targets(self, y: Array) -> None:
        if y.dtype.kind not in "iufb":
            name = type(self).__name__
            raise LocalError(f"{name} needs numbers as targets, got {y.dtype}: use a classifier for classes")


def _name_regressors(module: str) -> list[str]:
    """Return the estimators of a package, that of this module, that learn numbers."""
    package = module.rpartition(".")[0]
    found = [name for name, each in estimators(RegressorMixin).items() if each.__module__.startswith(package)]
    return found or ["a regressor"]


def check_two_classes(estimator: object, y: Array) -> None:
    """Refuse labels that are all the same, in scikit-learn's words."""
    if len(np.unique(y)) < 2:  # noqa: PLR2004 - a classifier separates two
        name = type(estimator).__name__
        raise LocalError(f"{name} needs samples of at least 2 classes in y, but the data contains only one class")


def _find_targets(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return targets and weights: the given ones, or those that a federation holds; raise if there are none."""
    if not isinstance(X, Federation) or y is not None:
        return y, sample_weight
    y, weight = X.targets()
    if y is None:
        raise LocalError("score compares answers with labels, and the federation has none here: give it labels")
    return y, weight


def _decide_own(decide: Callable[[F64], F64], party: str, part: Part) -> F64:
    """Return the values of a party's own records by a public model."""
    del party
    return decide(part.X)


def _adverb(split: str) -> str:
    return {"arbitrary": "arbitrarily"}.get(split, f"{split}ly")
