"""A PAN-SVM: a public feature map and a linear model on it; it holds no record, and whoever has it predicts alone."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import State
from tacit.models.shapes import MisfitError, Shapes, check_map
from tacit.numeric.devices import device_of
from tacit.numeric.svm.problems import OVO, OVR, Pairs, count_problems, problems, value_classes
from tacit.protocols.planes.feature_map import FeatureMap, map_on
from tacit.scratch import blocks

BLOCK = 1 << 22  # entries of F at a time


class PanModel(State):
    """f(x) = w.F(x) + b for every problem.

    `pairs` says which class is positive and which negative in it, -1 being the rest.
    """

    map: FeatureMap
    w: F64
    b: F64
    classes: int
    pairs: Pairs
    min_cluster: int
    sigmoids: F64 | None = None  # Platt's A and B, a line per column of `decide`

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        check_map(self.map, shapes)
        shapes.fit(self.w, "problems", "size")
        shapes.fit(self.b, "problems")
        shapes.same("problems", len(self.pairs))
        k = shapes.classes
        # so many pairs are made only if the file has them
        ways = (problems(k, way) for way in (OVR, OVO) if len(self.pairs) == count_problems(k, way))
        if self.classes != k or self.pairs not in ways:
            raise MisfitError("the classes of a model are not those of its file")
        shapes.fit_sigmoids(self.sigmoids)

    def values(self, X: F64, device: str = "cpu") -> F64:
        """Return the value f of every record and problem, computed in blocks of records on a device."""
        on = device_of(device)
        step, w = max(1, max(BLOCK, on.block) // max(1, self.map.size)), on.put(np.ascontiguousarray(self.w.T))
        found = [on.get(map_on(on, self.map, block, "float64") @ w) for _, block in blocks(X, step)]
        return np.concatenate(found) + self.b if found else np.empty((0, len(self.b)))

    def decide(self, X: F64, device: str = "cpu") -> F64:
        """Return decision values: one column for two classes, else one per class."""
        return value_classes(self.values(X, device), self.multi_class)

    @property
    def multi_class(self) -> str:
        """Which problems several classes are."""
        return OVR if self.pairs[0][1] < 0 else OVO

    def records_of(self) -> dict[str, str]:
        """Return whose records a file contains: nobody's, but a landmark that is the mean of one record is that."""
        return {"some party": f"{len(self.map.centres)} landmarks, some of them records"} if self.bare else {}

    @property
    def bare(self) -> bool:
        """Whether a landmark may be a record."""
        return self.min_cluster == 1 and len(self.map.centres) > 0
