"""A site's own papers: key, certificate and list of members, and that they belong together."""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tacit.consortium.identity import Identity
from tacit.consortium.members import Members
from tacit.consortium.seen_lists import refuse_older, remember
from tacit.consortium.settings import Settings
from tacit.errors import LocalError


def identity_of(settings: Settings) -> tuple[Identity, Members]:
    """Key and certificate, and the members they belong to; refuses what does not fit together, and a list older than one seen before."""
    identity = Identity.load(settings.key, settings.certificate)
    members = Members.load(settings.members, settings.ca_fingerprint)
    refuse_older(settings.state, members, str(settings.members))
    entry = members.member(settings.name)
    if entry.key != identity.public:
        raise LocalError(
            f"the members list has another key for {settings.name} than {settings.key}: ask the registrar for both files again"
        )
    if identity.certificate is not None and not _issued(identity.certificate, members):
        raise LocalError(
            f"{settings.certificate} was not signed by the registrar of {members.consortium}: ask that one for the certificate again"
        )
    remember(settings.state, members)
    return identity, members


def _issued(certificate: x509.Certificate, members: Members) -> bool:
    try:
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(members.authority.encode()))
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True
