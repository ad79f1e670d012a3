"""A consensus SVM: over rows, a public model and with a kernel each party's own rest.

Over columns, each party's weights.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import Coordinator, Holder, State
from tacit.models.shapes import Shapes, among, check_map
from tacit.numeric.svm.kernels import KERNELS
from tacit.numeric.svm.problems import OVR, value_classes
from tacit.protocols.consensus.rest import RestOfKernel, rest_values
from tacit.protocols.consensus.vertical import ColumnHead, ColumnShare
from tacit.protocols.planes.feature_map import FeatureMap, map_records
from tacit.request import Input, Left, Values
from tacit.scratch import blocks

BLOCK = 1 << 16  # records at a time


class RowConsensus(State):
    """f(x) = w.F(x) + b for every problem, and r_m(x) of each party where a kernel leaves it one."""

    map: FeatureMap
    w: F64
    b: F64
    rest: dict[str, RestOfKernel]
    sigmoids: F64 | None = None
    multi_class: str = OVR
    kept: str = ""  # the job under whose id each party keeps its rest, where these are not here

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        check_map(self.map, shapes)
        shapes.told_apart(self.multi_class)
        shapes.fit(self.w, "problems", "size")
        shapes.fit(self.b, "problems")
        if self.rest:
            shapes.of_holders(self.rest)
        for rest in self.rest.values():
            shapes.fit(rest.X, len(rest.X), "columns")
            shapes.fit(rest.coef, "problems", len(rest.X))
            shapes.fit(rest.pull, "problems", "size")
        shapes.fit_sigmoids(self.sigmoids)

    @property
    def public(self) -> bool:
        """Whether whoever has this needs nobody else."""
        return not self.rest and not self.kept

    def rests(self) -> Input:
        """Return what each party brings along when the model is asked."""
        return Values(Holder, self.rest) if self.rest else Left(Holder, self.kept, "rest")

    def common(self, X: F64) -> F64:
        """Return the decision values by what all parties know, a column per problem."""
        found = [map_records(self.map, block) @ self.w.T for _, block in blocks(X, BLOCK)]
        values: F64 = np.concatenate(found) + self.b if found else np.empty((0, len(self.b)))
        return values

    def decide(self, X: F64) -> F64:
        """Return the decision values of all classes by what all parties know."""
        return value_classes(self.common(X), self.multi_class)

    def each(self, X: F64) -> dict[str, F64]:
        """Return every party's own decision values f_m of all classes."""
        common = self.common(X)
        return {
            party: value_classes(common + rest_values(rest, X, self.map), self.multi_class)
            for party, rest in self.rest.items()
        }

    def records_of(self) -> dict[str, str]:
        """Return whose records a file of this model contains: support vectors are records."""
        return {party: f"{len(rest.X)} support vectors" for party, rest in self.rest.items() if len(rest.X)}


class ColumnConsensus(State):
    """All shares in one place, which exists only where all parties are simulated."""

    head: ColumnHead
    shares: dict[str, ColumnShare]
    sigmoids: F64 | None = None

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit: a weight for each column, or with a kernel for each training record."""
        shapes.told_apart(self.head.multi_class)
        shapes.fit(self.head.bias, "problems")
        shapes.of_holders(self.shares)
        for party, share in self.shares.items():
            among(share.kernel, KERNELS, "kernel")
            columns = shapes.held[party]
            shapes.fit(share.X, 0 if share.kernel == "linear" else "records", columns)
            shapes.fit(share.weights, columns if share.kernel == "linear" else "records", "problems")
        shapes.fit_sigmoids(self.sigmoids)

    @property
    def multi_class(self) -> str:
        """Which problems several classes are."""
        return self.head.multi_class

    def parts(self, site: str) -> dict[str, Input]:
        """Return what each party brings along when the model is asked."""
        return {"head": Values(Coordinator, {site: self.head}), "shares": Values(Holder, self.shares)}

    def records_of(self) -> dict[str, str]:
        """Return whose records a file contains: with a kernel a share holds a party's columns of all of them."""
        return {p: f"{s.X.shape[1]} columns of {len(s.X)} records" for p, s in self.shares.items() if s.X.size}


class StoredColumns(State):
    """A model over columns that its parties keep in shares, under the id of the job that trained it."""

    job: str
    parties: tuple[str, ...]
    sigmoids: F64 | None = None
    multi_class: str = OVR

    def check(self, shapes: Shapes) -> None:
        """Raise unless the parties are the holders and one that coordinates."""
        shapes.told_apart(self.multi_class)
        shapes.of_holders(self.parties[:-1])
        shapes.fit_sigmoids(self.sigmoids)

    def parts(self, site: str) -> dict[str, Input]:
        """Return what each party brings along when the model is asked: what the training left with it."""
        del site
        return {"head": Left(Coordinator, self.job, "head"), "shares": Left(Holder, self.job, "shares")}

    def records_of(self) -> dict[str, str]:
        """Return nothing: the file holds a reference only."""
        return {}
