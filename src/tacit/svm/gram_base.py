"""What GramSVC and GramSVR share: a gram matrix of all parties' cells at a coordinator, and a model in shares."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, I64
from tacit.base.central import Central, Comparison
from tacit.base.estimator import Asked, Federated
from tacit.base.parameters import NONE, parameterized
from tacit.base.shared import Sums
from tacit.choreo import Asker, Holder
from tacit.choreo.declaration import Either, Kind, Number, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.exposure import describe_exposure
from tacit.models.blind import BlindModel, StoredBlind
from tacit.models.gram import GramModel, StoredModel
from tacit.numeric.svm.problems import OVR, count_problems
from tacit.protocols.gram.cells import HOWS
from tacit.protocols.gram.weights import make_engine
from tacit.protocols.sums.secure_sum import describe_protection
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Input, Left, Records, Request
from tacit.svm.blind import BLIND, COORDINATOR, VIEWS, ask_blind, ask_training, check_blind, receive_blind

NOT_PROTECTED = (
    "The coordinator's view: the gram matrix is every record up to one rotation, and as many known values of a column"
    " as there are columns give the whole column."
)
BY_DOTS = "New records in the same way: the coordinator sees their dot products with the support vectors."
BY_VALUES = "The weights, from whoever asks about more new records than there are columns: the answers give them."
AND_WHILE = "and the coordinator, which sees the gram matrix, works together with nobody"
BY_CELLS = "A column, from the coordinator together with one party that has as many of its cells as there are columns."
BY_KEY = "The cells, from the coordinator together with any party: method='algorithm1' encrypts them under its key."
BY_NAME = "method='intersection' shows the coordinator the table up to the columns' order, which frequencies give away."


@parameterized
class GramMachine(Federated, Sums):
    """A support vector machine on the gram matrix of the pooled records."""

    OWN: ClassVar[Mapping[str, Kind | None]] = {
        "method": OneOf(HOWS),
        "quota": Either((NONE, Number(0, whole=True))),
        "view": OneOf(VIEWS),
    }
    ADVISED: ClassVar[tuple[Mapping[str, Any], ...]] = tuple({"view": view} for view in VIEWS)
    SPLITS = ("vertical", "horizontal", "arbitrary")
    LEARNS = "the gram matrix, from which it can work out the others' columns if it knows enough records"
    saves: ClassVar[str] = "support_"

    model_: GramModel | StoredModel | BlindModel | StoredBlind = field(init=False)
    support_: I64 = field(init=False)

    _: KW_ONLY
    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    tol: float = 1e-3
    max_iter: int = -1
    view: str = COORDINATOR
    method: str = "product"
    engine: str = "bfv"
    key_bits: int = 2048
    feature_bits: int | None = None
    feature_range: float | None = None
    quota: int | None = None

    def restore(self) -> None:
        """Set the number of iterations, which the model contains."""
        if isinstance(self.model_, GramModel):
            self.n_iter_ = self.model_.dual.iterations

    @abstractmethod
    def _central(self, federation: Federation) -> Central:
        """Train the centralised learner on the pooled records."""

    @abstractmethod
    def _compare_answers(self, values: F64, central: Central) -> Comparison:
        """Return how answers differ from the centralised learner's."""

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.method == "intersection" and not self.accept_risk:
            raise LocalError(
                f"{BY_NAME[:-1]}: use method='product', which shows the gram matrix only, or say accept_risk=True"
            )
        if self.view == BLIND:
            check_blind(self)

    def _request(self, federation: Federation) -> Request:
        if self.view == BLIND:
            return ask_training(self, federation)
        if federation.holds_records and self.kernel == "linear":
            make_engine(1, 1, self.key_bits)  # what its answers need is missed before the training
        protocol = "gram_vertical" if self._by_columns else "gram_arbitrary"
        return Request(protocol, {"data": Records()}, self._arguments(protocol))

    @property
    def _by_columns(self) -> bool:
        """Whether the parties' own columns are summed, and no cells of two parties multiplied."""
        return self.partition_ == "vertical" and self.method == "product"

    def _arguments(self, protocol: str, **given: Any) -> dict[str, Any]:
        return super()._arguments(protocol, how=self.method, **given)

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        if self.view == BLIND:
            receive_blind(self, federation, outcome)
        else:
            self._receive_dual(federation, outcome)

    def _receive_dual(self, federation: Federation, outcome: Outcome) -> None:
        here = federation.backend.returns_shares
        result, rows = outcome.result, outcome.result.support
        self.support_ = federation.row_order[rows] if here and self.partition_ == "horizontal" else rows
        sigmoids = result.sigmoids
        if here:
            self.model_ = GramModel(result.dual[federation.coordinator], result.columns, sigmoids)
            self.n_iter_ = self.model_.dual.iterations
        else:
            parties, way = (*federation.parts, federation.coordinator), getattr(self, "multi_class", OVR)
            self.model_ = StoredModel(outcome.job, parties, sigmoids, multi_class=way)
        protection = f"{describe_protection(self.secure_sum, self.segments)}, {AND_WHILE}"
        self.report_ = report_on(self, federation, outcome, not_protected=self._not_protected(), protection=protection)
        self.report_.warnings += describe_exposure(federation)

    def _not_protected(self) -> list[str]:
        more = {"algorithm1": [BY_KEY], "intersection": [BY_NAME]}.get(self.method, [])
        asking = BY_VALUES if self.kernel == "linear" else BY_DOTS
        return [NOT_PROTECTED, asking, *([BY_CELLS] if self.partition_ != "vertical" else []), *more]

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records; before a linear model's first, also what shares its weights."""
        if self.view == BLIND:
            return ask_blind(self, federation)
        model: Any = self.model_
        site, data = federation.coordinator, {"data": Records()}
        if (model.dual.kernel if isinstance(model, GramModel) else self.kernel) != "linear":
            protocol = "gram_predict" if self._by_columns else "gram_arbitrary_predict"
            asked = self._arguments(protocol, squares=self.kernel == "rbf", support=len(self.support_))
            return (Request(protocol, {**data, **model.shares(site)}, asked),)
        way = model.multi_class
        problems = count_problems(len(self.classes_), way) if hasattr(self, "classes_") else 1  # one of a regression
        known = {"problems": problems, "multi_class": way}
        question = Request("gram_linear_predict", data, self._arguments("gram_linear_predict", **known))
        if model.weights:
            return (question.with_inputs(**model.weight_shares()),)
        weights = Request("gram_weights", model.shares(site), self._arguments("gram_weights", **known))
        return weights, question.with_inputs(weights=Left(Holder, weights))

    def _run_plan(self, federation: Federation, plan: Sequence[Request]) -> Iterator[Outcome]:
        """Run the question; keep shares of the weights as soon as there are some, since what follows may fail.

        Those of a question to a study stay in its run: every party begins the next one with the model as it was fitted.
        """
        for request, outcome in zip(plan, federation.run_plan(plan), strict=True):
            if request.protocol == "gram_weights" and not federation.backend.in_one_run:
                self._keep_weights(outcome)
            yield outcome

    def _keep_weights(self, outcome: Outcome) -> None:
        """Keep shares of the weights in the model itself where it is here: asking leaves all attributes as they are."""
        if isinstance(self.model_, GramModel):
            self.model_.weights.update(outcome.result)
        elif isinstance(self.model_, StoredModel):
            self.model_ = dataclasses.replace(self.model_, weights=outcome.job)

    def _shares(self) -> Any:
        """Return the model where all of it is simulated here."""
        if isinstance(self.model_, StoredModel | StoredBlind):
            job = self.model_.job.partition(".")[0]  # of a study, the number of the request follows
            raise LocalError(
                f"this model is kept in shares by {', '.join(self.model_.parties)}, under job {job}, and"
                " answers go only to the party that asks: predict a federation that is connected to them, such as"
                " federation.on('new-records'), and read them there"
            )
        return self.model_

    @property
    def asked_(self) -> int:
        """How many new records were asked about, of the quota."""
        return getattr(self.model_, "asked", 0)

    def ask(self, X: Any) -> Asked:
        """Return decision values and the runs that they took, of no more records than the quota allows."""
        check_is_fitted(self)
        federation = self.match_records(X)
        self._count(federation.n_rows)
        return self._answer(federation)

    def ask_apart(self, federation: Federation) -> tuple[Input, tuple[Outcome, ...]]:
        """Ask about records that stay where they are, and here about no more than the quota allows."""
        if hasattr(self.model_, "asked"):  # it is here, and not kept by sites
            self._count(federation.n_rows)
        return super().ask_apart(federation)

    def _count(self, records: int) -> None:
        """Refuse more questions than the quota; failed ones count, since the coordinator may have heard them."""
        model = self._shares()
        if self.quota is None:
            return
        if model.asked + records > self.quota:
            left = f"{max(0, self.quota - model.asked)} of quota={self.quota}"
            raise LocalError(
                f"{records} new records would be asked about, and the quota leaves {left}: ask about fewer"
            )
        self.model_ = dataclasses.replace(model, asked=model.asked + records)

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return decision values: the asker's, or by rows everyone's own."""
        found: dict[str, F64] = outcomes[-1].result
        if self.partition_ != "horizontal":
            return found[federation.roster[Asker][0]]
        return federation.join_rows(found)

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with the centralised learner; of a blind one nobody knows the objective."""
        central, values = self._central(federation), self._answer(federation).values
        if self.view == BLIND:
            return self._compare_answers(values, central)
        return central.compare_duals(self._shares().dual.objective, values, self._compare_answers(values, central))
