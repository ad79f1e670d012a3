"""TableVectorizer: a table of numbers, texts, dates and gaps as columns that a learner can use."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from importlib import import_module
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.arrays import F64, I64
from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Kind, Switch
from tacit.errors import LocalError, warn_caller
from tacit.federation import Federation, Table, as_table
from tacit.federation.columns import translate
from tacit.federation.frames import Texts, is_frame
from tacit.federation.part import Mask, Part, freeze
from tacit.models.prepared import ASIDE, CYCLES, KINDS, Vectorized, codes_of, is_text
from tacit.preprocessing.transformer import FederatedTransformer, check_columns_of, collect_declared
from tacit.protocols.classes import fold_name
from tacit.registry import Outcome
from tacit.request import Request

RARE = 0.05  # share of new records whose text the model may not know without a warning, as rare categories of training


@dataclass(frozen=True)
class Found:
    """What is known of each column: what it is, or why it is left out; whether it has gaps; what it holds."""

    kinds: Mapping[str, str]
    gaps: frozenset[str]
    records: int
    centre: Mapping[str, float]
    scale: Mapping[str, float]
    labels: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class New:
    """A new column: of which old one, what of it, of which category, and how it is filled and scaled."""

    source: int
    what: str
    code: float = np.nan
    fill: float = 0.0
    center: float = 0.0
    scale: float = 1.0

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """The numbers among these, in the order of `Vectorized`."""
        return self.code, self.fill, self.center, self.scale


@parameterized
class TableVectorizer(FederatedTransformer):
    """Turn a raw table into numbers, as skrub's TableVectorizer does, by what is known over all parties.

    Numbers: gaps are filled with the mean, and a column is brought to mean 0 and variance 1. Texts: each category that
    enough records have over all parties becomes a column of 0 and 1. Categories are declared: here, or in the data
    dictionaries of the parties; in a simulation a party's dictionary is what its table has. Any other text, and one
    that too few records have, is 0 in all columns. Dates: days, scaled like numbers, and the position in the year and
    in the week. Ids, free text and nearly empty columns are left out, with a notice. All of this is found in shares,
    and only what follows is revealed, rounded. `report_` says what became of each column, and who learnt what.

    Args:
        categories: {column: values}, numbers or texts: the categories of columns for which they are known beforehand.
        drop: columns to leave out.
        keep: columns of numbers to keep even if they look like ids.
        scale: bring numbers and dates to mean 0 and variance 1.
        add_indicator: for each column of numbers or dates that enough records lack a value of, append a column that is
            1 where a value is missing.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns) or "arbitrary" (cells).
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.

    Attributes:
        kinds_: {column: "number", "date", "text", "listed" or "dropped"}.
        categories_: {column: its categories}.
        dropped_: {column: why it was left out}.
        report_: the report of the run.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"scale": Switch(), "add_indicator": Switch()}

    gone: ClassVar[tuple[str, ...]] = ("min_count", "min_rows", "secure_sum", "segments", "accept_risk")
    RAW: ClassVar[bool] = True
    SCALES: ClassVar[bool] = True
    model_: Vectorized = field(init=False)

    categories: Mapping[str, Sequence[Any]] | None = None
    _: KW_ONLY
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    scale: bool = True
    add_indicator: bool = True

    def to_sklearn(self) -> ColumnTransformer:
        """Return the same as a fitted transformer of scikit-learn, for tables without dates."""
        check_is_fitted(self)
        dates = [name for name, kind in self.kinds_.items() if kind == "date"]
        if dates:
            raise LocalError(
                f"column '{dates[0]}' holds dates, which scikit-learn cannot encode like this: keep tacit's model file,"
                f" or fit with drop=['{dates[0]}']"
            )
        names = self.federation_.features
        steps = [step for j in range(len(names)) for step in self._sklearn_steps(j)]
        made = ColumnTransformer(steps, sparse_threshold=0.0).fit(self._sample())
        self._set_scales(made)
        if not hasattr(self, "feature_names_in_"):
            vars(made).pop("feature_names_in_", None)
        return made

    def _set_scales(self, made: ColumnTransformer) -> None:
        """Give the scalers, which were fitted on a sample, the mean and deviation of all parties."""
        model = self.model_
        for i in np.flatnonzero(np.array(model.made) == "value").tolist():
            scaler = made.named_transformers_[str(model.sources[i])][-1]
            scaler.mean_, scaler.scale_, scaler.var_ = model.center[[i]], model.scale[[i]], model.scale[[i]] ** 2

    def _sklearn_steps(self, j: int) -> Iterator[tuple[str, Any, list[int]]]:
        """Return what makes the new columns of an old one, in their order."""
        model = self.model_
        for i in np.flatnonzero(model.sources == j).tolist():
            if model.made[i] == "value":
                fill = SimpleImputer(strategy="constant", fill_value=model.fill[i], keep_empty_features=True)
                yield str(j), make_pipeline(fill, StandardScaler()), [j]
            elif model.made[i] == "gap":
                yield f"{j} gap", MissingIndicator(features="all"), [j]
        if model.labels[j]:
            known = [list(model.labels[j])]
            yield str(j), OneHotEncoder(categories=known, sparse_output=False, handle_unknown="ignore"), [j]

    def _sample(self) -> Any:
        """Return a record as scikit-learn's own would be fitted on."""
        texts = {name: values[0] for name, values in self.categories_.items() if is_text(values)}
        record = {name: texts.get(name, 0.0) for name in self.federation_.features}
        framed = texts or hasattr(self, "feature_names_in_")
        return import_module("pandas").DataFrame([record]) if framed else np.zeros((1, len(record)))

    @property
    def kinds_(self) -> dict[str, str]:
        """What each column is: "number", "date", "text", "listed" or "dropped"."""
        kinds = zip(self.federation_.features, self.model_.kinds, strict=True)
        return {name: "dropped" if kind in ASIDE else kind for name, kind in kinds}

    @property
    def dropped_(self) -> dict[str, str]:
        """Why columns are left out."""
        kinds = zip(self.federation_.features, self.model_.kinds, strict=True)
        return {name: ASIDE[kind] for name, kind in kinds if kind in ASIDE}

    @property
    def categories_(self) -> dict[str, tuple[Any, ...]]:
        """The categories of each column that has some."""
        labels = zip(self.federation_.features, self.model_.labels, strict=True)
        return {name: values for name, values in labels if values}

    def _request(self, federation: Federation) -> Request:
        kinds, listed = self._find_kinds(federation), collect_declared(self, federation)
        named = {one: tuple(n for n, kind in kinds.items() if kind == one) for one in KINDS}
        declared = {name: tuple(codes_of(listed[name])) for name in named["listed"]}
        asked = {
            "names": (*named["number"], *named["date"]),
            "ids": tuple(name for name in named["number"] if name not in self.keep),
            "texts": named["text"],
            "categories": declared or None,
        }
        return self._ask(federation, **asked)

    def _check_kinds(self, federation: Federation) -> None:
        """Accept columns of every kind: they are what this is for."""

    def _find_kinds(self, federation: Federation) -> dict[str, str]:
        """Return what each column is, as far as that is known before anything is asked."""
        names = federation.features
        for parameter in ("drop", "keep"):
            check_columns_of(self, parameter, dict.fromkeys(getattr(self, parameter)), names)
        listed = collect_declared(self, federation)
        known = {**dict.fromkeys(names, "number"), **federation.kinds, **dict.fromkeys(listed, "listed")}
        return {name: "drop" if name in self.drop else known[name] for name in names}

    def _model(self, federation: Federation, result: Any) -> Vectorized:
        found = self._find(federation, result)
        new = [each for j in range(federation.n_features) for each in self._make_columns(j, federation.features, found)]
        if not new:
            raise LocalError(
                "TableVectorizer finds no column to learn from: all are left out; name some in keep= (tacit train"
                " --keep)"
            )
        numbers = np.array([each.numbers for each in new], dtype=np.float64).T.copy()
        return Vectorized(
            tuple(found.kinds.values()),
            tuple(tuple(map(_plain, found.labels.get(name, ()))) for name in federation.features),
            np.array([each.source for each in new], dtype=np.int64),
            tuple(each.what for each in new),
            *numbers,
        )

    def _find(self, federation: Federation, result: Any) -> Found:
        """Return what a run found of the columns."""
        kinds, listed = self._find_kinds(federation), collect_declared(self, federation)
        told, labels = result.columns, dict(result.kept)
        for name, values in listed.items():
            if name in labels:
                labels[name] = tuple(v for v, c in zip(values, codes_of(values), strict=True) if c in result.kept[name])
        aside = dict.fromkeys(result.crowded, "crowded")
        aside |= {name: "unnamed" for name, known in labels.items() if not known}
        aside |= {name: "ids" for name, each in told.items() if each.ids}
        aside |= {name: "few" for name, each in told.items() if not each.enough}
        return Found(
            kinds={**kinds, **aside},
            gaps=frozenset(name for name, each in told.items() if each.gaps),
            records=result.records,
            centre={name: each.centre for name, each in told.items()},
            scale={name: each.scale for name, each in told.items()},
            labels={name: known for name, known in labels.items() if name not in aside},
        )

    def _make_columns(self, j: int, names: tuple[str, ...], found: Found) -> Iterator[New]:
        """Return the new columns of an old one."""
        name, kind = names[j], found.kinds[names[j]]
        if kind in ("text", "listed"):
            yield from (New(j, "category", code) for code in codes_of(found.labels[name]))
        if kind not in ("number", "date"):
            return
        mean, deviation = found.centre[name], found.scale[name] or 1.0
        yield New(j, "value", np.nan, mean, *((mean, deviation) if self.scale else (0.0, 1.0)))
        if kind == "date":
            yield from (New(j, cycle) for cycle in CYCLES)
        if self.add_indicator and name in found.gaps:
            yield New(j, "gap")

    def _take(self, federation: Federation, outcome: Outcome) -> Self:
        super()._take(federation, outcome)
        found = self._find(federation, outcome.result)
        self.report_.figures = {f"column {name}": explain(name, found) for name in federation.features}
        return self

    def _notices(self, federation: Federation, result: Any) -> list[str]:
        del result
        doubtful = []
        for name, labels in self.categories_.items():
            pairs = find_spellings([each for each in labels if isinstance(each, str)], texts_by_party(federation, name))
            if alike := [f"{a!r} and {b!r}" for a, b in pairs]:
                doubtful.append(
                    f"column '{name}': some categories may be two spellings of one, {', '.join(alike)}: write them"
                    " alike at every site"
                )
        left = [f"column '{name}' {why}" for name, why in self.dropped_.items() if name not in self.drop]
        return [*doubtful, *left]

    def _federate_records(self, X: Any) -> Federation:
        if not is_frame(X):
            return super()._federate_records(X)
        validate_data(self, X, reset=True, skip_check_array=True)
        return self._simulate(X, partition=self.partition, raw=True, categories=self._texts())

    def texts_of(self, X: Any) -> dict[str, tuple[str, ...]]:
        """Return the texts that `categories` declares; those of other columns are found by `fit`."""
        del X
        return self._texts()

    def _records(self, X: Any, *, reset: bool) -> F64:
        if not is_frame(X):
            return super()._records(X, reset=reset)
        self._check_names(X, reset=reset)
        table = as_table(X, raw=True)
        made = _translate(self.model_, table, np.arange(len(table.features)), table.texts, "X")
        for name in self.categories_:
            unknown = made[:, table.features.index(name)] < 0 if name in table.texts else np.zeros(0, dtype=bool)
            if unknown.sum() > RARE * len(made):
                warn_caller(
                    f"column '{name}' of X has texts in {unknown.sum()} of {len(made)} records that the model does"
                    f" not know (first in row {unknown.argmax() + 1}): they count as none of its categories"
                )
        return made

    def _known(self, federation: Federation) -> Federation:
        """Return a federation like the one this was fitted on, with texts as numbers of the categories."""
        self._check_like(federation)
        declared, columns = federation.categories, federation.columns

        def number(party: str, part: Part) -> Part:
            texts = {**{name: declared[name] for name in part.features if name in declared}, **part.texts}
            X = _translate(self.model_, part, columns[party], texts, f"party '{party}'", part.owned)
            return dataclasses.replace(part, X=freeze(X), texts={}, dates=())

        parts = {p: number(p, part) for p, part in federation.parts.items()}
        return dataclasses.replace(
            federation, parts=parts, categories={}, kinds={}, backend=federation.backend.remake(number)
        )

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        model = self.model_
        new = zip(model.sources.tolist(), model.made, model.codes.tolist(), strict=True)
        return tuple(_name_of(names[j], what, code, model.labels[j]) for j, what, code in new)


