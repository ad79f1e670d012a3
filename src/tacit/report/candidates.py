"""What a search tried, as lines to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit.report.words import clean

Candidate = dict[str, Any]  # "params", "score", "deviation"


def list_candidates(candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Return parameters, score and its deviation over the folds of every candidate, the best first."""
    best = sorted(candidates, key=lambda each: -float(each["score"]))
    return [(_words(each["params"]), _told(float(each["score"]), float(each["deviation"]))) for each in best]


def _told(score: float, deviation: float) -> str:
    """Return a score, and its deviation if it is known."""
    return f"{score:.4f}" if math.isnan(deviation) else f"{score:.4f} ± {deviation:.4f}"


def _words(params: dict[str, Any]) -> str:
    return ", ".join(f"{name} {word(value)}" for name, value in params.items())


def word(value: Any) -> str:
    """Return a value of a parameter as people read it."""
    return f"{value:.6g}" if isinstance(value, (int, float)) else clean(value)
