"""FederatedEncoder: declared categories as columns of 0 and 1."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.choreo import F64
from tacit.data import Federation, as_table
from tacit.data.frames import is_frame
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.parameters import OneOf, Rule
from tacit.estimators.transformer_base import SPLIT, FederatedTransformer, full_mapping
from tacit.models.prepared import Encoded
from tacit.protocols.column_counts import check_declared
from tacit.registry import Outcome

Values = Sequence[Any]


class FederatedEncoder(FederatedTransformer):
    """Replaces each column with declared categories by one column per category, 1 where the record has it; others stay.

    Nothing is learnt from the data and nothing is sent: categories are declared, so that all parties have the same columns, also a
    site that has never seen one. A value that nobody declared is refused at the party that has it, and is not quoted.

    Args:
        categories: {column: values}, numbers or texts. Of columns that a federation carries as text, it declared them itself.
        missing: "error": refuse missing values of these columns; "zeros": no category is 1 in such a record.
        partition: how plain arrays are split.
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are fitted.
        random_state: what goes to whom when plain arrays are split.

    Attributes:
        categories_: the values of each encoded column, in its order.
        encoded_: numbers of these columns.
        report_: the report of the run.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {"missing": (OneOf(("error", "zeros")),), **SPLIT}

    model_: Encoded

    def __init__(
        self,
        categories: Mapping[str, Values] | None = None,
        *,
        missing: str = "error",
        partition: Partition = "horizontal",
        n_parties: int = 3,
        runtime: str = "together",
        random_state: Any = None,
    ) -> None:
        self.categories = categories
        self.missing = missing
        self.partition = partition
        self.n_parties = n_parties
        self.runtime = runtime
        self.random_state = random_state

    def transform(self, X: Any) -> Any:
        """The new columns, of records or of a `Federation`, at each of its parties."""
        check_is_fitted(self)
        if isinstance(X, Federation):
            self._check_like(X)
            for party, part in X.parts.items():
                self._check_values(part.X, part.features, f"party '{party}'", part.owned)
        else:
            self._check_values(self._records(X, reset=False), self.federation_.features, "X", None)
        return super().transform(X)

    def to_sklearn(self) -> ColumnTransformer:
        """The same as a fitted transformer of scikit-learn."""
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
        """A record as scikit-learn's own would be fitted on; texts beside numbers need a frame."""
        values = [labels[j][0] if j in labels else 0.0 for j in range(self.n_features_in_)]
        if not any(map(is_text, labels.values())):
            return np.array([values], dtype=np.float64)
        pandas = import_module("pandas")
        names = getattr(self, "feature_names_in_", range(len(values)))
        return pandas.DataFrame({name: [value] for name, value in zip(names, values, strict=True)})

    def _learn(self, federation: Federation, min_rows: int) -> tuple[Encoded, Outcome]:
        names = federation.features
        declared = full_mapping(self, "categories", {**federation.categories, **(self.categories or {})}, names)
        self._check_texts(federation, declared)
        codes = {name: codes_of(values) for name, values in declared.items()}
        outcome = self._execute(federation, "checked_columns", names=names, categories=codes, min_rows=min_rows)
        sources = np.repeat(np.arange(len(names)), [len(codes.get(name, "1")) for name in names])
        numbers = np.concatenate([codes.get(name, [np.nan]) for name in names])
        encoded = np.array([j for j, name in enumerate(names) if name in codes], dtype=np.int64)
        return Encoded(sources, numbers, encoded, tuple(tuple(_plain(v) for v in declared[names[j]]) for j in encoded)), outcome

    def _check_texts(self, federation: Federation, declared: Mapping[str, Values]) -> None:
        for name, values in declared.items():
            if not len(values) or len(set(values)) < len(values):
                raise LocalError(f"FederatedEncoder needs the categories of column '{name}', each of them once: correct categories")
            if tuple(values) != federation.categories.get(name, () if is_text(values) else tuple(values)):
                raise LocalError(
                    f"FederatedEncoder declares other categories of column '{name}' than the federation: texts are declared when it is made"
                )

    def _check_values(self, X: F64, names: tuple[str, ...], me: str, owned: Any) -> None:
        for j, labels in zip(self.model_.encoded, self.model_.labels, strict=True):
            name, codes = self.federation_.features[j], codes_of(labels)
            if name not in names:
                continue
            at = names.index(name)
            column = X[:, at] if owned is None else np.where(owned[:, at], X[:, at], codes[0])
            lacking = np.isnan(column)
            if self.missing == "error" and lacking.any():
                raise LocalError(
                    f"column '{name}' of {me} has {int(lacking.sum())} missing values (first in row {int(lacking.argmax()) + 1}): impute"
                    " the most frequent one before, or say missing='zeros'"
                )
            check_declared(column[:, None], (name,), (tuple(codes),), me)

    def _simulated(self, X: Any) -> Federation:
        return dataclasses.replace(super()._simulated(X), categories=self._texts())

    def _texts(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(values) for name, values in (self.categories or {}).items() if is_text(values)}

    def _records(self, X: Any, *, reset: bool) -> F64:
        if not is_frame(X) or not self._texts():
            return super()._records(X, reset=reset)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return as_table(X, allow_missing=True, categories=self._texts()).X

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        labels = dict(zip(self.model_.encoded.tolist(), self.model_.labels, strict=True))
        return tuple(out for j, name in enumerate(names) for out in ([f"{name}_{v}" for v in labels[j]] if j in labels else [name]))

    def restore(self) -> None:
        """The attributes that follow from the model."""
        self.categories_ = [np.array(values) for values in self.model_.labels]
        self.encoded_ = self.model_.encoded


def is_text(values: Values) -> bool:
    """Whether categories are texts, which a federation carries as their numbers."""
    return any(isinstance(value, str) for value in values)


def codes_of(values: Values) -> list[float]:
    """What stands for each category in a column of numbers."""
    return [float(k) for k in range(len(values))] if is_text(values) else [float(v) for v in values]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
