"""A party's policy: which jobs it accepts by itself, which wait for its people, and which it refuses, by which rule.

Every limit in the file is the organisation's own and nobody at a terminal can approve past it: a job outside it is
refused, and the refusal names the rule. A job within all limits is accepted at once only if `automatic = true` and its
disclosure is one that was approved before; otherwise it waits for as many of the named approvers as the file asks.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from tacit.choreo.declaration import Parameter, show_short
from tacit.choreo.fact import fault_of_word
from tacit.consortium.jobs.job import Columns
from tacit.consortium.site.settings import Table, convert, file_safe, toml_of
from tacit.errors import LocalError
from tacit.federation.checks import FEWEST
from tacit.registry import parameters_called
from tacit.report.release import Limits

Some = tuple[str, ...] | Literal["any"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Value = bool | int | float | str
Values = Annotated[tuple[Value, ...], msgspec.Meta(min_length=1)]
# a holder also reads what everyone reads, and may be the one who labels or asks
READERS = {
    "coordinator": ("coordinator",),
    "holder": ("holder", "labeller", "asker"),
    "labeller": ("labeller", "holder"),
    "asker": ("asker", "holder"),
    "anyone": ("coordinator", "holder", "labeller", "asker"),
}


class Bounds(Table, frozen=True, kw_only=True):
    """Which values of a parameter are allowed: numbers from the least to the most, and the values listed besides.

    `{}` allows any. What is no number, such as "auto" or none, must be listed once there is a bound or a list; "none"
    stands for none. A text that stands for a number counts as that number. Of a list,
    bounds are about how many it has.
    """

    least: float | None = None
    most: float | None = None
    values: tuple[Value, ...] = ()

    def allows(self, parameter: Parameter, value: Any) -> bool:
        """Return whether a policy with these bounds allows the value, which is one of the parameter's."""
        if any(_same("none" if value is None else value, each) for each in self.values):
            return True
        if self.least is None and self.most is None:
            return not self.values
        numbers = parameter.measures(value)
        least, most = -math.inf if self.least is None else self.least, math.inf if self.most is None else self.most
        return numbers is not None and all(least <= n <= most for n in numbers)

    def fault(self, parameter: Parameter) -> str | None:
        """Return what is wrong with these bounds for the parameter; None if nothing is."""
        bounded = self.least is not None or self.most is not None
        if bounded and not parameter.kind.measured:
            return f"has bounds, and it is {parameter.kind}: list the allowed values instead"
        if self.least is not None and self.most is not None and self.least > self.most:
            return f"has least = {self.least:g} above most = {self.most:g}: exchange them"
        wrong = [each for each in self.values if not parameter.kind.accepts(None if each == "none" else each)]
        return f"lists {show_short(wrong[0])}, and it is {parameter.kind}: correct it" if wrong else None

    def __str__(self) -> str:
        bounds = {"at least": self.least, "at most": self.most}
        said = " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)
        return " or ".join(filter(None, [said, *map(str, self.values)])) or "any"


