"""The description of a dossier as an RO-Crate 1.2, by the Five Safes profile 0.4.

Its review actions say what was checked before and after the run: validation by every site's preflight, sign-off by
every site's consent, disclosure by the comparison of the ledger with what was agreed to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import resources
from string import Template
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tacit.cards import escape, fold_away, make_table
from tacit.consortium.dossier.contents import Case, Files
from tacit.consortium.jobs.answers import Answer
from tacit.report import Report
from tacit.report.decision import Point, decide, say_status
from tacit.report.evaluation import figures_of
from tacit.report.release import HEADS, list_lines
from tacit.report.words import cost_of, count, figure, human_bytes, listing

CRATE, PROFILE = "https://w3id.org/ro/crate/1.2", "https://w3id.org/5s-crate/0.4"
WORKFLOW_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
METADATA, PREVIEW = "ro-crate-metadata.json", "ro-crate-preview.html"
SHP, SCHEMA = "https://w3id.org/shp#", "http://schema.org/"
LICENCE = "#terms"
KINDS = {".json": "application/json", ".jsonl": "application/jsonl", ".html": "text/html"}
NAMES = {
    "job/proposal.json": "the job, signed by its submitter",
    "job/start.json": "the answers of all sites, each signed by its site",
    "job.json": "the job",
    "consents.json": "who agreed, by which policy and people",
    "ledger.json": "every message of the run, with the facts that it told",
    "members.json": "the members of the consortium and their keys, signed by the registrar",
    "annex.json": "annex for a data-protection impact assessment",
    "model-card.json": "model card",
    "sbom.cdx.json": "software of this site (CycloneDX)",
    "report.json": "report",
    "report.html": "report, as a page",
    PREVIEW: "the dossier, as a page",
}
Entity = dict[str, Any]


def describe(case: Case, files: Files) -> Entity:
    """Return the crate's metadata: what each file is, who asked for the run, who approved it and how it came out."""
    job, actions = case.job, [_validation(case), *map(_sign_off, case.start.answers), _disclosure(case)]
    return {
        "@context": [f"{CRATE}/context", {"shp": SHP}],
        "@graph": [
            {"@id": METADATA, "@type": "CreativeWork", "about": _at("./"), "conformsTo": _at(CRATE)},
            _root(case, files, actions),
            {"@id": PROFILE, "@type": "Profile", "name": "Five Safes RO-Crate profile"},
            {"@id": WORKFLOW_CRATE, "@type": "Profile", "name": "Workflow RO-Crate profile"},
            {"@id": LICENCE, "@type": "CreativeWork", "name": "Terms", "description": _terms(case)},
            {
                "@id": "job/",
                "@type": "Dataset",
                "name": f"{job.protocol}, the protocol that was played",
                "conformsTo": _at(WORKFLOW_CRATE),
                "description": f"tacit {job.version}, source {job.source}",
                "hasPart": [_at(name) for name in files if name.startswith("job/")],
            },
            _run(case, files),
            *_people(case),
            *actions,
            *(_file(name, content) for name, content in files.items()),
        ],
    }


def identify(case: Case) -> str:
    """Return the URN of the dossier: of this job, at this site."""
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'tacit dossier {case.job.digest} {case.identity.name}')}"


def _root(case: Case, files: Files, actions: Sequence[Entity]) -> Entity:
    job = case.job
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Dossier of job {job.id[:8]}: {job.purpose}",
        "description": f"What was asked, agreed, sent and learnt in a run, as {case.identity.name} has it",
        "identifier": identify(case),
        "conformsTo": _at(PROFILE),
        "datePublished": _time(case.now),
        "license": _at(LICENCE),
        "publisher": _at(_site(case.identity.name)),
        "mainEntity": _at("job/"),
        "mentions": [_at(RUN), *(_at(action["@id"]) for action in actions)],
        "sourceOrganization": _at("#project"),
        "hasPart": [_at("job/"), *(_at(name) for name in files if not name.startswith("job/"))],
    }


RUN = "#run"


def _run(case: Case, files: Files) -> Entity:
    finished = case.finished
    done = finished is not None and finished.ok
    made = [name for name in ("ledger.json", "report.json", "model-card.json") if name in files]
    return {
        "@id": RUN,
        "@type": "CreateAction",
        "name": f"Run of job {case.job.id}, attempt {case.start.attempt}",
        "agent": _at("#submitter"),
        "instrument": _at("job/"),
        "object": [_at("job/proposal.json")],
        "result": [_at(name) for name in made] if done else [],
        "endTime": _time(case.ended),
        "actionStatus": f"{SCHEMA}{'Completed' if done else 'Failed'}ActionStatus",
    }


def _validation(case: Case) -> Entity:
    passed = f"Preflight of all {len(case.start.answers)} sites: passed"
    return _assess("#validation", "ValidationCheck", passed, case.start.answers[0].record.at, "#software", "./")


def _sign_off(answer: Answer) -> Entity:
    record = answer.record
    people = f" by {', '.join(record.by)}" if record.by else " by its policy"
    name = f"{answer.site} {record.verdict}s{people}, policy {record.policy[:16] or 'of a coordinator'}"
    action = _assess(f"#signoff-{answer.site}", "SignOff", name, record.at, _site(answer.site), "./")
    return {**action, "object": [_at("./"), _at("job/"), _at("#project")]}


def _disclosure(case: Case) -> Entity:
    name = "The run sent nothing that the agreed disclosure does not list: enforced at every site, see ledger.json"
    return _assess("#disclosure", "DisclosureCheck", name, case.ended, "#software", "./")


