import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from consortium_sites import Consortium
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.consortium.membership.certificate_request import Request, create
from tacit.consortium.membership.identity import SEALING, Identity, ed25519_public, key_digest
from tacit.consortium.membership.members import Members
from tacit.consortium.membership.registrar import Registrar
from tacit.errors import LocalError, PeerError


@pytest.fixture
def consortium(tmp_path):
    return Consortium(tmp_path)


@pytest.fixture
def pin(consortium):
    return consortium.registrar.identity.fingerprint


@pytest.fixture
def listed(consortium):
    return consortium.folder / "registrar" / "consortium.members"


def csr(subject, key=None, hosts=(), sealing=bytes(range(32))):
    """A request as somebody else's tool might make it."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(oid, value) for oid, value in subject])
    )
    if sealing is not None:
        builder = builder.add_extension(x509.UnrecognizedExtension(SEALING, sealing), critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(h) for h in hosts]), critical=False)
    made = key or Ed25519PrivateKey.generate()
    return builder.sign(made, None if isinstance(made, Ed25519PrivateKey) else SHA256()).public_bytes(Encoding.PEM)


def wish(name, kind):
    return [(NameOID.COMMON_NAME, name), (NameOID.ORGANIZATIONAL_UNIT_NAME, kind)]


def test_the_authority_may_sign_members_and_nothing_below(consortium):
    certificate = consortium.registrar.certificate
    basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    assert stat.S_IMODE(consortium.registrar.identity.key_file.stat().st_mode) == 0o600
    certificate.verify_directly_issued_by(certificate)


def test_a_second_registrar_in_one_folder_is_refused(consortium):
    with pytest.raises(LocalError, match=r"registrar\.key exists and is never overwritten"):
        Registrar.init(consortium.folder / "registrar", "Others")


@pytest.mark.parametrize("name", ["", "a\nb", " a", "x" * 49, 'a"b'])
def test_a_consortium_has_a_plain_name(tmp_path, name):
    with pytest.raises(LocalError, match=r"the consortium's name .* is not allowed: use 1 to 48 letters"):
        Registrar.init(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "usages"),
    [
        ("party", {ExtendedKeyUsageOID.CLIENT_AUTH}),
        ("analyst", {ExtendedKeyUsageOID.CLIENT_AUTH}),
        ("coordinator", {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH}),
    ],
)
def test_a_certificate_allows_what_its_kind_needs(consortium, kind, usages):
    identity = consortium.join("north", kind)
    certificate = identity.certificate
    certificate.verify_directly_issued_by(consortium.registrar.certificate)
    assert set(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == usages
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert ed25519_public(certificate) == identity.public
    assert certificate.not_valid_after_utc - datetime.now(UTC) < timedelta(days=365, seconds=1)
    member = consortium.members.member("north")
    assert (member.kind, member.key, int(member.serial, 16)) == (kind, identity.public, certificate.serial_number)


def test_the_registrar_remembers_by_its_signed_list_alone(consortium, listed, pin):
    consortium.join("north")
    again = Registrar.load(consortium.folder / "registrar")
    assert again.members == consortium.members == Members.load(listed, pin)
    assert again.members.version == 2


def test_two_parties_with_the_same_name_are_refused(consortium):
    consortium.join("north")
    _, second = consortium.request("north", folder="second")
    with pytest.raises(LocalError, match="two members would have the name north: choose another"):
        consortium.registrar.sign(second, "party")
    consortium.registrar.revoke("north")
    with pytest.raises(LocalError, match="two members would have the name north"):
        consortium.registrar.sign(second, "party")


def test_one_key_serves_one_member_once(consortium):
    north = consortium.join("north")
    with pytest.raises(
        LocalError, match=r"the key of south's request is that of north \(valid\): each member needs a fresh one"
    ):
        consortium.registrar.sign(Request("south", "party", (), north.public, north.sealing), "party")
    consortium.registrar.revoke("north")
    with pytest.raises(LocalError, match=r"is that of north \(revoked\)"):
        consortium.registrar.rotate(Request("north", "party", (), north.public, north.sealing))
    registrar = consortium.registrar.identity
    with pytest.raises(LocalError, match="is that of the registrar"):
        consortium.registrar.sign(Request("west", "party", (), registrar.public, registrar.sealing), "party")


def test_nobody_becomes_more_than_the_registrar_takes_it_for(consortium):
    _, request = consortium.request("north", "coordinator")
    with pytest.raises(LocalError, match="north asks to join as coordinator, not as party: ask the site which it is"):
        consortium.registrar.sign(request, "party")
    consortium.join("south")
    _, request = consortium.request("south", "coordinator", folder="second")
    with pytest.raises(LocalError, match="south is party and asks to become coordinator: a rotation keeps the kind"):
        consortium.registrar.rotate(request)


def test_a_rotation_revokes_the_old_key_and_changes_both(consortium):
    old = consortium.join("north")
    new, request = consortium.request("north", folder="second")
    consortium.registrar.rotate(request)
    assert consortium.members.member("north").key == new.public
    assert [m.sealing for m in consortium.members] == [old.sealing.hex(), new.sealing.hex()]
    assert consortium.members.member("north").sealing == new.sealing.hex() != old.sealing.hex()
    assert [(m.key, m.revoked) for m in consortium.members] == [(old.public, True), (new.public, False)]
    consortium.members.verify("north", "answer", b"x", new.sign("answer", b"x"))
    with pytest.raises(
        PeerError, match=r"a signature on answer is not that of north \(key .*compare fingerprints with north"
    ):
        consortium.members.verify("north", "answer", b"x", old.sign("answer", b"x"))


def test_a_renewal_keeps_keys_and_hosts_and_lasts_longer(consortium):
    identity = consortium.join("clearing", "coordinator")
    before = consortium.members.member("clearing")
    consortium.registrar.renew("clearing", 700)
    after = consortium.members.member("clearing")
    assert (after.key, after.sealing, after.hosts) == (before.key, before.sealing, before.hosts)
    assert after.sealing == identity.sealing.hex()
    assert after.not_after > before.not_after
    assert after.serial != before.serial
    renewed = consortium.fetch(identity).certificate
    names = renewed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]


def test_what_is_revoked_stays_so(consortium):
    consortium.join("north")
    consortium.registrar.revoke("north")
    with pytest.raises(LocalError, match="north is already revoked"):
        consortium.registrar.revoke("north")
    with pytest.raises(LocalError, match="the key of north was revoked and cannot be renewed"):
        consortium.registrar.renew("north")


@pytest.mark.parametrize("act", ["revoke", "renew"])
def test_an_unknown_member_is_named(consortium, act):
    with pytest.raises(LocalError, match="'east' is not a member of Northern hospitals: correct the name"):
        getattr(consortium.registrar, act)("east")


@pytest.mark.parametrize("days", [0, -1, 4000])
def test_no_certificate_outlives_its_registrar(consortium, days):
    _, request = consortium.request("north")
    with pytest.raises(LocalError, match=rf"a certificate of {days} days is not possible"):
        consortium.registrar.sign(request, "party", days)
    assert consortium.members.version == 1


@pytest.mark.parametrize(
    ("pem", "words"),
    [
        (b"", "is not a request that `tacit keys new` wrote"),
        (csr([(NameOID.COMMON_NAME, "north")]), "is not a request"),
        (csr([*wish("north", "party"), (NameOID.COMMON_NAME, "south")]), "is not a request"),
        (csr(wish("north", "party"), generate_private_key(SECP256R1())), "is not a request"),
        (csr(wish("North", "party")), "the name 'North' is not allowed"),
        (csr(wish("north,OU=x", "party")), "is not allowed"),
        (csr(wish("registrar", "party")), "the registrar's own: choose another"),
        (csr(wish("north", "king")), "unknown kind 'king': use one of party, coordinator, analyst"),
        (csr(wish("north", "party"), hosts=["a.example"]), "only a coordinator is dialled"),
        (csr(wish("clearing", "coordinator")), "names no host, so no site could reach it: add --host"),
        (csr(wish("clearing", "coordinator"), hosts=["CN=north"]), "the host 'CN=north' is not a host name"),
        (csr(wish("clearing", "coordinator"), hosts=["*.example"]), "is not a host name"),
        (
            csr(wish("north", "party"), sealing=None),
            "is not a request that `tacit keys new` wrote: ask the site to send it again",
        ),
        (csr(wish("north", "party"), sealing=b""), "is not a request that `tacit keys new` wrote"),
        (csr(wish("north", "party"), sealing=bytes(31)), "is not a request that `tacit keys new` wrote"),
        (csr(wish("north", "party"), sealing=bytes(33)), "is not a request that `tacit keys new` wrote"),
        (csr(wish("north", "party"), sealing=b"04" + bytes(32)), "is not a request that `tacit keys new` wrote"),
    ],
)
def test_a_bad_request_is_refused(pem, words):
    with pytest.raises(LocalError) as error:
        Request.read(pem, "x.request")
    assert words in str(error.value)


def test_a_request_of_another_tool_is_read_if_it_says_what_ours_says():
    request = Request.read(csr(wish("north", "party")))
    assert (request.name, request.kind, request.hosts, request.sealing) == ("north", "party", (), bytes(range(32)))


def test_the_list_names_the_sealing_key_that_the_site_asked_for(consortium):
    identity, request = consortium.request("north")
    assert request.sealing == identity.sealing
    assert len({identity.sealing, identity.sealing_private, identity.public, identity.storage_key()}) == 4
    consortium.registrar.sign(request, "party")
    assert consortium.members.member("north").sealing == identity.sealing.hex()
    assert identity.sealing_private.hex() not in consortium.members.signed.decode()


def test_a_sealing_key_that_was_exchanged_on_the_way_is_noticed(tmp_path):
    identity, path = create(tmp_path, "north", "party", [])
    request = x509.load_pem_x509_csr(path.read_bytes())
    altered = request.public_bytes(Encoding.DER).replace(identity.sealing, bytes([9] + [0] * 31))
    body = x509.load_der_x509_csr(altered).public_bytes(Encoding.PEM)
    with pytest.raises(LocalError, match="is not signed by the key that it names: it was altered on its way"):
        Request.read(body)


def test_a_request_that_its_key_did_not_sign_is_refused(tmp_path):
    _, path = create(tmp_path, "north", "party", [])
    request = x509.load_pem_x509_csr(path.read_bytes())
    altered = request.public_bytes(Encoding.DER).replace(b"north", b"south")
    body = x509.load_der_x509_csr(altered).public_bytes(Encoding.PEM)
    with pytest.raises(LocalError, match="is not signed by the key that it names: it was altered on its way"):
        Request.read(body)


def test_a_bad_wish_leaves_no_key(tmp_path):
    for name, kind, hosts in [
        ("x", "king", []),
        ("x", "coordinator", []),
        ("x", "party", ["a"]),
        ("x", "coordinator", ["a b"]),
    ]:
        with pytest.raises(LocalError):
            create(tmp_path, name, kind, hosts)
    assert list(tmp_path.iterdir()) == []


# the list of members


def test_every_altered_byte_of_the_list_is_noticed(consortium, pin):
    consortium.join("north")
    signed = consortium.members.signed
    for at in range(len(signed)):
        altered = signed[:at] + bytes([signed[at] ^ 1]) + signed[at + 1 :]
        try:
            read = Members.read(altered, pin)
        except LocalError:
            continue
        assert read.content == consortium.members.content  # a blank outside of what is signed


def test_a_list_of_another_registrar_is_refused(listed, tmp_path):
    other = Consortium(tmp_path / "other").registrar.identity
    with pytest.raises(
        LocalError, match=r"is signed by the registrar .*, and the pinned one is another .*compare the fingerprint"
    ):
        Members.load(listed, other.fingerprint)


def test_a_pin_may_hold_the_whole_hash(consortium, listed):
    assert Members.load(listed, key_digest(consortium.registrar.identity.public)).consortium == "Northern hospitals"


def test_another_key_cannot_sign_in_the_registrars_name(consortium, pin):
    north = consortium.join("north")
    forged = Members.sign(consortium.members.content, north)
    with pytest.raises(LocalError, match="was altered after the registrar signed it"):
        Members.read(forged.signed, pin)


def test_the_list_never_goes_back(consortium, listed, pin):
    consortium.join("north")
    old = Members.load(listed, pin)
    site = consortium.folder / "site.members"
    old.save(site)
    consortium.registrar.revoke("north")
    consortium.members.save(site)
    with pytest.raises(LocalError, match="is version 3 and would be replaced by version 2: versions never go back"):
        old.save(site)
    assert Members.load(site, pin, at_least=3).version == 3
    with pytest.raises(
        LocalError, match="is version 2, and this site has seen version 3: an older list could bring a revoked key back"
    ):
        Members.read(old.signed, pin, at_least=3)


def test_two_lists_of_one_version_are_refused(consortium):
    site = consortium.folder / "site.members"
    consortium.members.save(site)
    consortium.members.save(site)  # the same is no change
    twin = Members.sign(
        type(consortium.members.content)(consortium="Twin", version=1, authority=consortium.members.authority),
        consortium.registrar.identity,
    )
    with pytest.raises(LocalError, match="versions never go back nor exist twice"):
        twin.save(site)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"content": {}, "signature": ""}', b"\xff"])
def test_what_is_no_list_is_refused(pin, content):
    with pytest.raises(LocalError, match="is not a list of members that this version reads"):
        Members.read(content, pin)


def test_a_missing_list_is_named(tmp_path, pin):
    with pytest.raises(LocalError, match=r"the list of members .*none cannot be read: No such file"):
        Members.load(tmp_path / "none", pin)


def test_lookups_refuse_unknown_revoked_and_expired_members_by_name(consortium):
    consortium.join("north")
    consortium.join("south")
    consortium.registrar.revoke("north")
    members = consortium.members
    with pytest.raises(
        LocalError, match=r"'east' is not a member of Northern hospitals \(list version 4\): correct the name"
    ):
        members.member("east")
    with pytest.raises(PeerError, match="the key of north was revoked by the registrar: north needs a new one"):
        members.member("north")
    later = datetime.now(UTC) + timedelta(days=366)
    with pytest.raises(PeerError, match=r"the certificate of south expired on \d{4}-\d\d-\d\d: have it renewed"):
        members.member("south", later)
    assert [m.name for m in members.of_kind("party")] == ["south"]
    assert members.of_kind("party", later) == ()


def test_people_can_read_the_list(consortium, listed):
    consortium.join("north")
    (member,) = json.loads(listed.read_text())["content"]["members"]
    assert member["name"] == "north"
    assert set(member) == {"name", "kind", "public", "sealing", "serial", "not_after", "hosts", "revoked"}


def test_tokens_differ_between_consortia_and_show_no_name(consortium, tmp_path):
    other = Consortium(tmp_path / "other", "Southern hospitals").members
    tokens = {consortium.members.token("north"), consortium.members.token("south"), other.token("north")}
    assert len(tokens) == 3
    assert all(len(t) == 16 and int(t, 16) >= 0 for t in tokens)


def test_a_registrar_is_looked_for_where_it_is(tmp_path):
    with pytest.raises(
        LocalError, match=r"registrar\.key does not exist: go to the registrar's folder, or found a consortium"
    ):
        Registrar.load(tmp_path)


def test_a_failed_write_admits_nobody(consortium, monkeypatch, listed, pin):
    _, request = consortium.request("north")

    def full(_fd):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(LocalError, match="No space left on device"):
            consortium.registrar.sign(request, "party")
    assert Members.load(listed, pin).version == consortium.members.version == 1
    assert isinstance(Identity.load(Path(consortium.folder / "north/first/north.key")), Identity)
