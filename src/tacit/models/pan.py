"""A PAN-SVM: a public feature map and a linear model on it; it holds no record, and whoever has it predicts alone."""

from __future__ import annotations

import numpy as np

from tacit.choreo import F64, State
from tacit.models.shapes import MisfitError, Shapes, check_map
from tacit.numeric.folds import votes
from tacit.protocols.feature_map import FeatureMap, map_records
from tacit.protocols.row_problems import Pairs, problems

BLOCK = 1 << 22  # entries of F at a time


class PanModel(State):
    """f(x) = w.F(x) + b for every problem; `pairs` says which class is positive and which negative in it, -1 being the rest."""

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
        duels = len(self.pairs) == k * (k - 1) // 2 and self.pairs == problems(k, "ovo")  # so many are made only if the file has them
        if self.classes != k or not (duels or self.pairs == problems(k, "ovr")):
            raise MisfitError("the classes of a model are not those of its file")
        shapes.fit_sigmoids(self.sigmoids)

    def values(self, X: F64) -> F64:
        """The value f of every record and problem, in blocks of records."""
        step = max(1, BLOCK // max(1, self.map.size))
        found = [map_records(self.map, X[i : i + step]) @ self.w.T + self.b for i in range(0, len(X), step)]
        return np.concatenate(found) if found else np.empty((0, len(self.b)))

    def decide(self, X: F64) -> F64:
        """Decision values: one column for two classes, else one per class."""
        values = self.values(X)
        return values if len(self.pairs) == 1 or self.pairs[0][1] < 0 else votes(values, self.pairs, self.classes)

    def records_of(self) -> dict[str, str]:
        """Landmarks are means of at least `min_cluster` records; means of one are records, of whom nobody can say."""
        return {"some party": f"{len(self.map.centres)} landmarks, some of them records"} if self.bare else {}

    @property
    def bare(self) -> bool:
        """Whether a landmark may be a record."""
        return self.min_cluster == 1 and len(self.map.centres) > 0
