"""The dossier as a page for people: one file without script, which fetches nothing. Names come from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from string import Template
from typing import Any

from tacit.cards import escape, make_table
from tacit.consortium.dossier.contents import Case, Files
from tacit.consortium.dossier.crate import NAMES
from tacit.report.words import count, human_bytes, human_seconds, listing


def render(case: Case, files: Files) -> str:
    """Return the page: who asked for what and why, who agreed, who learnt what, what stays at risk, what is in here."""
    job, annex = case.job, case.annex
    page = resources.files("tacit.consortium.dossier").joinpath("page.html").read_text(encoding="utf-8")
    return Template(page).substitute(
        title=escape(f"Dossier of job {job.id[:8]}"),
        subtitle=escape(f"{job.purpose}. As {case.identity.name} has it, {case.now:%Y-%m-%d %H:%M} UTC."),
        facts=_facts(case),
        recipients=_recipients(annex["recipients"]),
        consents=_consents(case),
        roles=make_table(("role", "who"), ((k, _words(v)) for k, v in annex["roles"].items())),
        measures=_list(annex["measures"]),
        risks=_list([*annex["coalitions"], *annex["residual risks"]]),
        files=make_table(("file", "what it is", "size"), _index(files)),
    )


def _facts(case: Case) -> str:
    job, ended = case.job, case.finished
    rows = sum(len(reading.entries) for reading in case.readings.values())
    cost = (
        f"{count(ended.rounds, 'round')}, {human_bytes(ended.bytes)}, {human_seconds(ended.seconds)}" if ended else ""
    )
    lines = [
        ("purpose", job.purpose),
        ("legal basis", job.legal_basis),
        ("asked for by", job.submitter),
        ("data of", listing(job.parties)),
        ("coordinated by", job.roles.coordinator),
        ("method", f"{job.protocol}, {job.partition}"),
        ("came out", "finished" if ended and ended.ok else "did not finish"),
        *([("cost here", cost)] if cost else []),
        *([("without", listing(case.start.absent))] if case.start.absent else []),
        ("ledger", f"{count(rows, 'message')} in {count(len(case.readings), 'signed chain')}"),
        ("kept for", f"{job.retention_days} days, until {case.annex['retention']['until']}"),
        ("software", f"tacit {job.version}, source {job.source[:16]}"),
    ]
    return make_table(("", ""), lines)


def _recipients(recipients: Sequence[dict[str, Any]]) -> str:
    return "".join(_recipient(one) for one in recipients)


def _recipient(one: dict[str, Any]) -> str:
    learns = make_table(("fact", "what it says"), ((each["fact"], each["says"]) for each in one["learns"]))
    heads = ("attack", "shows", "takes besides", "stopped by")
    tried = ((a["attack"], a["shows"], a["takes besides"], a["stopped by"]) for a in one["infers alone"])
    attacks = make_table(heads, tried)
    head = f"<h3>{escape(one['name'])} <small>{escape(', '.join(one['roles']))}</small></h3>"
    return f'<section>{head}<p class="line">{escape(one["line"])}</p>{learns}{attacks}</section>'


def _consents(case: Case) -> str:
    rows = (
        (
            a.site,
            a.record.verdict,
            listing(a.record.by) or "policy",
            a.record.policy[:16],
            f"{a.record.at:%Y-%m-%d %H:%M}",
        )
        for a in case.start.answers
    )
    return make_table(("site", "said", "by", "policy", "when (UTC)"), rows)


def _index(files: Files) -> Iterable[tuple[str, str, str]]:
    for name, content in files.items():
        yield name, NAMES.get(name, "the ledger as a signed chain"), human_bytes(len(content))


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in dict.fromkeys(lines)) + "</ul>"


def _words(value: Any) -> str:
    return value if isinstance(value, str) else listing(value)
