"""A model of a consensus over columns: all parties' shares in one place, which exists only where all are simulated."""

from __future__ import annotations

from tacit.arrays import F64
from tacit.choreo import State
from tacit.models.files import Shapes, among
from tacit.numeric.svm.kernels import KERNELS
from tacit.papers.consensus.columns import ColumnShare


class ColumnMachine(State):
    """f(x) = sum_m f_m(x_m) + b of every problem."""

    shares: dict[str, ColumnShare]
    bias: F64
    multi_class: str

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit: a weight for each column, or with a kernel for each training record."""
        shapes.told_apart(self.multi_class)
        shapes.fit(self.bias, "problems")
        shapes.of_holders(self.shares)
        for party, share in self.shares.items():
            among(share.kernel, KERNELS, "kernel")
            columns = shapes.held[party]
            shapes.fit(share.X, 0 if share.kernel == "linear" else "records", columns)
            shapes.fit(share.weights, columns if share.kernel == "linear" else "records", "problems")

    def records_of(self) -> dict[str, str]:
        """Return whose records a file contains: with a kernel a share holds a party's columns of all of them."""
        return {p: f"{s.X.shape[1]} columns of {len(s.X)} records" for p, s in self.shares.items() if s.X.size}
