"""The server of a page: on loopback as it is, elsewhere with TLS; it ends when its site does."""

from __future__ import annotations

import ssl
import threading
import urllib.request
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from typer.testing import CliRunner

from tacit.cli.app import app
from tacit.cli.one_machine import _free_port
from tacit.consortium.site.settings import PageSettings
from tacit.errors import LocalError
from tacit.page.serving import find_address, serve_page


def fetch(url, context=None):
    with urllib.request.urlopen(url, timeout=30, context=context) as answer:  # noqa: S310 - our own server
        return answer.status, answer.headers, answer.read().decode()


def write_certificate(folder):
    """Return the settings of a page with a certificate for this machine, signed by itself."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "page")])
    now, host = datetime.now(UTC), x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
    made = made.add_extension(host, critical=False).add_extension(x509.BasicConstraints(True, None), critical=True)  # noqa: FBT003 - as X.509 has it
    (folder / "page.crt").write_bytes(made.sign(key, SHA256()).public_bytes(Encoding.PEM))
    (folder / "page.key").touch(0o600)
    (folder / "page.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return PageSettings(certificate=folder / "page.crt", key=folder / "page.key", hosts=("127.0.0.1",))


def test_a_page_answers_while_its_site_runs_and_not_after(hospital):
    address = find_address(f"127.0.0.1:{_free_port()}", hospital.settings)
    with serve_page(hospital.desk, address):
        status, headers, text = fetch(f"{address.url}/login")
        assert (status, "server" in headers) == (200, False)
        assert "This is the page of <strong>north</strong>" in text
        with (
            pytest.raises(LocalError, match=r"port \d+ on 127.0.0.1 is taken by another program: stop it"),
            serve_page(hospital.desk, address),
        ):
            pass
    assert not [thread for thread in threading.enumerate() if thread.name == "tacit-page"]
    with pytest.raises(OSError, match="refused"):
        fetch(f"{address.url}/login")


def test_elsewhere_it_speaks_tls_with_the_certificate_of_the_configuration(hospital, tmp_path):
    page = write_certificate(tmp_path)
    settings = msgspec.structs.replace(hospital.settings, page=page)
    address = find_address(f"0.0.0.0:{_free_port()}", settings)
    assert address.url.startswith("https://127.0.0.1:")
    trusting = ssl.create_default_context(cafile=page.certificate)
    with serve_page(hospital.desk, address):
        _, headers, _ = fetch(f"{address.url}/login", trusting)
    assert headers["strict-transport-security"]
    assert headers["set-cookie"].startswith("__Host-tacit-")
    assert "Secure" in headers["set-cookie"]


@pytest.mark.parametrize("command", [("people",), ("party", "people")], ids=" ".join)
def test_a_person_chooses_a_passphrase_on_the_command_line(hospital, tmp_path, command):
    secret = tmp_path / "secret"
    secret.touch(0o600)
    secret.write_text("chosen by an auditor")
    config = ("--config", str(hospital.home / "north.toml"))
    done = CliRunner().invoke(app, [*command, "add", "auditor", "--passphrase-file", str(secret), *config])
    assert done.output == "auditor logs in at north with this passphrase from now on\n"
    assert CliRunner().invoke(app, [*command, "list", *config]).output == "north: auditor, dpo, dr-lee\n"
    assert hospital.desk.people.knows("auditor", "chosen by an auditor")
    assert hospital.browser().log_in("auditor", "chosen by an auditor").status_code == 303


def test_an_address_that_cannot_be_is_refused_in_one_line(hospital):
    config = ("--config", str(hospital.home / "north.toml"))
    done = CliRunner().invoke(app, ["party", *config, "--page", "north"])
    assert (done.exit_code, done.stderr) == (
        2,
        "tacit: error: --page = 'north' needs a host and a port: write it like 0.0.0.0:4222\n",
    )
