"""`Federation.describe`: what the columns of a table look like over all parties, before anybody trains on it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.base.parameters import arguments_for, check, parameterized
from tacit.base.private import NOT_PROTECTED as UNCOVERED
from tacit.base.private import Private, write_bill
from tacit.base.shared import Watched, check_coordinator
from tacit.choreo import Ledger
from tacit.choreo.declaration import Kind, Number, Switch
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.columns import declare_texts
from tacit.inspect.noisy import describe_noisy, values_of
from tacit.models.prepared import is_text
from tacit.preprocessing.transformer import collect_declared
from tacit.protocols.columns.overview import BINS, HIDDEN, LABELS, Overview, Summary
from tacit.protocols.noisy.noisy_columns import Asked, NoisyColumns
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.description import ColumnDescription, Description, render_card
from tacit.report.outcome import report_on
from tacit.request import Records, Request

NOT_PROTECTED = (
    "Small counts of histograms and categories: the coordinator has them, and tells nobody those below min_count.",
    "A column in which all but a few records have the same value: its mean and variance are about those few records.",
    "Two looks at a table whose present values of a column differ by a few records: the difference is about these.",
)
NOTHING_SUMMED = "nothing is summed: names and kinds of columns are compared"
OWNERS_TELL = "nothing but what each owner tells of its own columns"
ASIDE = {
    "none": "no value",
    "few": "fewer values than min_count: nothing more is told",
    "crowded": "too many texts for categories",
    "unnamed": "no text that min_count records share",
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
        categories: {column: values}, numbers or texts: the values that a column may have; a party that has another
            value there refuses to run.
        statistics: False: only names and kinds of columns are compared, and nothing is counted.
        min_count: every figure that is told is about at least this many records.
        min_rows: a party with fewer records than this is refused.
        secure_sum: how sums are masked: "pairwise", "ring" or "graph"; the report says what each protects.
        segments: with "ring", into how many shares every value is cut; each share travels on a ring of its own, and no
            two rings have an edge in common.
        accept_risk: let one of the data holders be the coordinator.
        epsilon: describe with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only. Counts have noise, values are clipped, and texts and labels that nobody
            declared are neither refused nor told. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.
        ranges: with epsilon, {column: (low, high)} for all columns of numbers and dates; None: a fifth of the budget is
            spent on finding them.
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"min_count": Number(1, whole=True), "statistics": Switch()}

    categories: Mapping[str, Sequence[Any]] | None = None
    _: KW_ONLY
    statistics: bool = True
    min_count: int = 5
    min_rows: int = 5
    secure_sum: str = "pairwise"
    segments: int = 1
    accept_risk: bool = False
    ranges: Mapping[str, tuple[float, float]] | None = None

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
        elsewhere = federation.backend.look(federation, self)
        if elsewhere is not None:
            return elsewhere  # type: ignore[no-any-return]  # a backend knows nothing of what stands on it
        if not self.statistics:
            return self._list_columns(federation)
        federation = declare_texts(federation, self._texts())
        with self._watching():
            return self.receive(federation, federation.run(self.request(federation)))

    def request(self, federation: Federation) -> Request:
        """Return what `look` would have the federation run."""
        learns = "sums, from which it can subtract its own values"
        if federation.partition != "vertical":
            check_coordinator(federation, learns, accept_risk=self.accept_risk)
        if self.epsilon is not None:
            return self._noisy_request(federation)
        listed = self._listed(federation)
        plain = [name for name in federation.features if name not in listed]
        raw = {kind: tuple(name for name in plain if federation.kinds.get(name) == kind) for kind in ("text", "date")}
        asked = {
            "numbers": tuple(name for name in plain if name not in federation.kinds),
            "dates": raw["date"],
            "texts": raw["text"],
            "categories": {name: tuple(float(code) for code in known) for name, known in listed.items()} or None,
            "labels": _may_be_labelled(federation),
        }
        protocol = "describe_columns" if federation.partition == "vertical" else "describe_table"
        return Request(protocol, {"data": Records()}, arguments_for(self, protocol, method=self.secure_sum, **asked))

    def _noisy_request(self, federation: Federation) -> Request:
        """Return a request for statistics from noisy sums."""
        numbers, listed = self._numbers(federation), self._listed(federation)
        asked = {"names": numbers, "histograms": numbers, "categories": values_of(listed), "bins": BINS}
        Asked(names=numbers, ranges=self.ranges).check()
        given = {"method": self.secure_sum, **asked, **self.spending(federation)}
        return Request("noisy_columns", {"data": Records()}, arguments_for(self, "noisy_columns", **given))

    def _receive_noisy(self, federation: Federation, outcome: Outcome) -> TableOverview:
        """Return what noisy sums tell."""
        found: NoisyColumns = outcome.result
        listed = self._listed(federation)
        kinds = {name: _kind_of(federation, name, listed) for name in federation.features}
        made = Description(found.records, describe_noisy(found, kinds, self._numbers(federation), listed), 1)
        report = report_on(self, federation, outcome, not_protected=UNCOVERED)
        report.figures = write_bill(found.spent, self.delta, found.honest, len(federation.parts))
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
        labelled = LABELS in found.columns and found.columns[LABELS].present
        names = [*federation.features, *([LABELS] if labelled else [])]
        listed = self._listed(federation)
        columns = {
            name: self._describe(name, _kind_of(federation, name, listed), found, listed.get(name)) for name in names
        }
        made = Description(found.records, columns, self.min_count, _some(found.unlike), _owners(federation))
        alone = federation.partition == "vertical"
        how: Any = {"not_protected": NOT_PROTECTED, "protection": OWNERS_TELL if alone else None}
        report = report_on(self, federation, outcome, **how)
        report.description, report.warnings = made, [*report.warnings, *made.warnings]
        return TableOverview(made, report)

    def _list_columns(self, federation: Federation) -> TableOverview:
        """Return names and kinds of columns, for which nothing is run."""
        kinds = {name: _kind_of(federation, name, self._listed(federation)) for name in federation.features}
        columns = {name: ColumnDescription(name, kind) for name, kind in kinds.items()}
        made = Description(None, columns, self.min_count, {}, _owners(federation))
        report = report_on(self, federation, Outcome(None, Ledger([]), [], 0.0, {}), protection=NOTHING_SUMMED)
        report.description = made
        return TableOverview(made, report)

    def _describe(self, name: str, kind: str, found: Overview, known: Mapping[float, Any] | None) -> ColumnDescription:
        told = found.columns[name]
        values = [str(known[float(value)]) if known else str(value) for value in told.values]
        counts = [None if n == HIDDEN else int(n) for n in told.times]
        return ColumnDescription(
            name=name,
            kind=kind,
            present=told.present,
            missing=found.records - told.present,
            mean=_finite(told.mean),
            std=_finite(math.sqrt(told.var)),
            quartiles=told.quartiles.tolist(),
            errors=told.error.tolist(),
            edges=told.edges.tolist(),
            counts=told.counts.astype(np.int64).tolist(),
            categories=dict(zip(values, counts, strict=True)),
            aside=ASIDE.get(self._aside(kind, told), ""),
        )

    def _aside(self, kind: str, told: Summary) -> str:
        if told.present < self.min_count:
            return "few" if told.present else "none"
        if told.crowded:
            return "crowded"
        return "unnamed" if kind in ("text", "labels") and not told.values else ""

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
