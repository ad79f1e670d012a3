"""Requests: what a site asks the registrar to certify, and the proof that it holds the key."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.x509.oid import NameOID

from tacit.consortium.identity import SEALING, Identity, certificate_public, common_name, fingerprint, load_certificate
from tacit.consortium.names import Kind, check_host, check_kind, check_name
from tacit.crypto.agreement import pair_seed
from tacit.errors import LocalError
from tacit.files import write_whole

LARGEST = 1 << 16
KEY_BYTES = 32
RESERVED = "registrar"
UNREADABLE = (ValueError, UnsupportedAlgorithm, x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)


@dataclass(frozen=True)
class Request:
    """A request whose signature was checked: who sent it holds the private key. Whether it is who it says, people compare by phone."""

    name: str
    kind: Kind
    hosts: tuple[str, ...]
    public: bytes
    sealing: bytes

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Request:
        """The request in this file."""
        try:
            with Path(path).open("rb") as file:
                return cls.read(file.read(LARGEST), str(path))
        except OSError as error:
            raise LocalError(f"the request {path} cannot be read: {error.strerror}; correct the path") from None

    @classmethod
    def read(cls, pem: bytes, what: str = "the request") -> Request:
        """The request in these bytes; what it asks for besides name, kind and hosts is not granted."""
        request = _proven(pem, what)
        name, kind = check_name(common_name(request.subject)), check_kind(_unit(request.subject))
        hosts = tuple(check_host(host) for host in _hosts(request.extensions))
        _check_wish(what, name, kind, hosts)
        return cls(name, kind, hosts, _public(request), _sealing(request.extensions))

    @property
    def fingerprint(self) -> str:
        """What two people compare by phone."""
        return fingerprint(self.public)


def create(folder: str | os.PathLike[str], name: str, kind: str, hosts: Sequence[str]) -> tuple[Identity, Path]:
    """A new key, and beside it the request for its certificate."""
    wish, where = check_kind(kind), [check_host(host) for host in hosts]
    _check_wish("the request", check_name(name), wish, where)
    identity = Identity.create(folder, name)
    target = identity.key_file.with_suffix(".request")
    return identity, write_whole(target, identity.request(wish, where), "the request")


def described(path: Path) -> dict[str, str]:
    """What a certificate or a request says, for people."""
    if path.suffix == ".request":
        asked = Request.load(path)
        return {"request": asked.name, "kind": asked.kind, "hosts": ", ".join(asked.hosts) or "none", "fingerprint": asked.fingerprint}
    found = load_certificate(path)
    try:
        return {
            "certificate": common_name(found.subject),
            "issued by": common_name(found.issuer),
            "valid": f"{found.not_valid_before_utc:%Y-%m-%d} to {found.not_valid_after_utc:%Y-%m-%d}",
            "serial": f"{found.serial_number:x}",
            "hosts": ", ".join(_hosts(found.extensions)) or "none",
            "fingerprint": fingerprint(certificate_public(found)),
        }
    except UNREADABLE:
        raise LocalError(f"{path} is not a certificate that a tacit registrar issued: ask the registrar for it again") from None


def _check_wish(what: str, name: str, kind: Kind, hosts: Sequence[str]) -> None:
    if name == RESERVED:
        raise LocalError(f"{what} is for the name {RESERVED}, which is the registrar's own: choose another")
    if kind == "coordinator" and not hosts:
        raise LocalError(f"{what} of coordinator {name} names no host, so no site could reach it: add --host with its name or address")
    if kind != "coordinator" and hosts:
        raise LocalError(
            f"{what} of {kind} {name} names hosts, and only a coordinator is dialled: leave out --host, or use --kind coordinator"
        )


def _proven(pem: bytes, what: str) -> x509.CertificateSigningRequest:
    try:
        request = x509.load_pem_x509_csr(pem)
        (_public(request), common_name(request.subject), _unit(request.subject), _hosts(request.extensions), _sealing(request.extensions))
        proven = request.is_signature_valid
    except UNREADABLE:
        raise LocalError(f"{what} is not a request that `tacit keys new` wrote: ask the site to send it again") from None
    if not proven:
        raise LocalError(f"{what} is not signed by the key that it names: it was altered on its way; ask the site to send it again")
    return request


def _public(request: x509.CertificateSigningRequest) -> bytes:
    public = request.public_key()
    if not isinstance(public, Ed25519PublicKey):
        raise ValueError("not an Ed25519 key")  # noqa: TRY004 - as the parser raises for what it cannot read
    return public.public_bytes_raw()


def _unit(subject: x509.Name) -> str:
    (attribute,) = subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
    return str(attribute.value)


def _sealing(extensions: x509.Extensions) -> bytes:
    try:
        found = extensions.get_extension_for_oid(SEALING).value
    except x509.ExtensionNotFound:
        raise ValueError("no sealing key") from None
    if not isinstance(found, x509.UnrecognizedExtension) or len(found.value) != KEY_BYTES:
        raise ValueError("no sealing key of 32 bytes")
    pair_seed(secrets.token_bytes(KEY_BYTES), found.value, b"trial")  # a key of small order raises here, and not in every letter
    return found.value


def _hosts(extensions: x509.Extensions) -> list[str]:
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [*names.get_values_for_type(x509.DNSName), *(str(a) for a in names.get_values_for_type(x509.IPAddress))]
