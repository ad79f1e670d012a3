"""ShiftSVC: the pooled SVM on records that are all moved alike (paper 002), with two hardened variants."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from tacit.choreo import F64, I64, Asker, Coordinator, Holder
from tacit.data import Federation
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.base import chosen
from tacit.estimators.central import central_svc
from tacit.estimators.parameters import Number, OneOf, RandomState, Rule, Weights, check
from tacit.estimators.probability import SupportVectorClassifier
from tacit.models.shift import ShiftModel
from tacit.numeric.shift import CONFIDENCE, DISTRIBUTIONS, interval
from tacit.protocols.shift_ring import KERNELS, check_kernel
from tacit.registry import Inputs
from tacit.report import Report
from tacit.report.outcome import report_on

PROTOCOLS = {
    ("horizontal", "plain"): "shift_ring",
    ("vertical", "plain"): "shift_vertical",
    ("horizontal", "secret"): "shift_secret_rows",
    ("vertical", "secret"): "shift_secret_columns",
}
GIVES_AWAY = {
    "shift_ring": "all records to the coordinator once it knows one of them, or the minimum of each column, or has any party's help,"
    " and the differences between every party's rows to every other party",
    "shift_vertical": "every other party's columns to the party that coordinates once it knows one record, or the minimum of each column",
    "shift_secret_rows": "all records to the coordinator once it knows one of them, or the minimum of each column, or has any party's help",
    "shift_secret_columns": "each column to the coordinator once it knows one value of it, or its minimum",
    "rotation": "all records to the coordinator once it knows about as many of them as there are columns or has the help of a party that"
    " knows the rotation, and many columns to independent component analysis with none",
}


@dataclasses.dataclass(frozen=True)
class Widths:
    """One width for each column."""

    def __call__(self, value: Any) -> bool:
        """Whether it is one."""
        each = Number(0, open=True)
        return (isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.ndim == 1)) and all(each(v) for v in value)

    def __str__(self) -> str:
        return "a tuple or array of them, one for each column"


class ShiftSVC(SupportVectorClassifier):
    """Support vector classifier on records that are all moved by one vector; equals the SVM of the pooled data, and hides little.

    A study of paper 002's method, and of two ways to harden it. None of them protects records against somebody who knows a few of
    them, so it starts with `accept_risk=True` only, and runs in simulation. `report_` says who learnt what. For real data take
    `PanSVC` (rows) or `GramSVC` (columns).

    Args:
        C: price of a margin violation.
        kernel: "linear" or "rbf": no other is blind to a shift.
        gamma: of "rbf"; "auto" as in scikit-learn; "scale" is 1 / sum of the columns' variances, which is scikit-learn's value for
            columns of equal means: theirs depends on the means, which the shift hides.
        shift: "plain": as in the paper; "secret": the coordinator knows no part of the shift and sees every block once.
        rotation: with "secret", rotate the columns as well.
        distribution: of the shift: "uniform" on [-width, width], or "gaussian" with the standard deviation `width`.
        width: in the units of the records; one number, or a tuple or array with one for each column.
        class_weight: None, "balanced", or {class: weight}.
        probability: let `predict_proba` work: the coordinator fits Platt's sigmoids to the values of five models that each leave records
            out, and publishes them.
        tol: of the dual solver.
        max_iter: of the dual solver; -1 for no limit.
        partition: "horizontal" (Algorithms 1 and 2) or "vertical" (Algorithm 3).
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are trained.
        random_state: what goes to whom when plain arrays are split; it feeds no secret.
        accept_risk: say that what the method gives away is acceptable.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        "C": (Number(0, open=True),),
        "kernel": (OneOf(KERNELS),),
        "gamma": (OneOf(("scale", "auto")), Number(0, open=True)),
        "shift": (OneOf(("plain", "secret")),),
        "rotation": (OneOf((True, False)),),
        "distribution": (OneOf(DISTRIBUTIONS),),
        "width": (Number(0, open=True), Widths()),
        "class_weight": (OneOf((None, "balanced")), Weights()),
        "probability": (OneOf((True, False)),),
        "tol": (Number(0, open=True),),
        "max_iter": (Number(-1, whole=True),),
        "partition": (OneOf(("horizontal", "vertical")),),
        "n_parties": (Number(1, whole=True),),
        "runtime": (OneOf(("together",)),),
        "random_state": (RandomState(),),
        "accept_risk": (OneOf((True, False)),),
    }

    model_: ShiftModel
    report_: Report
    n_iter_: int

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        shift: str = "plain",
        rotation: bool = False,
        distribution: str = "uniform",
        width: Any = 100.0,
        class_weight: dict[Any, float] | str | None = None,
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int = -1,
        partition: Partition = "horizontal",
        n_parties: int = 3,
        runtime: str = "together",
        random_state: Any = None,
        accept_risk: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.shift = shift
        self.rotation = rotation
        self.distribution = distribution
        self.width = width
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.partition = partition
        self.n_parties = n_parties
        self.runtime = runtime
        self.random_state = random_state
        self.accept_risk = accept_risk

    @property
    def _protocol(self) -> str:
        return PROTOCOLS[self.partition, self.shift]

    def _check_parameters(self) -> None:
        if self.kernel in ("poly", "sigmoid"):
            check_kernel(self.kernel)
        check(self, self.RULES)
        if self.rotation and self.shift != "secret":
            raise LocalError("rotation=True needs shift='secret': the parties of a plain shift share no key to rotate by")
        if not self.accept_risk:
            raise LocalError(f"ShiftSVC gives away {self._risk()}: say accept_risk=True if that is acceptable, or use PanSVC or GramSVC")

    def _risk(self) -> str:
        return GIVES_AWAY["rotation" if self.rotation else self._protocol]

    def _fit(self, federation: Federation, *, compare: bool) -> None:
        if not federation.simulated:
            raise LocalError(f"ShiftSVC runs in simulation only, for studies, since it gives away {self._risk()}: use PanSVC or GramSVC")
        seated = self._seated(federation)
        width = self._widths(federation)
        inputs: Inputs = {"data": (Holder, seated.parts), "width": (Holder, width)}
        outcome = seated.execute(self._protocol, inputs, **self._arguments())
        result = outcome.result
        self.classes_ = np.array(result["classes"])
        self.model_ = ShiftModel(result["model"][seated.coordinator], result["shifts"], seated.coordinator, result["sigmoids"])
        self.n_iter_ = self.model_.core.iterations
        told = (f"Against whoever knows a little: this gives away {self._risk()}.",)
        self.report_ = report_on(self, seated, outcome, not_protected=told, protection=self._protection())
        self.report_.figures = self._figures(np.concatenate(list(width.values())))
        self._warn_of(seated, result["narrow"])
        if compare:
            self.report_.comparison = self._gap(federation)

    def _arguments(self) -> dict[str, Any]:
        turned = {"rotation": self.rotation} if self.shift == "secret" else {}
        names = ("kernel", "gamma", "distribution", "class_weight", "max_iter", "probability")
        return {**{name: getattr(self, name) for name in names}, "C": float(self.C), "tol": float(self.tol), **turned}

    def _seated(self, federation: Federation) -> Federation:
        """With the coordinator that the method needs: over plain columns the initiator is a party, the labeller by default."""
        if self.partition == "vertical" and self.shift == "plain":
            if federation.coordinator not in federation.parts:
                return dataclasses.replace(federation, coordinator=federation.labeller or next(iter(federation.parts)))
        elif federation.coordinator in federation.parts:
            raise LocalError(
                f"party {federation.coordinator!r} would coordinate, and the coordinator of {self.shift} shifts by {self.partition} parts"
                " must hold no data, or it would know the shift: name a site without data"
            )
        return federation

    def _widths(self, federation: Federation) -> dict[str, F64]:
        """Of each party's own columns."""
        d = federation.n_features
        if np.ndim(self.width) and len(self.width) != d:
            raise LocalError(f"width has {len(self.width)} entries for {d} columns: give one for each, or one number")
        whole = np.broadcast_to(np.asarray(self.width, dtype=np.float64), d)
        return {party: whole[columns] for party, columns in federation.columns.items()}

    def _protection(self) -> str:
        size = f"{'uniform up to' if self.distribution == 'uniform' else 'gaussian with standard deviation'} {np.min(self.width):.4g}"
        shift = f"{self.shift} shift, {size}" + (", and a secret rotation" if self.rotation else "")
        return f"{shift}: while nobody who sees moved records knows any of them, or anything else about single values"

    def _figures(self, width: F64) -> dict[str, float | int | str]:
        """002's Table 1 for the smallest width, and what it comes to."""
        least = float(width.min(initial=np.inf))
        table: dict[str, float | int | str] = {
            f"interval of a value at {100 * c:g} % confidence, {kind} shift": interval(kind, least, c)
            for kind in DISTRIBUTIONS
            for c in CONFIDENCE
        }
        known = ("about as many records as columns are",) if self.rotation else ("one record is", "the column's minimum is")
        return {**table, **{f"interval of a value at any confidence once {what} known": 0.0 for what in known}}

    def _warn_of(self, federation: Federation, narrow: dict[str, I64]) -> None:
        for party, found in narrow.items():
            if len(found):
                name = federation.parts[party].features[found[0]]
                words = (
                    f"the shift is too small for {len(found)} columns of {party}, such as {name}: its 95 % interval is narrower than their"
                    " range, so moved values tell much by themselves; raise width, or scale the columns"
                )
                self.report_.warnings.append(words)
                warnings.warn(words, stacklevel=4)

    def _decide(self, federation: Federation) -> F64:
        model = self.model_
        parts = {party: federation.parts[party] for party in model.shifts}  # columns are put side by side in this order
        seated = dataclasses.replace(federation, parts=parts, coordinator=model.coordinator)
        core = {model.coordinator: model.core}
        inputs: Inputs = {"data": (Holder, parts), "model": (Coordinator, core), "shifts": (Holder, model.shifts)}
        found: dict[str, F64] = seated.execute(f"{self._protocol}_predict", inputs).result
        if self.partition == "vertical":
            return found[seated.roster[Asker][0]]
        values = np.empty((federation.n_rows, len(model.core.bias)))
        for party, rows in federation.rows.items():
            values[rows] = found[party]
        return values

    def _gap(self, federation: Federation) -> dict[str, float | int | str]:
        """Beside scikit-learn's SVC on the pooled records."""
        X, y, weight = federation.pooled()
        central = central_svc(X, np.asarray(y), weight, clone(self).set_params(gamma=self.model_.core.gamma))
        values = self._decide(federation)
        mine, theirs = self.model_.core.objective, central.objective
        return {
            "reference": "scikit-learn's SVC on the pooled records",
            "relative gap of the dual objective": float(np.max(np.abs(mine - theirs) / np.abs(theirs))),
            "largest difference of decision values": float(np.abs(values - central.values).max()),
            "training records labelled differently": int(np.sum(chosen(values) != chosen(central.values))),
            "seconds of the reference": central.seconds,
        }
