"""The journal: secrets, bodies, batches, threads, a full disk, and the end."""

import errno
import os
import threading

import pytest
from journals import KEY, LARGE, SMALL, content, everything_in, opened

from tacit.consortium.journal import bodies
from tacit.consortium.journal.record import purge
from tacit.errors import LocalError, PeerError


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def journal(folder):
    with opened(folder) as journal:
        yield journal


# Secrets


def test_what_is_kept_secret_lies_nowhere_in_the_clear(folder):
    secrets = [content("root", 32), content("memo", LARGE), content("state", LARGE), content("little memo", SMALL)]
    with opened(folder) as journal:
        journal.secret("root", lambda: secrets[0])
        journal.commit_memo("/large", secrets[1])
        journal.checkpoint("/round", 1, secrets[2])
        journal.commit_memo("/small", secrets[3])
        while_open = everything_in(folder)
    for found in (while_open, everything_in(folder)):
        assert not any(secret[:16] in found for secret in (*secrets, KEY))


def test_destroyed_secrets_leave_no_trace_and_no_way_back(folder):
    with opened(folder) as journal:
        journal.secret("root", lambda: content("root", 32))
        journal.commit_memo("/p", content("memo", LARGE))
        journal.checkpoint("/round", 1, content("state", SMALL))
        journal.commit_outgoing("/p", "hub", [b"sent"])
        sealed = [
            blob
            for (blob,) in journal._store.all(
                "SELECT sealed FROM secret UNION SELECT value FROM state WHERE name = 'vault'"
            )
        ]
        sealed += [blob for (blob,) in journal._store.all("SELECT data FROM checkpoint")]
        assert all(blob in everything_in(folder) for blob in sealed)
        journal.destroy_secrets()
        while_open = everything_in(folder)
        assert_all_gone(journal)
    for found in (while_open, everything_in(folder)):
        assert not any(blob[12:28] in found for blob in sealed)
    assert not list((folder / "bodies").iterdir())
    with opened(folder) as journal:
        assert_all_gone(journal)
        assert journal.outgoing("/p", "hub") == [b"sent"]


def assert_all_gone(journal):
    for ask in (
        lambda: journal.secret("root", bytes),
        lambda: journal.memo("/p"),
        lambda: journal.last_checkpoint("/round"),
        lambda: journal.commit_memo("/q", b""),
        lambda: journal.checkpoint("/round", 2, b""),
    ):
        with pytest.raises(LocalError, match="destroyed when it ended: start a new run"):
            ask()


def test_a_sealed_entry_moved_to_another_name_is_refused(journal):
    journal.secret("root", lambda: b"r" * 32)
    with journal.batch():
        journal._store.run("UPDATE secret SET name = 'pair'")
    with pytest.raises(LocalError, match="secret pair was altered"):
        journal.secret("pair", bytes)


def test_a_large_entry_is_sealed_in_pieces(journal, monkeypatch):
    monkeypatch.setattr("tacit.consortium.journal.bodies.PIECE", 1000)
    for size in (0, 999, 1000, 1001, LARGE):
        journal.commit_memo(f"/{size}", content("memo", size))
        assert journal.memo(f"/{size}") == content("memo", size)


def test_the_folder_is_for_its_owner_only_and_the_repr_shows_no_key(journal, folder):
    assert [p.stat().st_mode & 0o077 for p in (folder, folder / "bodies", folder / "journal.sqlite")] == [0, 0, 0]
    assert repr(journal) == f"Journal({folder})"


# Bodies, batches, threads, the end


def test_a_body_that_was_altered_or_lost_is_found(journal, folder):
    journal.commit_outgoing("/p", "hub", [content("out", LARGE)])
    (body,) = (folder / "bodies").iterdir()
    for spoil in (lambda: body.write_bytes(b"x" * LARGE), body.unlink):
        spoil()
        with pytest.raises(LocalError, match=r"is damaged .* start a new run"):
            journal.outgoing("/p", "hub")


