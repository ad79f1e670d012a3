"""Reports and searches as a notebook shows them: who knows what first, then how good it is and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tacit.cards import fold_away, list_lines, list_warnings, make_card, make_table
from tacit.choreo.ledger import Opened
from tacit.registry import PROTOCOLS
from tacit.report.decision import list_learnt, say_line
from tacit.report.disclosures import BESIDES, fold_ledger
from tacit.report.words import figure, list_candidates, summary

if TYPE_CHECKING:
    from tacit.report.report import Report

BEST = 5  # candidates that are shown before the rest is folded away


def render_report(report: Report) -> str:
    """Return the card of a report."""
    lines = fold_ledger(report.learnt, list(report.parties))
    learnt = [(line.who, say_line(line, report), line.senders, line.times) for line in lines]
    return make_card(
        report.title,
        summary(report),
        make_table(("who", "knows after the run"), [(who, "; ".join(facts)) for who, facts in list_learnt(report)]),
        list_warnings(report.warnings),
        make_table(("figure", "value"), _figures(report)),
        fold_away("every disclosure, from the ledger", make_table(("who", "learnt", "from", "how often"), learnt)),
        fold_away("not protected", list_lines(report.not_protected)),
        fold_away("parameters", make_table(("parameter", "value"), report.params.items())),
    )


def outermost(opens: Sequence[Opened]) -> Sequence[Opened]:
    """Return what the protocols that were asked for say that they open; those inside say it again, piece by piece."""
    return [each for each in opens if each.protocol in PROTOCOLS or each.protocol in BESIDES] or opens


def render_search(title: str, best: dict[str, Any], report: Report) -> str:
    """Return the card of a fitted search: the best candidate, and all others below it."""
    chosen = ", ".join(f"{name}={value!r}" for name, value in best.items())
    tried = list_candidates(report.candidates)
    heads = ("candidate", f"{report.metric} ± deviation over the folds")
    return make_card(
        title,
        f"best: {chosen}",
        make_table(heads, tried[:BEST]),
        fold_away(f"{len(tried) - BEST} more", make_table(heads, tried[BEST:])),
        fold_away("who learnt what", render_report(report)),
    )


def _figures(report: Report) -> list[tuple[str, str]]:
    """Return how good the result is: scores, the gap to the centralised learner, figures of the method."""
    scores = {f"{report.metric}, {name}": value for name, value in (report.scores or {}).items()}
    found = {**scores, **(report.comparison or {}), **(report.figures or {})}
    judged = {f"accuracy on {e.name}": e.accuracy for e in report.evaluations.values()}
    return [(name, figure(value)) for name, value in {**found, **judged}.items()]
