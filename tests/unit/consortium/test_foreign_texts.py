"""Files that others wrote: whatever their bytes, they are read or refused in one line."""

from __future__ import annotations

import base64
import logging

import pytest
from consortium_sites import Consortium
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.consortium.audit.comparison import compare
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.answers import Answer, Finished, Proposal, Start, read
from tacit.consortium.jobs.job import Job
from tacit.consortium.membership.certificate_request import Request, describe
from tacit.consortium.membership.members import Members
from tacit.consortium.site.example_files import example_party, example_policy
from tacit.consortium.site.logs import TextLines
from tacit.consortium.site.settings import PartySettings
from tacit.errors import PeerError, TacitError

AUDIT = b"""\
{"line":"opening","run":"r","party":"north","about":{}}
{"line":"row","row":{"place":"/p","sender":"a","receiver":"b","sender_role":"holder","receiver_role":"holder","type":"T","tells":"t",\
"shapes":[[1]],"bytes":1,"digest":null},"hash":"a"}
{"line":"signature","rows":1,"head":"a","signature":"00"}
"""
INSERTED = [
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"[" * 50_000,
    b'{"a":' * 50_000,
    b"1" * 5000,
    b"1e999",
    b"-",
    b'"',
    b"\n",
    b"\x1b[2J",
]


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """Of every kind of file its bytes and how a site reads it."""
    folder = tmp_path_factory.mktemp("foreign")
    consortium = Consortium(folder / "consortium")
    consortium.join("north")
    pinned = consortium.registrar.identity.fingerprint

    def at(name, reader):
        def from_file(content):
            (folder / name).write_bytes(content)
            return reader(folder / name)

        return from_file

    request = (folder / "consortium" / "north" / "first" / "north.request").read_bytes()
    certificate = (folder / "consortium" / "registrar" / "north.crt").read_bytes()
    return {
        "members": (consortium.members.signed, lambda content: Members.read(content, pinned), None),
        "request": (der(request), lambda content: Request.read(pem("CERTIFICATE REQUEST", content)), None),
        "certificate": (der(certificate), at("x.crt", describe), lambda content: pem("CERTIFICATE", content)),
        "settings": (
            example_party().encode(),
            at("x.toml", lambda path: PartySettings.from_toml(path, files=False)),
            None,
        ),
        "policy": (example_policy().encode(), at("p.toml", Policy.from_toml), None),
        "audit": (AUDIT, at("a.jsonl", lambda path: compare([path], {})), None),
        "job": (b'{"id": "a"}', Job.from_bytes, None),
        **{kind.__name__: (b'{"job": "a"}', lambda content, kind=kind: read(content, kind), None) for kind in LETTERS},
    }


LETTERS = (Answer, Finished, Proposal, Start)
KINDS = (
    "members",
    "request",
    "certificate",
    "settings",
    "policy",
    "audit",
    "job",
    *(kind.__name__ for kind in LETTERS),
)


def der(text):
    return base64.b64decode(b"".join(text.strip().splitlines()[1:-1]))


def pem(what, content):
    return b"-----BEGIN %b-----\n%b-----END %b-----\n" % (what.encode(), base64.encodebytes(content), what.encode())


CHANGES = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert"]), st.integers(0, 10**5), st.sampled_from(INSERTED)),
    min_size=1,
    max_size=3,
)


def changed(content, changes):
    for what, where, inserted in changes:
        at = where % (len(content) or 1)
        if what == "insert":
            content = content[:at] + inserted + content[at:]
        elif what == "cut":
            content = content[:at] + content[at + 1 + where % 7 :]
        elif content:
            content = content[:at] + bytes([content[at] ^ (1 << where % 8)]) + content[at + 1 :]
    return content


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80)
@given(changes=CHANGES)
def test_any_bytes_are_read_or_refused_in_words(foreign, kind, changes):
    content, reader, wrap = foreign[kind]
    forged = changed(content, changes)
    try:
        reader(forged if wrap is None else wrap(forged))
    except TacitError as error:
        told = str(error)
        assert told


@pytest.mark.parametrize("content", [b'{"job": "\xff"}', b"[" * 100_000])
def test_a_letter_that_is_no_text_or_without_a_bottom_is_malformed(content):
    for kind in LETTERS:
        with pytest.raises(PeerError, match=f"a malformed {kind.__name__} arrived"):
            read(content, kind)
    with pytest.raises(PeerError, match="the proposal is not a job of this version"):
        Job.from_bytes(content)


def test_a_text_of_another_party_cannot_redraw_the_terminal_that_shows_a_log():
    record = logging.LogRecord(
        "tacit", logging.WARNING, "", 0, "refused: %s", ("no\x1b[2J\x9b31m\u202e\nreason",), None
    )
    line = TextLines().format(record)
    assert line.isprintable()
    assert line.endswith("| reason")
