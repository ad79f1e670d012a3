"""Classifiers and regressors as a command line gives them: a name, and parameters by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.base.by_name import estimators, own_estimators
from tacit.base.estimator import Federated
from tacit.errors import LocalError

# partition is said elsewhere; the others only matter where plain arrays are split
NOT_SET = ("partition", "n_parties", "runtime", "random_state")


def make_learner(name: str, params: Mapping[str, Any], where: str, partition: str | None) -> Any:
    """Return the estimator of that name with these parameters; `where` says where they were written."""
    base: Any = Federated  # which is abstract
    kinds: dict[str, Any] = estimators(base)
    if name not in kinds:
        raise LocalError(f"unknown estimator {name!r}: use one of {', '.join(own_estimators(base))}")
    made = kinds[name](partition=partition)
    allowed = [p for p in made.get_params() if p not in NOT_SET]
    unknown = ", ".join(repr(p) for p in params if p not in allowed)
    if unknown:
        raise LocalError(f"{name} has no parameter {unknown} in {where}: it takes {', '.join(allowed)}")
    return made.set_params(**params)
