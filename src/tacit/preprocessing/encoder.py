"""FederatedEncoder: declared categories that enough records have, as columns of 0 and 1."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from tacit.base.parameters import parameterized
from tacit.federation import Federation
from tacit.federation.columns import check_numbers
from tacit.models.prepared import Encoded, codes_of, is_text
from tacit.preprocessing.transformer import PrivateTransformer, collect_declared
from tacit.protocols.learners.targets import LEAST_CLASS
from tacit.protocols.noisy.noisy_columns import NoisyColumns
from tacit.request import Request

Values = Sequence[Any]


@parameterized
class FederatedEncoder(PrivateTransformer):
    """Replace each column of declared categories by one column per category, 1 where the record has it; others stay.

    A category that too few records have over all parties gets no column: these records are joined with those whose
    value is missing, or was not declared, and have 0 in all columns. Which categories are kept is found in shares, and
    is all that is revealed; with epsilon it is found from noisy counts.

    Args:
        categories: {column: values}, numbers or texts. Columns that a federation carries as text need no entry: it
            knows their texts.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns) or "arbitrary" (cells).
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties.
        accept_risk: with epsilon, let one of the data holders be the coordinator.
        epsilon: choose categories with differential privacy: one record changes the log-odds of any outcome by at most
            this much (docs/privacy.md). Over rows only. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.

    Attributes:
        categories_: the kept values of each encoded column, in its order.
        encoded_: numbers of these columns.
        report_: the report of the run.
    """

    gone: ClassVar[tuple[str, ...]] = ("missing", "min_rows")
    model_: Encoded = field(init=False)

    categories: Mapping[str, Values] | None = None

    def to_sklearn(self) -> ColumnTransformer:
        """Return the same as a fitted transformer of scikit-learn."""
        check_is_fitted(self)
        labels = dict(zip(self.model_.encoded.tolist(), self.model_.labels, strict=True))
        steps = [
            (str(j), OneHotEncoder(categories=[list(labels[j])], sparse_output=False, handle_unknown="ignore"), [j])
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
        values = [(labels[j] or [0.0])[0] if j in labels else 0.0 for j in range(self.n_features_in_)]
        if not any(map(is_text, labels.values())):
            return np.array([values], dtype=np.float64)
        pandas = import_module("pandas")
        names = getattr(self, "feature_names_in_", range(len(values)))
        return pandas.DataFrame({name: [value] for name, value in zip(names, values, strict=True)})

    def _request(self, federation: Federation) -> Request:
        declared = collect_declared(self, federation)
        codes = {name: codes_of(values) for name, values in declared.items()}
        if self.epsilon is not None:
            return self._noisy_request(federation, categories=codes or None)
        return self._ask(federation, categories=codes or None)

    def _check_kinds(self, federation: Federation) -> None:
        """Refuse raw columns; texts that were declared are what this is for."""
        check_numbers(dataclasses.replace(federation, categories={}), type(self).__name__)

    def _model(self, federation: Federation, result: Any) -> Encoded:
        names, declared = federation.features, collect_declared(self, federation)
        found = find_kept(result, declared)
        kept = {
            name: [v for v, code in zip(values, codes_of(values), strict=True) if code in found[name]]
            for name, values in declared.items()
        }
        codes = {name: [code for code in codes_of(values) if code in found[name]] for name, values in declared.items()}
        sources = np.repeat(np.arange(len(names)), [len(codes.get(name, "1")) for name in names])
        numbers = np.concatenate([np.empty(0), *(codes.get(name, [np.nan]) for name in names)])
        encoded = np.array([j for j, name in enumerate(names) if name in codes], dtype=np.int64)
        return Encoded(sources, numbers, encoded, tuple(tuple(_plain(v) for v in kept[names[j]]) for j in encoded))

    def _notices(self, federation: Federation, result: Any) -> list[str]:
        declared = collect_declared(self, federation)
        found = find_kept(result, declared)
        joined = {name: len(values) - len(found[name]) for name, values in declared.items()}
        return [
            f"column '{name}': {n} categories have too few records, and get no column"
            for name, n in joined.items()
            if n
        ]

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


def find_kept(result: Any, declared: Mapping[str, Values]) -> dict[str, Sequence[float]]:
    """Return the numbers of the categories that enough records have, as found in shares or from noisy counts."""
    if not isinstance(result, NoisyColumns):
        return dict(result.kept)
    codes = {name: sorted(codes_of(values)) for name, values in declared.items()}
    counts = np.empty((0, 0)) if result.values is None else result.values
    return {
        name: [code for code, n in zip(own, row[: len(own)].tolist(), strict=True) if n >= LEAST_CLASS]
        for (name, own), row in zip(codes.items(), counts, strict=True)
    }
