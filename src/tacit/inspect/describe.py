"""`Federation.describe`: what the columns of a table look like over all parties, before anybody trains on it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from tacit.arrays import F64
from tacit.base.parameters import arguments_for, check, parameterized
from tacit.base.private import NOT_PROTECTED as UNCOVERED
from tacit.base.private import Private, write_bill
from tacit.base.shared import Watched, check_coordinator
from tacit.choreo import Ledger
from tacit.choreo.declaration import Kind, Switch
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.columns import declare_texts
from tacit.models.prepared import is_text
from tacit.numeric.privacy.columns import find_quantiles
from tacit.preprocessing.transformer import LEARNS, PROTECTION, collect_declared
from tacit.protocols.column_parameters import MENU
from tacit.protocols.learners.targets import LEAST_CLASS
from tacit.protocols.noisy.noisy_columns import Asked, NoisyColumns
from tacit.protocols.prepare.describe import FEW, LABELS, NEARLY_ALL, QUARTILES, Overview, Summary
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.description import ColumnDescription, Count, Description, Suppressed, render_card
from tacit.report.outcome import report_on
from tacit.request import Records, Request

NOT_PROTECTED = (
    (
        "Everything, from the coordinator together with any one party: its random numbers take the masks off what"
        " parties open to each other."
    ),
    "Two looks at tables that differ by a few records: a rounded figure may be one step further because of them.",
)
NOTHING_SUMMED = "nothing is summed: names and kinds of columns are compared"
BINS = 32  # of a histogram, with epsilon
SUPPRESSED = {FEW: Suppressed.FEW, NEARLY_ALL: Suppressed.NEARLY_ALL}
OPPOSITE = {Suppressed.FEW: Suppressed.NEARLY_ALL, Suppressed.NEARLY_ALL: Suppressed.FEW}
STEPS = 32  # of a scale, by one of which a quartile may be off
ASIDE = {
    "few": "hardly a value: nothing more is told",
    "crowded": "too many texts for categories",
    "unnamed": "no declared category that enough records share",
}


@dataclass(frozen=True, repr=False)
class TableOverview:
    """The description of a table, and the report of the run that made it.

    Attributes:
        description: the records, and each of their columns.
        report: who learnt what for the description, and what it cost.
    """

    description: Description
    report: Report

    @property
    def records(self) -> int | None:
        """How many records there are over all parties; None if nobody counted."""
        return self.description.records

    @property
    def warnings(self) -> list[str]:
        """What to look into before training: units, codings, columns without values."""
        return self.description.warnings

    def __getitem__(self, column: str) -> ColumnDescription:
        """Return what is told of a column."""
        if column not in self.description.columns:
            known = ", ".join(self.description.columns)
            raise LocalError(f"there is no column {column!r} in this description: it has {known}")
        return self.description.columns[column]

    def __repr__(self) -> str:
        counted = "" if self.records is None else f"{self.records} records, "
        return f"<TableOverview: {counted}{len(self.description.columns)} columns>"

    def _repr_html_(self) -> str:
        return render_card(self.description, self.report.title)


@parameterized
class Describe(Private, Watched):
    """A description of a table: which columns it is about, and how much is told about them.

    Args:
        categories: {column: values}, numbers or texts: the values that a column may have; others count as none.
        statistics: False: only names and kinds of columns are compared, and nothing is counted.
        accept_risk: with epsilon, let one of the data holders be the coordinator.
        epsilon: describe with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only. Counts have noise, values are clipped, and texts and labels that nobody
            declared are not told. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        ranges: with epsilon, {column: (low, high)} for all columns of numbers and dates; None: a fifth of the budget is
            spent on finding them.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"statistics": Switch()}

    categories: Mapping[str, Sequence[Any]] | None = None
    _: KW_ONLY
    statistics: bool = True
    accept_risk: bool = False
    ranges: Mapping[str, tuple[float, float]] | None = None

    overview_: TableOverview = field(init=False)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def get_params(self, *, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as estimators do."""
        del deep
        return {name: getattr(self, name) for name in self._get_param_names()}

    @property
    def chosen(self) -> dict[str, Any]:
        """The parameters that are not at their defaults, as a study has them; without `verbose`."""
        usual, own = type(self)().get_params(), self.get_params()
        return {name: value for name, value in own.items() if name != "verbose" and value != usual[name]}

    def look(self, federation: Federation) -> TableOverview:
        """Have the parties describe their table: in a run, or between organisations in a study of its own."""
        check(self)
        federation.backend.fit(federation, self, partial(self._look, federation))
        return self.overview_

    def take(self, fitted: Any) -> Self:
        """Take what a study told of the table."""
        self.overview_ = fitted.overview_
        return self

    def _look(self, federation: Federation) -> Self:
        if not self.statistics:
            self.overview_ = self._list_columns(federation)
            return self
        federation = declare_texts(federation, self._texts())
        with self._watching():
            self.overview_ = self.receive(federation, federation.run(self.request(federation)))
        return self

    def request(self, federation: Federation) -> Request:
        """Return what `look` would have the federation run."""
        if self.epsilon is not None:
            learns = "sums, from which it can subtract its own values"
            check_coordinator(federation, learns, accept_risk=self.accept_risk)
            return self._noisy_request(federation)
        check_coordinator(federation, LEARNS, accept_risk=False)
        listed = self._listed(federation)
        asked = {
            "partition": federation.partition,
            "names": self._numbers(federation),
            "texts": tuple(name for name in federation.features if _kind_of(federation, name, listed) == "text"),
            "categories": {name: tuple(float(code) for code in known) for name, known in listed.items()} or None,
            "labels": _may_be_labelled(federation),
        }
        return Request("describe_table", {"data": Records()}, asked)

    def _noisy_request(self, federation: Federation) -> Request:
        """Return a request for statistics from noisy sums."""
        numbers, listed = self._numbers(federation), self._listed(federation)
        asked = {"names": numbers, "histograms": numbers, "categories": values_of(listed), "bins": BINS}
        Asked(names=numbers, ranges=self.ranges).check()
        given = {**asked, **self.spending(federation)}
        return Request("noisy_columns", {"data": Records()}, arguments_for(self, "noisy_columns", **given))

    def _receive_noisy(self, federation: Federation, outcome: Outcome) -> TableOverview:
        """Return what noisy sums tell."""
        found: NoisyColumns = outcome.result
        listed = self._listed(federation)
        kinds = {name: _kind_of(federation, name, listed) for name in federation.features}
        made = Description(found.records, describe_noisy(found, kinds, self._numbers(federation), listed), 1)
        report = report_on(self, federation, outcome, not_protected=UNCOVERED)
        report.figures = write_bill(federation, found.spent, self.delta, found.honest)
        report.description, report.warnings = made, [*report.warnings, *made.warnings]
        return TableOverview(made, report)

    def _numbers(self, federation: Federation) -> tuple[str, ...]:
        """Return the columns of numbers and dates."""
        listed = self._listed(federation)
        return tuple(name for name in federation.features if _kind_of(federation, name, listed) in ("number", "date"))

    def receive(self, federation: Federation, outcome: Outcome) -> TableOverview:
        """Return the overview that the outcome of the request contains."""
        if self.epsilon is not None:
            return self._receive_noisy(federation, outcome)
        found: Overview = outcome.result
        labelled = LABELS in found.columns and found.columns[LABELS].present != FEW
        names = [*federation.features, *([LABELS] if labelled else [])]
        listed = self._listed(federation)
        columns = {name: _describe(name, _kind_of(federation, name, listed), found, listed.get(name)) for name in names}
        unlike = {
            party: {name: said for name, said in own.items() if name in columns} for party, own in found.unlike.items()
        }
        made = Description(found.records, columns, LEAST_CLASS, _some(unlike), _owners(federation))
        report = report_on(self, federation, outcome, not_protected=NOT_PROTECTED, protection=PROTECTION)
        report.description, report.warnings = made, [*report.warnings, *made.warnings]
        return TableOverview(made, report)

    def _list_columns(self, federation: Federation) -> TableOverview:
        """Return names and kinds of columns, for which nothing is run."""
        kinds = {name: _kind_of(federation, name, self._listed(federation)) for name in federation.features}
        columns = {name: ColumnDescription(name, kind) for name, kind in kinds.items()}
        made = Description(None, columns, LEAST_CLASS, {}, _owners(federation))
        report = report_on(self, federation, Outcome(None, Ledger([]), [], 0.0, {}), protection=NOTHING_SUMMED)
        report.description = made
        return TableOverview(made, report)

    def _texts(self) -> dict[str, tuple[str, ...]]:
        declared = self.categories or {}
        return {name: tuple(values) for name, values in declared.items() if is_text(values)}

    def _listed(self, federation: Federation) -> dict[str, dict[float, Any]]:
        """Return the declared values of columns by the numbers that stand for them."""
        declared = collect_declared(self, federation)
        return {
            name: dict(enumerate(map(str, known))) if is_text(known) else {float(value): value for value in known}
            for name, known in declared.items()
        }


def describe(federation: Federation, **options: Any) -> TableOverview:
    """Return what the columns of a federation look like; options are those of `Describe`."""
    offered = Describe().get_params()
    unknown = [name for name in options if name not in offered]
    if unknown:
        raise LocalError(f"describe has no option {unknown[0]!r}: it takes {', '.join(offered)}")
    return Describe(**options).look(federation)


def _describe(name: str, kind: str, found: Overview, known: Mapping[float, Any] | None) -> ColumnDescription:
    """Return what is told of a column."""
    told = found.columns[name]
    present = _count(told.present)
    counted = zip(told.values, map(_count, told.times.tolist()), strict=True)
    # a dictionary may have many texts: those of few records are not listed
    shown = {value: n for value, n in counted if known or n is not Suppressed.FEW}
    edges, shares = _bins(told.quantiles, found.records)
    whole = present if isinstance(present, int) else found.records if present is Suppressed.NEARLY_ALL else 0
    return ColumnDescription(
        name=name,
        kind=kind,
        present=present,
        missing=found.records - present if isinstance(present, int) else OPPOSITE[present],
        mean=_finite(told.mean),
        std=_finite(told.scale),
        quartiles=[] if np.isnan(told.mean) else told.quantiles[list(QUARTILES)].tolist(),
        errors=[] if np.isnan(told.mean) else [told.scale / STEPS] * len(QUARTILES),
        edges=edges.tolist(),
        counts=np.rint(shares * whole).astype(np.int64).tolist(),
        categories={str(known[float(value)]) if known else str(value): n for value, n in shown.items()},
        aside=ASIDE.get(_find_aside(kind, told, shown), ""),
    )


def _count(n: int) -> Count:
    return SUPPRESSED.get(n, n)


def _find_aside(kind: str, told: Summary, shown: Mapping[Any, Count]) -> str:
    if told.crowded or told.present == FEW:
        return "crowded" if told.crowded else "few"
    return "unnamed" if kind in ("text", "labels") and not shown else ""


def _bins(quantiles: F64, records: int) -> tuple[F64, F64]:
    """Return the parts between quantiles, and which share of the values lies in each; tails are in the outer ones."""
    if np.isnan(quantiles).any():
        return np.empty(0), np.empty(0)
    edges = np.unique(quantiles)
    if edges.size == 1:
        return np.repeat(edges, 2), np.ones(1)
    room = min(LEAST_CLASS / records, 0.5)  # none is nearer to an end than so many records
    levels = np.clip(np.array(MENU) / 100.0, room, 1.0 - room)
    below = np.array([levels[quantiles == edge].max() for edge in edges])
    below[0], below[-1] = 0.0, 1.0
    return edges, np.diff(below)


def _kind_of(federation: Federation, name: str, listed: Mapping[str, Any]) -> str:
    if name == LABELS:
        return "labels"
    return "listed" if name in listed else federation.kinds.get(name, "number")


def _owners(federation: Federation) -> dict[str, str]:
    """Return whose each column is, where each is one party's."""
    if federation.partition != "vertical":
        return {}
    return {federation.features[j]: party for party, own in federation.columns.items() for j in own.tolist()}


def _may_be_labelled(federation: Federation) -> bool:
    """Return whether parties have labels, as far as that is known here."""
    return not federation.holds_records or any(part.y is not None for part in federation.parts.values())


def _some(unlike: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    return {party: dict(own) for party, own in unlike.items() if own}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# What a look at a table with differential privacy tells: descriptions of columns from noisy sums


NOISY_QUARTILES = (0.25, 0.5, 0.75)
UNDECLARED = "texts that nobody declared: with epsilon nothing is told of them"

Listed = Mapping[str, Mapping[float, Any]]


def values_of(listed: Listed) -> dict[str, tuple[float, ...]] | None:
    """Return the declared values of columns, in the order in which they are counted."""
    return {name: tuple(sorted(known)) for name, known in listed.items()} or None


def describe_noisy(
    found: NoisyColumns, kinds: Mapping[str, str], numbers: tuple[str, ...], listed: Listed
) -> dict[str, ColumnDescription]:
    """Return what is told of every column; `kinds` are those of all columns, in order."""
    told = {**_describe_numbers(found, kinds, numbers), **_describe_values(found, listed)}
    return {name: told.get(name, ColumnDescription(name, kind, aside=UNDECLARED)) for name, kind in kinds.items()}


def _describe_numbers(
    found: NoisyColumns, kinds: Mapping[str, str], numbers: tuple[str, ...]
) -> dict[str, ColumnDescription]:
    moments, made = found.moments, found.histograms
    if moments is None or made is None:
        return {}
    quartiles = find_quantiles(made.counts, made.low, made.high, NOISY_QUARTILES)
    edges = _edges(made.low, made.high, made.counts.shape[1])
    error = edges[:, 1] - edges[:, 0]
    return {
        name: ColumnDescription(
            name,
            kinds[name],
            *_count_gaps(moments.present[j], found.records),
            mean=float(moments.mean[j]),
            std=float(np.sqrt(moments.var[j])),
            quartiles=quartiles[j].tolist(),
            errors=[float(error[j])] * len(NOISY_QUARTILES),
            edges=edges[j].tolist(),
            counts=_whole(made.counts[j]),
        )
        for j, name in enumerate(numbers)
    }


def _describe_values(found: NoisyColumns, listed: Listed) -> dict[str, ColumnDescription]:
    told = {}
    for (name, known), row in zip(listed.items(), [] if found.values is None else found.values, strict=True):
        counts = _whole(row[: len(known)])
        words = [str(known[value]) for value in sorted(known)]
        held = _count_gaps(float(sum(counts)), found.records)
        told[name] = ColumnDescription(name, "listed", *held, categories=dict(zip(words, counts, strict=True)))
    return told


def _count_gaps(present: float, records: int) -> tuple[int, int]:
    """Return about how many values there are, and how many are missing."""
    held = min(records, round(float(present)))
    return held, records - held


def _edges(low: F64, high: F64, bins: int) -> F64:
    """Return where the bins of each column begin and end."""
    return np.asarray(low[:, None] + (high - low)[:, None] * np.arange(bins + 1) / bins)


def _whole(counts: F64) -> list[int]:
    """Return noisy counts as people read them: whole, and none below 0."""
    return [max(0, round(count)) for count in counts.tolist()]
