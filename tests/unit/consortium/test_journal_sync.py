"""The journal and the disk: what outlives a power cut, when, and what a disk that fails does to it."""

import errno
import os
import shutil
import threading

import pytest
from journals import LARGE, SMALL, content, opened

from tacit.consortium.journal import store
from tacit.errors import LocalError

LOG = "journal.sqlite-wal"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def journal(folder):
    with opened(folder) as journal:
        yield journal


@pytest.fixture
def syncs(monkeypatch):
    """The log at each sync."""
    logs = []

    def sync(handle, sync=store.sync_file):
        logs.append(os.pread(handle, os.fstat(handle).st_size, 0))
        sync(handle)

    monkeypatch.setattr(store, "sync_file", sync)
    return logs


def cut_power(folder, copy, synced):
    """Leave of the log what the last sync brought to the disk, and a torn piece of what came after."""
    shutil.copytree(folder, copy)
    now = (copy / LOG).read_bytes()
    at = next((i for i, (a, b) in enumerate(zip(synced, now, strict=False)) if a != b), len(synced))
    (copy / LOG).write_bytes(synced[:at] + now[at : at + 1000] + synced[at + 1000 :])
    return opened(copy)


def test_the_log_has_its_length_from_the_start_if_there_is_room(journal, folder, tmp_path, monkeypatch):
    journal.sync()
    assert (folder / LOG).stat().st_size == store.LOG_BYTES
    monkeypatch.setattr(store.os, "write", lambda *_: 100)  # a short write
    with opened(tmp_path / "full") as full:
        full.append_row(b"row")
        full.sync()
        assert (tmp_path / "full" / LOG).stat().st_size < store.LOG_BYTES
        assert full.rows() == [b"row"]


def test_what_was_synced_outlives_a_power_cut_and_what_came_after_is_gone_as_a_whole(journal, folder, tmp_path, syncs):
    journal.commit_outgoing("/a", "south", [content("out", SMALL), content("out", LARGE)])
    journal.commit_incoming("/a", "south", 0, 1, b"in")
    journal.sync()
    with journal.batch():
        journal.commit_outgoing("/b", "south", [b"later"])
        journal.append_row(b"later")
    with cut_power(folder, tmp_path / "copy", syncs[-1]) as left:
        assert left.outgoing("/a", "south") == [content("out", SMALL), content("out", LARGE)]
        assert left.incoming("/a", "south") == [b"in"]
        assert (left.outgoing("/b", "south"), left.rows()) == (None, [])


def test_what_may_leave_is_on_the_disk(journal, folder, tmp_path, syncs):
    journal.commit_incoming("/a", "south", 0, 1, b"what it was computed from")
    journal.commit_outgoing("/b", "hub", [b"masked"])
    before = len(syncs)
    assert [data for *_, data in journal.unpublished(0, 8)] == [b"masked"]
    assert len(syncs) == before + 1
    with cut_power(folder, tmp_path / "copy", syncs[-1]) as left:
        assert left.outgoing("/b", "hub") == [b"masked"]
        assert left.incoming("/a", "south") == [b"what it was computed from"]


def test_secrets_and_the_opening_are_on_the_disk_at_once(folder, tmp_path, syncs):
    with opened(folder) as journal:
        assert len(syncs) == 1
        secret = journal.secret("root", lambda: os.urandom(32))
        with cut_power(folder, tmp_path / "copy", syncs[-1]) as left:
            assert left.secret("root", bytes) == secret


def test_writing_costs_no_sync_and_one_sync_does_for_all_before_it(journal, syncs):
    before = len(syncs)
    for i in range(5):
        journal.commit_incoming(f"/{i}", "south", 0, 1, b"in")
        journal.commit_memo(f"/{i}", b"memo")
    written = journal.written
    assert len(syncs) == before
    journal.sync()
    journal.sync(written)
    journal.sync()
    assert len(syncs) == before + 1


def test_threads_that_come_at_once_share_a_sync(journal, monkeypatch):
    begun, go, syncs = threading.Event(), threading.Event(), []

    def slow(handle):
        syncs.append(handle)
        begun.set()
        go.wait(60)

    monkeypatch.setattr(store, "sync_file", slow)
    journal.append_row(b"first")
    threads = [threading.Thread(target=journal.sync)]
    threads[0].start()
    begun.wait(60)
    journal.append_row(b"meanwhile")  # a sync holds up nobody who writes
    threads += [threading.Thread(target=journal.sync) for _ in range(5)]
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join()
    assert len(syncs) == 2


def test_the_file_of_a_dropped_body_goes_only_when_its_row_is_gone_on_the_disk(journal, folder, tmp_path, syncs):
    journal.checkpoint("/round", 1, content("state 1", LARGE))
    journal.checkpoint("/round", 2, content("state 2", LARGE))
    with cut_power(folder, tmp_path / "copy", syncs[-1]) as left:
        assert left.last_checkpoint("/round") == (2, content("state 2", LARGE))


def test_a_journal_whose_sync_failed_lets_nothing_out_any_more(journal, monkeypatch):
    def fail(_handle):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    journal.commit_outgoing("/a", "hub", [b"masked"])
    with monkeypatch.context() as patch:
        patch.setattr(store, "sync_file", fail)
        with pytest.raises(LocalError, match=r"cannot be written \(Input/output error\): check free space"):
            journal.unpublished(0, 8)
    with pytest.raises(LocalError, match=r"could not be brought to the disk before.* check the disk and start again"):
        journal.unpublished(0, 8)  # the disk works again, but nobody knows what it dropped
