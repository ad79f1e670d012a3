"""The list of members: who they are and which key is theirs, in the registrar's words.

    consortium.members    {"content": {...}, "signature": hex}

The signature covers the very bytes of `content`, so nothing has to be brought into a canonical form. Every change
raises the version; a site never goes back to an older list, since that would bring a revoked key back.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.utils import CryptographyDeprecationWarning

from tacit.consortium.disk import read_file
from tacit.consortium.membership.identity import (
    Identity,
    ed25519_public,
    fingerprint,
    key_digest,
    matches,
    parse_certificate,
    verify,
)
from tacit.consortium.membership.names import NAME, Kind, token
from tacit.consortium.site.settings import Settings
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole

CONTEXT = "the list of members"
LARGEST = 1 << 22
AGAIN = "ask the registrar for the list again"


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One member and one key; a replaced key stays in the list, revoked."""

    name: Annotated[str, msgspec.Meta(pattern=f"^{NAME}$")]
    kind: Kind
    public: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    sealing: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    serial: str
    not_after: datetime
    hosts: tuple[str, ...] = ()
    revoked: bool = False

    @property
    def key(self) -> bytes:
        """The 32 bytes of the public key."""
        return bytes.fromhex(self.public)

    @property
    def fingerprint(self) -> str:
        """What two people compare by phone."""
        return fingerprint(self.key)

    def state(self, now: datetime | None = None) -> str:
        """Return in one word whether the key may be used."""
        if self.revoked:
            return "revoked"
        return "expired" if self.not_after <= (now or datetime.now(UTC)) else "valid"


