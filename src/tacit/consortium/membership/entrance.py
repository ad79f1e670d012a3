"""A site's own papers: key, certificate and list of members, and that they belong together.

    state/members.seen    {registrar: version}, each registrar by the digest of its key

That file keeps the newest version of the list that the site has seen. Whoever can put an old list in place of the new
one while a site is down could bring a revoked key back. A site that pins another registrar begins anew with that one's
versions.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tacit.consortium.disk import read_file
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.consortium.site.settings import Settings
from tacit.errors import LocalError
from tacit.files import write_whole

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
