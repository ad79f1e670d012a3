"""An identity: one Ed25519 key that never leaves its site, and the certificate that a registrar gave it.

    <name>.key        the private key; mode 0600 from its first moment, never overwritten
    <name>.request    the public key, signed by itself, for the registrar
    <name>.crt        the certificate that comes back

The key signs what its owner says, TLS handshakes and its own request. The three cannot be taken for each other: what `sign` signs
starts with "tacit", a handshake with spaces, a request with a DER tag.

Fingerprint: the first 128 bits of SHA-256 of the public key (DER, SubjectPublicKeyInfo, as `openssl pkey -pubout` writes it). Who wants
to slip in another key under the same fingerprint needs a second preimage, 2^128 attempts. A pin may hold all 256 bits.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import ssl
import stat
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
from cryptography.x509.oid import NameOID

from tacit.consortium.names import Kind, check_host, check_name
from tacit.crypto.agreement import public_key
from tacit.errors import LocalError, PeerError

FINGERPRINT_BITS = 128
HASH_BITS = 256
_GROUP = 4  # hex digits that a person reads out at once
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


SEALING = x509.ObjectIdentifier("2.25.163742266900065212854057631897480809056")  # the extension with a member's sealing key


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
        """A new key in `<folder>/<name>.key`; refuses to overwrite one."""
        target = Path(folder) / f"{check_name(name)}.key"
        private = Ed25519PrivateKey.generate()
        write_private(target, private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return cls(name, target, target.with_suffix(".crt"), private)

    @classmethod
    def load(cls, key_file: str | os.PathLike[str], certificate_file: str | os.PathLike[str] | None = None) -> Identity:
        """The key in this file, with its certificate: the one named, which must exist, or the one beside it if there is one."""
        path = Path(key_file)
        private = load_private(path)
        file = Path(certificate_file or path.with_suffix(".crt"))
        if certificate_file is None and not file.exists():
            return cls(path.stem, path, file, private)
        certificate = load_certificate(file)
        if certificate_public(certificate) != private.public_key().public_bytes_raw():
            raise LocalError(f"{file} certifies another key than {path}: put the certificate that the registrar made for this key there")
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
        """A signature that holds for this context only."""
        return self.private.sign(_framed(context, data))

    def storage_key(self) -> bytes:
        """32 bytes that encrypt what this site stores; lost with the key."""
        return HKDF(SHA256(), length=32, salt=None, info=b"tacit storage key").derive(self.private.private_bytes_raw())

    @property
    def sealing_private(self) -> bytes:
        """The X25519 key under which other members seal control messages for this one."""
        return HKDF(SHA256(), length=32, salt=None, info=b"tacit sealing key").derive(self.private.private_bytes_raw())

    @property
    def sealing(self) -> bytes:
        """Its public half."""
        return public_key(self.sealing_private)

    def request(self, kind: Kind, hosts: Sequence[str] = ()) -> bytes:
        """The request for a certificate, PEM; `hosts` are where a coordinator's server is reached."""
        wish = [x509.NameAttribute(NameOID.COMMON_NAME, self.name), x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, kind)]
        builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(wish))
        builder = builder.add_extension(x509.UnrecognizedExtension(SEALING, self.sealing), critical=False)
        if hosts:
            builder = builder.add_extension(alternative_names(hosts), critical=False)
        return builder.sign(self.private, None).public_bytes(Encoding.PEM)

    def tls(self, authority: str) -> ssl.SSLContext:
        """What a client needs to dial the server: its certificate and key, and the one authority (PEM) that it trusts."""
        if self.certificate is None:
            raise LocalError(f"{self.certificate_file} is missing: have {self.name}.request signed by the registrar and put it there")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.load_verify_locations(cadata=authority)
        context.load_cert_chain(self.certificate_file, self.key_file)
        return context


def verify(public: bytes, context: str, data: bytes, signature: bytes) -> None:
    """Raise unless the owner of `public` signed this in this context."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _framed(context, data))
    except (InvalidSignature, ValueError):
        raise PeerError(
            f"a signature on {context} does not match the key it names: it was altered or is another's; ask its sender for it again"
        ) from None


def fingerprint(public: bytes) -> str:
    """The fingerprint of a public key: 8 groups of 4 hex digits."""
    digits = key_digest(public)[: FINGERPRINT_BITS // 4]
    return " ".join(digits[i : i + _GROUP] for i in range(0, len(digits), _GROUP))


def matches(public: bytes, typed: str) -> bool:
    """Whether a person typed this key's fingerprint, with or without blanks; at least its 128 bits, or all 256 of the hash."""
    digits = re.sub(r"[\s:-]", "", typed).lower()
    return len(digits) in {FINGERPRINT_BITS // 4, HASH_BITS // 4} and key_digest(public).startswith(digits)


def key_digest(public: bytes) -> str:
    """SHA-256 of the public key as certificates hold it, in hex."""
    der = Ed25519PublicKey.from_public_bytes(public).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def key_tag(public: bytes) -> str:
    """The fingerprint without blanks."""
    return fingerprint(public).replace(" ", "")


def member_subject(name: str, public: bytes) -> x509.Name:
    """Whom a certificate is for: the name and its key, since the server knows its users by their subject alone."""
    tag = x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, key_tag(public))
    return x509.Name([tag, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def alternative_names(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    """Host names and addresses as a certificate holds them."""
    return x509.SubjectAlternativeName([_general_name(check_host(host)) for host in hosts])


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, from its first moment; refuses to overwrite one."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise LocalError(
            f"{path} exists and is never overwritten: use the key that it holds, or make the new one in another folder"
        ) from None
    except OSError as error:
        raise LocalError(f"the key {path} cannot be written: {error.strerror}; name a folder that exists and is yours to write") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def load_private(path: Path) -> Ed25519PrivateKey:
    """The key in a file that nobody else can read."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(1 << 16)
    except OSError as error:
        raise LocalError(f"the key {path} cannot be read: {error.strerror}; correct the path, or make a key with: tacit keys new") from None
    if os.name == "posix" and mode & _OTHERS:
        raise LocalError(
            f"{path} is open to others (mode {mode:04o}), and a private key is its owner's alone: chmod 600 {shlex.quote(str(path))}"
        )
    return _private(path, content)


def load_certificate(path: Path) -> x509.Certificate:
    """The certificate in this file, of an Ed25519 key."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        certificate_public(certificate)
        common_name(certificate.subject)
    except OSError as error:
        raise LocalError(f"the certificate {path} cannot be read: {error.strerror}; correct the path") from None
    except (ValueError, x509.InvalidVersion):
        raise LocalError(f"{path} is not a certificate that a tacit registrar issued: ask the registrar for it again") from None
    return certificate


def certificate_public(certificate: x509.Certificate) -> bytes:
    """The 32 bytes that a certificate certifies; ValueError where they are no Ed25519 key."""
    try:
        public = certificate.public_key()
    except UnsupportedAlgorithm as error:
        raise ValueError("not an Ed25519 key") from error
    if not isinstance(public, Ed25519PublicKey):
        raise ValueError("not an Ed25519 key")  # noqa: TRY004 - as the parser raises for what it cannot read
    return public.public_bytes_raw()


def common_name(subject: x509.Name) -> str:
    """The one common name of a subject; ValueError where there is none, or several."""
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


def _framed(context: str, data: bytes) -> bytes:
    label = context.encode()
    return b"tacit signature 1\n" + len(label).to_bytes(4, "little") + label + data


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
