"""One report of several runs that belong together, such as the steps of a pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tacit.report.disclosures import unite
from tacit.report.report import Report


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
