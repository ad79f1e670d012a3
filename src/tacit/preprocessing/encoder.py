"""FederatedEncoder: declared categories as columns of 0 and 1."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64
from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Kind, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.columns import check_numbers
from tacit.federation.part import Part
from tacit.models.prepared import Encoded, codes_of, is_text
from tacit.preprocessing.transformer import FederatedTransformer, collect_declared
from tacit.protocols.columns.counts import check_declared
from tacit.request import Records, Request

Values = Sequence[Any]


@parameterized
class FederatedEncoder(FederatedTransformer):
    """Replace each column of declared categories by one column per category, 1 where the record has it; others stay.

    Nothing is learnt from the data and nothing is sent. Categories are declared, so that all parties make the same
    columns, even a site where one never occurs. A party refuses a value that was not declared, and does not quote it.

    Args:
        categories: {column: values}, numbers or texts. Columns that a federation carries as text need no entry: it
            knows their texts.
        missing: "error": refuse missing values in these columns; "zeros": a record without a value has 0 for every
            category.
        min_rows: a party with fewer records than this is refused.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns) or "arbitrary" (cells).
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties.

    Attributes:
        categories_: the values of each encoded column, in its order.
        encoded_: numbers of these columns.
        report_: the report of the run.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"missing": OneOf(("error", "zeros"))}

    model_: Encoded = field(init=False)

    categories: Mapping[str, Values] | None = None
    _: KW_ONLY
    missing: str = "error"
    min_rows: int = 5

    def transform(self, X: Any) -> Any:
        """Return the new columns, of records or of a `Federation`, at each of its parties."""
        check_is_fitted(self)
        if isinstance(X, Federation):
            X = self._known(X)
            for party, part in X.parts.items():
                self._check_part(party, part)
            X.backend.check_records(self._check_part)
        else:
            self._check_values(self._records(X, reset=False), self.federation_.features, "X", None)
        return super().transform(X)

    def to_sklearn(self) -> ColumnTransformer:
        """Return the same as a fitted transformer of scikit-learn."""
        check_is_fitted(self)
        labels = dict(zip(self.model_.encoded.tolist(), self.model_.labels, strict=True))
        unknown = "error" if self.missing == "error" else "ignore"
        steps = [
            (str(j), OneHotEncoder(categories=[list(labels[j])], sparse_output=False, handle_unknown=unknown), [j])
            if j in labels else (str(j), "passthrough", [j])
            for j in range(self.n_features_in_)
        ]  # fmt: skip
        made = ColumnTransformer(steps, sparse_threshold=0.0).fit(self._sample(labels))
        if hasattr(self, "feature_names_in_"):
            made.feature_names_in_ = self.feature_names_in_
            for _, step, (j,) in made.transformers_:
                step.feature_names_in_ = self.feature_names_in_[[j]]
        return made

    def _sample(self, labels: Mapping[int, Values]) -> Any:
        """Return a record as scikit-learn's own would be fitted on; texts beside numbers need a frame."""
        values = [labels[j][0] if j in labels else 0.0 for j in range(self.n_features_in_)]
        if not any(map(is_text, labels.values())):
            return np.array([values], dtype=np.float64)
        pandas = import_module("pandas")
        names = getattr(self, "feature_names_in_", range(len(values)))
        return pandas.DataFrame({name: [value] for name, value in zip(names, values, strict=True)})

    def _request(self, federation: Federation) -> Request:
        declared = collect_declared(self, federation)
        codes = {name: codes_of(values) for name, values in declared.items()}
        asked = {"names": federation.features, "categories": codes, "min_rows": self.min_rows}
        return Request("checked_columns", {"data": Records()}, asked)

    def _check_kinds(self, federation: Federation) -> None:
        """Refuse raw columns; texts that were declared are what this is for."""
        check_numbers(dataclasses.replace(federation, categories={}), type(self).__name__)

    def _model(self, federation: Federation, result: Any) -> Encoded:
        del result
        names, declared = federation.features, collect_declared(self, federation)
        codes = {name: codes_of(values) for name, values in declared.items()}
        sources = np.repeat(np.arange(len(names)), [len(codes.get(name, "1")) for name in names])
        numbers = np.concatenate([codes.get(name, [np.nan]) for name in names])
        encoded = np.array([j for j, name in enumerate(names) if name in codes], dtype=np.int64)
        return Encoded(sources, numbers, encoded, tuple(tuple(_plain(v) for v in declared[names[j]]) for j in encoded))

    def _check_part(self, party: str, part: Part) -> None:
        self._check_values(part.X, part.features, f"party '{party}'", part.owned)

    def _check_values(self, X: F64, names: tuple[str, ...], me: str, owned: Any) -> None:
        for j, labels in zip(self.model_.encoded, self.model_.labels, strict=True):
            name, codes = self.federation_.features[j], codes_of(labels)
            if name not in names:
                continue
            at = names.index(name)
            column = X[:, at] if owned is None else np.where(owned[:, at], X[:, at], codes[0])
            lacking = np.isnan(column)
            if self.missing == "error" and lacking.any():
                gaps = f"{int(lacking.sum())} missing values (first in row {int(lacking.argmax()) + 1})"
                remedy = "impute the most frequent one before, or say missing='zeros'"
                raise LocalError(f"column '{name}' of {me} has {gaps}: {remedy}")
            check_declared(column[:, None], (name,), (tuple(codes),), me)

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        labels = dict(zip(self.model_.encoded.tolist(), self.model_.labels, strict=True))
        made = [[f"{name}_{v}" for v in labels[j]] if j in labels else [name] for j, name in enumerate(names)]
        return tuple(out for each in made for out in each)

    def _set_learnt(self, model: Encoded) -> None:
        """Set the attributes that follow from the model."""
        self.categories_ = [np.array(values) for values in model.labels]
        self.encoded_ = model.encoded


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
