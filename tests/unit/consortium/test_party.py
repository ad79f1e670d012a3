"""A party that cannot judge a job says so, and says no more than that; real files, a real server."""

import errno
import logging
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from consortium_study import altered
from earlier_jobs import NOW, SITES, job, put, question
from pyarrow import parquet

from tacit.choreo import Holder
from tacit.consortium.broker.server import find_server
from tacit.consortium.consent.decision import UNFIT
from tacit.consortium.jobs.answers import Proposal
from tacit.consortium.jobs.folder import Used, folder_of
from tacit.consortium.jobs.preflight import local_checks
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.example_files import example_party, example_policy
from tacit.consortium.site.settings import Dataset, PartySettings
from tacit.errors import LocalError, MissingExtraError

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from control_network import ControlNetwork  # needs the extra

from tacit.consortium.site.party import Party

WHOLE = "age,dose,label\n" + "".join(f"{i},{i % 7}.5,{i % 2}\n" for i in range(60))


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    with ControlNetwork(tmp_path_factory.mktemp("party")).serving() as made:
        yield made


@pytest.fixture
def north(network, tmp_path):
    """North's daemon without its loop, and the folder of a job that was proposed to it."""
    with network.site("north") as listener:

        def made(table, job=None, **settings):
            identity = network.sites["north"]
            fingerprint = network.consortium.registrar.identity.fingerprint
            (tmp_path / "cohort.csv").write_text(table)
            (tmp_path / "policy.toml").write_text(example_policy(automatic=True))
            (tmp_path / "north.toml").write_text(
                example_party(ca_fingerprint=fingerprint, **{"label": "label", **settings})
            )
            party = Party(
                PartySettings.from_toml(tmp_path / "north.toml", files=False),
                identity,
                network.members,
                listener.broker,
            )
            folder = folder_of(party.state, (job or network.job).id)
            folder.propose(network.proposal(job))
            return party, folder

        yield made


def test_a_dataset_that_can_be_read_is_accepted_and_a_warning_stands_in_the_log(network, north, caplog):
    party, folder = north(WHOLE)
    party.tick()
    assert folder.answer is None
    folder.checked.check(folder.job, party.members)
    assert folder.checked.report.codes == ()
    clear(network, party, folder)
    party.tick()
    assert folder.answer.accepts
    (warning,) = [line.getMessage() for line in caplog.records if line.levelname == "WARNING"]
    assert (
        "every check passed\n  warning: nobody can work out records of others without clearing, which deals the random"
        " numbers" in warning
    )


@pytest.mark.parametrize("table", [WHOLE.replace("17,", "seventeen,"), WHOLE.replace("label", "outcome"), "", "\0\xff"])
def test_a_dataset_that_cannot_be_read_is_a_refusal_without_a_word_of_it(north, caplog, table):
    party, folder = north(table)
    for _ in range(3):
        party.tick()
    answer = folder.answer
    assert not answer.accepts
    assert (answer.record.rule, answer.record.reason) == ("data", UNFIT)
    assert not [word for word in ("seventeen", "age", "dose", "cohort.csv") if word in answer.record.reason]
    assert [line.levelname for line in caplog.records] == ["ERROR"]
    answer.check(folder.job, party.members)


def test_what_nobody_foresaw_is_a_refusal_too(north, caplog, monkeypatch):
    party, folder = north(WHOLE)
    monkeypatch.setattr(party, "_holdings", lambda *_: 1 / 0)
    party.tick()
    assert folder.answer.record.reason == UNFIT
    assert "Traceback" in caplog.text


