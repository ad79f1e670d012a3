"""The report of a run: "who learns what?" first, then what it cost, then how good it is."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console, Group

from tacit.choreo.fact import fact_called
from tacit.choreo.ledger import Learnt, Opened
from tacit.errors import LocalError
from tacit.files import write_whole
from tacit.report import text
from tacit.report.description import Description
from tacit.report.disclosures import Told, list_told, traffic, unite
from tacit.report.evaluation import Evaluation
from tacit.report.release import Release
from tacit.report.words import clean, count, human_bytes, plain

__all__ = ["Report", "default_not_protected", "traffic"]


def default_not_protected() -> list[str]:
    """Return what no method of tacit protects against, whichever was run."""
    return [
        "Poisoned inputs: a party can train on records made up to spoil or to steer the model.",
        "A party that lies about its data: nothing checks that records, columns or labels are true.",
        (
            "What the final model itself reveals about the records it was trained on, unless it was trained with"
            " epsilon: SVC(epsilon=...) has differential privacy."
        ),
    ]


@dataclass(repr=False)
class Report:
    """Everything a data-protection officer signs and a data scientist reads about one run.

    Attributes:
        title: what was done, in a few words.
        estimator: name of the estimator.
        params: its parameters; arrays are kept as their shape only.
        partition: "horizontal", "vertical" or "arbitrary".
        runtime: "together", "nats" or "spark".
        protection: the secure sum, and under which assumption it protects.
        parties: name -> what it holds, the coordinator included.
        rounds: communication rounds.
        seconds: wall-clock time.
        cpu: CPU seconds of each party.
        bytes: bytes sent, of the messages seen here.
        history: public figures of each training round.
        traffic: (communication round, bytes sent so far); see `traffic`.
        opens: what each role knows after the whole run.
        learnt: every message, folded; see `Ledger.learnt`.
        not_protected: what stays open to misuse.
        warnings: what the run had to warn about.
        comparison: difference from the centralised learner, where it was measured.
        figures: figures of the method itself, such as how well it hides a value.
        scores: label -> score, such as "north alone", "together (tacit)", "centralised".
        metric: what the scores are.
        evaluations: which records -> what `tacit.evaluate` found on them.
        candidates: what a search tried: parameters, score, its deviation over the folds.
        description: what the table looked like before the training, where it was asked for.
        release: what the release gate measured, where it was asked for.
    """

    title: str
    estimator: str
    params: dict[str, Any]
    partition: str
    runtime: str
    protection: str
    parties: dict[str, str]
    rounds: int
    seconds: float
    cpu: dict[str, float]
    bytes: int
    history: list[dict[str, Any]] = field(default_factory=list)
    traffic: list[tuple[int, int]] = field(default_factory=list)
    opens: list[Opened] = field(default_factory=list)
    learnt: list[Learnt] = field(default_factory=list)
    not_protected: list[str] = field(default_factory=default_not_protected)
    warnings: list[str] = field(default_factory=list)
    comparison: dict[str, float | int | str] | None = None
    figures: dict[str, float | int | str] | None = None
    scores: dict[str, float] | None = None
    metric: str = "accuracy"
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    candidates: list[dict[str, Any]] = field(default_factory=list)
    description: Description | None = None
    release: Release | None = None

    def __post_init__(self) -> None:
        self.params, self.history, self.candidates = plain(self.params), plain(self.history), plain(self.candidates)
        self.comparison, self.figures, scores = plain(self.comparison), plain(self.figures), plain(self.scores)
        if scores is not None:  # a score that is not a number was not measured
            self.scores = {label: score for label, score in scores.items() if not isinstance(score, str)}

    def __repr__(self) -> str:
        cost = f"{count(self.rounds, 'round')}, {human_bytes(self.bytes)}"
        return f"<Report {clean(self.title)!r}: {count(len(self.parties), 'site')}, {cost}>"

    def _repr_html_(self) -> str:
        from tacit.report import card  # noqa: PLC0415  (it knows all protocols, which take a second to import)

        return card.render_report(self)

    def __rich__(self) -> Group:
        return text.render(self)

    def to_text(self, width: int = 100) -> str:
        """Return the report for a terminal or a mail, without colours."""
        console = Console(
            file=io.StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False
        )
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can write; `from_dict` reads them back."""
        return dict(plain(dataclasses.asdict(self)))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Report:
        """Return the report that `to_dict` wrote."""
        try:
            return msgspec.convert(_by_facts(values), cls)
        except msgspec.ValidationError as error:
            raise LocalError(f"this is not a tacit report: {error}; pass what Report.to_dict() returned") from error

    @property
    def facts(self) -> list[Told]:
        """Who learnt which fact from whom, how often; `opens` says what each role knows after the whole run."""
        return list_told(self.learnt)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content: what a signature under the report refers to."""
        content = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained page. Readers see the old file or the new one, never a half."""
        from tacit.report import html  # noqa: PLC0415  (matplotlib takes half a second to import: only who draws waits)

        return write_whole(path, html.render(self).encode(), "the report")


