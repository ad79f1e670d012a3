"""A job's folder: whole files, the first proposal stays, and a purge leaves nothing secret."""

import os
import stat
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from consortium_study import Study, altered
from journals import everything_in, opened

from tacit.consortium.jobs.answers import Answer, Finished
from tacit.consortium.jobs.folder import Folder, folder_of, folders, state_of
from tacit.consortium.jobs.public_result import PublicResult
from tacit.errors import LocalError, TacitError


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


@pytest.fixture
def folder(tmp_path, study):
    made = folder_of(tmp_path, study.job.id)
    made.propose(study.proposal())
    return made


def finished(study, site="north", *, ok=True):
    return Finished(job=study.job.id, site=site, attempt=1, ok=ok, rounds=7)


def test_what_a_site_wrote_is_read_by_the_next_process(tmp_path, study, folder):
    folder.answer, folder.start, folder.finished = study.answer("north"), study.start(), finished(study)
    again = folder_of(tmp_path, study.job.id)
    assert (again.proposal, again.answer, again.start, again.finished) == (
        study.proposal(), study.answer("north"), study.start(), finished(study)
    )  # fmt: skip
    assert (again.job, again.id) == (study.job, study.job.id)


def test_nothing_is_said_before_it_was_said(tmp_path, study):
    empty = folder_of(tmp_path, study.job.id)
    assert (empty.proposal, empty.answer, empty.start, empty.finished, empty.public) == (None,) * 5
    assert empty.heard("answers", Answer) == {}
    assert not empty.path.exists()
    with pytest.raises(LocalError, match=r"holds no proposal: remove it, and ask the author to submit the job again"):
        _ = empty.job


def test_the_first_proposal_stays(study, folder):
    folder.propose(study.proposal(study.another()))
    assert folder.proposal == study.proposal()
    assert folder.job == study.job


def test_a_later_word_takes_the_place_of_an_earlier_one(study, folder):
    folder.finished = finished(study, ok=False)
    folder.finished = finished(study)
    assert folder.finished.ok


def test_what_others_said_is_kept_by_site(study, folder):
    for name in ("south", "east"):
        folder.hear("answers", name, study.answer(name).dump())
    assert folder.heard("answers", Answer) == {name: study.answer(name) for name in ("east", "south")}
    folder.hear("answers", "east", study.answer("east", "refuse").dump())
    assert not folder.heard("answers", Answer)["east"].accepts


@pytest.mark.parametrize("act", ["propose", "answer", "hear", "keep_result"])
def test_a_write_that_fails_leaves_the_old_file_or_none(tmp_path, study, monkeypatch, act):
    folder = folder_of(tmp_path, study.job.id)
    folder.path.mkdir(parents=True)
    folder.answer = study.answer("north")
    acts = {
        "propose": lambda: folder.propose(study.proposal()),
        "answer": lambda: setattr(folder, "answer", study.answer("north", "refuse")),
        "hear": lambda: folder.hear("answers", "south", study.answer("south").dump()),
        "keep_result": lambda: folder.keep_result({"columns": 1}, PublicResult({})),
    }

    def full(_fd):
        raise OSError(28, "No space left on device")

    before = everything_in(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(LocalError, match="No space left on device"):
            acts[act]()
    assert everything_in(tmp_path) == before
    acts[act]()
    assert everything_in(tmp_path) != before


def test_a_file_of_a_later_version_is_refused(folder):
    (folder.path / "answer.json").write_bytes(b'{"later": 1}')
    with pytest.raises(TacitError, match="malformed Answer"):
        _ = folder.answer


def test_a_result_is_its_owners_and_what_is_public_keeps_its_types(folder):
    folder.keep_result({"columns": np.arange(6.0).reshape(3, 2)}, PublicResult.of({"w": np.ones(2)}, [{"t": 1}]))
    assert np.array_equal(folder.result["columns"], np.arange(6.0).reshape(3, 2))
    assert folder.public.values["w"].dtype == np.float64
    assert folder.public.history == [{"t": 1}]
    assert stat.S_IMODE((folder.path / "result.bin").stat().st_mode) == 0o600


def test_a_purge_removes_secrets_and_everything_else(tmp_path, folder):
    secret = b"a secret that nobody may find again"
    with opened(folder.path / "journal") as journal:
        journal.secret("run key", lambda: secret)
    folder.keep_result({"columns": "a share"}, PublicResult({}))
    folder.purge()
    assert not folder.path.exists()
    assert secret not in everything_in(tmp_path)


def test_a_purge_without_a_journal_removes_the_folder(folder):
    folder.purge()
    assert not folder.path.exists()


def test_a_journal_in_use_is_not_purged(folder):
    with opened(folder.path / "journal") as journal:
        journal.secret("run key", lambda: bytes(32))
        with pytest.raises(LocalError):
            folder.purge()
    assert folder.proposal is not None


def test_a_site_finds_its_jobs_in_order_and_overlooks_what_is_none(tmp_path, study, folder):
    other = folder_of(tmp_path, "0" * len(study.job.id))
    other.propose(study.proposal(study.another()))
    (tmp_path / "jobs" / "half").mkdir()  # a crash before the first file
    (tmp_path / "jobs" / "note.txt").touch()
    assert [f.id for f in folders(tmp_path)] == sorted([folder.id, other.id])
    assert all(isinstance(f, Folder) for f in folders(tmp_path))
    assert list(folders(tmp_path / "elsewhere")) == []


def test_how_far_a_job_is_follows_from_its_files(study, folder):
    states = [state_of(folder)]
    for name, word in (
        ("checked", study.checked("north")), ("cleared", study.cleared()),
        ("answer", study.answer("north")), ("start", study.start()), ("finished", finished(study, ok=False)),
        ("start", altered(study.start(), attempt=2)), ("finished", altered(finished(study), attempt=2)),
    ):  # fmt: skip
        setattr(folder, name, word)
        states.append(state_of(folder))
    folder.hear("closed", "clearing", finished(study).dump())
    assert [*states, state_of(folder)] == [
        "proposed", "checked", "pending", "accepted", "running", "stopped", "running", "through", "finished"
    ]  # fmt: skip


def test_a_job_that_nobody_starts_any_more_is_refused_or_expired(tmp_path, study, folder):
    folder.answer = study.answer("north", "refuse")
    assert state_of(folder) == "refused"
    late = altered(study.another(), expires=datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1))
    old = folder_of(tmp_path, late.id)
    old.propose(study.proposal(late))
    assert state_of(old) == "expired"
    old.answer = study.answer("north")
    assert state_of(old) == "expired"
