"""What the page must withstand: other sites in the same browser, hostile names, requests that nobody should send."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import msgspec
import pytest

from tacit.consortium.site.settings import PageSettings
from tacit.errors import LocalError, MissingExtraError
from tacit.page.audits import LARGEST
from tacit.page.serving import find_address
from unit.page.page_sites import PASS, proposed

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'{{ 7*7 }}"
PAGES = ("/proposals", "/runs", "/results", "/register", "/audit", "/site", "/login")


def test_hostile_names_and_purposes_are_shown_as_text(hospital, browser):
    job = proposed(purpose=HOSTILE, classes=("</td><script>bad()</script>", "b"))
    hospital.propose(job)
    for path in ("/proposals", f"/proposals/{job.id}", "/runs", f"/runs/{job.id}", f"/results/{job.id}"):
        page = browser.get(path).text
        assert "<script>" not in page.replace('<script src="/static/page.js" defer></script>', "")
        assert "<img" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "49" not in re.findall(r"<h1>.*?</h1>", page, re.DOTALL)[0]


def test_every_page_forbids_inline_code_other_hosts_frames_and_caches(hospital, browser):
    job = proposed()
    hospital.propose(job)
    for path in (*PAGES, f"/proposals/{job.id}", f"/runs/{job.id}", "/nowhere"):
        answer = browser.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not re.findall(r"\sstyle=|\son\w+=|https?://", answer.text)


def test_nobody_sees_anything_without_a_login(hospital):
    job = proposed()
    hospital.propose(job)
    stranger = hospital.browser()
    for path in ("/", "/proposals", f"/proposals/{job.id}", "/runs", f"/runs/{job.id}", "/site", "/register", "/audit"):
        assert (answer := stranger.get(path)).headers.get("location") == "/login", path
        assert not answer.text
    assert stranger.get(f"/runs/{job.id}/events").status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8011"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_form_that_another_site_sends_changes_nothing(hospital, browser, headers):
    job = proposed()
    hospital.propose(job)
    said = {"form": browser.form(f"/proposals/{job.id}"), "verdict": "approve", "passphrase": PASS}
    answer = browser.client.post(f"/proposals/{job.id}", data=said, headers=headers)
    assert answer.status_code == 403
    assert hospital.votes(job).approved == ()


def test_a_form_without_the_word_of_this_session_changes_nothing(hospital, browser):
    job = proposed()
    hospital.propose(job)
    other = hospital.browser()
    other.log_in("dpo")
    for word in ("", "guess", other.form(f"/proposals/{job.id}")):
        said = {"form": word, "verdict": "approve", "passphrase": PASS}
        assert browser.client.post(f"/proposals/{job.id}", data=said).status_code == 403
    assert hospital.votes(job).approved == ()


def test_a_login_gives_a_new_session_whatever_cookie_the_browser_brought(hospital):
    browser, chosen = hospital.browser(), "chosen-by-somebody-else"
    browser.client.cookies.set(hospital.web.cookie, chosen)
    given = browser.log_in().headers["set-cookie"]
    assert given.startswith(f"{hospital.web.cookie}=")
    assert chosen not in given
    assert hospital.web.sessions.find(chosen) is None


def test_a_form_of_a_login_is_of_the_browser_that_it_was_shown_to(hospital):
    one, other = hospital.browser(), hospital.browser()
    word = one.form("/login")
    other.get("/login")
    answer = other.client.post("/login", data={"form": word, "name": "dr-lee", "passphrase": PASS})
    assert answer.status_code == 403


def test_the_cookie_is_for_this_server_alone_and_no_script_reads_it(hospital):
    cookie = hospital.browser().log_in().headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    assert cookie.startswith("tacit-8010=")  # sites on one machine keep theirs apart


def test_after_a_logout_the_token_is_worth_nothing(hospital, browser):
    token = browser.client.cookies[hospital.web.cookie]
    browser.post("/logout", "/proposals")
    browser.client.cookies.set(hospital.web.cookie, token)
    assert browser.get("/proposals").headers["location"] == "/login"


def test_a_request_for_another_host_is_refused(hospital):
    assert hospital.browser().get("/login", headers={"host": "evil.example"}).status_code == 400


@pytest.mark.parametrize("path", [
    "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2f..%2fcli/app.py", "/runs/..%2f..%2fnorth.key",
    "/proposals/%2e%2e%2f%2e%2e%2fpolicy.toml", "/results/../../north.key/model.tacit", "/runs/" + "a" * 33,
])  # fmt: skip
def test_no_path_leads_to_a_file_that_is_not_a_page(browser, path):
    answer = browser.get(path)
    assert answer.status_code in {303, 404}
    assert "PRIVATE" not in answer.text
    assert "import" not in answer.text


def test_an_audit_is_kept_under_no_name_that_a_browser_chose(browser, tmp_path):
    form = browser.form("/audit")
    files = [("files", ("../../../north.key", b"not an audit", "application/jsonl"))]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    answer = browser.client.post("/audit", data={"form": form}, files=files)
    assert "north.key" in answer.text
    assert ".." not in re.search(r"<li>(.*?)</li>", answer.text)[1]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_is_too_large_is_refused_before_it_is_read(browser):
    form = browser.form("/audit")
    answer = browser.client.post("/audit", headers={"content-length": str(LARGEST + 1)}, content=b"")
    assert answer.status_code == 413
    assert browser.client.post("/logout", data={"form": form, "more": "x" * 300_000}).status_code == 413


def test_what_grows_beyond_its_announcement_is_refused_too(browser):
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert browser.client.post("/logout", content=iter([b"x" * 65536] * 8), headers=kind).status_code == 413


def test_no_passphrase_is_in_an_address_or_in_the_log(hospital, caplog):
    browser, job = hospital.browser(), proposed()
    hospital.propose(job)
    with caplog.at_level(logging.DEBUG):
        assert PASS not in browser.log_in().headers["location"]
        hospital.browser().log_in(passphrase="a wrong one, and long")  # noqa: S106 - of nobody
        answer = browser.decide(job, "approve")
    assert PASS not in str(answer.url) + answer.headers["location"]
    assert PASS not in caplog.text
    assert "a wrong one" not in caplog.text
    kept = [path.read_bytes() for path in hospital.settings.state.rglob("*") if path.is_file()]
    assert not any(PASS.encode() in content for content in kept)


def test_a_page_elsewhere_than_on_loopback_needs_a_certificate(hospital, tmp_path):
    assert find_address("127.0.0.1:8010", hospital.settings).url == "http://127.0.0.1:8010"
    with pytest.raises(LocalError, match=r"--page \[::1\]:8010: a page listens on IPv4 addresses only: use 127.0.0.1"):
        find_address("[::1]:8010", hospital.settings)
    with pytest.raises(LocalError, match=r"--page 0.0.0.0:8010 is open to other machines, and needs TLS: give"):
        find_address("0.0.0.0:8010", hospital.settings)
    key = tmp_path / "page.key"
    key.write_text("a key")
    page = PageSettings(certificate=tmp_path / "page.crt", key=key, hosts=("tacit.north.example",))
    settings = msgspec.structs.replace(hospital.settings, page=page)
    with pytest.raises(LocalError, match=r"open to others \(mode 0644\)"):
        find_address("0.0.0.0:8010", settings)
    key.chmod(0o600)
    found = find_address("0.0.0.0:8010", settings)
    assert found.url == "https://tacit.north.example:8010"
    assert "tacit.north.example" in found.hosts


def test_the_error_of_an_installation_without_the_extra_names_it():
    assert "the page of a site needs the extra 'page': " in str(MissingExtraError("the page of a site", "page"))


def test_what_the_page_serves_fetches_nothing_from_elsewhere():
    own = Path(__file__).parents[3] / "src" / "tacit" / "page"
    for file in [*(own / "templates").glob("*"), *(own / "static").glob("*")]:
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE), file
