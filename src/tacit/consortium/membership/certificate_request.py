"""Requests: what a site asks the registrar to certify, and the proof that it holds the key."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import NameOID

from tacit.consortium.disk import read_file
from tacit.consortium.membership.identity import (
    NO_CERTIFICATE,
    SEALING,
    Identity,
    common_name,
    ed25519_public,
    fingerprint,
    load_certificate,
)
from tacit.consortium.membership.names import Kind, check_host, check_kind, check_name
from tacit.crypto.pads.agreement import pair_seed
from tacit.errors import LocalError
from tacit.files import write_whole

LARGEST = 1 << 16
KEY_BYTES = 32
RESERVED = "registrar"
SEND_AGAIN = "ask the site to send it again"
BAD_EXTENSION = (x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
UNREADABLE = (ValueError, UnsupportedAlgorithm, x509.InvalidVersion, *BAD_EXTENSION)


@dataclass(frozen=True)
class Request:
    """A request whose signature was checked: who sent it holds the private key.

    Whether it is who it says, people compare by phone.
    """

    name: str
    kind: Kind
    hosts: tuple[str, ...]
    public: bytes
    sealing: bytes

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Request:
        """Return the request in this file."""
        return cls.read(read_file(Path(path), "the request", most=LARGEST), str(path))

    @classmethod
    def read(cls, pem: bytes, what: str = "the request") -> Request:
        """Return the request in these bytes; what it asks for besides name, kind and hosts is not granted."""
        try:
            request = x509.load_pem_x509_csr(pem)
            name, unit = common_name(request.subject), _unit(request.subject)
            listed, sealing = _hosts(request.extensions), _sealing_key(request.extensions)
            public, proven = ed25519_public(request), request.is_signature_valid
        except UNREADABLE:
            raise LocalError(f"{what} is not a request that `tacit keys new` wrote: {SEND_AGAIN}") from None
        if not proven:
            altered = f"{what} is not signed by the key that it names"
            raise LocalError(f"{altered}: it was altered on its way; {SEND_AGAIN}")
        kind, hosts = check_kind(unit), tuple(map(check_host, listed))
        _check_wish(what, check_name(name), kind, hosts)
        return cls(name, kind, hosts, public, sealing)

    @property
    def fingerprint(self) -> str:
        """What two people compare by phone."""
        return fingerprint(self.public)


def create(folder: str | os.PathLike[str], name: str, kind: str, hosts: Sequence[str]) -> tuple[Identity, Path]:
    """Make a new key, and beside it the request for its certificate."""
    wish, where = check_kind(kind), [check_host(host) for host in hosts]
    _check_wish("the request", check_name(name), wish, where)
    identity = Identity.create(folder, name)
    target = identity.key_file.with_suffix(".request")
    return identity, write_whole(target, identity.request(wish, where), "the request")


def describe(path: Path) -> dict[str, str]:
    """Return what a certificate or a request says, for people."""
    if path.suffix == ".request":
        asked = Request.load(path)
        listed = ", ".join(asked.hosts) or "none"
        return {"request": asked.name, "kind": asked.kind, "hosts": listed, "fingerprint": asked.fingerprint}
    found = load_certificate(path)
    try:
        return {
            "certificate": common_name(found.subject),
            "issued by": common_name(found.issuer),
            "valid": f"{found.not_valid_before_utc:%Y-%m-%d} to {found.not_valid_after_utc:%Y-%m-%d}",
            "serial": f"{found.serial_number:x}",
            "hosts": ", ".join(_hosts(found.extensions)) or "none",
            "fingerprint": fingerprint(ed25519_public(found)),
        }
    except UNREADABLE:
        raise LocalError(f"{path} {NO_CERTIFICATE}") from None


def _check_wish(what: str, name: str, kind: Kind, hosts: Sequence[str]) -> None:
    if name == RESERVED:
        raise LocalError(f"{what} is for the name {RESERVED}, which is the registrar's own: choose another")
    if kind == "coordinator" and not hosts:
        unreachable = f"{what} of coordinator {name} names no host, so no site could reach it"
        raise LocalError(f"{unreachable}: add --host with its name or address")
    if kind != "coordinator" and hosts:
        not_dialled = f"{what} of {kind} {name} names hosts, and only a coordinator is dialled"
        raise LocalError(f"{not_dialled}: leave out --host, or use --kind coordinator")


def _unit(subject: x509.Name) -> str:
    (attribute,) = subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
    return str(attribute.value)


def _sealing_key(extensions: x509.Extensions) -> bytes:
    try:
        found = extensions.get_extension_for_oid(SEALING).value
    except x509.ExtensionNotFound:
        raise ValueError("no sealing key") from None
    if not isinstance(found, x509.UnrecognizedExtension) or len(found.value) != KEY_BYTES:
        raise ValueError("no sealing key of 32 bytes")
    pair_seed(secrets.token_bytes(KEY_BYTES), found.value, b"trial")  # a key of small order must not be certified
    return found.value


def _hosts(extensions: x509.Extensions) -> list[str]:
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [*names.get_values_for_type(x509.DNSName), *(str(a) for a in names.get_values_for_type(x509.IPAddress))]
