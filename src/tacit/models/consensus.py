"""A consensus SVM: over rows, a public model and with a kernel each party's own rest; over columns, each party's weights."""

from __future__ import annotations

from tacit.choreo import F64, State
from tacit.models.shapes import Shapes, among, check_map
from tacit.numeric.kernels import KERNELS
from tacit.protocols.consensus_rest import RestOfKernel, rest_values
from tacit.protocols.consensus_vertical import ColumnHead, ColumnShare
from tacit.protocols.feature_map import FeatureMap, map_records


class RowConsensus(State):
    """f(x) = w.F(x) + b for every problem, and r_m(x) of each party where a kernel leaves it one."""

    map: FeatureMap
    w: F64
    b: F64
    rest: dict[str, RestOfKernel]
    sigmoids: F64 | None = None

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        check_map(self.map, shapes)
        shapes.fit(self.w, "decisions", "size")
        shapes.fit(self.b, "decisions")
        if self.rest:
            shapes.of_holders(self.rest)
        for rest in self.rest.values():
            shapes.fit(rest.X, len(rest.X), "columns")
            shapes.fit(rest.coef, "decisions", len(rest.X))
            shapes.fit(rest.pull, "decisions", "size")
        shapes.fit_sigmoids(self.sigmoids)

    def common(self, X: F64) -> F64:
        """What all parties know, a column per problem."""
        values: F64 = map_records(self.map, X) @ self.w.T + self.b
        return values

    def each(self, X: F64) -> dict[str, F64]:
        """Every party's own f_m."""
        common = self.common(X)
        return {party: common + rest_values(rest, X, self.map) for party, rest in self.rest.items()}

    def records_of(self) -> dict[str, str]:
        """Support vectors are records."""
        return {party: f"{len(rest.X)} support vectors" for party, rest in self.rest.items() if len(rest.X)}


class ColumnConsensus(State):
    """All shares in one place, which exists only where all parties are simulated."""

    head: ColumnHead
    shares: dict[str, ColumnShare]
    sigmoids: F64 | None = None

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit: a weight for each column, or with a kernel for each training record."""
        shapes.fit(self.head.bias, "decisions")
        shapes.of_holders(self.shares)
        for party, share in self.shares.items():
            among(share.kernel, KERNELS, "kernel")
            columns = shapes.held[party]
            shapes.fit(share.X, 0 if share.kernel == "linear" else "records", columns)
            shapes.fit(share.weights, columns if share.kernel == "linear" else "records", "decisions")
        shapes.fit_sigmoids(self.sigmoids)

    def records_of(self) -> dict[str, str]:
        """With a kernel a share holds the party's columns of all training records."""
        return {p: f"{s.X.shape[1]} columns of {len(s.X)} records" for p, s in self.shares.items() if s.X.size}
