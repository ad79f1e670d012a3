"""The report as one page. Everything that is not our own text goes through `_esc`: names come from others."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any

from tacit.cards import Made
from tacit.report import plots, score_plots, search_plot
from tacit.report.decision import decide, say_line
from tacit.report.description import HEADS, Description, rows_of, say_rule
from tacit.report.disclosures import Line, fold_ledger
from tacit.report.evaluation import Evaluation, figures_beside, figures_of, heads_beside
from tacit.report.flow import flow
from tacit.report.release import HEADS as HEADS_OF_RELEASE
from tacit.report.release import SEEN, Release, list_lines
from tacit.report.words import clean, figure, human_bytes, human_seconds, list_candidates, seen_bytes, summary

if TYPE_CHECKING:
    from tacit.report.report import Report


SECTIONS = {  # of the page, in order, by their ids
    "decide": "To decide",
    "warnings": "Warnings",
    "result": "Result",
    "release": "Release",
    "table": "The table",
    "not-protected": "Not protected",
    "cost": "Method and cost",
    "ledger": "Every disclosure",
}


def render(report: Report) -> str:
    """Return the whole page: no script, and nothing to fetch."""
    template = resources.files("tacit.report").joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=_esc(report.title),
        summary=_esc(summary(report)),
        contents=_contents(report),
        decision=_decision(report),
        parties=_table(("site", "held"), report.parties.items()),
        disclosures=_disclosures(report),
        not_protected=_aside(report.not_protected, "Nothing was named."),
        warnings=_aside(report.warnings, "None."),
        description=_description(report.description),
        result=_result(report),
        release=_release(report.release),
        cost=_cost(report),
        plots=_plots(report),
        estimator=_esc(report.estimator),
        parameters=_table(("parameter", "value"), ((name, _value(value)) for name, value in report.params.items())),
        fingerprint=report.fingerprint,
    )


def _esc(text: object) -> str:
    return html.escape(clean(text))


def _table(heads: Sequence[str], rows: Iterable[Iterable[object]], *, numbers: bool = False) -> str:
    last = ' class="n"' if numbers else ""
    head = f"<tr><th>{_esc(heads[0])}</th><th{last}>{_esc(heads[1])}</th></tr>"
    body = "".join(f'<tr><th scope="row">{_esc(name)}</th><td{last}>{_esc(value)}</td></tr>' for name, value in rows)
    return (
        f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'
        if body
        else "<p>None.</p>"
    )


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else figure(value)


def _contents(report: Report) -> str:
    """Return links to the sections that there are."""
    there = {"table": report.description, "release": report.release}
    links = (f'<a href="#{key}">{name}</a>' for key, name in SECTIONS.items() if there.get(key, True) is not None)
    return f'<nav class="contents" aria-label="Contents">{" ".join(links)}</nav>'


def _decision(report: Report) -> str:
    each = ((point.heading, "".join(f"<li>{_esc(line)}</li>" for line in point.lines)) for point in decide(report))
    points = (f'<li><div class="who">{_esc(heading)}</div><ul>{lines}</ul></li>' for heading, lines in each)
    return f'<ul class="opens">{"".join(points)}</ul>'


def _disclosures(report: Report) -> str:
    lines = fold_ledger(report.learnt, list(report.parties))
    if not lines:
        return "<p>No message left any site.</p>"
    head = '<tr><th>who</th><th>learnt</th><th>from whom</th><th class="n">how often</th><th class="n">bytes</th></tr>'
    body = "".join(_ledger_line(line, report) for line in lines)
    return f'<div class="scroll ledger"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _ledger_line(line: Line, report: Report) -> str:
    name, _, learnt = say_line(line, report).partition(": ")
    what = f'<td>{_esc(learnt)}<code class="message">{_esc(name)}</code></td><td>{_esc(line.senders)}</td>'
    cells = f'{what}<td class="n">{line.times}</td><td class="n">{seen_bytes(line.bytes)}</td>'
    return f'<tr><th scope="row">{_esc(line.who)}</th>{cells}</tr>'


def _aside(lines: list[str], nothing: str) -> str:
    items = "".join(f"<li>{_esc(line)}</li>" for line in lines)
    return f'<div class="aside"><ul>{items}</ul></div>' if items else f"<p>{nothing}</p>"


def _description(found: Description | None) -> str:
    """Return the section about the table; nothing, where nobody looked at it."""
    if found is None:
        return ""
    head = "".join(f"<th>{_esc(name)}</th>" for name in HEADS)
    body = "".join(_column(*row) for row in rows_of(found, page=True))
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    notes = _aside(found.warnings, "") if found.warnings else ""
    return f'<section id="table"><h2>The table</h2><p class="note">{_esc(say_rule(found))}</p>{table}{notes}</section>'


def _column(name: str, *cells: str) -> str:
    shown = "".join(f"<td>{cell if isinstance(cell, Made) else _esc(cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{_esc(name)}</th>{shown}</tr>'


def _result(report: Report) -> str:
    parts = [_figure(plots.scores(report.scores, report.metric))]
    if report.comparison:
        rows = [(name.replace("_", " "), figure(value)) for name, value in report.comparison.items()]
        parts += ["<h3>Compared with the centralised learner</h3>", _table(("measure", "value"), rows)]
    if report.figures:
        parts += [
            "<h3>Figures of the method</h3>",
            _table(("figure", "value"), ((n, figure(v)) for n, v in report.figures.items())),
        ]
    if report.candidates:
        found = _table(
            ("candidate", f"{report.metric} ± deviation over the folds"),
            list_candidates(report.candidates),
            numbers=True,
        )
        parts += ["<h3>What was tried</h3>", _figure(search_plot.scores_map(report.candidates, report.metric)), found]
    parts += [_evaluation(evaluation, str(i)) for i, evaluation in enumerate(report.evaluations.values())]
    return "".join(parts) or "<p>No score was measured in this run.</p>"


def _evaluation(evaluation: Evaluation, key: str) -> str:
    head = "".join(f'<th class="n">{_esc(name)}</th>' for name in ("all", *evaluation.groups))
    rows = "".join(_figures(name, values) for name, *values in figures_of(evaluation))
    table = (
        f'<div class="scroll"><table><thead><tr><th>figure</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )
    notes = f'<p class="note">{_esc(evaluation.how.capitalize())}.</p>' + (
        _aside(evaluation.warnings, "") if evaluation.warnings else ""
    )
    plots = _figure(score_plots.panels(evaluation, key))
    return f"<h3>Evaluated on {_esc(evaluation.name)}</h3>{notes}{table}{_beside(evaluation)}{plots}"


def _beside(evaluation: Evaluation) -> str:
    """Return the table of sites whose own models were judged beside the joint one; nothing if none was."""
    if not evaluation.beside:
        return ""
    head = "".join(f"<th>{_esc(name)}</th>" for name in heads_beside(evaluation))
    rows = "".join(_figures(name, values) for name, *values in figures_beside(evaluation))
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    return f"<h4>Each site alone, beside the joint model, on its own held-out records</h4>{table}"


def _figures(name: str, values: Iterable[str]) -> str:
    cells = "".join(f'<td class="n">{_esc(value)}</td>' for value in values)
    return f'<tr><th scope="row">{_esc(name)}</th>{cells}</tr>'


def _release(found: Release | None) -> str:
    """Return the section about the release gate; nothing, where nobody asked it."""
    if found is None:
        return ""
    head = "".join(f"<th>{_esc(name)}</th>" for name in HEADS_OF_RELEASE)
    body = "".join(_column(*row) for row in list_lines(found))
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    said = _esc(f"{found.how} {SEEN}".strip())
    return f'<section id="release"><h2>Release</h2><p class="note">{said}</p>{table}</section>'


def _cost(report: Report) -> str:
    figures = [
        ("Communication rounds", f"{report.rounds:,}", ""),
        ("Sent", human_bytes(report.bytes), f"<small>{report.bytes:,} bytes, of the messages seen here</small>"),
        ("Time", human_seconds(report.seconds), ""),
    ]
    body = "".join(f"<div><dt>{name}</dt><dd>{value}{small}</dd></div>" for name, value, small in figures)
    cpu = _table(("site", "CPU time"), ((name, human_seconds(s)) for name, s in report.cpu.items()), numbers=True)
    return f'<dl class="cost">{body}</dl><div class="half">{cpu}</div>'


def _plots(report: Report) -> str:
    drawn = [
        flow(report.learnt, list(report.parties)),
        plots.sent(report.learnt),
        plots.traffic(report.traffic),
        plots.history(report.history),
    ]
    return "".join(_figure(svg) for svg in drawn) or "<p>Nothing moved.</p>"


def _figure(svg: str) -> str:
    return f"<figure>{svg}</figure>" if svg else ""
