"""A party's policy: which jobs it accepts by itself, which wait for its people, and which it refuses, by which rule.

Every limit in the file is the organisation's own and nobody at a terminal can approve past it: a job outside it is
refused, and the refusal names the rule. A job within all limits is accepted at once only if `automatic = true` and its
disclosure is one that was approved before; otherwise it waits for as many of the named approvers as the file asks.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tacit.consortium.job import Columns
from tacit.consortium.settings import converted, file_safe, toml_of
from tacit.data.checks import FEWEST
from tacit.errors import LocalError

Some = tuple[str, ...] | Literal["any"]
Count = Annotated[int, msgspec.Meta(ge=1)]
# a holder also reads what everyone reads, and may be the one who labels or asks
READERS = {"coordinator": ("coordinator",), "holder": ("holder", "labeller", "asker"), "labeller": ("labeller", "holder"),
           "asker": ("asker", "holder"), "anyone": ("coordinator", "holder", "labeller", "asker")}  # fmt: skip


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file's keys.

    columns: per dataset, the columns offered, or "all".
    disclosures: digests of the ledger templates that were read and approved, or "any"; others wait for people.
    never: phrases that may not be opened, by reader: coordinator, holder, labeller, asker or anyone.
    minimum_rows: of this party in a job; also by how many rows two jobs must differ.
    accept_risk: whether a job may set accept_risk, which lets a protocol open what a known attack makes use of.
    predictions: new records that may be asked about under all models of one dataset together, whoever asks; for good.
    least: parameters of a protocol that may not be smaller, where it has them: how many records a landmark or a sum stands for.
    file: where it was read, for the texts; not a key to write.
    """

    protocols: Some
    columns: dict[str, Columns]
    approvers: tuple[str, ...] = ()
    approvals_needed: Annotated[int, msgspec.Meta(ge=0)] = 1
    automatic: bool = False
    minimum_parties: Count = FEWEST
    minimum_rows: Count = 50
    predictions: Annotated[int, msgspec.Meta(ge=0)] = 100
    least: dict[str, float] = msgspec.field(
        default_factory=lambda: {"min_cluster": 5.0, "min_count": 5.0, "min_rows": 5.0, "min_records": 10.0}
    )
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
        policy = converted({**toml_of(file, "the policy"), "file": file.name}, cls, file)
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

    @property
    def digest(self) -> str:
        """SHA-256 of what it says, in hex."""
        return hashlib.sha256(b"tacit policy 1\n" + msgspec.json.encode(self, order="sorted")).hexdigest()
