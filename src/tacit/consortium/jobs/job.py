"""A job: what is proposed to the parties, what they sign, and what the transcript of its run starts from.

Its bytes are canonical JSON, so that everybody signs the same ones; a job that was written in any other way is refused.
Every field has a type and bounds, and every parameter is checked against its declaration (`protocols.parameters`),
before anything is stored or computed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from tacit.choreo import Asker, Coordinator, Holder, Labeller, Roster
from tacit.choreo.declaration import pairs_of, show_short
from tacit.choreo.protocol import Cost
from tacit.consortium.jobs.rehearsal import check_params, takes
from tacit.consortium.membership.names import check_name
from tacit.consortium.site.settings import Column, Label, Moment, Name, Names, Partition, Terms, file_safe
from tacit.errors import LocalError, PeerError
from tacit.federation.checks import FEWEST
from tacit.protocols.parameters import CLASSES, COLUMNS, PARAMETERS, ROWS
from tacit.registry import PROTOCOLS, find_fault, job_protocols, kind_of

LARGEST = 1_000_000  # bytes of a proposal
PARTIES = 100
QUOTED = 1000  # characters of an error that quotes a proposal
AGAIN = "ask its author to submit it again"
YEARS = (2000, 2999)  # in which a job may expire: arithmetic with times near year 1 or 9999 overflows

Columns = Annotated[tuple[Column, ...], msgspec.Meta(min_length=1, max_length=COLUMNS)] | Literal["all"]
Rows = Annotated[int, msgspec.Meta(ge=1, le=ROWS)]

ROLES = ("coordinator", "labeller", "asker")
SOURCE = ("choreo", "numeric", "crypto", "protocols")


class Job(Terms, frozen=True, kw_only=True):
    """A proposal in full: its terms, and what is to be done on them.

    parties: the data holders, in public order; the coordinator is none of them.
    columns: what each party brings. rows: how many records each party is expected to bring; None where that is not
    agreed.
    protocol: a study, of which `params` has the steps, an alignment, or a protocol that a package brings.
    params: of the protocol; dictionaries as {"pairs": [[key, value], ...]}.
    disclosure: the ledger template of the protocol. Each party rehearses it and compares.
    cost: an estimate; None if no rows are declared.
    source: SHA-256 of the source of the protocols, so that everybody walks the same text.
    """

    id: Name
    protocol: Name
    params: Annotated[dict[Name, Any], msgspec.Meta(max_length=len(PARAMETERS))]
    parties: Annotated[Names, msgspec.Meta(min_length=1, max_length=PARTIES)]
    coordinator: Name
    partition: Partition
    asker: Name
    columns: Annotated[dict[Name, Columns], msgspec.Meta(max_length=PARTIES)]
    rows: Annotated[dict[Name, Rows | None], msgspec.Meta(max_length=PARTIES)]
    classes: Annotated[tuple[Label, ...], msgspec.Meta(min_length=1, max_length=CLASSES)] | None = None
    expires: Moment
    disclosure: Annotated[str, msgspec.Meta(max_length=100_000)]
    cost: Cost | None
    submitter: Name
    version: Annotated[str, msgspec.Meta(max_length=50)]
    source: Annotated[str, msgspec.Meta(max_length=64)]

    def __post_init__(self) -> None:
        checks = (_check_names, _check_texts, _check_time, _check_split, _check_parameters, _check_columns)
        for check in (*checks, _check_absence):
            check(self)

    @staticmethod
    def from_bytes(data: bytes) -> Job:
        """Return a job as another member sent it; whatever is wrong with it is one `PeerError`."""
        if len(data) > LARGEST:
            size = f"the proposal has {len(data)} bytes, and a job has at most {LARGEST}"
            raise PeerError(f"{size}: ask its author for a smaller one")
        try:
            job = msgspec.json.decode(data, type=Job)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            fault = "it is nested too deeply" if isinstance(error, RecursionError) else shorten(str(error))
            raise PeerError(f"the proposal is not a job of this version: {fault}; {AGAIN}") from None
        if job.canonical() != data:
            raise PeerError(f"the proposal is not in canonical form, so its signature may mean two things: {AGAIN}")
        return job

    def canonical(self) -> bytes:
        """Return the bytes that are signed."""
        return msgspec.json.encode(self, order="sorted")

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes, in hex."""
        return hashlib.sha256(b"tacit job 1\n" + self.canonical()).hexdigest()

    @property
    def roster(self) -> Roster:
        """Who takes which role in the run."""
        labeller = {Labeller: (self.labeller,)} if self.labeller else {}
        return Roster({Holder: self.parties, **labeller, Asker: (self.asker,), Coordinator: (self.coordinator,)})

    @property
    def arguments(self) -> dict[str, Any]:
        """What the protocol is called with."""
        known = takes(self.protocol)
        declared: dict[str, Any] = {}
        if "records" in known and self.partition == "horizontal":
            declared["records"] = self.records
        if "class_names" in known and self.classes is not None:
            declared["class_names"] = self.classes
        return {**declared, **{name: restore(value) for name, value in self.params.items()}}

    @property
    def records(self) -> int | None:
        """All records together, as far as declared: the same ones at everybody unless the split is horizontal."""
        counts = [n for n in self.rows.values() if n is not None]
        return (sum(counts) if self.partition == "horizontal" else max(counts)) if counts else None

    @property
    def expiry(self) -> str:
        """What is said of a job whose time is over."""
        return f"the job expired at {self.expires:%Y-%m-%d %H:%M} UTC: submit it again"

    def without(self, absent: Sequence[str]) -> Job:
        """Return the job as it is played without these parties; the job itself if nobody is absent."""
        if not absent:
            return self
        kept = tuple(party for party in self.parties if party not in absent)
        asker = self.asker if self.asker in kept else next(iter(kept), "")
        sites = (*kept, self.coordinator)
        cost = self.cost and self.cost.between(sites)
        return msgspec.structs.replace(
            self,
            parties=kept,
            asker=asker,
            columns={party: self.columns[party] for party in kept},
            rows={party: self.rows[party] for party in kept},
            cost=cost,
            on_absence="wait",  # of this run; the job that people agreed to says what may become of it
        )

    def expired(self, now: datetime) -> bool:
        """Return whether it can no longer be accepted or started."""
        return now >= self.expires


