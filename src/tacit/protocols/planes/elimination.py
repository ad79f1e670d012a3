"""How features are dropped round by round: what both selections take as one value."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.choreo.declaration import Settings
from tacit.numeric.features.elimination import schedule


@dataclass(frozen=True, kw_only=True)
class Elimination(Settings):
    """Drop features until `keep` are left, so many or such a share of them a round.

    With `best`, the most accurate subset of at most `at_most` on the way is chosen, by at most `cv` folds.
    """

    keep: int = 1
    step: float = 1
    cv: int = 5
    best: bool = False
    at_most: int | None = None

    def drops(self, columns: int) -> tuple[int, ...]:
        """Return how many of these features go in each round."""
        return schedule(columns, min(self.keep, columns), self.step)

    def ceiling(self, columns: int) -> int:
        """Return how many features a subset has at most whose score counts; 0 if none does."""
        return (self.at_most or columns) if self.best else 0
