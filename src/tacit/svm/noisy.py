"""What `epsilon` makes of a PanSVC: a classifier with differential privacy, trained from noisy sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base.estimator import Federated
from tacit.base.parameters import parameterized
from tacit.base.private import NOT_PROTECTED, OF_LABELS, Private, declare_classes, write_bill
from tacit.choreo.declaration import Kind
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.noisy import NoisyModel
from tacit.numeric.privacy.descent import STEPS, TWO
from tacit.protocols.noisy.noisy_svm import NoisyTrained
from tacit.protocols.noisy.settings import RANGES, NoisySvm, check_noisy
from tacit.protocols.part import Names
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Records, Request


@parameterized
class Noisy(Private, Federated):
    """A classifier that `epsilon` gives differential privacy."""

    OWN: ClassVar[Mapping[str, Kind | None]] = {"ranges": RANGES}

    _: KW_ONLY
    ranges: Any = None
    classes: Names | None = None

    def _train(self, federation: Federation, request: Request, *, compare: bool) -> Self:
        if compare:
            self.refuse_epsilon("compare=True, which puts exact figures of the records into the report")
        return super()._train(federation, request, compare=compare)

    def check_noisy(self) -> None:
        """Raise if parameters do not go with epsilon."""
        made: Any = self
        check_noisy(NoisySvm(kernel=made.kernel, class_weight=made.class_weight, classes=tuple(self.classes or (0, 1))))
        if made.witness:
            raise LocalError("with epsilon the noise already protects records from the coordinator: leave witness out")
        if made.device != "cpu":
            raise LocalError(
                "with epsilon records are mapped to whole numbers, which only the CPU does: leave device out"
            )
        if made.landmark_source == "joint":
            raise LocalError(
                "with epsilon features come from a public seed, and there are no landmarks: leave landmark_source out"
            )

    def noisy_request(self, federation: Federation) -> Request:
        """Return what training would have the federation run; raise what can be refused without a look at records."""
        classes = declare_classes(self.classes, federation)
        given = {**self.spending(federation), "privacy_ranges": self._ranges(), "classes": classes}
        return Request("noisy_svm", {"data": Records()}, self._arguments("noisy_svm", **given))

    def _ranges(self) -> Any:
        """Return the declared ranges as a job writes them."""
        given = self.ranges
        if given is None:
            return None
        single = not isinstance(given[0], (tuple, list))
        return tuple(map(float, given)) if single else tuple((float(low), float(high)) for low, high in given)

    def receive_noisy(self, federation: Federation, outcome: Outcome) -> None:
        """Set the model and the report of a training with epsilon."""
        result: NoisyTrained = outcome.result
        made: Any = self
        made.classes_ = np.array(result.classes)
        decisions = 1 if len(result.classes) == TWO else len(result.classes)
        sigmoids = np.tile([-1.0, 0.0], (decisions, 1)) if made.probability else None
        made.model_ = NoisyModel(result.map, result.w, sigmoids)
        made.n_iter_, made.n_features_in_ = STEPS, result.columns
        made.report_ = report_on(self, federation, outcome, not_protected=NOT_PROTECTED)
        made.report_.figures = write_bill(result.spent, self.delta, result.honest, len(federation.parts))
        if self.classes is None:
            made.report_.warnings.append(OF_LABELS)