def test_while_its_disk_is_full_a_site_says_nothing_complains_once_and_then_answers(north, caplog, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    party, folder = north(WHOLE)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for _ in range(5):
            party.wake(folder.id)
            party.tick()
        assert (folder.checked, folder.answer) == (None, None)
    complaints = [line.getMessage() for line in caplog.records if line.levelname == "ERROR"]
    assert any("No space left" in line or "no room left" in line for line in complaints)
    assert len(complaints) == len(set(complaints))
    party.tick()
    assert folder.checked.report.codes == ()


def clear(network, party, folder):
    """Everybody's checks passed, as the coordinator tells it."""
    cleared = network.cleared(folder.job, north=folder.checked)
    party.hear("clearing", "cleared", cleared.dump())


def test_a_job_that_builds_on_one_that_is_not_here_is_refused_by_its_name(north):
    asked = job("study_answers", builds_on=("a" * 32,))
    party, folder = north(WHOLE, asked)
    party.tick()
    assert folder.answer.record.rule == "builds_on"
    assert folder.answer.record.reason.startswith(f"job {'a' * 32} is not here: it was purged, or never was")


def test_a_blank_is_another_partys_cell_where_cells_are_split_and_missing_elsewhere(north):
    gaps = WHOLE.replace("3,3.5,", ",3.5,", 1)
    whole = job()
    party, folder = north(gaps, whole)
    party.tick()
    assert folder.answer.record.reason == UNFIT
    cells = altered(whole, id="c" * 32, partition="arbitrary", params={**whole.params, "partition": "arbitrary"})
    part = party.tables.part(cells)
    judged = party.tables.part(cells, held_out=True)
    assert part.owned.sum() + judged.owned.sum() == 119
    assert 0.0 in (part if not part.owned.all() else judged).X[:, 0]
    narrow, gapped = (
        Dataset(path=Path("cohort.csv"), ranges={"age": (low, 59.0), "dose": (0.5, 9.0)}) for low in (30.0, 0.0)
    )
    assert [p.code for p in local_checks(cells, part, NOW, party="north", declared=narrow)] == ["cells"]
    assert not local_checks(cells, part, NOW, party="north", declared=gapped)


def test_two_jobs_on_two_snapshots_that_differ_by_a_row_are_not_both_accepted(north, tmp_path):
    first = job()
    party, folder = north(WHOLE, first)
    party.tick()
    assert folder.checked is not None
    party.admit(first)
    party, folder = north(WHOLE, second := job(dataset="snapshot"))
    (tmp_path / "snapshot.csv").write_text(WHOLE.rstrip("\n").rpartition("\n")[0] + "\n")
    (tmp_path / "policy.toml").write_text(example_policy("snapshot", automatic=True))
    settings = tmp_path / "north.toml"
    settings.write_text(settings.read_text() + '\n[datasets.snapshot]\npath = "snapshot.csv"\nlabel = "label"\n')
    party = Party(PartySettings.from_toml(settings, files=False), party.identity, party.members, party.broker)
    party.tick()
    party.tick()  # a tick may leave the second of two jobs to the next one
    assert (folder.answer.accepts, folder.answer.record.rule) == (False, "data")
    assert [
        line.found.partition(": ")[2].partition(":")[0] for line in party.asked.lines() if line.answer == "data"
    ] == ["the job differs from an earlier one by a few persons, or by a few who were corrected"]
    with pytest.raises(LocalError, match=f"differs from job {first.id} on cohort by a few persons"):
        party.admit(second)


PATIENTS = "patient,age,dose,label\n" + "".join(f"p{i},{i},{i % 7}.5,{i % 2}\n" for i in range(60))


def test_aligned_rows_are_used_in_their_order_as_long_as_the_ids_are_the_same(north, tmp_path):
    pytest.importorskip("rbcl")
    party, _ = north(PATIENTS, id="patient")
    aligning = job("align")
    rows = np.arange(59, 1, -1)
    aligned = put(party.state, aligning, own={"rows": rows}, used=party.tables.describe_use(aligning, {"rows": rows}))
    assert party.tables.ids(aligning).shape == (60, 32)
    trained = job(builds_on=(aligned.id,))
    learn, judge = (party.tables.part(trained, held_out=held_out) for held_out in (False, True))
    assert len(learn.y) + len(judge.y) == 58
    for part in (learn, judge):
        assert [row for row in rows if row in part.X[:, 0]] == part.X[:, 0].tolist()
    party.admit(trained)
    assert party.tables.register.entries()[-1].rows == 58

    (tmp_path / "cohort.csv").write_text(PATIENTS.replace("p7,", "p70,"))
    changed = Party(party.settings, party.identity, party.members, party.broker)
    folder = folder_of(party.state, trained.id)
    folder.propose(Proposal.of(trained, party.identity))
    changed.tick()
    changed.tick()  # a tick may leave the second of two jobs to the next one
    assert (
        folder.answer.record.reason
        == f"the records of 'cohort' are not those that job {aligned.id} aligned: align them again"
    )


def test_columns_of_new_records_are_taken_as_trained_and_answers_name_their_records(north):
    party, _ = north(PATIENTS, id="patient")
    trained = put(party.state, job(), own={"share": np.ones(3)}, used=Used(features=("dose", "age")))
    asked = question(trained)
    part = party.tables.part(asked)
    assert (part.features, part.y, part.X[3].tolist()) == (("dose", "age"), None, [3.5, 3.0])
    assert party.tables.describe_use(asked, {"result": np.zeros((60, 1))}).records[:2] == ("p0", "p1")
    assert party.tables.describe_use(asked, {}).records == ()  # a party that is told nothing need not know
    inputs = party._inputs(asked)
    assert inputs["own"][0] == Holder
    assert inputs["own"][1]["north"].held["share"].tolist() == [1.0, 1.0, 1.0]


def test_a_site_without_a_column_of_ids_says_so(north):
    aligning = job("align")
    party, folder = north(WHOLE, aligning)
    party.tick()
    assert "dataset 'cohort' has no column of ids" in folder.answer.record.reason
    with pytest.raises(LocalError, match="has no column of ids: name it in"):
        party.tables.ids(aligning)


STUDY = {"partition": "horizontal", "submitter": "analyst", "purpose": "a test", "legal_basis": "consent", **SITES}
CITIES = "patient,age,city,label\n" + "".join(f"p{i},{i},{'ABC'[i % 3]},{i % 2}\n" for i in range(60))


def test_whatever_changes_of_the_records_after_the_yes_stops_the_run(north, tmp_path):
    steps, file = ({"use": "TableVectorizer"}, {"use": "SVC"}), tmp_path / "cohort.csv"
    params = {"steps": steps, "seed": 3, "evaluate": {}}
    party, folder = north(CITIES, propose("study", params, **STUDY), id="patient")
    party.key_of(folder)
    held_out = set(party.tables.part(folder.job, held_out=True).X[:, 0].astype(int))
    assert 0 < len(held_out) < 60
    row = min(held_out)
    for before, after in (
        (f"p{row},{row},", f"p{row},{row + 0.5},"),  # a record that is held out
        (f"p{row},{row},{'ABC'[row % 3]},{row % 2}", f"p{row},{row},{'ABC'[row % 3]},{1 - row % 2}"),  # its label
        (",A,", ",D,"),  # a text, whose number in the table stays the same
    ):
        assert before in CITIES
        file.write_text(CITIES.replace(before, after))
        with pytest.raises(LocalError, match=r"began with data .* restore the data the run began with"):
            party.key_of(folder)
    file.write_text(CITIES)
    party.key_of(folder)


@pytest.mark.parametrize("protocol", ["align", "study"])
def test_ids_that_change_after_the_yes_stop_the_run(north, tmp_path, protocol):
    party, folder = north(WHOLE.replace("age", "patient"), job(protocol), id="patient")
    party.key_of(folder)
    (tmp_path / "cohort.csv").write_text(WHOLE.replace("age", "patient").replace("\n7,", "\n777,"))
    with pytest.raises(LocalError, match="restore the data"):
        party.key_of(folder)


def test_a_folder_of_parquet_files_is_a_dataset_and_a_change_of_one_stops_the_run(north, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="tacit")
    (tmp_path / "parts" / "year=2024").mkdir(parents=True)

    def write(name, first, last):
        numbers = np.arange(float(first), float(last))
        table = pa.table({"age": numbers, "label": (numbers % 2).astype(int)})
        parquet.write_table(table, tmp_path / "parts" / "year=2024" / f"{name}.parquet")

    write("b", 30, 60)
    write("a", 0, 30)
    party, folder = north(WHOLE, path="parts/")
    party.look_at_data()
    assert caplog.messages[-1] == "dataset cohort: 60 rows, 2 columns"
    part = party.tables.part(folder.job)
    judged = party.tables.part(folder.job, held_out=True)
    assert part.features == ("age", "year")
    assert sorted([*part.X[:, 0], *judged.X[:, 0]]) == list(range(60))
    party.key_of(folder)
    write("b", 31, 61)
    with pytest.raises(LocalError, match="restore the data"):
        party.key_of(folder)


def test_a_dataset_that_cannot_be_read_is_said_at_the_start_and_jobs_on_it_are_refused(north, caplog):
    party, folder = north(WHOLE.replace("label", "outcome"))
    party.look_at_data()
    (line,) = caplog.messages
    assert line.startswith(
        "dataset cohort cannot be used, and jobs on it are refused: cohort.csv has no column 'label'"
    )
    party.tick()
    assert folder.answer.record.reason == UNFIT


def test_a_site_without_the_extra_of_queries_starts_and_says_what_to_install(north, tmp_path, caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite", None)
    monkeypatch.setenv("COHORT", "sqlite:///cohort.db")
    party, folder = north(WHOLE)
    text = (tmp_path / "north.toml").read_text()
    query = 'query = "select * from cohort"\nconnection_env = "COHORT"'
    (tmp_path / "north.toml").write_text(text.replace('path = "cohort.csv"', query))
    party = Party(
        PartySettings.from_toml(tmp_path / "north.toml", files=False), party.identity, party.members, party.broker
    )
    party.look_at_data()
    assert "jobs on it are refused: a query of SQLite needs the extra 'sql': " in caplog.messages[-1]
    party.tick()
    assert folder.answer.record.reason.startswith("this site cannot judge the job (MissingExtraError)")