class Content(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the registrar signs."""

    consortium: str
    version: int
    authority: str
    members: tuple[Member, ...] = ()


class _File(msgspec.Struct, frozen=True):
    content: msgspec.Raw
    signature: str


@dataclass(frozen=True)
class Members:
    """A list whose signature was checked; iterates over all its entries."""

    content: Content
    signed: bytes

    @classmethod
    def load(cls, path: str | os.PathLike[str], pinned: str, at_least: int = 0) -> Members:
        """Return the list in this file; raise unless the `pinned` registrar signed it, and if it is too old."""
        signed = read_file(Path(path), "the list of members", f"correct the path, or {AGAIN}", most=LARGEST)
        return cls.read(signed, pinned, at_least, str(path))

    @classmethod
    def read(cls, signed: bytes, pinned: str, at_least: int = 0, what: str = "the list of members") -> Members:
        """Return a list that arrived otherwise than as a file; see `load`."""
        members = cls(_verify(signed, pinned, what), signed)
        members.refuse_older(at_least, what)
        return members

    @classmethod
    def sign(cls, content: Content, registrar: Identity) -> Members:
        """Sign a list as the registrar."""
        body = msgspec.json.format(msgspec.json.encode(content), indent=2)
        signature = registrar.sign(CONTEXT, body).hex().encode()
        return cls(content, b'{"content": ' + body + b',\n"signature": "' + signature + b'"}\n')

    def __repr__(self) -> str:
        return f"Members({self.consortium!r}, version {self.version}, {len(self.content.members)} entries)"

    def __iter__(self) -> Iterator[Member]:
        return iter(self.content.members)

    @property
    def consortium(self) -> str:
        """The name of the consortium."""
        return self.content.consortium

    @property
    def version(self) -> int:
        """Higher after every change."""
        return self.content.version

    @property
    def authority(self) -> str:
        """The registrar's certificate, PEM: the one authority that everyone trusts."""
        return self.content.authority

    @property
    def registrar(self) -> str:
        """The digest of the registrar's key, in hex."""
        return key_digest(_public(self.content))

    def refuse_older(self, at_least: int, what: str) -> None:
        """Raise if the list is of a version before the one that a site has seen."""
        if self.version < at_least:
            older = f"{what} is version {self.version}, and this site has seen version {at_least}"
            raise LocalError(f"{older}: an older list could bring a revoked key back; {AGAIN}")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the list; refuses to replace a newer one, or another one of the same version."""
        target = Path(path)
        if target.exists():
            self._refuse_rollback(target)
        return write_whole(target, self.signed, "the list of members")

    def find(self, name: str) -> Member | None:
        """Return the entry that counts for a name: the one not revoked, else the last."""
        entries = [m for m in self if m.name == name]
        return next((m for m in entries if not m.revoked), entries[-1] if entries else None)

    def keys(self) -> dict[str, list[bytes]]:
        """Return all keys that each name ever had, those of replaced and revoked entries too."""
        names = dict.fromkeys(m.name for m in self)
        return {name: [m.key for m in self if m.name == name] for name in names}

    def member(self, name: str, now: datetime | None = None) -> Member:
        """Return the member of that name, whose key is valid now."""
        found = self.find(name)
        if found is None:
            unknown = f"{name!r} is not a member of {self.consortium} (list version {self.version})"
            raise LocalError(f"{unknown}: correct the name, or get the registrar's newest list")
        if found.revoked:
            remedy = f"{name} needs a new one (tacit keys new, then tacit keys rotate)"
            raise PeerError(f"the key of {name} was revoked by the registrar: {remedy}")
        if found.state(now) == "expired":
            remedy = "have it renewed (tacit keys renew), or set this clock"
            raise PeerError(f"the certificate of {name} expired on {found.not_after:%Y-%m-%d}: {remedy}")
        return found

    def of_kind(self, kind: Kind, now: datetime | None = None) -> tuple[Member, ...]:
        """Return the valid members of a kind, by name."""
        return tuple(sorted((m for m in self if m.kind == kind and m.state(now) == "valid"), key=lambda m: m.name))

    def verify(self, name: str, context: str, data: bytes, signature: bytes) -> None:
        """Raise unless this valid member signed this in this context."""
        member = self.member(name)
        try:
            verify(member.key, context, data, signature)
        except PeerError:
            fault = f"a signature on {context} is not that of {name} (key {member.fingerprint})"
            remedy = f"compare fingerprints with {name}"
            raise PeerError(f"{fault}: it was altered, or {name} uses another key; {remedy}") from None

    def token(self, name: str) -> str:
        """Return what stands for this member on the wire."""
        return token(self.consortium, name)

    def _refuse_rollback(self, target: Path) -> None:
        present = Members.load(target, self.registrar)
        if present.version > self.version or (present.version == self.version and present.signed != self.signed):
            change = f"{target} is version {present.version} and would be replaced by version {self.version}"
            raise LocalError(f"{change}: versions never go back nor exist twice; keep the file")


def _verify(signed: bytes, pinned: str, what: str) -> Content:
    try:
        file = msgspec.json.decode(signed, type=_File)
        content = msgspec.json.decode(file.content, type=Content)
        public = _public(content)
        signature = bytes.fromhex(file.signature)
    except (ValueError, RecursionError, x509.InvalidVersion):
        raise LocalError(f"{what} is not a list of members that this version reads: {AGAIN}") from None
    if not matches(public, pinned):
        other = f"{what} is signed by the registrar {fingerprint(public)}, and the pinned one is another ({pinned})"
        raise LocalError(f"{other}: compare the fingerprint with the registrar by phone, and pin that one")
    try:
        verify(public, CONTEXT, bytes(file.content), signature)
    except PeerError:
        raise LocalError(f"{what} was altered after the registrar signed it: {AGAIN}") from None
    return content


def _public(content: Content) -> bytes:
    with warnings.catch_warnings():  # an altered certificate may have a bad serial number; the signature is what counts
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        return ed25519_public(parse_certificate(content.authority.encode()))


# A site's own papers: key, certificate and list of members, and that they belong together.
#
#     state/members.seen    {registrar: version}, each registrar by the digest of its key
#
# That file keeps the newest version of the list that the site has seen. Whoever can put an old list in place of the new
# one while a site is down could bring a revoked key back. A site that pins another registrar begins anew with that
# one's versions.


FILE = "members.seen"


def identity_of(settings: Settings) -> tuple[Identity, Members]:
    """Return a site's identity and its list of members; refuse what does not fit together, and an older list."""
    identity = Identity.load(settings.key, settings.certificate)
    members = Members.load(settings.members, settings.ca_fingerprint)
    members.refuse_older(_read_seen(settings.state).get(members.registrar, 0), str(settings.members))
    entry = members.member(settings.name)
    if entry.key != identity.public:
        other = f"the members list has another key for {settings.name} than {settings.key}"
        raise LocalError(f"{other}: ask the registrar for both files again")
    if identity.certificate is not None and not _is_issued(identity.certificate, members):
        other = f"{settings.certificate} was not signed by the registrar of {members.consortium}"
        raise LocalError(f"{other}: ask the registrar for the certificate again")
    remember(settings.state, members)
    return identity, members


def _is_issued(certificate: x509.Certificate, members: Members) -> bool:
    try:
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(members.authority.encode()))
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def remember(state: Path, members: Members) -> None:
    """Write down the version of a list that is in use, unless a newer one is there."""
    seen = _read_seen(state)
    if members.version > seen.get(members.registrar, 0):
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = msgspec.json.encode({**seen, members.registrar: members.version})
        write_whole(state / FILE, content, "the version of the list of members")


def _read_seen(state: Path) -> dict[str, int]:
    file = state / FILE
    content = read_file(file, "the record of lists", "correct its owner") if file.exists() else b"{}"
    try:
        return msgspec.json.decode(content, type=dict[str, int])
    except (ValueError, RecursionError):
        remedy = "restore it from a backup, or ask the registrar for the newest list and remove it"
        raise LocalError(f"{file} is damaged: {remedy}") from None