def texts_by_party(federation: Federation, column: str) -> list[tuple[str, ...]]:
    """Return which texts the parties have in a column; nothing, if they are elsewhere."""
    return [part.texts.get(column, ()) for part in federation.parts.values()] if federation.holds_records else []


def find_spellings(labels: Sequence[str], held: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield categories that differ in capitals and blanks; or of which one begins the other and no party has both."""
    for a, b in combinations(sorted(labels, key=len), 2):
        short, long = fold_name(a), fold_name(b)
        apart = bool(held) and not any(a in own and b in own for own in held)
        if short == long or (apart and long.startswith(short)):
            yield a, b


def _translate(
    model: Vectorized, held_by: Table | Part, columns: I64, texts: Texts, me: str, owned: Mask | None = None
) -> F64:
    """Return columns with texts as numbers of the categories; refuse a column of another kind than in fitting.

    `columns`: their numbers among those of the whole table.
    """
    X = np.array(held_by.X)
    for j, (name, at) in enumerate(zip(held_by.features, columns.tolist(), strict=True)):
        kind, labels = model.kinds[at], model.labels[at]
        own = slice(None) if owned is None else owned[:, j]
        held = "text" if name in texts else "date" if name in held_by.dates else "number"
        _check_kind(X[own, j], held, kind, labels, f"column '{name}' of {me}")
        if held == "text":
            X[own, j] = translate(X[own, j], texts[name], labels)
    return X


def explain(name: str, found: Found) -> str:
    """Return what became of a column, in words."""
    kind = found.kinds[name]
    if kind in ASIDE:
        return ASIDE[kind]
    missing = "; values are missing" if name in found.gaps else ""
    if kind in ("text", "listed"):
        return f"{len(found.labels[name])} categories: {', '.join(map(str, found.labels[name]))}{missing}"
    mean, deviation = found.centre[name], found.scale[name]
    if kind == "date":
        return f"dates around {np.datetime64(round(mean), 'D')}, deviation {deviation:.4g} days{missing}"
    return f"numbers around {mean:.4g}, deviation {deviation:.4g}{missing}"


def _check_kind(column: F64, held: str, kind: str, labels: Sequence[Any], what: str) -> None:
    """Refuse a column of another kind than in fitting; one without values is of any."""
    wanted = ("text" if is_text(labels) else "number") if kind == "listed" else kind
    if kind not in ASIDE and held != wanted and not np.isnan(column).all():
        raise LocalError(f"{what} holds {held}s, and held {wanted}s when TableVectorizer was fitted: write it alike")


def _name_of(name: str, what: str, code: float, labels: Sequence[Any]) -> str:
    if what == "category":
        return f"{name}_{labels[codes_of(labels).index(code)]}"
    return {"value": name, "gap": f"missingindicator_{name}"}.get(what, f"{name}_{what}")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
