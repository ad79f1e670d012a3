"""What GramSVC and GramSVR share: a gram matrix of all parties' cells at a coordinator, and a model in shares."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.choreo import F64, I64, Asker, Holder
from tacit.crypto.product import ENGINES
from tacit.data import Federation
from tacit.data.exposure import exposed
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.base import Federated
from tacit.estimators.central import Central
from tacit.estimators.parameters import Number, OneOf, RandomState, Rule, check
from tacit.models.gram import Answers, GramModel, StoredModel
from tacit.numeric.kernels import KERNELS
from tacit.numeric.ownership import PARTITIONS
from tacit.protocols.gram_arbitrary import HOWS
from tacit.protocols.gram_weights import slots
from tacit.protocols.secure_sum import protects
from tacit.registry import Inputs, Outcome
from tacit.report import Report
from tacit.report.outcome import report_on

NOT_PROTECTED = (
    "The coordinator's view: the gram matrix is every record up to one rotation. Who knows n values of a column, of n columns, has it all."
)
BY_DOTS = "New records in the same way: the coordinator sees their dot products with the support vectors."
BY_VALUES = (
    "The weights: nobody has them, but decision values of as many new records as there are columns, and one, give them to who asks;"
    " dot products of new records nobody sees."
)
AND_WHILE = "and the coordinator, which sees the gram matrix, works together with nobody"
BY_CELLS = (
    "The records, from the coordinator together with one party: as many cells of a column as there are columns, and the gram matrix, give"
    " the whole column."
)
BY_KEY = "The cells, from the coordinator together with any party: method='algorithm1' encrypts all of them under the coordinator's key."
BY_NAME = "method='intersection' shows the coordinator the binary table up to the order of its columns, which frequencies give away."


class GramMachine(Federated):
    """A support vector machine on the gram matrix of the pooled records."""

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        "C": (Number(0, open=True),),
        "kernel": (OneOf(KERNELS),),
        "gamma": (OneOf(("scale", "auto")), Number(0, open=True)),
        "degree": (Number(0, whole=True),),
        "coef0": (Number(),),
        "tol": (Number(0, open=True),),
        "max_iter": (Number(-1, whole=True),),
        "method": (OneOf(HOWS),),
        "engine": (OneOf(ENGINES),),
        "key_bits": (OneOf((2048, 3072)),),
        "feature_bits": (OneOf((None,)), Number(1, 28, whole=True)),
        "feature_range": (OneOf((None,)), Number(0, open=True)),
        "secure_sum": (OneOf(("pairwise", "ring")),),
        "segments": (Number(1, whole=True),),
        "fraction_bits": (Number(0, 52, whole=True),),
        "partition": (OneOf(PARTITIONS),),
        "n_parties": (Number(1, whole=True),),
        "runtime": (OneOf(("together",)),),
        "random_state": (RandomState(),),
        "accept_risk": (OneOf((True, False)),),
        "quota": (OneOf((None,)), Number(0, whole=True)),
    }
    NUMBERS_TO_PASS: ClassVar[tuple[str, ...]] = ("C", "coef0", "tol")

    C: float
    kernel: str
    method: str
    engine: str
    key_bits: int
    feature_bits: int | None
    feature_range: float | None
    secure_sum: str
    segments: int
    fraction_bits: int
    accept_risk: bool
    quota: int | None
    partition: Partition
    model_: GramModel | StoredModel
    report_: Report
    support_: I64
    n_iter_: int

    @abstractmethod
    def _central(self, federation: Federation) -> Central:
        """The centralised learner on the pooled records."""

    @abstractmethod
    def _told_apart(self, mine: F64, theirs: F64) -> dict[str, float | int | str]:
        """How answers differ."""

    def _check_parameters(self) -> None:
        check(self, self.RULES)
        if self.method == "intersection" and not self.accept_risk:
            raise LocalError(f"{BY_NAME[:-1]}: use method='product', which shows the gram matrix only, or say accept_risk=True")

    def _fit(self, federation: Federation, *, compare: bool) -> None:
        self._check_site(federation)
        if federation.simulated and self.kernel == "linear":
            slots(1, 1, self.key_bits)  # what its answers need is missed before the training
        inputs: Inputs = {"data": (Holder, federation.parts)}
        asked = {**self._arguments(), **self._protection()}
        if self.partition == "vertical" and self.method == "product":
            outcome = federation.execute("gram_vertical", inputs, feature_range=self._products()["feature_range"], **asked)
        else:
            outcome = federation.execute("gram_arbitrary", inputs, partition=self.partition, how=self.method, **self._products(), **asked)
        self._take(federation, outcome)
        if compare and federation.simulated:
            self.report_.comparison = self._gap(federation)

    def _check_site(self, federation: Federation) -> None:
        if federation.coordinator in federation.parts and not self.accept_risk:
            raise LocalError(
                f"party {federation.coordinator!r} would coordinate and learn the gram matrix, from which it can work out the others'"
                " columns if it knows enough records: name a site without data, or say accept_risk=True"
            )

    def _arguments(self) -> dict[str, Any]:
        names = ("kernel", "gamma", "degree", "max_iter")
        return {**{name: getattr(self, name) for name in names}, **{name: float(getattr(self, name)) for name in self.NUMBERS_TO_PASS}}

    def _protection(self) -> dict[str, Any]:
        return {"method": self.secure_sum, "segments": self.segments, "fraction_bits": self.fraction_bits}

    def _products(self) -> dict[str, Any]:
        """How cells of two parties are multiplied."""
        asked = None if self.feature_range is None else float(self.feature_range)
        return {"engine": self.engine, "key_bits": self.key_bits, "feature_bits": self.feature_bits, "feature_range": asked}

    def _take(self, federation: Federation, outcome: Outcome) -> None:
        """The attributes of a fitted machine."""
        result, rows = outcome.result, np.asarray(outcome.result["support"])
        self.support_ = _in_order(federation)[rows] if federation.simulated and self.partition == "horizontal" else rows
        sigmoids = None if result["sigmoids"] is None else np.asarray(result["sigmoids"], dtype=np.float64)  # a list, out of a letter
        if federation.simulated:
            self.model_ = GramModel(result["dual"][federation.coordinator], result["columns"], sigmoids)
            self.n_iter_ = self.model_.dual.iterations
        else:
            self.model_ = StoredModel(result["stored"], (*federation.parts, federation.coordinator), sigmoids)
        protection = f"{protects(self.secure_sum, self.segments)}, {AND_WHILE}"
        self.report_ = report_on(self, federation, outcome, not_protected=self._not_protected(), protection=protection)
        self.report_.warnings += exposed(federation)

    def _not_protected(self) -> list[str]:
        more = {"algorithm1": [BY_KEY], "intersection": [BY_NAME]}.get(self.method, [])
        asking = BY_VALUES if self.kernel == "linear" else BY_DOTS
        return [NOT_PROTECTED, asking, *([BY_CELLS] if self.partition != "vertical" else []), *more]

    def predict(self, X: Any) -> Any:
        """The answer about every record; of a model that its parties keep, where the answers are: with who asked, and nowhere else."""
        check_is_fitted(self)
        if isinstance(self.model_, StoredModel) and isinstance(X, Federation) and not X.simulated:
            return self._ask(self._new_records(X), self.model_)
        return super().predict(X)

    def _ask(self, federation: Federation, model: StoredModel) -> Answers:
        """By a job that builds on the one that trained; of a linear model on one more, which shares its weights, and is kept."""
        (protocol, asked), shares = self._question(), model.shares()
        if self.kernel == "linear":
            ways = self._ways(len(self.classes_) if len(getattr(self, "classes_", ())) > 2 else 1)  # noqa: PLR2004 - one against the rest
            if not model.weights:
                self.model_ = model = dataclasses.replace(
                    model, weights=federation.execute("gram_weights", shares, **ways).result["stored"]
                )
            protocol, asked, shares = "gram_linear_predict", {"engine": self.engine, **ways}, model.weight_shares()
        found = federation.execute(protocol, {"data": (Holder, federation.parts), **shares}, **asked).result
        return Answers(found["stored"], tuple(found["told"]))

    def _shares(self) -> GramModel:
        if isinstance(self.model_, StoredModel):
            raise LocalError(
                f"this model is kept in shares by {', '.join(self.model_.parties)}, under job {self.model_.job}, and answers go to who asks"
                " only: predict a federation that is connected to them, such as federation.on('new-records'), and read them there"
            )
        return self.model_

    def _question(self) -> tuple[str, dict[str, Any]]:
        """The protocol that asks about new records, and its parameters."""
        asked: dict[str, Any] = {"squares": self.kernel == "rbf", "method": self.secure_sum, "segments": self.segments}
        if self.partition == "vertical" and self.method == "product":
            own = {"support": len(self.support_), "fraction_bits": self.fraction_bits, "feature_range": self._products()["feature_range"]}
            return "gram_predict", {**asked, **own}
        return "gram_arbitrary_predict", {**asked, **self._products(), "partition": self.partition}

    @property
    def asked_(self) -> int:
        """How many new records were asked about, of the quota."""
        return self.model_.asked if isinstance(self.model_, GramModel) else 0

    def _decide(self, federation: Federation) -> F64:
        self._count(federation.n_rows)
        return self._values_of(federation)

    def _count(self, records: int) -> None:
        """Refuse more questions than the quota; those that come to nothing count, since the coordinator may have heard them."""
        model = self._shares()
        if self.quota is None:
            return
        if model.asked + records > self.quota:
            raise LocalError(
                f"{records} new records would be asked about, and {max(0, self.quota - model.asked)} of quota={self.quota} are left:"
                " ask about fewer, or agree on a larger quota"
            )
        self.model_ = dataclasses.replace(model, asked=model.asked + records)

    def _values_of(self, federation: Federation) -> F64:
        model = self._shares()
        parts = {party: federation.parts[party] for party in model.columns}  # support vectors stand in this order
        seated = dataclasses.replace(federation, parts=parts)
        if model.dual.kernel == "linear":
            return self._by_weights(seated, model)
        inputs: Inputs = {"data": (Holder, parts), **model.shares(federation.coordinator)}
        protocol, asked = self._question()
        return self._asked(seated, seated.execute(protocol, inputs, **asked))

    def _by_weights(self, federation: Federation, model: GramModel) -> F64:
        """With w in shares, which are made at the first question and kept in place: asking leaves all attributes as they are."""
        ways = self._ways(len(model.dual.bias))
        if not model.weights:
            model.weights.update(federation.execute("gram_weights", model.shares(federation.coordinator), **ways).result)
        inputs: Inputs = {"data": (Holder, federation.parts), "weights": (Holder, dict(model.weights))}
        return self._asked(federation, federation.execute("gram_linear_predict", inputs, engine=self.engine, **ways))

    def _ways(self, problems: int) -> dict[str, Any]:
        """How weights are shared, and asked."""
        products = {name: value for name, value in self._products().items() if name in ("key_bits", "feature_range")}
        return {**products, "partition": self.partition, "problems": problems}

    def _asked(self, federation: Federation, outcome: Outcome) -> F64:
        """Decision values: the asker's, or by rows everyone's own."""
        found: dict[str, F64] = outcome.result
        if self.partition != "horizontal":
            return found[federation.roster[Asker][0]]
        values = np.concatenate([found[party] for party in federation.parts])
        return values[np.argsort(_in_order(federation), kind="stable")]

    def _gap(self, federation: Federation) -> dict[str, float | int | str]:
        """Beside the centralised learner."""
        central, values = self._central(federation), self._values_of(federation)
        mine, theirs = self._shares().dual.objective, central.objective
        return {
            "reference": central.name,
            "relative gap of the dual objective": float(np.max(np.abs(mine - theirs) / np.abs(theirs))),
            "largest difference of decision values": float(np.abs(values - central.values).max()),
            **self._told_apart(values, central.values),
            "seconds of the reference": central.seconds,
        }


def _in_order(federation: Federation) -> I64:
    """The number of every record in the pooled table, holder by holder."""
    return np.concatenate([federation.rows[party] for party in federation.parts])
