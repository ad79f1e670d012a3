"""A gram SVM: the coordinator's coefficients, and every holder's columns of the support vectors."""

from __future__ import annotations

from tacit.choreo import F64, State
from tacit.protocols.gram_model import DualModel, SupportColumns


class GramModel(State):
    """All shares in one place, which exists only where all parties are simulated."""

    dual: DualModel
    columns: dict[str, SupportColumns]
    sigmoids: F64 | None = None  # Platt's A and B, a line per problem; public

    def records_of(self) -> dict[str, str]:
        """Whose records a file of this model contains."""
        return {p: f"{c.X.shape[1]} columns of {len(c.X)} support vectors" for p, c in self.columns.items() if c.X.size}


class StoredModel(State):
    """A model that its parties keep in shares, under the id of the job that trained it."""

    job: str
    parties: tuple[str, ...]
    sigmoids: F64 | None = None

    def records_of(self) -> dict[str, str]:
        """This file holds a reference only."""
        return {}
