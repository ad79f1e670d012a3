import hashlib
import os
import ssl
import stat
import subprocess
import sys

import pytest
from consortium_sites import Consortium
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tacit.consortium.membership.identity import FINGERPRINT_BITS, Identity, fingerprint, key_digest, matches, verify
from tacit.errors import LocalError, PeerError


@pytest.fixture
def north(tmp_path):
    return Identity.create(tmp_path, "north")


def test_a_key_is_its_owners_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        identity = Identity.create(tmp_path, "north")
    finally:
        os.umask(before)
    assert stat.S_IMODE(identity.key_file.stat().st_mode) == 0o600


def test_the_key_file_was_never_open_to_others(tmp_path, monkeypatch):
    modes = []
    real = os.open

    def watched(path, flags, mode=0o777, **kwargs):
        descriptor = real(path, flags, mode, **kwargs)
        modes.append((stat.S_IMODE(os.fstat(descriptor).st_mode), bool(flags & os.O_EXCL)))
        return descriptor

    monkeypatch.setattr(os, "open", watched)
    Identity.create(tmp_path, "north")
    assert modes == [(0o600, True)]


def test_a_key_comes_back_as_it_was(north):
    again = Identity.load(north.key_file)
    assert (again.name, again.public, again.storage_key()) == ("north", north.public, north.storage_key())


def test_an_existing_key_is_never_overwritten(north):
    content = north.key_file.read_bytes()
    with pytest.raises(LocalError, match=r"north\.key exists and is never overwritten: .* in another folder"):
        Identity.create(north.key_file.parent, "north")
    assert north.key_file.read_bytes() == content


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_key_that_others_can_reach_is_refused_with_the_chmod_to_run(north, mode):
    north.key_file.chmod(mode)
    with pytest.raises(LocalError, match=rf"is open to others \(mode {mode:04o}\).*: chmod 600 .*north\.key$"):
        Identity.load(north.key_file)


@pytest.mark.parametrize("content", [b"", b"north", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_file_without_a_key_is_refused(north, content):
    north.key_file.write_bytes(content)
    with pytest.raises(LocalError, match="holds no Ed25519 private key: give the file that `tacit keys new` wrote"):
        Identity.load(north.key_file)


def test_a_key_of_another_kind_is_refused(north):
    other = generate_private_key(SECP256R1())
    north.key_file.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(LocalError, match="holds no Ed25519 private key"):
        Identity.load(north.key_file)


def test_a_missing_key_says_how_to_make_one(tmp_path):
    with pytest.raises(
        LocalError,
        match=r"cannot be read: No such file or directory; correct the path, or make a key with: tacit keys new",
    ):
        Identity.load(tmp_path / "north.key")


@pytest.mark.parametrize("name", ["", "North", "a" * 33, "nörd", "a b", "../north", "-north", "north\n", "a.b", "*"])
def test_a_name_is_1_to_32_of_a_few_characters(tmp_path, name):
    with pytest.raises(LocalError, match=r"is not allowed: use 1 to 32 of a-z, 0-9 and -"):
        Identity.create(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_the_fingerprint_is_what_openssl_computes_in_eight_groups(north):
    der = north.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    groups = north.fingerprint.split()
    assert [len(g) for g in groups] == [4] * 8
    assert "".join(groups) == hashlib.sha256(der).hexdigest()[: FINGERPRINT_BITS // 4]


def test_a_typed_fingerprint_matches_whole_or_not_at_all(north, tmp_path):
    typed = north.fingerprint
    for form in (
        typed,
        typed.upper(),
        typed.replace(" ", ":"),
        typed.replace(" ", ""),
        f" {typed}\n",
        key_digest(north.public),
    ):
        assert matches(north.public, form)
    (tmp_path / "other").mkdir()
    other = Identity.create(tmp_path / "other", "north")
    for form in (
        "",
        typed[:-1],
        typed[:4],
        typed + "0",
        fingerprint(other.public),
        typed[:-1] + ("0" if typed[-1] != "0" else "1"),
    ):
        assert not matches(north.public, form)


def test_a_signature_holds_for_its_key_its_context_and_its_data_only(north, tmp_path):
    (tmp_path / "other").mkdir()
    other = Identity.create(tmp_path / "other", "north")
    signature = north.sign("proposal", b"data")
    verify(north.public, "proposal", b"data", signature)
    for public, context, data, what in [
        (other.public, "proposal", b"data", signature),
        (north.public, "answer", b"data", signature),
        (north.public, "proposald", b"ata", signature),
        (north.public, "proposa", b"ldata", signature),
        (north.public, "proposal", b"Data", signature),
        (north.public, "proposal", b"data", signature[:-1]),
        (north.public, "proposal", b"data", b""),
        (b"short", "proposal", b"data", signature),
    ]:
        with pytest.raises(
            PeerError, match=r"a signature on \w+ does not match the key it names: .* ask its sender for it again"
        ):
            verify(public, context, data, what)


def test_the_storage_key_is_the_keys_own_and_not_the_key(north, tmp_path):
    (tmp_path / "other").mkdir()
    other = Identity.create(tmp_path / "other", "north")
    assert len(north.storage_key()) == 32
    assert len({north.storage_key(), other.storage_key(), north.private.private_bytes_raw(), north.public}) == 4


def test_nothing_secret_is_printed(north):
    assert repr(north) == str(north) == f"Identity({north.fingerprint})"
    assert north.private.private_bytes_raw().hex() not in f"{north!r}{vars(north)}"


def test_a_certificate_of_another_key_is_refused(tmp_path):
    consortium = Consortium(tmp_path)
    north, south = consortium.join("north"), consortium.join("south")
    with pytest.raises(LocalError, match=r"south.*certifies another key than .*north\.key"):
        Identity.load(north.key_file, south.certificate_file)


def test_without_a_certificate_nobody_dials(north):
    with pytest.raises(LocalError, match=r"north\.crt is missing: have north\.request signed by the registrar"):
        north.tls("")


def test_a_damaged_certificate_is_refused(north):
    north.certificate_file.write_text("nothing")
    with pytest.raises(LocalError, match="is not a certificate that a tacit registrar issued"):
        Identity.load(north.key_file)


@pytest.mark.parametrize(("server", "passes"), [("clearing", True), ("south", False)])
def test_only_a_coordinator_passes_for_the_server(tmp_path, server, passes):
    consortium = Consortium(tmp_path)
    serving = consortium.join("clearing", "coordinator"), consortium.join("south")
    identity = next(s for s in serving if s.name == server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate_file, identity.key_file)
    client = consortium.join("north").tls(consortium.members.authority)
    if passes:
        shake_hands(client, context, "localhost")
        with pytest.raises(ssl.SSLCertVerificationError, match=r"(?i)hostname mismatch"):
            shake_hands(client, context, "elsewhere.example.org")
    else:
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(client, context, "localhost")


def shake_hands(client, server, host):
    """A TLS handshake in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue


def test_importing_identities_needs_no_optional_package():
    code = (
        "import sys, tacit.consortium.membership.registrar; assert 'nats' not in sys.modules; assert 'sklearn' not in"
        " sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own text
