"""The dossier of a run: what is in it, that it can be verified, and that whatever is altered is found. Real sites."""

import html
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from consortium_study import altered
from typer.testing import CliRunner

from tacit.attacks.catalogue import OWN
from tacit.choreo.fact import fact_called
from tacit.cli.app import app
from tacit.consortium.audit.chain import Reading, write_audit
from tacit.consortium.broker.server import find_server
from tacit.consortium.dossier.bag import make_dossier, pack, unpack
from tacit.consortium.dossier.contents import Case, write_ledger
from tacit.consortium.dossier.crate import CRATE, identify
from tacit.consortium.dossier.dpia import BLANK, write_dpia
from tacit.consortium.dossier.verification import verify_dossier
from tacit.consortium.jobs.folder import Folder
from tacit.errors import LocalError, MissingExtraError
from tacit.registry import PROTOCOLS
from tacit.report.decision import UNREVIEWED
from tacit.report.release import Line, Release
from tacit.report.words import cost_of

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from living_sites import House  # needs the extra

NOW = datetime(2030, 1, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with House(tmp_path_factory.mktemp("dossier")) as made:
        made.done = made.new(purpose="<b>readmission</b> & more")
        made.propose(made.done)
        made.everywhere(made.done, "finished")
        yield made


def case_of(house, site="north"):
    return Case(house.folder_at(site, house.done), house.sites[site], house.members, NOW)


@pytest.fixture(scope="module")
def archive(house):
    return make_dossier(case_of(house))


def payload(archive):
    return unpack(archive)[1]


def test_every_line_of_the_ledger_is_in_the_dossier_and_names_its_facts(house, archive):
    files = payload(archive)
    chain = Reading.of(house.folder_at("north", house.done).path / "audit.jsonl")
    ledger = json.loads(files["ledger.json"])
    assert len(ledger["rows"]) == len(chain.entries) > 10
    assert [row["place"] for row in ledger["rows"]] == [entry.place for entry in chain.entries]
    told = {name for row in ledger["rows"] for name in row["tells"]}
    assert told == set(ledger["facts"])
    assert all(ledger["facts"][name]["prose"] == fact_called(name).prose for name in told)


def test_a_dossier_holds_job_consents_policies_chain_annex_card_software_and_a_page(house, archive):
    files = payload(archive)
    assert json.loads(files["job.json"])["id"] == house.done.id
    consents = json.loads(files["consents.json"])
    assert [each["site"] for each in consents] == list(house.done.roster.parties)
    assert all(len(each["policy"]) == 64 for each in consents if each["site"] in house.done.parties)
    assert json.loads(files["model-card.json"])["model"] == "Pipeline"
    assert json.loads(files["report.json"])["estimator"] == "Pipeline"
    bill = json.loads(files["sbom.cdx.json"])
    assert bill["bomFormat"] == "CycloneDX"
    assert {"numpy", "msgspec", "scikit-learn"} <= {part["name"] for part in bill["components"]}
    page = files["ro-crate-preview.html"].decode()
    assert "&lt;b&gt;readmission&lt;/b&gt; &amp; more" in page
    assert "<b>" not in page
    assert "<script" not in page


def test_the_annex_says_for_each_recipient_whether_it_could_identify_a_person(house, archive):
    annex = json.loads(payload(archive)["annex.json"])
    lines = {one["name"]: one["line"] for one in annex["recipients"]}
    assert set(lines) == {"north", "south", "east", "clearing", "analyst"}
    for name, line in lines.items():
        assert line.startswith(f"Can {name} identify a person? ")
    assert "With a person's record in hand it could test whether it was used (membership_inference" in lines["clearing"]
    assert "How well was not measured." in lines["clearing"]
    assert "Nobody can work out records of others without clearing, which deals the random numbers" in lines["clearing"]
    assert annex["roles"]["processor (art. 28)"] == ["clearing"]
    assert annex["retention"]["days"] == house.done.retention_days
    assert any(risk.startswith("membership_inference: ") for risk in annex["residual risks"])


def words_of(page):
    return html.unescape(" ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split()))


def test_the_page_of_a_dossier_begins_with_what_is_needed_to_decide_and_speaks_of_this_run(archive):
    page = payload(archive)["ro-crate-preview.html"].decode()
    first = words_of(page[page.index('id="decide"') : page.index('id="result"')])
    assert len(first.split()) <= 350
    assert "By the messages: no, unless clearing" in first
    for answer in ("Differential privacy No.", "Release check Not made: nobody measured", UNREVIEWED):
        assert answer in first
    assert not re.search(r"\bwith \w+=|\bif \w+ is\b|\bin a regression\b", words_of(page))


def test_dossier_and_report_have_the_same_numbers(house, archive):
    files, ended = payload(archive), case_of(house).finished
    report = json.loads(files["report.json"])
    assert (report["rounds"], report["bytes"], report["seconds"]) == (ended.rounds, ended.bytes, ended.seconds)
    page = words_of(files["ro-crate-preview.html"].decode())
    assert cost_of(report["rounds"], report["bytes"], report["seconds"]) in page
    assert f"{report['bytes']:,} bytes" in words_of(files["report.html"].decode())


def test_every_link_of_a_dossier_leads_somewhere(archive):
    files = payload(archive)
    for name in ("ro-crate-preview.html", "report.html"):
        links = re.findall(r'href="([^"]+)"', files[name].decode())
        assert links
        for link in links:
            file, _, part = html.unescape(link).partition("#")
            assert (file or name) in files, link
            assert not part or f'id="{part}"' in files[file or name].decode(), link


def test_every_attack_says_from_which_declared_facts_it_starts():
    for name in PROTOCOLS:
        assert PROTOCOLS[name] is not None  # imported, so that its facts are known
    for attack in OWN:
        assert attack.reads, attack.name
        assert all(fact_called(name).kind != "unknown" for name in attack.reads), attack.name
        assert attack.stopped or attack.needs, attack.name


def test_a_dossier_is_verified_by_the_registrar_s_fingerprint_alone(house, archive):
    found = verify_dossier(archive, house.fingerprint)
    assert (found.job, found.site) == (house.done, "north")
    assert found.agreed == house.done.roster.parties
    assert found.rows == len(json.loads(payload(archive)["ledger.json"])["rows"])
    with pytest.raises(LocalError, match="the pinned one is another"):
        verify_dossier(archive, "0000 " * 7 + "0000")


def test_the_same_run_makes_the_same_bytes(house, archive):
    assert make_dossier(case_of(house)) == archive


def rewrite(archive, change):
    """The archive with other entries."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        entries = {entry.filename: old.read(entry) for entry in old.infolist()}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as new:
        for name, content in change(entries).items():
            new.writestr(name, content)
    return target.getvalue()


def test_whatever_is_altered_left_out_or_added_is_found(house, archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        names = [entry.filename for entry in old.infolist()]
    for name in names:
        changed = rewrite(archive, lambda found, name=name: {**found, name: found[name] + b" "})
        with pytest.raises(LocalError, match="ask its site for it again"):
            verify_dossier(changed, house.fingerprint)
        lacking = rewrite(archive, lambda found, name=name: {k: v for k, v in found.items() if k != name})
        with pytest.raises(LocalError, match="ask its site for it again"):
            verify_dossier(lacking, house.fingerprint)
    folder = names[0].partition("/")[0]
    added = rewrite(archive, lambda found: {**found, f"{folder}/data/more.json": b"{}"})
    with pytest.raises(LocalError, match=r"not listed: data/more.json"):
        verify_dossier(added, house.fingerprint)
    with pytest.raises(LocalError, match="is not one folder"):
        verify_dossier(rewrite(archive, lambda found: {**found, "elsewhere/x": b""}), house.fingerprint)
    for rubbish in (b"", b"PK", archive[:-100], archive[: len(archive) // 2]):
        with pytest.raises(LocalError, match=r"not a whole ZIP archive|ask its site"):
            verify_dossier(rubbish, house.fingerprint)


def drop_row(files):
    ledger = json.loads(files["ledger.json"])
    return {**files, "ledger.json": json.dumps({**ledger, "rows": ledger["rows"][:-1]}).encode()}


def change_fact(files):
    return {**files, "ledger.json": files["ledger.json"].replace(b'"kind": "nothing"', b'"kind": "count"', 1)}


def cut_chain(files):
    lines = files["audit/audit.jsonl"].splitlines(keepends=True)
    return {**files, "audit/audit.jsonl": b"".join([*lines[:-2], lines[-1]])}


def refuse_answer(files):
    return {**files, "job/start.json": files["job/start.json"].replace(b'"accept"', b'"refuse"', 1)}


def forge_answer(files):
    return {**files, "job/start.json": files["job/start.json"].replace(b'"rule":"', b'"rule":"x', 1)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (drop_row, "does not say what its signed chains say"),
        (change_fact, "does not say what its signed chains say"),
        (cut_chain, "is not a whole chain|is not signed by north"),
        (refuse_answer, "does not agree to job"),
        (forge_answer, "on the consent of the dossier does not hold"),
    ],
)
def test_a_site_that_signs_what_others_did_not_say_is_found_out(house, archive, change, words):
    case = case_of(house)
    forged = pack("dossier", change(payload(archive)), identify(case), case.identity)
    with pytest.raises(LocalError, match=words):
        verify_dossier(forged, house.fingerprint)


def test_a_message_that_nobody_agreed_to_is_found_though_its_site_signed_it(house, archive):
    case, chain = case_of(house), Reading.of(house.folder_at("north", house.done).path / "audit.jsonl")
    files = payload(archive)
    for change in ({"tells": "gram.matrix"}, {"place": "/elsewhere/Masked"}, {"receiver_role": "asker"}):
        path = house.folder / "forged.jsonl"
        path.unlink(missing_ok=True)
        rows = [*chain.entries[:-1], altered(chain.entries[-1], **change)]
        write_audit(path, chain.begin, map(msgspec.json.encode, rows), house.sites["north"].private.sign)
        told = write_ledger({"audit.jsonl": Reading.of(path)})
        forged = {**files, "audit/audit.jsonl": path.read_bytes(), "ledger.json": msgspec.json.encode(told)}
        with pytest.raises(LocalError, match=r"audit/audit\.jsonl of the dossier: .* what nobody agreed to: ask"):
            verify_dossier(pack("dossier", forged, identify(case), case.identity), house.fingerprint)


def test_another_site_s_key_under_this_site_s_name_is_found(house, archive):
    tags, files = unpack(archive)
    other = pack("dossier", files, "urn:uuid:0", house.sites["south"])
    assert tags
    with pytest.raises(LocalError, match=r"audit.jsonl of the dossier is not signed by south"):
        verify_dossier(other, house.fingerprint)


def graph_of(archive):
    described = json.loads(payload(archive)["ro-crate-metadata.json"])
    return described, {entity["@id"]: entity for entity in described["@graph"]}


@pytest.mark.slow
def test_the_musts_of_the_five_safes_profile_hold(archive):
    tags, files = unpack(archive)
    described, graph = graph_of(archive)
    assert tags["bagit.txt"].startswith(b"BagIt-Version: 1.")
    assert tags["bag-info.txt"].startswith(b"External-Identifier: urn:uuid:")
    assert "manifest-sha512.txt" in tags
    with zipfile.ZipFile(io.BytesIO(archive)) as found:
        assert len({name.partition("/")[0] for name in found.namelist()}) == 1
    assert described["@context"][0] == f"{CRATE}/context"
    assert graph["ro-crate-metadata.json"]["conformsTo"] == {"@id": CRATE}
    root = graph["./"]
    assert graph[root["conformsTo"]["@id"]]["@type"] == "Profile"
    workflow = graph[root["mainEntity"]["@id"]]
    assert workflow["@type"] == "Dataset"
    assert workflow["conformsTo"]["@id"].startswith("https://w3id.org/workflowhub/workflow-ro-crate/")
    mentioned = [graph[each["@id"]] for each in root["mentions"]]
    (run,) = [each for each in mentioned if each["@type"] == "CreateAction"]
    assert run["instrument"] == root["mainEntity"]
    assert graph[run["agent"]["@id"]]["@type"] == "Person"
    assert run["actionStatus"] == "http://schema.org/CompletedActionStatus"
    assert graph[root["sourceOrganization"]["@id"]]["@type"] == "Project"
    assert all(graph[each["@id"]] for each in run["object"])
    parts = {each["@id"] for each in root["hasPart"]}
    assert {each["@id"] for each in run["result"]} <= parts
    checks = [each for each in mentioned if each["@type"] == "AssessAction"]
    assert {each["additionalType"]["@id"].partition("#")[2] for each in checks} == {
        "ValidationCheck", "SignOff", "DisclosureCheck"
    }  # fmt: skip
    assert all(each["name"] and each["@id"] in graph for each in checks)
    software = [each for each in graph.values() if each["@type"] == "SoftwareApplication"]
    assert all(graph[each["provider"]["@id"]]["@type"] == "Organization" for each in software)
    listed = parts | {each["@id"] for each in graph["job/"]["hasPart"]}
    assert set(files) - {"ro-crate-metadata.json"} <= listed
    assert not [name for name in graph if name.startswith(("../", "/"))]


def test_the_command_writes_a_dossier_and_verifies_it(house, tmp_path, monkeypatch):
    home = house.home("north")
    identity = house.sites["north"]
    text = (home / "site.toml").read_text()
    text = text.replace('"north.key"', f'"{identity.key_file}"').replace(
        '"north.crt"', f'"{identity.certificate_file}"'
    )
    house.members.save(home / "consortium.members")
    (home / "whole.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    asked = ["dossier", house.done.id[:8], "-o", "study.zip", "--config", str(home / "whole.toml")]
    made = CliRunner().invoke(app, [*asked, "--dpia", "assessment.odt"])
    assert made.exit_code == 0, made.output
    assert "signed by north" in made.output
    assert "assessment.odt: an impact assessment to complete" in made.output
    assert read_text(Path("assessment.odt").read_bytes())[2][-1][0] == "who is responsible for the records"
    asked_again = ["dossier", house.done.id[:8], "--config", str(home / "whole.toml")]
    assert "nothing is to be written: name a file" in CliRunner().invoke(app, asked_again).output
    assert "Can clearing identify a person? With a person's record in hand" in made.output
    checked = CliRunner().invoke(app, ["dossier", "verify", "study.zip", "--ca", house.fingerprint])
    assert checked.exit_code == 0, checked.output
    assert f"study.zip holds: job {house.done.id} as north has it" in checked.output


SEED = """
import sys
import requests, requests.adapters, requests_cache, urllib3

class Shipped(requests.adapters.BaseAdapter):
    def send(self, request, **_):
        body, answer = open(sys.argv[2], "rb"), requests.Response()
        answer.status_code, answer.url, answer.request = 200, request.url, request
        answer.headers["Content-Type"] = "application/ld+json"
        answer.raw = urllib3.HTTPResponse(body, headers=answer.headers, status=200, preload_content=False)
        return answer

    def close(self):
        pass

session = requests_cache.CachedSession(sys.argv[1], backend="sqlite", expire_after=-1)
session.mount("https://", Shipped())
session.get(sys.argv[3])
"""


@pytest.fixture(scope="module")
def validator(tmp_path_factory):
    """The folder of an environment with roc-validator, which pins other versions than ours."""
    folder = tmp_path_factory.mktemp("validator")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)  # noqa: S603 - ourselves
    install = [folder / "bin" / "pip", "install", "-q", "roc-validator"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        pytest.skip(f"roc-validator cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    return folder


@pytest.mark.slow
def test_roc_validator_finds_every_must_of_ro_crate_1_2(archive, validator, tmp_path):
    """It looks for the context on the network; ours, of the terms that a dossier uses, is put into its cache."""
    with zipfile.ZipFile(io.BytesIO(archive)) as found:
        found.extractall(tmp_path)
    (crate,) = tmp_path.glob("*/data")
    cache, program, context = tmp_path / "cache", validator / "bin", Path(__file__).with_name("ro_crate_context.json")
    seed = [program / "python", "-c", SEED, cache, context, f"{CRATE}/context"]
    subprocess.run(seed, check=True)  # noqa: S603 - our own
    asked = ["--offline", "--cache-path", cache, "-p", "ro-crate-1.2", "--requirement-severity", "required"]
    command = [program / "rocrate-validator", "-y", "validate", *asked, "--no-paging", crate]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - of that environment
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_dossier_of_a_run_of_thousands_of_messages_has_every_line(house, tmp_path):
    short = house.folder_at("north", house.done)
    shutil.copytree(short.path, tmp_path / short.id)
    folder, chain = Folder(tmp_path / short.id), Reading.of(short.path / "audit.jsonl")
    (folder.path / "audit.jsonl").unlink()
    rows = [altered(entry, place=f"{entry.place}#{k + 1}") for k in range(10) for entry in chain.entries]
    sign = house.sites["north"].private.sign
    write_audit(folder.path / "audit.jsonl", chain.begin, map(msgspec.json.encode, rows), sign)
    made = make_dossier(Case(folder, house.sites["north"], house.members, NOW))
    assert verify_dossier(made, house.fingerprint).rows == len(rows) == 10 * len(chain.entries) > 3000


def test_a_job_that_never_ran_leaves_no_dossier(house):
    job = house.new(purpose="another")
    folder = house.folder_at("east", job)
    folder.propose(house.proposal(job))
    with pytest.raises(LocalError, match="left no audit of a run: make the dossier once it has run"):
        make_dossier(Case(folder, house.sites["east"], house.members, NOW))
    folder.discard()


TEXT, TABLE = (f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("text", "table"))


def read_text(data):
    """The headings, paragraphs and tables of a document, as a program that opens it reads them."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        first = archive.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        assert archive.read("mimetype") == b"application/vnd.oasis.opendocument.text"
        ET.fromstring(archive.read("META-INF/manifest.xml"))  # noqa: S314 - our own
        body = ET.fromstring(archive.read("content.xml"))  # noqa: S314 - our own
    heads = [head.text for head in body.iter(f"{TEXT}h")]
    said = ["".join(each.itertext()) for each in body.iter(f"{TEXT}p")]
    rows = [
        ["".join(cell.itertext()) for cell in row.iter(f"{TABLE}table-cell")] for row in body.iter(f"{TABLE}table-row")
    ]
    return heads, said, rows


def test_an_impact_assessment_is_filled_in_from_the_job_and_says_what_is_left_to_people(house):
    case = case_of(house)
    heads, said, rows = read_text(write_dpia(case.job, "north", NOW, case.start.answers, case.report.release))
    for words in ("Description", "Purpose and legal basis", "Necessity", "recipients", "learns", "Risks", "Measures",
                  "Residual", "Consultation", "Decision", "Signatures"):  # fmt: skip
        assert any(words in head for head in heads), words
    assert said[0] == "Data protection impact assessment: <b>readmission</b> & more"
    assert UNREVIEWED in said[1]
    assert {f"• {one.line}" for one in case.recipients} <= set(said)
    cells = {cell for row in rows for cell in row}
    assert {house.done.legal_basis, *house.done.parties, "clearing"} <= cells
    assert {"north", "accept", "its policy", f"{case.start.answers[0].record.at:%Y-%m-%d}"} <= cells
    assert any(row[0].startswith("By the model") and row[1] == "Not measured." for row in rows)
    assert sum(text.startswith(BLANK) for text in said) > 20


def test_before_the_run_an_impact_assessment_has_all_but_what_the_run_will_say(house):
    _, said, rows = read_text(write_dpia(house.done, "north", NOW))
    assert any("release check: no" in text for text in said)
    assert not any("accept" in row for row in rows)


def test_an_impact_assessment_has_the_figures_of_the_release_check_and_survives_odd_names(house):
    lines = [Line("membership: area", "membership_auc", 0.57, 0.6, refused=False)]
    job = msgspec.structs.replace(house.done, purpose="a ]]> <text:p> & more")
    _, said, rows = read_text(write_dpia(job, "north", NOW, (), Release(lines, "3 of 3 sites trained 8 twins.")))
    assert any("<text:p>" in text for text in said)
    assert ["membership: area", "0.57", "at most 0.6", "passed"] in rows
    assert any("Measured: AUC 0.57, where 0.50 is guessing." in cell for row in rows for cell in row)