def _check_names(job: Job) -> None:
    for name in (*job.parties, job.coordinator, job.asker, job.submitter):
        check_name(name)
    if not job.parties or len(set(job.parties)) != len(job.parties):
        raise LocalError(f"the job's parties are {show_short(list(job.parties))}: name each data holder once")
    if job.coordinator in job.parties:
        raise LocalError(f"{job.coordinator!r} is both coordinator and a data holder: name a site without data")
    if len(job.parties) < FEWEST and not job.allow_two_parties:
        few = f"the job has {len(job.parties)} data holders"
        why = f"below {FEWEST} a sum minus one's own part IS the others'"
        raise LocalError(f"{few}, and {why}: add a party, or accept it with allow_two_parties = true")
    known = f"its parties ({', '.join(job.parties)})"
    for role in ROLES[1:]:
        name = getattr(job, role)
        if name is not None and name not in job.parties:
            raise LocalError(f"the job's {role} {name!r} is not one of {known}: name one of them")
    for field in ("columns", "rows"):
        if set(getattr(job, field)) != set(job.parties):
            unknown = show_short([n for n in getattr(job, field) if n not in job.parties])
            raise LocalError(f"the job's {field} do not fit {known}, unknown: {unknown}: correct the names")
    sites = {*job.parties, job.coordinator}
    if job.cost is not None and set(job.cost.bytes) != sites:
        raise LocalError("the job's cost is not that of its sites: submit it again")


def _check_columns(job: Job) -> None:
    """Refuse a holder that brings nothing: it would count as one of the many behind whom a record hides."""
    for party, names in job.columns.items():
        if not names or (names != "all" and len(set(names)) != len(names)):
            given = f"the job's columns of {party} are {show_short(list(names))}"
            raise LocalError(f"{given}: name at least one, each once, or leave the party out")
    if job.classes is not None and len(set(job.classes)) != len(job.classes):
        raise LocalError("the job names a class twice: correct classes")


def _check_absence(job: Job) -> None:
    """Refuse to go on without a party where no run without one can be."""
    if job.on_absence == "wait":
        return
    if job.partition != "horizontal" or kind_of(job.protocol) != "records":
        split = f"{job.protocol} over a {job.partition} split"
        raise LocalError(f"the job's on_absence is 'leave', and {split} needs what every party has: use 'wait'")
    if len(job.parties) <= FEWEST and not job.allow_two_parties:
        few = f"without one of its {len(job.parties)} parties there are fewer than {FEWEST}"
        raise LocalError(f"the job's on_absence is 'leave', and {few}: use 'wait', or add a party")


