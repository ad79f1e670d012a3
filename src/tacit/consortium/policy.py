"""A party's policy: which jobs it accepts by itself, which wait for its people, and which it refuses, by which rule.

Every limit in the file is the organisation's own and nobody at a terminal can approve past it: a job outside it is
refused, and the refusal names the rule. A job within all limits is accepted at once only if `automatic = true` and its
disclosure is one that was approved before; otherwise it waits for as many of the named approvers as the file asks.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from tacit.choreo.declaration import Parameter, shown
from tacit.consortium.job import Columns
from tacit.consortium.settings import converted, file_safe, toml_of
from tacit.data.checks import FEWEST
from tacit.errors import LocalError
from tacit.protocols.parameters import PARAMETERS

Some = tuple[str, ...] | Literal["any"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Value = bool | int | float | str
Values = Annotated[tuple[Value, ...], msgspec.Meta(min_length=1)]
# a holder also reads what everyone reads, and may be the one who labels or asks
READERS = {"coordinator": ("coordinator",), "holder": ("holder", "labeller", "asker"), "labeller": ("labeller", "holder"),
           "asker": ("asker", "holder"), "anyone": ("coordinator", "holder", "labeller", "asker")}  # fmt: skip


class Bounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which values of a parameter are allowed: numbers from the least to the most, and the values listed besides.

    `{}` allows any. What is no number, such as "auto" or none, must be listed once there is a bound or a list; "none" stands for none.
    A text that stands for a number, as "auto" of min_count does, counts as that number. Of a list, bounds are about how many it has.
    """

    least: float | None = None
    most: float | None = None
    values: tuple[Value, ...] = ()

    def allows(self, parameter: Parameter, value: Any) -> bool:
        """Whether a policy with these bounds allows the value, which is one of the parameter's."""
        if any(_same("none" if value is None else value, each) for each in self.values):
            return True
        if self.least is None and self.most is None:
            return not self.values
        numbers = parameter.measures(value)
        return numbers is not None and all(
            (self.least is None or self.least <= n) and (self.most is None or n <= self.most) for n in numbers
        )

    def fault(self, parameter: Parameter) -> str | None:
        """Return what is wrong with these bounds for the parameter; None if nothing is."""
        bounded = self.least is not None or self.most is not None
        if bounded and not parameter.kind.measured:
            return f"has bounds, and it is {parameter.kind}: list the allowed values instead"
        if self.least is not None and self.most is not None and self.least > self.most:
            return f"has least = {self.least:g} above most = {self.most:g}: exchange them"
        wrong = [each for each in self.values if not parameter.kind.accepts(None if each == "none" else each)]
        return f"lists {shown(wrong[0])}, and it is {parameter.kind}: correct it" if wrong else None

    def __str__(self) -> str:
        said = [f"{word} {bound:g}" for word, bound in (("at least", self.least), ("at most", self.most)) if bound is not None]
        return " or ".join([" and ".join(said)] * bool(said) + [str(each) for each in self.values]) or "any"


def _same(a: Any, b: Any) -> bool:
    """Whether a policy's value is the job's: 5 is 5.0, and 1 is not true."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


FLOORS = {name: Bounds(least=least) for name, least in (("min_cluster", 5), ("min_count", 5), ("min_rows", 5), ("min_records", 10))}


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file's keys.

    columns: per dataset, the columns offered, or "all".
    disclosures: digests of the ledger templates that were read and approved, or "any"; others wait for people.
    never: phrases that may not be opened, by reader: coordinator, holder, labeller, asker or anyone.
    minimum_rows: of this party in a job; also by how many rows two jobs must differ.
    accept_risk: whether a job may set accept_risk, which lets a protocol open what a known attack makes use of.
    preflights_per_day: how many jobs of one submitter are looked at beside the data in a day, whatever comes of them.
    predictions: new records that may be asked about under all models of one dataset together, whoever asks; for good.
    parameters: which values a job may give to parameters of protocols. Those that say how many records a landmark or a sum stands for
        have a least value also where the file does not list them.
    other_parameters: of parameters that the file does not list, "default" allows the default only, and "any" allows all.
    file: where it was read, for the texts; not a key to write.
    """

    protocols: Some
    columns: dict[str, Columns]
    approvers: tuple[str, ...] = ()
    approvals_needed: Annotated[int, msgspec.Meta(ge=0)] = 1
    automatic: bool = False
    minimum_parties: Count = FEWEST
    minimum_rows: Count = 50
    preflights_per_day: Count = 20
    predictions: Annotated[int, msgspec.Meta(ge=0)] = 100
    parameters: dict[str, Bounds | Values] = {}
    other_parameters: Literal["default", "any"] = "any"
    disclosures: Some = ()
    never: dict[str, tuple[str, ...]] = {}
    submitters: Some = "any"
    coordinators: Some = "any"
    purposes: Some = "any"
    legal_bases: Some = "any"
    maximum_retention_days: Count = 365
    secure_sums: Some = ("pairwise", "ring", "threshold")
    accept_risk: bool = False
    file: str = "policy"

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Policy:
        """Read and check."""
        file = Path(path)
        found = toml_of(file, "the policy")
        if "least" in found:
            raise LocalError(f"{file.name}: [least] is now [parameters]: write its line min_count = 5 as min_count = {{least = 5}}")
        policy = converted({**found, "file": file.name}, cls, file)
        policy.check()
        return policy

    def check(self) -> None:
        """Refuse what is of the right type and still wrong."""
        bad = [name for name in self.approvers if not file_safe(name)]
        if bad or len(set(self.approvers)) != len(self.approvers):
            raise LocalError(
                f"policy {self.file}: approvers {list(self.approvers)} must be distinct names of letters, digits, '.', @, - and _"
            )
        if not self.automatic and not 1 <= self.approvals_needed <= len(self.approvers):
            raise LocalError(
                f"policy {self.file}: approvals_needed = {self.approvals_needed} with {len(self.approvers)} approvers: without"
                " automatic = true, ask for at least 1 and at most as many as there are"
            )
        unknown = [reader for reader in self.never if reader not in READERS]
        if unknown:
            raise LocalError(f"policy {self.file}: never names the reader {unknown[0]!r}: use one of {', '.join(READERS)}")
        for name in self.parameters:
            if name not in PARAMETERS:
                raise LocalError(
                    f"policy {self.file}: parameters has {name!r}, which no protocol takes: use some of {', '.join(PARAMETERS)}"
                )
            bounds = self.allowed(name)
            fault = None if bounds is None else bounds.fault(PARAMETERS[name])
            if fault is not None:
                raise LocalError(f"policy {self.file}: parameters.{name} {fault}")

    def allowed(self, name: str) -> Bounds | None:
        """What the policy says about a parameter; None if it says nothing."""
        said = self.parameters.get(name, FLOORS.get(name))
        return Bounds(values=said) if isinstance(said, tuple) else said

    @property
    def digest(self) -> str:
        """SHA-256 of what it says, in hex."""
        return hashlib.sha256(b"tacit policy 1\n" + msgspec.json.encode(self, order="sorted")).hexdigest()
