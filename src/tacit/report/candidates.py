"""What a search tried, as lines to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.report.words import clean

Candidate = dict[str, Any]  # "params", "score", "deviation"


def listed(candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Parameters; score and its deviation over the folds; the best first."""
    best = sorted(candidates, key=lambda each: -float(each["score"]))
    return [(_words(each["params"]), f"{each['score']:.4f} ± {each['deviation']:.4f}") for each in best]


def _words(params: dict[str, Any]) -> str:
    return ", ".join(f"{name} {word(value)}" for name, value in params.items())


def word(value: Any) -> str:
    """A value of a parameter."""
    return f"{value:.6g}" if isinstance(value, (int, float)) else clean(value)
