"""The registrar: the one key that says who is a member. It may lie on a machine without a network.

registrar.key         the authority's private key, mode 0600
registrar.crt         its certificate: may sign members, nothing below them
consortium.members    the signed list, which is also all that the registrar remembers
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.consortium.membership.certificate_request import RESERVED, Request
from tacit.consortium.membership.identity import Identity, alternative_names, member_subject
from tacit.consortium.membership.members import Content, Member, Members
from tacit.consortium.membership.names import Kind, check_consortium
from tacit.errors import LocalError
from tacit.files import write_whole

MEMBERS = "consortium.members"
DAYS = 365
AUTHORITY_DAYS = 3650
SKEW = timedelta(minutes=5)  # clocks that lag behind the registrar's accept a new certificate at once
SIGNING = ("digital_signature", "content_commitment", "key_cert_sign", "crl_sign")
ENCRYPTING = ("key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only")
NONE = dict.fromkeys((*SIGNING, *ENCRYPTING), False)


def utc_now() -> datetime:
    """Return the time, to the second, as certificates hold it."""
    return datetime.now(UTC).replace(microsecond=0)


@dataclass
class Registrar:
    """The authority's key, its certificate and the list as it stands."""

    identity: Identity
    certificate: x509.Certificate
    members: Members
    folder: Path
    now: Callable[[], datetime] = utc_now

    @classmethod
    def init(cls, folder: str | os.PathLike[str], consortium: str) -> Registrar:
        """Found a consortium; refuse a folder that already has a registrar."""
        check_consortium(consortium)
        identity = Identity.create(folder, RESERVED)
        certificate = _authority(identity, consortium)
        pem = certificate.public_bytes(Encoding.PEM)
        write_whole(identity.certificate_file, pem, "the registrar's certificate")
        members = Members.sign(Content(consortium=consortium, version=1, authority=pem.decode()), identity)
        members.save(Path(folder) / MEMBERS)
        return cls(identity, certificate, members, Path(folder))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Registrar:
        """Return the registrar of this folder."""
        file = Path(folder) / f"{RESERVED}.key"
        if not file.exists():
            remedy = "go to the registrar's folder, or found a consortium with: tacit keys init"
            raise LocalError(f"{file} does not exist: {remedy}")
        identity = Identity.load(file, file.with_suffix(".crt"))
        members = Members.load(Path(folder) / MEMBERS, identity.fingerprint)
        return cls(identity, x509.load_pem_x509_certificate(members.authority.encode()), members, Path(folder))

    def sign(self, request: Request, kind: Kind, days: int = DAYS) -> x509.Certificate:
        """Admit a new member as what the registrar, too, takes it for."""
        self.check_new(request, kind)
        return self._admit(request, days, self.members.content.members)

    def check_new(self, request: Request, kind: Kind) -> None:
        """Refuse a request that `sign` would refuse, before a person is asked about it."""
        if request.kind != kind:
            wish = f"{request.name} asks to join as {request.kind}, not as {kind}"
            raise LocalError(f"{wish}: ask the site which it is, then sign with that --kind")
        if self.members.find(request.name):
            remedy = "choose another; for a new key of the same site use tacit keys rotate"
            raise LocalError(f"two members would have the name {request.name}: {remedy}")

    def rotate(self, request: Request, days: int = DAYS) -> x509.Certificate:
        """Give a member's name to a new key; the old one is revoked."""
        member = self._find(request.name)
        if request.kind != member.kind:
            wish = f"{request.name} is {member.kind} and asks to become {request.kind}"
            raise LocalError(f"{wish}: a rotation keeps the kind; use another name")
        return self._admit(request, days, self._with_revoked(request.name))

    def renew(self, name: str, days: int = DAYS) -> x509.Certificate:
        """Issue a later certificate for the same key."""
        member = self._find(name)
        if member.revoked:
            remedy = "have the site make a new one, then use tacit keys rotate"
            raise LocalError(f"the key of {name} was revoked and cannot be renewed: {remedy}")
        request = Request(name, member.kind, member.hosts, member.key, bytes.fromhex(member.sealing))
        return self._record(request, days, tuple(m for m in self.members if m is not member))

    def revoke(self, name: str) -> None:
        """No longer a member; what it signed before stays attributed to it."""
        if self._find(name).revoked:
            raise LocalError(f"{name} is already revoked: hand the present {MEMBERS} to all sites")
        self._publish(*self._with_revoked(name))

    def _admit(self, request: Request, days: int, others: tuple[Member, ...]) -> x509.Certificate:
        taken = next((m for m in self.members if m.key == request.public), None)
        if taken or request.public == self.identity.public:
            owner = f"{taken.name} ({taken.state(self.now())})" if taken else "the registrar"
            remedy = "each member needs a fresh one, made with tacit keys new"
            raise LocalError(f"the key of {request.name}'s request is that of {owner}: {remedy}")
        return self._record(request, days, others)

    def _record(self, request: Request, days: int, others: tuple[Member, ...]) -> x509.Certificate:
        until = self.now() + timedelta(days=days)
        if days < 1 or until > self.certificate.not_valid_after_utc:
            last = f"the registrar's own ({self.certificate.not_valid_after_utc:%Y-%m-%d})"
            raise LocalError(
                f"a certificate of {days} days is not possible: use at least 1, and do not go beyond {last}"
            )
        certificate = self._issue(request, until)
        self._publish(*others, _entry(request, certificate))
        write_whole(self.folder / f"{request.name}.crt", certificate.public_bytes(Encoding.PEM), "the certificate")
        return certificate

    def _issue(self, request: Request, until: datetime) -> x509.Certificate:
        subject = member_subject(request.name, request.public)
        builder = _builder(subject, self.certificate.subject, request.public, self.now(), until)
        usage = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if request.hosts:  # a coordinator is also the server; nobody else can pass for it
            usage.append(ExtendedKeyUsageOID.SERVER_AUTH)
            builder = builder.add_extension(alternative_names(request.hosts), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.KeyUsage(**NONE | {"digital_signature": True}), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=True)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.identity.private.public_key())
        return builder.add_extension(issuer, critical=False).sign(self.identity.private, None)

    def _publish(self, *entries: Member) -> None:
        content = msgspec.structs.replace(self.members.content, version=self.members.version + 1, members=entries)
        members = Members.sign(content, self.identity)
        members.save(self.folder / MEMBERS)
        self.members = members

    def _find(self, name: str) -> Member:
        found = self.members.find(name)
        if found is None:
            remedy = "correct the name (tacit keys list shows all)"
            raise LocalError(f"{name!r} is not a member of {self.members.consortium}: {remedy}")
        return found

    def _with_revoked(self, name: str) -> tuple[Member, ...]:
        return tuple(msgspec.structs.replace(m, revoked=True) if m.name == name else m for m in self.members)


def _authority(identity: Identity, consortium: str) -> x509.Certificate:
    now = utc_now()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{consortium} registrar")])
    builder = _builder(subject, subject, identity.public, now, now + timedelta(days=AUTHORITY_DAYS))
    # path length 0: a member's certificate cannot sign another
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(x509.KeyUsage(**NONE | {"key_cert_sign": True, "crl_sign": True}), critical=True)
    return builder.sign(identity.private, None)


def _builder(
    subject: x509.Name, issuer: x509.Name, public: bytes, start: datetime, end: datetime
) -> x509.CertificateBuilder:
    key = Ed25519PublicKey.from_public_bytes(public)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - SKEW)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _entry(request: Request, certificate: x509.Certificate) -> Member:
    return Member(
        name=request.name,
        kind=request.kind,
        public=request.public.hex(),
        sealing=request.sealing.hex(),
        serial=f"{certificate.serial_number:x}",
        not_after=certificate.not_valid_after_utc,
        hosts=request.hosts,
    )
