import re
from pathlib import Path

import pytest

from tacit.consortium.site.example_files import example_analyst, example_coordinator, example_party
from tacit.consortium.site.settings import AnalystSettings, CoordinatorSettings, PartySettings
from tacit.errors import LocalError

FILES = ("north.key", "north.crt", "consortium.members", "policy.toml", "cohort.csv")


@pytest.fixture
def folder(tmp_path):
    for name in FILES:
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def party(folder):
    def party(old="", new="", text=None):
        content = text or example_party(label="readmitted")
        assert old in content
        (folder / "north.toml").write_text(content.replace(old, new))
        return PartySettings.from_toml(folder / "north.toml")

    return party


def test_the_example_files_are_read_as_they_are(folder, party):
    settings = party()
    assert settings.name == "north"
    assert settings.datasets["cohort"].label == "readmitted"
    for text, kind in ((example_coordinator(), CoordinatorSettings), (example_analyst(), AnalystSettings)):
        (folder / "site.toml").write_text(text)
        assert kind.from_toml(folder / "site.toml", files=False).state == folder / "state"


def test_relative_paths_count_from_the_file(folder, party, monkeypatch):
    monkeypatch.chdir("/")
    settings = party()
    assert settings.key == folder / "north.key"
    assert settings.datasets["cohort"].path == folder / "cohort.csv"


def test_absolute_paths_stay_as_they_are(folder, party):
    other = folder / "elsewhere" / "data.csv"
    other.parent.mkdir()
    other.touch()
    assert party('"cohort.csv"', f'"{other}"').datasets["cohort"].path == Path(other)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "state =",
            "status =",
            r"north.toml: unknown key 'status': known are name, key, certificate, .*; correct or remove it",
        ),
        ("state =", "# state =", r"north.toml: 'state' is missing: add it \(known keys: name, key"),
        ("path =", "file =", r"north.toml: \[datasets.cohort\]: unknown key 'file': known are path, label, drop, id"),
        ('"north"', '"North Hospital"', "north.toml: the name 'North Hospital' is not allowed"),
        ("0000 0000", "0000", "north.toml: ca_fingerprint needs 32 or 64 hex digits"),
        (
            "tls://clearing.example:4222",
            "http://clearing.example:4222",
            r"servers has 'http://.*': write it as tls://host:port",
        ),
        ("tls://clearing.example:4222", "tls://clearing.example", "write it as tls://host:port or wss://host:port"),
        (
            "tls://clearing.example:4222",
            "tls://[clearing.example:4222",
            "write it as tls://host:port or wss://host:port",
        ),
        ("tls://clearing.example:4222", "tls://clearing.example:x", "write it as tls://host:port or wss://host:port"),
        ('["tls://clearing.example:4222"]', "[]", "servers is empty: name at least one"),
        ("# proxy", "proxy", "proxy carries websockets only, and servers has a tls:// address"),
        (
            '# proxy = "http:',
            'proxy = "https:',
            "north.toml: proxy needs a host and a port, and no TLS: write it as http://host:port",
        ),
        ("# metrics_port = 9464", "metrics_port = 0", "metrics_port: Expected int >= 1; correct the value"),
        ("party_timeout = 300.0", "party_timeout = 0", "party_timeout: Expected float > 0.0; correct the value"),
        ('"text"', '"xml"', "log_format: Invalid enum value 'xml'; correct the value"),
        ('"cohort.csv"', "3", "Expected Path, got int; correct the value"),
        ('"cohort.csv"', '"none.csv"', r"datasets.cohort.path: there is no file .*none.csv; correct the path"),
        ('"north.key"', '"south.key"', r"key: there is no file .*south.key; make it with `tacit keys new`"),
        ('"policy.toml"', '"none.toml"', r"policy: there is no file .*; write down what this site accepts"),
        ("[datasets.cohort]", '[datasets."a/b"]', "dataset 'a/b' needs letters, digits"),
        (
            "# ranges = { age = [0, 120] }",
            "ranges = { age = [120, 0] }",
            "datasets.cohort.ranges: 'age' goes from 120.0 to 0.0",
        ),
        ("# largest = 1000.0", "largest = 0", "largest.*Expected float > 0.0"),
        ("name =", "name", "is not TOML: .*line 1.*; correct that line"),
    ],
)
def test_a_bad_configuration_is_refused_in_one_line(party, old, new, words):
    with pytest.raises(LocalError, match=words) as error:
        party(old, new)
    assert "\n" not in str(error.value)


