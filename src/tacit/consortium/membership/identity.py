"""An identity: one Ed25519 key that never leaves its site, and the certificate that a registrar gave it.

    <name>.key        the private key; mode 0600 from its first moment, never overwritten
    <name>.request    the public key, signed by itself, for the registrar
    <name>.crt        the certificate that comes back

The key signs what its owner says, TLS handshakes and its own request. The three cannot be taken for each other: what
`sign` signs starts with "tacit", a handshake with spaces, a request with a DER tag.

Fingerprint: the first 128 bits of SHA-256 of the public key (DER, SubjectPublicKeyInfo, as `openssl pkey -pubout`
writes it). Who wants to slip in another key under the same fingerprint needs a second preimage, 2^128 attempts. A pin
may hold all 256 bits.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import NameOID

from tacit.consortium.disk import read_file, read_private
from tacit.consortium.membership.names import Kind, check_host, check_name
from tacit.crypto.pads.agreement import public_key
from tacit.errors import LocalError, PeerError

FINGERPRINT_BITS = 128
HASH_BITS = 256
_GROUP = 4  # hex digits that a person reads out at once
# the extension with a member's sealing key
SEALING = x509.ObjectIdentifier("2.25.163742266900065212854057631897480809056")
NO_CERTIFICATE = "is not a certificate that a tacit registrar issued: ask the registrar for it again"


@dataclass(frozen=True, repr=False, eq=False)
class Identity:
    """A private key with its name, and its certificate once there is one."""

    name: str
    key_file: Path
    certificate_file: Path
    private: Ed25519PrivateKey
    certificate: x509.Certificate | None = None

    @classmethod
    def create(cls, folder: str | os.PathLike[str], name: str) -> Identity:
        """Make a new key in `<folder>/<name>.key`; refuses to overwrite one."""
        target = Path(folder) / f"{check_name(name)}.key"
        private = Ed25519PrivateKey.generate()
        write_private(target, private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return cls(name, target, target.with_suffix(".crt"), private)

    @classmethod
    def load(cls, key_file: str | os.PathLike[str], certificate_file: str | os.PathLike[str] | None = None) -> Identity:
        """Return the key in this file, with its certificate: the named one, or the one beside it if there is one."""
        path = Path(key_file)
        private = load_private(path)
        file = Path(certificate_file or path.with_suffix(".crt"))
        if certificate_file is None and not file.exists():
            return cls(path.stem, path, file, private)
        certificate = load_certificate(file)
        if ed25519_public(certificate) != private.public_key().public_bytes_raw():
            raise LocalError(f"{file} certifies another key than {path}: put the certificate of this key there")
        return cls(common_name(certificate.subject), path, file, private, certificate)

    def __repr__(self) -> str:
        return f"Identity({self.fingerprint})"

    @property
    def public(self) -> bytes:
        """The 32 bytes of the public key."""
        return self.private.public_key().public_bytes_raw()

    @property
    def fingerprint(self) -> str:
        """What two people compare by phone."""
        return fingerprint(self.public)

    def sign(self, context: str, data: bytes) -> bytes:
        """Sign data for this context only."""
        return self.private.sign(_frame(context, data))

    def storage_key(self) -> bytes:
        """Return 32 bytes that encrypt what this site stores; lost with the key."""
        return self._derive(b"tacit storage key")

    @property
    def sealing_private(self) -> bytes:
        """The X25519 key under which other members seal control messages for this one."""
        return self._derive(b"tacit sealing key")

    def _derive(self, info: bytes) -> bytes:
        return HKDF(SHA256(), length=32, salt=None, info=info).derive(self.private.private_bytes_raw())

    @property
    def sealing(self) -> bytes:
        """The public half of the key that letters are sealed for."""
        return public_key(self.sealing_private)

    def request(self, kind: Kind, hosts: Sequence[str] = ()) -> bytes:
        """Return the request for a certificate, PEM; `hosts` are where a coordinator's server is reached."""
        wish = {NameOID.COMMON_NAME: self.name, NameOID.ORGANIZATIONAL_UNIT_NAME: kind}
        subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in wish.items()])
        builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
        builder = builder.add_extension(x509.UnrecognizedExtension(SEALING, self.sealing), critical=False)
        if hosts:
            builder = builder.add_extension(alternative_names(hosts), critical=False)
        return builder.sign(self.private, None).public_bytes(Encoding.PEM)

    def tls(self, authority: str) -> ssl.SSLContext:
        """Return what a client dials the server with: its certificate and key, and the one authority that it trusts."""
        if self.certificate is None:
            remedy = f"have {self.name}.request signed by the registrar and put it there"
            raise LocalError(f"{self.certificate_file} is missing: {remedy}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.load_verify_locations(cadata=authority)
        context.load_cert_chain(self.certificate_file, self.key_file)
        return context


def verify(public: bytes, context: str, data: bytes, signature: bytes) -> None:
    """Raise unless the owner of `public` signed this in this context."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _frame(context, data))
    except (InvalidSignature, ValueError):
        fault = f"a signature on {context} does not match the key it names"
        raise PeerError(f"{fault}: it was altered or is another's; ask its sender for it again") from None


def fingerprint(public: bytes) -> str:
    """Return the fingerprint of a public key: 8 groups of 4 hex digits."""
    digits = key_digest(public)[: FINGERPRINT_BITS // 4]
    return " ".join(digits[i : i + _GROUP] for i in range(0, len(digits), _GROUP))


def matches(public: bytes, typed: str) -> bool:
    """Return whether a person typed this key's fingerprint: its 128 bits, or all 256 of the hash."""
    digits = re.sub(r"[\s:-]", "", typed).lower()
    return len(digits) in {FINGERPRINT_BITS // 4, HASH_BITS // 4} and key_digest(public).startswith(digits)


def key_digest(public: bytes) -> str:
    """SHA-256 of the public key as certificates hold it, in hex."""
    der = Ed25519PublicKey.from_public_bytes(public).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def key_tag(public: bytes) -> str:
    """Return the fingerprint without blanks."""
    return fingerprint(public).replace(" ", "")


def member_subject(name: str, public: bytes) -> x509.Name:
    """Whom a certificate is for: the name and its key, since the server knows its users by their subject alone."""
    tag = x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, key_tag(public))
    return x509.Name([tag, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def alternative_names(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    """Return host names and addresses as a certificate holds them."""
    return x509.SubjectAlternativeName([_general_name(check_host(host)) for host in hosts])


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, from its first moment; refuses to overwrite one."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        remedy = "use the key that it holds, or make the new one in another folder"
        raise LocalError(f"{path} exists and is never overwritten: {remedy}") from None
    except OSError as error:
        remedy = "name a folder that exists and is yours to write"
        raise LocalError(f"the key {path} cannot be written: {error.strerror}; {remedy}") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def load_private(path: Path) -> Ed25519PrivateKey:
    """Return the key in a file that nobody else can read."""
    remedy = "correct the path, or make a key with: tacit keys new"
    content = read_private(path, "the key", "a private key", remedy, most=1 << 16)
    return _private(path, content)


def load_certificate(path: Path) -> x509.Certificate:
    """Return the certificate in this file, of an Ed25519 key."""
    pem = read_file(path, "the certificate")
    try:
        certificate = parse_certificate(pem)
        ed25519_public(certificate)
        common_name(certificate.subject)
    except (ValueError, x509.InvalidVersion):
        raise LocalError(f"{path} {NO_CERTIFICATE}") from None
    return certificate


def parse_certificate(pem: bytes) -> x509.Certificate:
    """Return a certificate; ValueError where it is none, or one that later versions of the library would not read."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", CryptographyDeprecationWarning)
        try:
            return x509.load_pem_x509_certificate(pem)
        except CryptographyDeprecationWarning as error:
            raise ValueError("not a certificate of RFC 5280") from error


def ed25519_public(of: x509.Certificate | x509.CertificateSigningRequest) -> bytes:
    """Return the 32 bytes of the key of a certificate or a request; ValueError where it is no Ed25519 key."""
    try:
        public = of.public_key()
    except UnsupportedAlgorithm as error:
        raise ValueError("not an Ed25519 key") from error
    if not isinstance(public, Ed25519PublicKey):
        raise ValueError("not an Ed25519 key")  # noqa: TRY004 - as the parser raises for what it cannot read
    return public.public_bytes_raw()


def common_name(subject: x509.Name) -> str:
    """Return the one common name of a subject; ValueError where there is none, or several."""
    (attribute,) = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(attribute.value)


def _private(path: Path, content: bytes) -> Ed25519PrivateKey:
    try:
        private = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        private = None
    if not isinstance(private, Ed25519PrivateKey):
        raise LocalError(f"{path} holds no Ed25519 private key: give the file that `tacit keys new` wrote")
    return private


def _frame(context: str, data: bytes) -> bytes:
    label = context.encode()
    return b"tacit signature 1\n" + len(label).to_bytes(4, "little") + label + data


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
