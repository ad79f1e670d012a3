"""A shared-shift SVM: the coordinator's model on moved records, and every holder's shift."""

from __future__ import annotations

from tacit.choreo import State
from tacit.models.files import Shapes, among
from tacit.numeric.svm.kernels import KERNELS
from tacit.papers.shift.ring import Shift, ShiftedSVM


class ShiftModel(State):
    """All shares in one place, which exists only where all parties are simulated."""

    core: ShiftedSVM
    shifts: dict[str, Shift]
    coordinator: str

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit: over rows everybody moves all columns, over columns its own."""
        among(self.core.kernel, KERNELS, "kernel")
        shapes.fit(self.core.support, "support", "columns")
        shapes.fit(self.core.centre, "columns")
        shapes.told_apart(self.core.multi_class)
        shapes.fit(self.core.coef, "problems", "support")
        for numbers in (self.core.bias, self.core.objective):
            shapes.fit(numbers, "problems")
        shapes.of_holders(self.shifts)
        for party, shift in self.shifts.items():
            shapes.fit(shift.r, shapes.held[party])
            if shift.turn is not None:
                shapes.fit(shift.turn, shapes.held[party], shapes.held[party])

    def records_of(self) -> dict[str, str]:
        """Moved support vectors and the shifts that move them back are records in clear."""
        what = f"some of {len(self.core.support)} support vectors, and the shift that opens them"
        return dict.fromkeys(self.shifts, what)
