"""GramSVC: the pooled SVM from a securely computed gram matrix (paper 001)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, I64
from tacit.base.estimator import Asked, Comparison, FederatedClassifier
from tacit.base.parameters import NONE, parameterized
from tacit.choreo import Asker, Holder
from tacit.choreo.declaration import Either, Kind, Number, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.exposure import exposures
from tacit.numeric.svm.kernels import OVO, count_problems
from tacit.papers.central import central_svc
from tacit.papers.gram.cells import HOWS
from tacit.papers.gram.declared import OF_PRODUCTS
from tacit.papers.gram.model import GramModel, StoredModel
from tacit.papers.gram.weights import make_engine
from tacit.papers.parameters import MAX_ITER, MULTI_CLASS, TOL, kinds_of
from tacit.protocols.sums.secure_sum import PROTECTION
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Input, Left, Records, Request

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
class GramSVC(FederatedClassifier):
    """Support vector classifier over columns, rows or cells, by paper 001. It equals the SVM of the pooled data.

    A coordinator that holds no data learns the gram matrix, which is every record up to one unknown rotation, and
    solves the dual problem; parties learn nothing of each other's cells. `report_` says who learnt what. `tacit.SVC`
    reveals nothing but its model, and with features="exact" not even that.

    Args:
        C: penalty for margin violations; a larger C fits the training records more closely.
        kernel: "linear", "rbf", "poly" or "sigmoid".
        gamma: coefficient of every kernel except the linear one; "scale" and "auto" as in scikit-learn.
        degree: degree of the "poly" kernel.
        coef0: constant term of the "poly" and "sigmoid" kernels.
        multi_class: "ovo": each pair of classes, as SVC does; "ovr": each class against the rest.
        class_weight: None, "balanced", or {class: weight}.
        tol: tolerance at which the dual solver stops.
        max_iter: most iterations of the dual solver; -1 for no limit.
        method: how cells of two parties are multiplied: "product" (homomorphic encryption, results in shares),
            "algorithm1" (Algorithm 1 of paper 001, for up to 200 records) or "intersection" (for zeros and ones; needs
            accept_risk). Records split by columns need no such products.
        engine: encryption that "product" uses: "bfv" or "paillier".
        key_bits: length of Paillier keys: 2048 or 3072.
        feature_bits: bits of the integers that cells are rounded to before they are multiplied; None: as many as cost
            nothing extra, 20 or more.
        feature_range: a bound on the size of every value; None: the parties learn the smallest power of two that no
            value exceeds.
        partition: "vertical", "horizontal" or "arbitrary"; None: that of the federation, and "vertical" for plain
            arrays.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.
        accept_risk: let one of the data holders be the coordinator, and allow method="intersection".
        quota: how many new records the model may be asked about in all; None: no limit. `asked_` counts them.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {
        **kinds_of(TOL, MAX_ITER, MULTI_CLASS, *OF_PRODUCTS),
        "method": OneOf(HOWS),
        "quota": Either((NONE, Number(0, whole=True))),
    }
    SPLITS = ("vertical", "horizontal", "arbitrary")
    LEARNS = "the gram matrix, from which it can work out the others' columns if it knows enough records"
    saves: ClassVar[str] = "support_"

    model_: GramModel | StoredModel = field(init=False)
    support_: I64 = field(init=False)

    _: KW_ONLY
    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    multi_class: str = OVO
    class_weight: dict[Any, float] | str | None = None
    tol: float = 1e-3
    max_iter: int = -1
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

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.method == "intersection" and not self.accept_risk:
            raise LocalError(
                f"{BY_NAME[:-1]}: use method='product', which shows the gram matrix only, or say accept_risk=True"
            )

    def _request(self, federation: Federation) -> Request:
        if federation.holds_records and self.kernel == "linear":
            make_engine(1, 1, self.key_bits)  # what its answers need is missed before the training
        protocol = "gram_vertical" if self._by_columns else "gram_arbitrary"
        return Request(protocol, {"data": Records()}, self._arguments(protocol))

    @property
    def _by_columns(self) -> bool:
        """Whether the parties' own columns are summed, and no cells of two parties multiplied."""
        return self.partition_ == "vertical" and self.method == "product"

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        result, rows = outcome.result, outcome.result.support
        self.classes_ = np.array(result.classes)
        if federation.holds_records:
            self.support_ = federation.row_order[rows] if self.partition_ == "horizontal" else rows
            self.model_ = GramModel(result.dual[federation.coordinator], result.columns)
            self.n_iter_ = self.model_.dual.iterations
        else:
            self.support_, parties = rows, (*federation.parts, federation.coordinator)
            self.model_ = StoredModel(outcome.job, parties, multi_class=self.multi_class)
        known, protection = self._not_protected(), f"{PROTECTION}, {AND_WHILE}"
        self.report_ = report_on(self, federation, outcome, not_protected=known, protection=protection)
        self.report_.warnings += describe_exposure(federation)

    def _not_protected(self) -> list[str]:
        more = {"algorithm1": [BY_KEY], "intersection": [BY_NAME]}.get(self.method, [])
        asking = BY_VALUES if self.kernel == "linear" else BY_DOTS
        return [NOT_PROTECTED, asking, *([BY_CELLS] if self.partition_ != "vertical" else []), *more]

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records; before a linear model's first, also what shares its weights."""
        model, data = self.model_, {"data": Records()}
        shares = model.shares(federation.coordinator)
        if (model.dual.kernel if isinstance(model, GramModel) else self.kernel) != "linear":
            protocol = "gram_predict" if self._by_columns else "gram_arbitrary_predict"
            asked = self._arguments(protocol, squares=self.kernel == "rbf", support=len(self.support_))
            return (Request(protocol, {**data, **shares}, asked),)
        known = {"problems": count_problems(len(self.classes_), model.multi_class), "multi_class": model.multi_class}
        question = Request("gram_linear_predict", data, self._arguments("gram_linear_predict", **known))
        if model.weights:
            return (question.with_inputs(**model.weight_shares()),)
        weights = Request("gram_weights", shares, self._arguments("gram_weights", **known))
        return weights, question.with_inputs(weights=Left(Holder, weights))

    def _run_plan(self, federation: Federation, plan: Sequence[Request]) -> Iterator[Outcome]:
        """Run the question; keep shares of the weights as soon as there are some, since what follows may fail.

        Those of a question to a study stay in its run: every party begins the next one with the model as it was fitted.
        """
        for request, outcome in zip(plan, federation.run_plan(plan), strict=True):
            if request.protocol == "gram_weights" and isinstance(self.model_, GramModel):
                self.model_.weights.update(outcome.result)
            yield outcome

    def _shares(self) -> GramModel:
        """Return the model where all of it is simulated here."""
        if isinstance(self.model_, StoredModel):
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
        if isinstance(self.model_, GramModel):  # it is here, and not kept by sites
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
        """Compare with scikit-learn's SVC on the pooled records."""
        central, values = central_svc(federation, self), self._answer(federation).values
        return central.compare_duals(self._shares().dual.objective, values, central.count_differing(values))


def describe_exposure(federation: Federation) -> list[str]:
    """Return what the report of a gram matrix has to warn of.

    Where parties are elsewhere, their job tells (`preflight.concerns`).
    """
    if not federation.holds_records:
        return []
    counts = {}
    for party, part in federation.parts.items():
        own = np.full(part.X.shape[1], len(part.X)) if part.owned is None else part.owned.sum(axis=0)
        counts[party] = np.bincount(federation.columns[party], own, federation.n_features).astype(np.int64)
    return [found.text for found in exposures(counts, federation.n_rows, federation.coordinator)]
