"""A shared-shift SVM: the coordinator's model on moved records, and every holder's shift."""

from __future__ import annotations

from tacit.choreo import F64, State
from tacit.protocols.shift_ring import Shift, ShiftedSVM


class ShiftModel(State):
    """All shares in one place, which exists only where all parties are simulated."""

    core: ShiftedSVM
    shifts: dict[str, Shift]
    coordinator: str
    sigmoids: F64 | None = None  # Platt's A and B, a line per problem; public

    def records_of(self) -> dict[str, str]:
        """Moved support vectors and the shifts that move them back are records in clear."""
        what = f"some of {len(self.core.support)} support vectors, and the shift that opens them"
        return dict.fromkeys(self.shifts, what)