QUERY = 'query = "select * from cohort order by patient"'


def test_a_dataset_may_be_a_query_or_a_folder(folder, party):
    found = party('path = "cohort.csv"', f'{QUERY}\nconnection_file = "cohort.connection"').datasets["cohort"]
    assert (found.path, found.connection_file) == (None, folder / "cohort.connection")
    (folder / "parts").mkdir()
    assert party('"cohort.csv"', '"parts/"').datasets["cohort"].path == folder / "parts"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("id = 'x'", "needs a path or a query: write path = 'cohort.csv', or query = 'select ...'"),
        (f"path = 'cohort.csv'\n{QUERY}", "needs a path or a query, and not both: write path"),
        (QUERY, "needs connection_env or connection_file: say where the connection is"),
        (f"{QUERY}\nconnection_env = 'A'\nconnection_file = 'b'", "needs connection_env or connection_file"),
        (
            "path = 'cohort.csv'\nconnection_env = 'A'",
            ".connection_env is for a query: add query = 'select ...', or remove it",
        ),
        ("query = 'drop table cohort'\nconnection_env = 'A'", ".query does not begin with select or with: write one"),
        (f"{QUERY}\nconnection_env = 'A'\nmaximum_rows = 0", "maximum_rows: Expected int >= 1; correct the value"),
    ],
)
def test_a_dataset_that_is_nowhere_or_in_two_places_is_refused_in_one_line(party, lines, words):
    with pytest.raises(LocalError, match=rf"north.toml: .*datasets.*{re.escape(words)}"):
        party('path = "cohort.csv"', lines)


def test_websockets_may_go_through_a_proxy(party):
    text = example_party(servers=["wss://clearing.example:443"]).replace("# proxy", "proxy")
    assert party(text=text).proxy == "http://proxy.example:3128"


@pytest.mark.parametrize(
    "proxy", ["https://me:hunter2@proxy.example:3128", "http://me:hunter2@proxy.example", "me:hunter2@proxy:1"]
)
def test_a_proxy_of_another_kind_is_refused_without_its_password(party, proxy):
    text = example_party(servers=["wss://clearing.example:443"]).replace("# proxy", "proxy")
    with pytest.raises(LocalError, match="write it as http://host:port") as error:
        party("http://proxy.example:3128", proxy, text)
    assert "hunter2" not in str(error.value)


def test_a_coordinator_needs_a_port_to_listen_at(tmp_path):
    (tmp_path / "clearing.toml").write_text(example_coordinator(listen="localhost"))
    with pytest.raises(
        LocalError, match=r"clearing.toml: listen = 'localhost' needs a host and a port: write it like 0.0.0.0:4222"
    ):
        CoordinatorSettings.from_toml(tmp_path / "clearing.toml", files=False)


def test_a_missing_configuration_is_named(tmp_path):
    with pytest.raises(LocalError, match=r"the configuration .*none.toml cannot be read: No such file"):
        PartySettings.from_toml(tmp_path / "none.toml")


def test_fingerprints_are_read_as_people_copy_them(party):
    for copied in ("AB:CD 12 " * 5 + "EF", "ab" * 32):
        assert party("0000 " * 7 + "0000", copied).ca_fingerprint == copied
    with pytest.raises(LocalError, match="ca_fingerprint needs 32 or 64 hex digits"):
        party("0000 " * 7 + "0000", "AB:CD 12")
