"""What `epsilon` makes of a machine of the core: another protocol, what it refuses, and the bill in its report."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.base.private import NOT_PROTECTED, OF_LABELS, declare_classes, write_bill
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.mapped import MappedModel
from tacit.protocols.learners.private import Private, check_private
from tacit.protocols.learners.svm import HINGE
from tacit.protocols.shares.deposits import AUTO
from tacit.protocols.sums.secure_sum import PROTECTION
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Records, Request


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
    bill = write_bill(result.spent, machine.delta, result.honest, len(federation.parts))
    machine.report_.figures = {**bill, "features": result.map.size - 1}
    if result.classes:
        machine.classes_ = np.array(result.classes)
        if machine.classes is None:
            machine.report_.warnings.append(OF_LABELS)