def _by_facts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report's values with facts where one of 0.1.0 has prose: facts that have the prose for a name."""

    def line(found: Any, name: str) -> Any:
        if not isinstance(found, Mapping) or not isinstance(found.get(name), str):
            return found
        return {
            **{key: value for key, value in found.items() if key != name},
            "facts": [dataclasses.asdict(fact_called(found[name]))],
        }

    prose = {"opens": "what", "learnt": "learnt"}
    return {
        key: [line(each, prose[key]) for each in value] if key in prose and isinstance(value, (list, tuple)) else value
        for key, value in values.items()
    }


# One report of several runs that belong together, such as the steps of a pipeline


def combine(name: str, steps: dict[str, Report]) -> Report:
    """Return the report of all steps: what they disclosed and cost together, with quality and history of the last."""
    reports = list(steps.values())
    last = reports[-1]
    return Report(
        title=last.title.replace(last.estimator, f"{name} ({' > '.join(report.estimator for report in reports)})", 1),
        estimator=name,
        params={f"{step}__{key}": value for step, report in steps.items() for key, value in report.params.items()},
        partition=last.partition,
        runtime=last.runtime,
        protection="; ".join(_once(report.protection for report in reports if report.rounds)) or last.protection,
        parties={party: held for report in reversed(reports) for party, held in report.parties.items()},
        rounds=sum(report.rounds for report in reports),
        seconds=sum(report.seconds for report in reports),
        cpu=dict(sum((Counter(report.cpu) for report in reports), Counter())),
        bytes=sum(report.bytes for report in reports),
        history=last.history,
        traffic=_one_after_the_other(reports),
        opens=_once(opened for report in reports for opened in report.opens),
        learnt=unite(row for report in reports for row in report.learnt),
        not_protected=_once(line for report in reports for line in report.not_protected),
        warnings=_once(line for report in reports for line in report.warnings),
        comparison=last.comparison,
        figures=_figures(steps),
        scores=last.scores,
        metric=last.metric,
        evaluations=last.evaluations,
        candidates=last.candidates,
        description=next((report.description for report in reports if report.description is not None), None),
        release=last.release,
    )


def _figures(steps: dict[str, Report]) -> dict[str, float | int | str] | None:
    """Return the figures of all steps; one that several have stands under the name of each."""
    times = Counter(label for report in steps.values() for label in report.figures or {})
    return {
        label if times[label] == 1 else f"{label}, {step}": value
        for step, report in steps.items()
        for label, value in (report.figures or {}).items()
    } or None


def _one_after_the_other(reports: Sequence[Report]) -> list[tuple[int, int]]:
    points, rounds, size = list[tuple[int, int]](), 0, 0
    for report in reports:
        points += [(rounds + at, size + sent) for at, sent in report.traffic]
        rounds, size = rounds + report.rounds, size + report.bytes
    return points


def _once(lines: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(lines))
