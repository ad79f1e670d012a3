"""`--estimator NAME --set name=value ...` as an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.errors import LocalError
from tacit.estimators import CLASSIFIERS

# --partition says the first; the others only matter where plain arrays are split
ELSEWHERE = ("partition", "n_parties", "runtime", "random_state")
WORDS = {"true": True, "false": False, "none": None}


def estimator_of(name: str, settings: Sequence[str], partition: str) -> Any:
    """The estimator of that name with these parameters."""
    if name not in CLASSIFIERS:
        raise LocalError(f"unknown estimator '{name}': use one of {', '.join(CLASSIFIERS)}")
    made = CLASSIFIERS[name](partition=partition)
    allowed = [p for p in made.get_params() if p not in ELSEWHERE]
    return made.set_params(**dict(_setting(text, allowed, name) for text in settings))


def _setting(text: str, allowed: Sequence[str], estimator: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise LocalError(f"--set {text} has no value: write it as --set name=value, for example --set C=10")
    if name not in allowed:
        raise LocalError(f"--set {name} is no parameter of {estimator}: use one of {', '.join(allowed)}")
    return name, value_of(value)


def value_of(text: str) -> bool | int | float | str | None:
    """A number, true, false or none if it reads like one, else text."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
