"""Answers of a model that do not come back to who asked for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answers:
    """Answers about records between organisations: with who is told, under the job's id, and nowhere else."""

    job: str
    at: tuple[str, ...]

    def __str__(self) -> str:
        return f"the answers are at {', '.join(self.at)} only, and read there: tacit party answers {self.job[:8]}"