def test_what_a_crash_left_behind_is_swept_away(folder):
    with opened(folder) as journal:
        journal.commit_incoming("/p", "south", 0, 1, content("in", LARGE))
    for name in ("00.draft", "ab" * 32):
        (folder / "bodies" / name).write_bytes(b"half")
    with opened(folder) as journal:
        assert journal.incoming("/p", "south") == [content("in", LARGE)]
    assert len(list((folder / "bodies").iterdir())) == 1


def test_a_batch_in_which_something_failed_keeps_nothing_even_if_the_error_was_caught(journal):
    def swallow():
        with journal.batch():
            journal.commit_incoming("/p", "south", 0, 2, b"before")
            with pytest.raises(PeerError):
                journal.commit_incoming("/p", "south", 1, 3, b"")
            with pytest.raises(LocalError, match="leave the batch at the first error"):
                journal.append_row(b"after")

    with pytest.raises(LocalError, match="none of it is kept"):
        swallow()
    assert (journal.rows(), journal.received()) == ([], {})
    journal.append_row(b"next")
    assert journal.rows() == [b"next"]


def test_a_batch_costs_one_sync(journal, folder, monkeypatch):
    synced = []
    monkeypatch.setattr(bodies.os, "fsync", lambda handle, sync=os.fsync: (synced.append(handle), sync(handle)))
    with journal.batch():
        for receiver in ("south", "west", "hub"):
            journal.commit_outgoing("/p", receiver, [content(f"{receiver} {c}", LARGE) for c in range(4)])
    assert len(synced) == 12 + 1  # each file, and the folder once
    assert len(list((folder / "bodies").iterdir())) == 12


def test_threads_take_turns(journal):
    def work(k):
        for i in range(20):
            with journal.batch():
                journal.append_row(f"{k} {i} a".encode())
                journal.append_row(f"{k} {i} b".encode())
            journal.commit_incoming(f"/{i}", f"p{k}", 0, 1, content(f"{k} {i}", LARGE if i == 7 else SMALL))
            journal.mark_published(f"/{i}", f"p{k}", 0)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = journal.rows()
    assert len(rows) == 240
    assert all(a[:-1] == b[:-1] for a, b in zip(rows[::2], rows[1::2], strict=True))
    assert journal.received() == {f"p{k}": 20 for k in range(6)}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_under_a_body_leaves_nothing_half_written(journal, folder, monkeypatch, code):
    def full(_handle):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(bodies.os, "fsync", full)
        with pytest.raises(LocalError, match="no room left on its disk: free some space and start again") as caught:
            journal.commit_outgoing("/p", "hub", [b"small", content("out", LARGE)])
    assert "\n" not in str(caught.value)
    assert list((folder / "bodies").iterdir()) == []
    assert journal.outgoing("/p", "hub") is None
    journal.commit_outgoing("/p", "hub", [b"small", content("out", LARGE)])
    assert journal.outgoing("/p", "hub") == [b"small", content("out", LARGE)]


def test_purge_removes_the_journal_and_nothing_else(folder):
    with opened(folder) as journal:
        journal.commit_outgoing("/p", "hub", [content("out", LARGE)])
    (folder / "audit.jsonl").write_text("stays")
    purge(folder)
    assert [p.name for p in folder.iterdir()] == ["audit.jsonl"]
    with pytest.raises(LocalError, match="holds no journal"):
        purge(folder)


def test_purge_takes_a_damaged_journal_too(folder):
    opened(folder).close()
    (folder / "journal.sqlite").write_bytes(b"no database" * 1000)
    purge(folder)
    assert not folder.exists()


def test_a_closed_journal_says_so_in_one_line(folder):
    journal = opened(folder)
    journal.close()
    journal.close()
    with pytest.raises(LocalError, match="closed database"):
        journal.append_row(b"")
