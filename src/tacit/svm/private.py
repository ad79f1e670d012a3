"""What `epsilon` makes of a machine of the core: another protocol, what it refuses, and the bill in its report."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from tacit.base.private import NOT_PROTECTED, OF_LABELS, declare_classes, write_bill
from tacit.base.shared import compare_scales, warn_of
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.mapped import MappedModel
from tacit.numeric.scores.folds import choose_class
from tacit.protocols.learners.private import Private, check_private
from tacit.protocols.learners.svm import HINGE
from tacit.protocols.shares.deposits import AUTO
from tacit.protocols.sums.secure_sum import PROTECTION
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Records, Request

HELP = (
    "more records, fewer columns or features, or a larger epsilon help (this was seen in simulation, and is not told"
    " between sites)"
)


def check_machine(machine: Any) -> None:
    """Raise if parameters do not go with epsilon."""
    if machine.device != "cpu":
        raise LocalError("with epsilon records are mapped to whole numbers, which only the CPU does: leave device out")
    if machine.committee != AUTO:
        raise LocalError("with epsilon parties send noisy sums, which no committee computes: leave committee out")
    if getattr(machine, "is_exact", False):
        raise LocalError("features='exact' has no noise, as its model stays in shares: leave out epsilon, or features")
    if getattr(machine, "loss", None) == HINGE:
        raise LocalError(
            "with epsilon the loss is a rounded hinge, and the noise says how strict it is: leave loss out"
        )
    asked = Private(
        classify=not machine.NUMBERS,
        probability=getattr(machine, "probability", False),
        classes=(0, 1) if machine.classes is None else tuple(machine.classes),
        class_weight=getattr(machine, "class_weight", None),
        target_range=machine.target_range,
    )
    check_private(asked)


def request_privately(machine: Any, federation: Federation) -> Request:
    """Return what training with epsilon has the federation run; raise what can be refused without a look at records."""
    check_machine(machine)
    given = {**machine.spending(federation), "classify": not machine.NUMBERS}
    if not machine.NUMBERS:
        given["classes"] = declare_classes(machine.classes, federation)
    name = machine.PRIVATELY
    return Request(name, {"data": Records()}, machine._arguments(name, **given))  # noqa: SLF001 - of this package


def receive_privately(machine: Any, federation: Federation, outcome: Outcome) -> None:
    """Set the model and the report of a training with epsilon."""
    result = outcome.result
    machine.model_ = MappedModel(result.map, result.weights, result.step, result.middle, result.reach, result.sigmoids)
    machine.alpha_, machine.n_features_in_ = result.alpha, result.map.columns
    machine.report_ = report_on(machine, federation, outcome, not_protected=NOT_PROTECTED, protection=PROTECTION)
    bill = write_bill(federation, result.spent, machine.delta, result.honest)
    machine.report_.figures = {**bill, "features": result.map.size - 1}
    if result.classes:
        machine.classes_ = np.array(result.classes)
        if machine.classes is None:
            machine.report_.warnings.append(OF_LABELS)
    warn_of(machine.report_, compare_scales(federation) or _compare_with_noise(machine, federation))


def _compare_with_noise(machine: Any, federation: Federation) -> list[str]:
    """Return what to say of a model of which noise has left nothing; known only where the records are."""
    if not federation.holds_records or federation.backend.imagined or federation.streamed or federation.sparse:
        return []
    X, y, _ = federation.pooled()
    whole = np.isfinite(X).all(axis=1)
    if y is None or not whole.any():
        return []
    values, known = machine.model_.decide(X[whole]), y[whole]
    if machine.NUMBERS:
        none = r2_score(known, values[:, 0]) <= 0 if len(known) > 1 else False
        said = "explains nothing of the targets"
    else:
        right = float(np.mean(machine.classes_[choose_class(values)] == known))
        most = float(np.unique(known, return_counts=True)[1].max() / len(known))
        none = most < 1 and right <= most
        said = f"is right for {right:.1%} of the records, and the most frequent class is {most:.1%} of them"
    if not none:
        return []
    return [
        f"the noise of epsilon={machine.epsilon:g} leaves nothing of {len(known)} records: the model {said}; {HELP}"
    ]
