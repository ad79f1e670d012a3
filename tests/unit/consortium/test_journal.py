"""The journal: with what it goes on, with what it refuses to, and what it says then."""

import dataclasses
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from journals import KEY, OPENING, opened

from tacit.consortium.journal.record import Journal, purge
from tacit.errors import LocalError, PeerError


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def journal(folder):
    with opened(folder) as journal:
        yield journal


CHANGES = [
    ("run", "run-8", r"began with run run-7, this start has run-8: give every party and run a folder of its own"),
    ("party", "south", "began with party north, this start has south"),
    ("roster", "q" * 64, r"roster rrrr+\.\.\., this start has qqqq+\.\.\.: use the roster that all parties agreed on"),
    ("protocol", "shift", "protocol gram, this start has shift: a changed job is a new run"),
    ("source", "x" * 64, r"source ssss.* install what the run began with"),
    ("data", "x" * 64, r"data dddd.* restore the data"),
    (
        "versions",
        {"tacit": "0.1.0", "numpy": "2.5.0"},
        r"began with versions\[numpy\] 2.4.6, this start has 2.5.0: install",
    ),
    ("versions", {"numpy": "2.4.6"}, r"began with versions\[tacit\] 0.1.0, this start has none"),
    ("blas_threads", 4, "blas_threads 1, this start has 4: pin BLAS"),
    ("job", "x" * 64, r"job jjjj.* a changed job is a new run"),
]


@pytest.mark.parametrize(("field", "value", "words"), CHANGES)
def test_resuming_under_anything_else_is_refused_with_both_values_and_what_to_do(folder, field, value, words):
    opened(folder).close()
    with pytest.raises(LocalError, match=words) as caught:
        Journal.open(folder, dataclasses.replace(OPENING, **{field: value}), KEY)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    opened(folder).close()


def test_another_identity_key_is_refused(folder):
    opened(folder).close()
    with pytest.raises(LocalError, match="another identity key: use the party's own"):
        Journal.open(folder, OPENING, b"x" * 32)


def test_a_key_of_another_length_is_refused_before_anything_is_made(folder):
    with pytest.raises(LocalError, match="needs a key of 32 bytes, got 3"):
        Journal.open(folder, OPENING, b"key")
    assert not folder.exists()


def test_a_newer_schema_is_refused(folder):
    opened(folder).close()
    db = sqlite3.connect(folder / "journal.sqlite")
    db.execute("PRAGMA user_version = 7")
    db.close()
    with pytest.raises(
        LocalError, match=r"of another version of tacit \(schema 7, this one reads 1\): use that version"
    ):
        opened(folder)


def test_another_sqlite_file_is_refused_and_left_alone(folder):
    folder.mkdir()
    db = sqlite3.connect(folder / "journal.sqlite")
    db.execute("CREATE TABLE patients (name)")
    db.close()
    with pytest.raises(LocalError, match="is not a journal of tacit"):
        opened(folder)


def test_a_damaged_file_is_one_line(folder):
    folder.mkdir()
    (folder / "journal.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(LocalError, match=r"is damaged \(file is not a database\).* start a new run"):
        opened(folder)


def test_a_folder_that_is_a_file_is_one_line(folder):
    folder.write_text("a file")
    with pytest.raises(LocalError, match="name a folder that is yours to write"):
        opened(folder)


def test_a_journal_in_use_is_refused_to_a_second_user_and_to_purge(journal, folder):
    for other in (opened, purge):
        with pytest.raises(LocalError, match="in use by another process: one process plays a party of a run"):
            other(folder)
    journal.append_row(b"still here")


def test_other_bytes_to_send_name_the_place_and_why(journal):
    journal.commit_outgoing("/train/Masked", "hub", [b"a", b"b"])
    for other in ([b"a", b"c"], [b"a"], [b"a", b"b", b"c"]):
        with pytest.raises(LocalError, match="committed to hub at /train/Masked, and no mask may be put on two values"):
            journal.commit_outgoing("/train/Masked", "hub", other)
    assert journal.outgoing("/train/Masked", "hub") == [b"a", b"b"]


def test_a_message_has_at_least_one_chunk(journal):
    with pytest.raises(LocalError, match="no chunks"):
        journal.commit_outgoing("/p", "hub", [])


def test_other_bytes_received_name_sender_and_place(journal):
    journal.commit_incoming("/p", "south", 0, 2, b"a")
    with pytest.raises(PeerError, match=r"south sent other bytes than before at /p \(chunk 0\): this ends the run"):
        journal.commit_incoming("/p", "south", 0, 2, b"b")
    with pytest.raises(PeerError, match="south cut one message at /p into 2 and into 3 chunks"):
        journal.commit_incoming("/p", "south", 1, 3, b"b")
    for chunk, of in [(-1, 2), (2, 2), (0, 0), (0, 1 << 40)]:
        with pytest.raises(PeerError, match=f"south sent chunk {chunk} of {of} at /p, which cannot be"):
            journal.commit_incoming("/p", "south", chunk, of, b"")
    assert journal.commit_incoming("/p", "south", 1, 2, b"b")
    assert journal.incoming("/p", "south") == [b"a", b"b"]


def test_a_place_made_up_by_a_peer_does_not_flood_the_error(journal):
    with pytest.raises(PeerError) as caught:
        journal.commit_incoming("/p" * 10_000, "south", 5, 2, b"")
    assert len(str(caught.value)) < 300


def test_an_older_copy_put_back_is_refused_when_a_peer_has_seen_more(folder, tmp_path):
    with opened(folder) as journal:
        journal.commit_outgoing("/a", "south", [b"1"])
    shutil.copytree(folder, tmp_path / "backup")
    with opened(folder) as journal:
        journal.commit_outgoing("/b", "south", [b"2"])
        journal.seen("south", 2)
    with opened(tmp_path / "backup") as journal:
        journal.seen("south", 1)
        with pytest.raises(
            LocalError, match=r"older than what south has seen \(2 messages, 1 here\): restoring it would reuse masks"
        ):
            journal.seen("south", 2)


def test_half_a_message_counts_as_seen():
    """Its sender has committed all of it, and must not compute it again."""
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as journal:
        journal.commit_incoming("/a", "south", 1, 3, b"a chunk")
        assert journal.received() == {"south": 1}
