"""ShiftSVC: the pooled SVM on records that are all moved alike (paper 002), with two hardened variants."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from tacit.arrays import F64, I64
from tacit.base.estimator import Comparison, FederatedClassifier
from tacit.base.parameters import parameterized
from tacit.base.shared import warn_of
from tacit.choreo import Asker, Coordinator, Holder
from tacit.choreo.declaration import Either, Kind, Number, OneOf, Unmeasured
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.numeric.svm.kernels import OVO
from tacit.papers.central import central_svc
from tacit.papers.parameters import kinds_of
from tacit.papers.shift.formulas import CONFIDENCE, DISTRIBUTIONS, interval
from tacit.papers.shift.model import ShiftModel
from tacit.papers.shift.ring import KERNELS, OF_SHIFT, ROTATION, check_kernel
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Input, Records, Request, Values

PROTOCOLS = {
    ("horizontal", "plain"): "shift_ring",
    ("vertical", "plain"): "shift_vertical",
    ("horizontal", "secret"): "shift_secret_rows",
    ("vertical", "secret"): "shift_vertical",
}
ONE_RECORD = "all records to the coordinator once it knows one of them, or the columns' minima, or has any party's help"
GIVES_AWAY = {
    "shift_ring": f"{ONE_RECORD}, and the differences between every party's rows to every other party",
    "shift_vertical": "every other party's columns to the coordinator once it knows one record, or the columns' minima",
    "shift_secret_rows": ONE_RECORD,
    "rotation": (
        "all records to the coordinator once it knows about as many of them as there are columns or has the help of a"
        " party that knows the rotation, and many columns to independent component analysis with none"
    ),
}


@dataclass(frozen=True)
class Widths(Unmeasured):
    """One width for each column."""

    def accepts(self, value: Any) -> bool:
        """Whether it is one."""
        listed = isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.ndim == 1)
        return listed and all(map(Number(0, above=True).allows, value))

    def __str__(self) -> str:
        return "a tuple or array of them, one for each column"


@parameterized
class ShiftSVC(FederatedClassifier):
    """Support vector classifier on records that are all moved by one vector. It equals the pooled SVM but hides little.

    This is the method of paper 002 with two ways to harden it, for study. None of them protects records against
    somebody who knows a few of them, so it starts only with `accept_risk=True`, and runs only in simulation. `report_`
    says who learnt what. For real data use `tacit.SVC`.

    Args:
        C: penalty for margin violations; a larger C fits the training records more closely.
        kernel: "linear" or "rbf": a shift changes the result of every other kernel.
        gamma: coefficient of the "rbf" kernel; "auto" as in scikit-learn; "scale" is 1 / sum of the columns' variances,
            which is scikit-learn's value if all columns have the same mean: theirs depends on the means, which the
            shift hides.
        shift: "plain": as in the paper; "secret": the coordinator knows no part of the shift and sees every block once.
        rotation: with "secret", also rotate the columns.
        distribution: distribution of the shift: "uniform" on [-width, width], or "gaussian" with the standard deviation
            `width`.
        width: size of the shift, in the units of the records; one number, or a tuple or array with one for each column.
        multi_class: "ovo": each pair of classes, as SVC does; "ovr": each class against the rest.
        class_weight: None, "balanced", or {class: weight}.
        tol: tolerance at which the dual solver stops.
        max_iter: most iterations of the dual solver; -1 for no limit.
        partition: "horizontal" (Algorithms 1 and 2) or "vertical" (Algorithm 3); None: that of the federation, and
            "horizontal" for plain arrays.
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.
        accept_risk: accept what the method gives away; it does not start without this.
    """

    saves: ClassVar[str] = "n_iter_"
    OWN: ClassVar[Mapping[str, Kind | None]] = {
        **kinds_of(*OF_SHIFT, ROTATION),
        "kernel": OneOf(KERNELS),
        "shift": OneOf(("plain", "secret")),
        "width": Either((Number(0, above=True), Widths())),
    }
    SPLITS = ("horizontal", "vertical")

    model_: ShiftModel = field(init=False)

    _: KW_ONLY
    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    shift: str = "plain"
    rotation: bool = False
    distribution: str = "uniform"
    width: Any = 100.0
    multi_class: str = OVO
    class_weight: dict[Any, float] | str | None = None
    tol: float = 1e-3
    max_iter: int = -1

    @property
    def _protocol(self) -> str:
        return PROTOCOLS[self.partition_, self.shift]

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        if self.kernel in ("poly", "sigmoid"):
            check_kernel(self.kernel)
        super().check_parameters()
        if self.rotation and self.shift != "secret":
            raise LocalError("rotation=True needs shift='secret': parties of a plain shift share no key to rotate by")
        if not self.accept_risk:
            raise LocalError(f"ShiftSVC gives away {self._risk()}: say accept_risk=True, or use SVC")

    def _risk(self) -> str:
        return GIVES_AWAY["rotation" if self.rotation else self._protocol]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, compare: bool = False) -> Self:
        """Train together; see `Federated.fit`. With shift="plain" over columns the labeller coordinates by default."""
        federation = self.federate(X, y, sample_weight)
        seated = self._seat_coordinator(federation)
        super().fit(seated, compare=compare)
        self.federation_ = federation.without_records()
        return self

    def _request(self, federation: Federation) -> Request:
        inputs: dict[str, Input] = {"data": Records(), "width": Values(Holder, self._widths(federation))}
        return Request(self._protocol, inputs, self._arguments(self._protocol))

    def _receive(self, federation: Federation, outcome: Outcome) -> None:
        result, site = outcome.result, federation.coordinator
        self.classes_ = np.array(result.classes)
        self.model_ = ShiftModel(result.model[site], result.shifts, site)
        self.n_iter_ = self.model_.core.iterations
        told = (f"Against whoever knows a little: this gives away {self._risk()}.",)
        self.report_ = report_on(self, federation, outcome, not_protected=told, protection=self._protection())
        self.report_.figures = self._figures(np.concatenate(list(self._widths(federation).values())))
        warn_of(self.report_, _find_narrow(federation, result.narrow))

    def _seat_coordinator(self, federation: Federation) -> Federation:
        """Return the federation with the coordinator that the method needs: over plain columns a party."""
        if self._by_party() and federation.coordinator not in federation.parts:
            return dataclasses.replace(federation, coordinator=federation.labeller or next(iter(federation.parts)))
        return federation

    def _by_party(self) -> bool:
        return self.partition_ == "vertical" and self.shift == "plain"

    def _check_site(self, federation: Federation) -> None:
        if not federation.holds_records:
            why = f"since it gives away {self._risk()}: use SVC"
            raise LocalError(f"ShiftSVC runs in simulation only, for studies, {why}")
        site, holds = repr(federation.coordinator), federation.coordinator in federation.parts
        if self._by_party() and not holds:
            raise LocalError(
                f"{site} holds no data, and with shift='plain' over columns a party must coordinate: name one"
            )
        if not self._by_party() and holds:
            rule = "must hold no data, or it would know the shift"
            raise LocalError(f"party {site} would coordinate, and the coordinator {rule}: name a site without data")

    def _widths(self, federation: Federation) -> dict[str, F64]:
        """Return the width of the shift of each party's own columns."""
        d = federation.n_features
        if np.ndim(self.width) and len(self.width) != d:
            raise LocalError(f"width has {len(self.width)} entries for {d} columns: give one for each, or one number")
        whole = np.broadcast_to(np.asarray(self.width, dtype=np.float64), d)
        return {party: whole[columns] for party, columns in federation.columns.items()}

    def _protection(self) -> str:
        drawn = "uniform up to" if self.distribution == "uniform" else "gaussian with standard deviation"
        turned = ", and a secret rotation" if self.rotation else ""
        shift = f"{self.shift} shift, {drawn} {np.min(self.width):.4g}{turned}"
        return f"{shift}: while nobody who sees moved records knows any of them, or anything else about single values"

    def _figures(self, width: F64) -> dict[str, float | int | str]:
        """Return Table 1 of paper 002 for the smallest width, and what is left of it once a record is known."""
        least = float(width.min(initial=np.inf))
        table: dict[str, float | int | str] = {
            f"interval of a value at {100 * c:g} % confidence, {kind} shift": interval(kind, least, c)
            for kind in DISTRIBUTIONS
            for c in CONFIDENCE
        }
        one = ("one record is", "the column's minimum is")
        known = ("about as many records as there are columns are",) if self.rotation else one
        return {**table, **{f"interval of a value at any confidence once {what} known": 0.0 for what in known}}

    def match_records(self, X: Any, *, gaps: bool = False) -> Federation:
        """Return new records between the parties of the model, with the coordinator that trained it."""
        return dataclasses.replace(super().match_records(X, gaps=gaps), coordinator=self.model_.coordinator)

    def request_values(self, federation: Federation) -> tuple[Request, ...]:
        """Return the question about new records."""
        model, site = self.model_, federation.coordinator
        shares = {"model": Values(Coordinator, {site: model.core}), "shifts": Values(Holder, model.shifts)}
        return (Request(f"{self._protocol}_predict", {"data": Records(), **shares}),)

    def receive_values(self, federation: Federation, outcomes: Sequence[Outcome]) -> F64:
        """Return decision values: over columns the asker's, over rows everyone's own."""
        found: dict[str, F64] = outcomes[-1].result
        if self.partition_ == "vertical":
            return found[federation.roster[Asker][0]]
        return federation.join_rows(found)

    def _gap(self, federation: Federation) -> Comparison:
        """Compare with scikit-learn's SVC on the pooled records."""
        central = central_svc(federation, clone(self).set_params(gamma=self.model_.core.gamma))
        values = self._answer(federation).values
        return central.compare_duals(self.model_.core.objective, values, central.count_differing(values))


def _find_narrow(federation: Federation, narrow: dict[str, I64]) -> Iterator[str]:
    """Return what to say of each party whose columns have a larger range than their shift hides."""
    for party, found in narrow.items():
        if len(found):
            name = federation.parts[party].features[found[0]]
            yield (
                f"the shift is too small for {len(found)} columns of {party}, such as {name}: its 95 % interval is"
                " narrower than their range, so moved values tell much by themselves; raise width, or scale the"
                " columns"
            )
