"""Approvers: every person has a passphrase, and signs votes with a key that is made of it.

    private key = Ed25519 key of scrypt(passphrase, salt)          nowhere on disk; made anew for every vote
    NAME.approver                                                  the salt and the public key

So one shell cannot approve as two people, and a vote that was written by hand does not count. Whoever may write the
site's files can still register another key, or change the policy: that is the administrator, whom the site trusts.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.consortium.site.settings import file_safe
from tacit.errors import LocalError
from tacit.files import write_whole

SHORTEST = 8  # characters of a passphrase
END = ".approver"  # of the file of a person
NOBODY = bytes(16)  # the salt of a name that nobody has


class Approver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a site keeps of a person."""

    name: str
    salt: str
    key: str


class Approvers:
    """The people of one site who have a passphrase, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, name: str, passphrase: str) -> None:
        """Register a person, who chose this passphrase."""
        file = self._file(name)
        if file.exists():
            raise LocalError(
                f"{name} has a passphrase already: remove {file} first, which makes the votes of {name} void"
            )
        if len(passphrase) < SHORTEST:
            raise LocalError(f"the passphrase of {name} has fewer than {SHORTEST} characters: choose a longer one")
        salt = secrets.token_bytes(16)
        public = _key(passphrase, salt).public_key().public_bytes_raw()
        known = Approver(name=name, salt=salt.hex(), key=public.hex())
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.encode(known), "the approver", private=True)

    def sign(self, name: str, passphrase: str, data: bytes) -> str:
        """Return a person's signature; raise if the passphrase is another one."""
        known = self._find(name)
        if known is None:
            raise LocalError(f"{name} has no passphrase at this site yet: choose one with tacit party approver {name}")
        key = _key(passphrase, bytes.fromhex(known.salt))
        if key.public_key().public_bytes_raw().hex() != known.key:
            raise LocalError(f"this is not the passphrase of {name}: let {name} type it")
        return key.sign(data).hex()

    def names(self) -> list[str]:
        """Return who has a passphrase here."""
        return sorted(file.stem for file in self._folder.glob(f"*{END}"))

    def knows(self, name: str, passphrase: str) -> bool:
        """Return whether this is the person's passphrase; a name that nobody has takes as long to tell."""
        known = self._find(name) if file_safe(name) else None
        public = _key(passphrase, NOBODY if known is None else bytes.fromhex(known.salt)).public_key()
        return known is not None and secrets.compare_digest(public.public_bytes_raw().hex(), known.key)

    def signed(self, name: str, data: bytes, signature: str) -> bool:
        """Return whether a person signed this."""
        known = self._find(name)
        try:
            if known is not None:
                Ed25519PublicKey.from_public_bytes(bytes.fromhex(known.key)).verify(bytes.fromhex(signature), data)
        except (InvalidSignature, ValueError):
            return False
        return known is not None

    def _find(self, name: str) -> Approver | None:
        file = self._file(name)
        if not file.exists():
            return None
        try:
            return msgspec.json.decode(file.read_bytes(), type=Approver)
        except msgspec.DecodeError:
            raise LocalError(f"{file} is damaged: restore it from a backup, or register {name} again") from None

    def _file(self, name: str) -> Path:
        if not file_safe(name):
            raise LocalError(f"{name!r} cannot be the name of an approver: use letters, digits, '.', @, - and _")
        return self._folder / f"{name}{END}"


def _key(passphrase: str, salt: bytes) -> Ed25519PrivateKey:
    seed = hashlib.scrypt(
        passphrase.encode(), salt=salt, n=2**14, r=8, p=1, maxmem=2**26, dklen=32
    )  # some 50 ms a guess
    return Ed25519PrivateKey.from_private_bytes(seed)
