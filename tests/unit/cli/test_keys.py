"""`tacit keys`, as a registrar and three sites use it."""

import stat
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID


@pytest.fixture
def keys(tacit):
    return partial(tacit, "keys")


@pytest.fixture
def founded(keys, folder):
    assert keys("init", "--consortium", "Northern hospitals").code == 0
    assert keys("new", "--name", "north").code == 0
    return folder


def fingerprint_of(result):
    return next(line for line in result.out.splitlines() if "fingerprint" in line).rpartition(": ")[2]


def test_from_founding_to_a_list_of_members(keys, folder):
    founding = keys("init", "--consortium", "Northern hospitals")
    assert 'ca_fingerprint = "' + fingerprint_of(founding).replace(" ", "") in founding.out
    read_out = fingerprint_of(keys("new", "--name", "north"))
    assert stat.S_IMODE((folder / "north.key").stat().st_mode) == 0o600
    signed = keys("sign", "north.request", said="y\n")
    assert signed.code == 0
    assert f"north asks to be party\nfingerprint: {read_out}" in signed.out
    assert "send back to north: north.crt" in signed.out
    assert keys("list", "--json").json["members"][0]["fingerprint"] == read_out
    listed = keys("list").out
    assert "Northern hospitals, version 2" in listed
    assert read_out in listed
    shown = keys("show", "north.crt").out
    assert "certificate:  north" in shown
    assert read_out in shown


@pytest.mark.parametrize("said", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_signed(keys, founded, said):
    before = (founded / "consortium.members").read_bytes()
    result = keys("sign", "north.request", said=said)
    assert result.code == 2
    assert "north is not signed: nobody confirmed that its site reads out" in result.err
    assert (founded / "consortium.members").read_bytes() == before
    assert not (founded / "north.crt").exists()


def test_a_fingerprint_that_was_read_out_replaces_the_question(keys, founded):
    read_out = fingerprint_of(keys("show", "north.request"))
    wrong = ("0" if read_out[0] != "0" else "1") + read_out[1:]
    assert keys("sign", "north.request", "--fingerprint", wrong).code == 2
    assert not (founded / "north.crt").exists()
    assert keys("sign", "north.request", "--fingerprint", read_out.upper()).code == 0


def test_where_nobody_is_asked_more_than_a_party_needs_the_registrars_word(keys, founded):
    del founded
    keys("new", "--name", "clearing", "--kind", "coordinator", "--host", "clearing.example.org", "--host", "192.0.2.7")
    refused = keys("sign", "clearing.request", "--yes")
    assert refused.code == 2
    assert "clearing asks to join as coordinator, not as party" in refused.err
    signed = keys("sign", "clearing.request", "--yes", "--kind", "coordinator", "--days", "90")
    assert "clearing asks to be coordinator at clearing.example.org, 192.0.2.7" in signed.out
    assert "clearing.example.org, 192.0.2.7" in keys("show", "clearing.crt").out


def test_a_name_in_a_certificate_cannot_redraw_the_terminal(keys, founded):
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "north\x1b[2J\u202e")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1)).sign(key, None)
    (founded / "evil.crt").write_bytes(made.public_bytes(Encoding.PEM))
    shown = keys("show", "evil.crt")
    assert shown.code == 0
    assert all(line.isprintable() for line in shown.out.splitlines())


def test_rotate_renew_and_revoke(keys, founded):
    (founded / "new").mkdir()
    assert keys("sign", "north.request", "--yes").code == 0
    assert keys("renew", "north", "--days", "30").code == 0
    keys("new", "--name", "north", "--folder", "new")
    assert keys("rotate", "new/north.request", "--yes").code == 0
    assert [m["state"] for m in keys("list", "--json").json["members"]] == ["revoked", "valid"]
    assert "north is revoked: hand consortium.members to every site" in keys("revoke", "north").out
    assert [m["state"] for m in keys("list", "--json").json["members"]] == ["revoked", "revoked"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["init", "--consortium", "Others"], "registrar.key exists and is never overwritten"),
        (["init"], "Missing option '--consortium'"),
        (["new", "--name", "north"], "north.key exists and is never overwritten: use the key that it holds"),
        (["new", "--name", "North"], "the name 'North' is not allowed"),
        (["new", "--name", "x", "--kind", "king"], "unknown kind 'king': use one of party, coordinator, analyst"),
        (["new", "--name", "x", "--kind", "coordinator"], "names no host, so no site could reach it: add --host"),
        (["new", "--name", "x", "--folder", "nowhere"], "cannot be written: No such file or directory"),
        (["sign", "south.request"], "the request south.request cannot be read: No such file or directory"),
        (["sign", "consortium.members"], "consortium.members is not a request that `tacit keys new` wrote"),
        (["sign", "north.request", "--days", "0"], "Invalid value for '--days'"),
        (["sign", "north.request", "--yes", "--days", "9999"], "a certificate of 9999 days is not possible"),
        (
            ["sign", "north.request", "--yes", "--folder", "nowhere"],
            "nowhere/registrar.key does not exist: go to the registrar's folder",
        ),
        (
            ["revoke", "east"],
            "'east' is not a member of Northern hospitals: correct the name (tacit keys list shows all)",
        ),
        (["rotate", "north.request", "--yes"], "'north' is not a member of Northern hospitals"),
        (["show", "nothing.crt"], "the certificate nothing.crt cannot be read: No such file or directory"),
        (["show", "consortium.members"], "consortium.members is not a certificate that a tacit registrar issued"),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_refusals_are_one_line_and_change_nothing(keys, founded, args, words):
    before = {p: p.read_bytes() for p in founded.rglob("*") if p.is_file()}
    result = keys(*args)
    assert result.code == 2
    assert result.err.startswith("tacit: error: ")
    assert result.err.count("\n") == 1
    assert words in result.err
    assert {p: p.read_bytes() for p in founded.rglob("*") if p.is_file()} == before


def test_help_shows_every_command_with_an_example(keys):
    overview = keys().out
    for command in ("init", "new", "sign", "rotate", "renew", "revoke", "list", "show"):
        assert command in overview
        assert f"tacit keys {command}" in keys(command, "--help").out


def test_no_private_key_is_ever_printed(keys, founded):
    secret = (founded / "north.key").read_text().splitlines()[1]
    printed = [
        keys("sign", "north.request", "--yes"),
        keys("list"),
        keys("show", "north.crt"),
        keys("show", "north.key"),
    ]
    assert not [r for r in printed if secret in r.out + r.err]
