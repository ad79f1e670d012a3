"""A handle to a model that stays in shares: what it is, which job made it, who holds it, and until when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Handle:
    """A model that its parties keep, each its own share; whoever has the handle can ask for answers, and read nothing.

    until: the first day on which a party may have removed its share, as the job's retention says; empty if unknown.
    """

    estimator: str
    job: str
    parties: tuple[str, ...]
    until: str = ""

    def __str__(self) -> str:
        end = f", at least until {self.until}" if self.until else ""
        held = f"{', '.join(self.parties)} each keep a share of it under job {self.job[:8]}{end}"
        return f"a {self.estimator} in shares: {held}"


# Answers of a model that do not come back to who asked for them


@dataclass(frozen=True)
class Answers:
    """Answers about records between organisations: with who is told, under the job's id, and nowhere else."""

    job: str
    at: tuple[str, ...]

    def __str__(self) -> str:
        return f"the answers are at {', '.join(self.at)} only, and read there: tacit party answers {self.job[:8]}"
