"""Verification of a dossier, by the fingerprint of the consortium's registrar and nothing else.

Every file is the one that its site signed; the job is its submitter's; every site's yes is its own; every chain of the
ledger is whole and signed by this site; every message of it is of a kind that the sites agreed to; and the ledger as
data says the same, line for line. NOT found: what a site left out of its own chain, for which `tacit audit verify`
compares those of several sites.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from tacit.choreo.fact import UNKNOWN, read_names
from tacit.choreo.ledger import line_of_message
from tacit.consortium.audit.chain import Reading
from tacit.consortium.audit.comparison import shown, signer
from tacit.consortium.dossier.bag import CONTEXT, OTHERWISE, SIGNATURE, Signature, signed_bytes, unpack
from tacit.consortium.dossier.contents import LEDGER, MEMBERS, PROPOSAL, START, Files, write_ledger
from tacit.consortium.jobs import answers
from tacit.consortium.jobs.answers import Answer, Proposal, Start
from tacit.consortium.jobs.job import Job
from tacit.consortium.membership.identity import verify
from tacit.consortium.membership.members import Members
from tacit.errors import LocalError, PeerError

T = TypeVar("T")


@dataclass(frozen=True)
class Verified:
    """A dossier that holds: of which job, made by whom, with so many sites that agreed and messages in the ledger."""

    job: Job
    site: str
    agreed: tuple[str, ...]
    rows: int
    chains: int


def verify_dossier(data: bytes, pinned: str) -> Verified:
    """Return what a dossier is of; raise in one line what does not hold. `pinned` is the registrar's fingerprint."""
    tags, files = unpack(data)
    members = Members.read(_take(files, MEMBERS), pinned, what=f"{MEMBERS} of the dossier")
    keys = members.keys()
    made = _read(_take(tags, SIGNATURE), Signature)
    _check(keys, made.site, CONTEXT, signed_bytes(tags), made.signature)
    job = _check_proposal(files, keys)
    agreed = _check_start(files, keys, job)
    readings = _check_chains(files, keys, made.site, job)
    _check_disclosed(readings, job)
    _check_ledger(files, readings)
    rows = sum(len(reading.entries) for reading in readings.values())
    return Verified(job, made.site, agreed, rows, len(readings))


Keys = dict[str, list[bytes]]


def _check_proposal(files: Files, keys: Keys) -> Job:
    proposal = _read(_take(files, PROPOSAL), Proposal)
    job = Job.from_bytes(proposal.job.encode())
    _check(keys, job.submitter, answers.PROPOSAL, proposal.job.encode(), proposal.signature)
    return job


def _check_start(files: Files, keys: Keys, job: Job) -> tuple[str, ...]:
    start = _read(_take(files, START), Start)
    for answer in start.answers:
        _check_answer(answer, keys, job)
    lacking = set(job.roster.parties) - {answer.site for answer in start.answers}
    if lacking or start.job != job.id:
        raise LocalError(f"the dossier lacks the answer of {', '.join(sorted(lacking)) or 'its own job'}: {OTHERWISE}")
    return tuple(answer.site for answer in start.answers)


def _check_answer(answer: Answer, keys: Keys, job: Job) -> None:
    about = answer.record.job == job.digest and answer.record.party == answer.site
    if not (about and answer.accepts):
        raise LocalError(f"the answer of {answer.site} in the dossier does not agree to job {job.id}: {OTHERWISE}")
    _check(keys, answer.site, answers.CONSENT, answer.record.canonical(), answer.signature)


def _check_chains(files: Files, keys: Keys, site: str, job: Job) -> dict[str, Reading]:
    chains = {name.removeprefix("audit/"): content for name, content in files.items() if name.startswith("audit/")}
    readings = {name: Reading.of_lines(content.splitlines(keepends=True)) for name, content in chains.items()}
    for name, reading in readings.items():
        begin, signed = reading.begin, reading.signature
        if reading.breaks or begin is None or signed is None:
            raise LocalError(f"audit/{name} of the dossier is not a whole chain: {OTHERWISE}")
        whole = (signed.rows, signed.head) == (len(reading.entries), reading.hashes[-1])
        own = begin.party == site and begin.about.get("job") == job.digest
        if not (whole and own and signer(reading, keys.get(site, []))):
            raise LocalError(f"audit/{name} of the dossier is not signed by {site} for job {job.id}: {OTHERWISE}")
    if not readings:
        raise LocalError(f"the dossier has no audit of its run: {OTHERWISE}")
    return readings


def _check_disclosed(readings: dict[str, Reading], job: Job) -> None:
    """Raise if a message tells what the disclosure of the job, to which everybody said yes, does not list."""
    agreed = frozenset(job.disclosure.splitlines())
    for name, reading in readings.items():
        for entry in reading.entries:
            facts = read_names(entry.tells)
            if line_of_message(entry.place, entry.sender_role, entry.receiver_role, facts) not in agreed:
                told = f"{shown(entry.sender)} told {shown(entry.receiver)} at {shown(entry.place)}"
                raise LocalError(f"audit/{name} of the dossier: {told} what nobody agreed to: ask these sites why")


def _check_ledger(files: Files, readings: dict[str, Reading]) -> None:
    told = _read(_take(files, LEDGER), dict[str, Any])
    known = msgspec.json.decode(msgspec.json.encode(write_ledger(readings)))
    if told.get("rows") != known["rows"] or not _are_same_facts(told.get("facts"), known["facts"]):
        raise LocalError(f"{LEDGER} of the dossier does not say what its signed chains say: {OTHERWISE}")


def _are_same_facts(told: Any, known: dict[str, dict[str, str]]) -> bool:
    """Return whether facts say of whom what is learnt as they do here; their prose may be that of another version."""
    if not isinstance(told, dict) or set(told) != set(known):
        return False
    fields = ("subject", "kind", "granularity")
    here = {name: fact for name, fact in known.items() if fact["kind"] != UNKNOWN}
    return all(
        [told[name].get(field) for field in fields] == [fact[field] for field in fields] for name, fact in here.items()
    )


def _check(keys: Keys, name: str, context: str, data: bytes, signature: str) -> None:
    """Raise unless one of the keys that the member ever had signed this; a key may be replaced since."""
    for key in keys.get(name, []):
        try:
            verify(key, context, data, bytes.fromhex(signature))
        except (PeerError, ValueError):
            continue
        return
    raise LocalError(f"the signature of {name} on the {context} of the dossier does not hold: {OTHERWISE}")


def _take(files: Files, name: str) -> bytes:
    if name not in files:
        raise LocalError(f"the dossier has no {name}: {OTHERWISE}")
    return files[name]


def _read(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError):
        raise LocalError(f"the dossier holds a file that cannot be read: {OTHERWISE}") from None