def _same(a: Any, b: Any) -> bool:
    """Return whether a policy's value is the job's: 5 is 5.0, and 1 is not true."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


RENAMED = {"privacy_epsilon": "epsilon", "privacy_delta": "delta"}  # in files of 0.2.0
# how many records a landmark or a sum stands for, also where a policy does not say so
FLOORS = {"min_records": Bounds(least=10)}


class Allowance(Table, frozen=True, kw_only=True):
    """How much noisy jobs on the records of a dataset may cost together, in so many days, or for good.

    epsilon, delta: of all of them together, for a person who has as many records as records_per_person.
    """

    epsilon: Annotated[float, msgspec.Meta(gt=0, le=100)]
    delta: Annotated[float, msgspec.Meta(gt=0, lt=0.1)] = 1e-5
    days: Count | None = None
    records_per_person: Count = 1


class Policy(Table, frozen=True, kw_only=True):
    """The keys of the file.

    columns: per dataset, the columns offered, or "all".
    disclosures: digests of the ledger templates that were read and approved, or "any"; others wait for people.
    never: facts that may not be opened, by reader (coordinator, holder, labeller, asker or anyone): kinds such as
        "record", kind and granularity such as "label:record", or identifiers such as "gram.support".
    minimum_rows: of this party in a job.
    minimum_change: how many persons must come, go or be corrected between the sets of two jobs, if any do: what both
        reveal could be about these. By rows a site sees to it; over columns a job is refused.
    studies: how many studies of each edition of the records there may be; every one tells a little more.
    accept_risk: whether a job may set accept_risk, which lets a protocol open what a known attack makes use of.
    left_out: whether a job may go on without this party after sums with its records were opened: the difference is its
        own sums. Needed for jobs whose sums are "threshold" or "graph_threshold", from which parties may stay away at
        any time.
    column_lists: how many lists of columns, preparations and parties studies on the same persons may have: landmarks of
        each have noise of their own, which averages out over many.
    groupings: by how many columns of groups, beside sites, studies on the same persons may be judged: two may differ by
        one record.
    preflights_per_day: how many jobs of one submitter are looked at beside the data in a day, whatever comes of them.
    predictions: new records that may be asked about under all models of one dataset together, whoever asks; for good.
    budget: per dataset, how much epsilon noisy jobs on its records may spend together; it follows the records.
    parameters: which values a job may give to parameters of protocols; some have a least value in any case.
    other_parameters: of parameters that the file does not list, "default" allows the default only, "any" allows all.
    hold_results: whether what a run made waits here until approvers release it; before, its analyst gets nothing.
    release: how much a model may give away to whoever gets it: what `tacit release --policy` goes by.
    file: where it was read, for the texts; not a key to write.
    """

    protocols: Some
    columns: dict[str, Columns]
    approvers: tuple[str, ...] = ()
    approvals_needed: Annotated[int, msgspec.Meta(ge=0)] = 1
    automatic: bool = False
    minimum_parties: Count = FEWEST
    minimum_rows: Count = 50
    minimum_change: Count = 5
    studies: Count = 20
    column_lists: Count = 5
    groupings: Count = 1
    preflights_per_day: Count = 20
    predictions: Annotated[int, msgspec.Meta(ge=0)] = 100
    budget: dict[str, Allowance] = msgspec.field(default_factory=dict)
    parameters: dict[str, Bounds | Values] = msgspec.field(default_factory=dict)
    other_parameters: Literal["default", "any"] = "any"
    disclosures: Some = ()
    never: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    submitters: Some = "any"
    coordinators: Some = "any"
    purposes: Some = "any"
    legal_bases: Some = "any"
    maximum_retention_days: Count = 365
    accept_risk: bool = False
    left_out: bool = False
    hold_results: bool = False
    release: Limits = Limits()
    file: str = "policy"

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Policy:
        """Read and check a policy file."""
        file = Path(path)
        found = toml_of(file, "the policy")
        if "least" in found:
            remedy = "write its line min_count = 5 as min_count = {least = 5}"
            raise LocalError(f"{file.name}: [least] is now [parameters]: {remedy}")
        policy = convert({**found, "file": file.name}, cls, file)
        policy.check()
        return policy

    def check(self) -> None:
        """Refuse what is of the right type and still wrong."""
        for fault in (*self._approver_faults(), *self._never_faults(), *self._parameter_faults()):
            raise LocalError(f"policy {self.file}: {fault}")

    def _approver_faults(self) -> Iterator[str]:
        names, needed = self.approvers, self.approvals_needed
        if len(set(names)) != len(names) or not all(map(file_safe, names)):
            yield f"approvers {list(names)} must be distinct names of letters, digits, '.', @, - and _"
        if not self.automatic and not 1 <= needed <= len(names):
            remedy = "without automatic = true, ask for at least 1 and at most as many as there are"
            yield f"approvals_needed = {needed} with {len(names)} approvers: {remedy}"
        if self.hold_results and not 1 <= max(1, needed) <= len(names):
            yield f"hold_results = true with {len(names)} approvers: name as many as approvals_needed, at least one"

    def _never_faults(self) -> Iterator[str]:
        for reader, words in self.never.items():
            if reader not in READERS:
                yield f"never names the reader {reader!r}: use one of {', '.join(READERS)}"
            faults = {word: fault_of_word(word) for word in words}
            yield from (f"never.{reader} has {word!r}, which {fault}" for word, fault in faults.items() if fault)

    def _parameter_faults(self) -> Iterator[str]:
        known = parameters_called(self.parameters)
        for name in self.parameters:
            bounds = self.bounds_of(name)
            if name not in known:
                now = f"write {RENAMED[name]}" if name in RENAMED else f"use some of {', '.join(known)}"
                yield f"parameters has {name!r}, which no protocol takes: {now}"
            elif bounds is not None and (fault := bounds.fault(known[name])):
                yield f"parameters.{name} {fault}"

    def bounds_of(self, name: str) -> Bounds | None:
        """Return what the policy says about a parameter; None if it says nothing."""
        said = self.parameters.get(name, FLOORS.get(name))
        return Bounds(values=said) if isinstance(said, tuple) else said

    @property
    def digest(self) -> str:
        """SHA-256 of what it says, in hex."""
        return hashlib.sha256(b"tacit policy 1\n" + msgspec.json.encode(self, order="sorted")).hexdigest()