def _check_time(job: Job) -> None:
    first, last = YEARS
    if job.expires.utcoffset() != timedelta(0) or not first <= job.expires.year <= last:
        raise LocalError(f"the job expires at {job.expires}: give a time in UTC, of the years {first} to {last}")


def _check_parameters(job: Job) -> None:
    """Refuse names, types and values that are not declared, before any value is used."""
    if job.protocol not in PROTOCOLS or not PROTOCOLS[job.protocol].brings:
        raise refuse_protocol(job.protocol)
    check_params(job.protocol, job.params)
    for name, value in job.params.items():
        _refuse(find_fault(job.protocol, name, value))
        restore(value)


def _refuse(fault: str | None) -> None:
    if fault is not None:
        raise LocalError(f"the job's {fault}: correct it")


def _check_split(job: Job) -> None:
    split = f"the job's partition is {job.partition!r}"
    if job.params.get("partition", job.partition) != job.partition:
        raise LocalError(f"{split} and its parameter partition differs: leave the parameter out")
    if kind_of(job.protocol) == "ids" and job.partition != "vertical":
        raise LocalError(f"{job.protocol} is for columns of the same records, and {split}: correct one of them")


def _check_texts(job: Job) -> None:
    if not is_id(job.id) or not file_safe(job.dataset):
        unfit = f"the job's id or dataset {job.dataset!r} cannot name a file"
        raise LocalError(f"{unfit}: use letters, digits, '.', - and _")
    if not all(map(is_id, job.builds_on)) or len({job.id, *job.builds_on}) != len(job.builds_on) + 1:
        given = f"the job builds on {show_short(list(job.builds_on))}"
        raise LocalError(f"{given}: give the ids, of 32 hex digits, of earlier jobs, each once")
    # people read these in a terminal before they approve; control characters could hide or change what they see
    for field in ("purpose", "legal_basis"):
        text = getattr(job, field)
        if not text.strip() or not text.isprintable():
            raise LocalError(f"the job's {field} is {show_short(text)}: write one line of text")


def refuse_protocol(name: str) -> LocalError:
    """Return the refusal of a job that names what only the steps of a study play."""
    step = "write estimator = 'SVC', or [[step]] with use = the estimator that asks for it"
    return LocalError(f"no job may name the protocol {name!r}: {step}, or name one of {', '.join(job_protocols())}")


def shorten(text: str) -> str:
    """Return the beginning of a text that may quote whatever somebody sent."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]} ..."


def find_id(known: Sequence[str], begins: str, which: str) -> str:
    """Return the one id that begins like that; `which` says in an error whose or what the known ones are."""
    found = [name for name in known if begins and name.startswith(begins)]
    if len(found) != 1:
        listed = ", ".join(found or known) or "none"
        raise LocalError(f"{len(found)} jobs {which} begin with {begins!r}: give the id of one ({listed})")
    return found[0]


def is_id(text: str) -> bool:
    """Return whether it could be a job's id, and so the name of a folder."""
    return re.fullmatch(r"[0-9a-f]{32}", text) is not None


def restore(value: Any) -> Any:
    """Return the parameter that `plain` wrote."""
    if isinstance(value, dict):
        pairs = pairs_of(value, len(value["pairs"])) if isinstance(value.get("pairs"), list) else None
        keys = None if pairs is None else [k for k, _ in pairs if isinstance(k, str | int | float)]
        if pairs is None or keys is None or len(keys) < len(pairs):
            raise LocalError(
                f"the job's parameters have {show_short(value)}: write a table as {{'pairs': [[key, value]]}}"
            )
        return {k: restore(v) for k, v in pairs}
    return tuple(restore(v) for v in value) if isinstance(value, list) else value


def source_files(protocol: str) -> dict[str, Path]:
    """Return every source file that decides what the protocol does, by name: ours, and those of who brings it."""
    root = Path(__file__).parents[2]
    ours = {file.relative_to(root).as_posix(): file for package in SOURCE for file in (root / package).rglob("*.py")}
    return {**ours, **PROTOCOLS.source_of(protocol)}


@cache
def source_hash(protocol: str) -> str:
    """Return SHA-256 over every source file that decides what the protocol does, in hex."""
    total = hashlib.sha256()
    for name, file in sorted(source_files(protocol).items()):
        text = file.read_bytes()
        total.update(len(name.encode()).to_bytes(8, "little") + name.encode() + len(text).to_bytes(8, "little") + text)
    return total.hexdigest()