def _assess(name: str, kind: str, says: str, at: datetime, agent: str, about: str) -> Entity:
    return {
        "@id": name,
        "@type": "AssessAction",
        "additionalType": _at(f"{SHP}{kind}"),
        "name": says,
        "endTime": _time(at),
        "object": _at(about),
        "instrument": _at(PROFILE),
        "agent": _at(agent),
        "actionStatus": f"{SCHEMA}CompletedActionStatus",
    }


def _people(case: Case) -> list[Entity]:
    job = case.job
    sites = [{"@id": _site(name), "@type": "Organization", "name": name} for name in job.roster.parties]
    project = {
        "@id": "#project",
        "@type": "Project",
        "name": job.purpose,
        "identifier": f"{case.members.consortium}: job {job.id}",
        "member": [_at(_site(name)) for name in job.roster.parties],
    }
    asks: Entity = {"@id": "#submitter", "@type": "Person", "name": job.submitter, "memberOf": _at("#project")}
    asks["affiliation"] = _at("#consortium")
    consortium = {"@id": "#consortium", "@type": "Organization", "name": case.members.consortium}
    software: Entity = {"@id": "#software", "@type": "SoftwareApplication", "name": f"tacit {job.version}"}
    software |= {"version": job.version, "url": f"pkg:generic/tacit@{job.version}"}
    software["provider"] = _at(_site(case.identity.name))
    return [project, asks, consortium, software, *sites]


def _terms(case: Case) -> str:
    days = case.job.retention_days
    return f"For the purpose of the job, under {case.job.legal_basis}; results are kept for {days} days."


def _file(name: str, content: bytes) -> Entity:
    about = NAMES.get(name, "the ledger of this site as a signed chain")
    kind = KINDS[name[name.rindex(".") :]]
    return {"@id": name, "@type": "File", "name": about, "encodingFormat": kind, "contentSize": str(len(content))}


def _site(name: str) -> str:
    return f"#site-{name}"


def _at(name: str) -> Entity:
    return {"@id": name}


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


# The dossier as a page for people: one file without script, which fetches nothing. Names come from others


def render(case: Case, files: Files) -> str:
    """Return the page: what somebody who decides needs to know, the result, method and cost, and what is in here."""
    job, annex = case.job, case.annex
    page = resources.files("tacit.consortium.dossier").joinpath("page.html").read_text(encoding="utf-8")
    return Template(page).substitute(
        title=escape(f"Dossier of job {job.id[:8]}"),
        subtitle=escape(f"{job.purpose}. As {case.identity.name} has it, {case.now:%Y-%m-%d %H:%M} UTC."),
        status=escape(say_status()),
        decision=_decision(case),
        result=_result(case.report),
        facts=_facts(case),
        recipients=_recipients(annex["recipients"]),
        consents=_consents(case),
        roles=make_table(("role", "who"), ((k, _words(v)) for k, v in annex["roles"].items())),
        measures=_list(annex["measures"]),
        risks=_list([*annex["coalitions"], *annex["residual risks"]]),
        files=_index(files),
    )


def _decision(case: Case) -> str:
    """Return the page of the report by which people decide, after who asked for what."""
    job, ended = case.job, case.finished
    asked = (
        f"{job.submitter} asked for: {job.purpose}. Legal basis: {job.legal_basis}.",
        f"Data of {listing(job.parties)}; {job.coordinator} coordinated.",
        f"The run {'finished' if ended and ended.ok else 'did not finish'}.",
    )
    points = (Point("Who asked for what, and why", asked), *decide(case.report))
    return "".join(f"<dt>{escape(point.heading)}</dt><dd>{_say(point.lines)}</dd>" for point in points)


def _say(lines: Sequence[str]) -> str:
    return _list(lines) if len(lines) > 1 else escape(lines[0])


def _result(report: Report) -> str:
    """Return how good the model is, and what attacks on it found."""
    judged = "".join(
        f"<h3>Evaluated on {escape(each.name)}</h3>" + make_table(("figure", "all", *each.groups), figures_of(each))
        for each in report.evaluations.values()
    )
    measured = ((name, figure(value)) for name, value in (report.scores or {}).items())
    scores = make_table((report.metric, "score"), measured)
    attacked = make_table(HEADS, list_lines(report.release)) if report.release else ""
    checked = f"<h3>Release check</h3>{attacked}" if attacked else ""
    return f"{scores}{judged}{checked}" or "<p>No score was measured in this run.</p>"


def _facts(case: Case) -> str:
    job, report = case.job, case.report
    rows = sum(len(reading.entries) for reading in case.readings.values())
    lines = [
        ("method", f"{report.estimator}, {job.partition}"),
        ("cost", cost_of(report.rounds, report.bytes, report.seconds)),
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
    inside = fold_away("what it learns, and attacks that start from it", learns + make_table(heads, tried))
    head = f"<h3>{escape(one['name'])} <small>{escape(', '.join(one['roles']))}</small></h3>"
    return f'<section>{head}<p class="line">{escape(one["line"])}</p>{inside}</section>'


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


def _index(files: Files) -> str:
    """Return the files, each with a link to it; the page itself and the crate's description are written last."""
    rows = (
        f'<tr><th scope="row"><a href="{escape(name)}">{escape(name)}</a></th>'
        f"<td>{escape(NAMES.get(name, 'the ledger as a signed chain'))}</td><td>{human_bytes(len(content))}</td></tr>"
        for name, content in files.items()
    )
    head = "<tr><th>file</th><th>what it is</th><th>size</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in dict.fromkeys(lines)) + "</ul>"


def _words(value: Any) -> str:
    return value if isinstance(value, str) else listing(value)
