"""What nats-server is told: who is a user, what each may do, how it is reached.

Tokens stand for names (see `names`). Who may do what:

    party         publishes t.*.<own>.* and c.<own>.*; reads its own consumers
    analyst       publishes c.<own>.<coordinator> and q.<own>.<coordinator>; listens to q.*.<own>; takes part in no run
    coordinator   as a party; publishes q.<own>.*, listens to q.*.<own>, creates and deletes streams and consumers

A user is a certificate's subject, and a subject names its key: a revoked or replaced key is refused while its certificate still holds.
Where sites dial directly, keys are pinned besides; nats-server ignores pins on websockets.

NOT protected: who runs the server sees sizes, times and who talks to whom, and can drop, replay and alter; sites seal what they send.
A member can name another's inbox as the reply subject of its own request, so that a server's reply proves nothing to its receiver.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tacit.consortium.identity import Identity, key_digest, key_tag
from tacit.consortium.members import Member, Members
from tacit.consortium.names import SPOKEN_TO, control_subject, inbox, question_subject
from tacit.errors import LocalError
from tacit.files import write_whole

LOOPBACK = "127.0.0.1"
MAX_PAYLOAD = 1 << 20
HANDSHAKE_SECONDS = 5  # a reload waits for handshakes under way, so this is also how long a stranger can hold one up
LOG_BYTES, LOGS = 10 << 20, 5


@dataclass(frozen=True)
class ServerSettings:
    """The coordinator whose certificate the server shows, and where the server listens and stores."""

    identity: Identity
    store_dir: Path
    listen: str = f"{LOOPBACK}:4222"
    websocket: str | None = None
    monitor_port: int | None = None
    store_bytes: int = 10 << 30
    memory_bytes: int = 64 << 20

    @property
    def config_file(self) -> Path:
        """The configuration; absolute, since a process is recognised by it."""
        return self.store_dir.absolute() / "nats.conf"

    @property
    def log_file(self) -> Path:
        """What the server says."""
        return self.store_dir.absolute() / "nats.log"

    @property
    def pid_file(self) -> Path:
        """Which process it is."""
        return self.store_dir.absolute() / "nats.pid"

    def addresses(self) -> dict[str, tuple[str, int]]:
        """Host and port of each door, by the setting that opens it."""
        doors = {"listen": address(self.listen, "listen")}
        if self.websocket:
            doors["websocket"] = address(self.websocket, "websocket")
        if self.monitor_port:
            doors["monitor_port"] = (LOOPBACK, self.monitor_port)
        return doors


def address(text: str, setting: str) -> tuple[str, int]:
    """Host and port of `host:port`."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise LocalError(f"{setting} = {text!r} needs a host and a port: write it like 0.0.0.0:4222")
    return host, port


def write_config(members: Members, settings: ServerSettings) -> None:
    """Write the configuration and the authority beside it."""
    authority = settings.config_file.with_name("ca.crt")
    text = "# written by tacit: changes are overwritten\n" + json.dumps(
        configuration(members, settings, authority), indent=2, ensure_ascii=False
    )
    write_whole(authority, members.authority.encode(), "the server's authority")
    write_whole(settings.config_file, text.encode(), "the server's configuration")


def configuration(members: Members, settings: ServerSettings, authority: Path) -> dict[str, Any]:
    """The configuration; nats-server reads JSON."""
    _refuse_unfit(members, settings.identity)
    doors = settings.addresses()
    host, port = doors["listen"]
    tls = _tls(settings, authority)
    config: dict[str, Any] = {
        "server_name": "tacit",
        "host": host,
        "port": port,
        "max_payload": MAX_PAYLOAD,
        # TLS before the first word: a client that waits for a plain greeting can be talked out of TLS
        "tls": {**tls, "handshake_first": True, "pinned_certs": [key_digest(m.key) for m in _valid(members)]},
        "authorization": {"users": [_user(m, members) for m in _valid(members)]},
        "jetstream": {
            "store_dir": str(settings.store_dir.absolute()),
            "max_file_store": settings.store_bytes,
            "max_memory_store": settings.memory_bytes,
        },
        "pid_file": str(settings.pid_file),
        "log_file": str(settings.log_file),
        "logfile_size_limit": LOG_BYTES,
        "logfile_max_num": LOGS,
    }
    if settings.websocket:
        host, port = doors["websocket"]
        # no compression: masked values have nothing to compress, and sizes would tell about the others
        config["websocket"] = {"host": host, "port": port, "tls": tls, "compression": False}
    if settings.monitor_port:
        config["http"] = f"{LOOPBACK}:{settings.monitor_port}"
    return config


def _tls(settings: ServerSettings, authority: Path) -> dict[str, Any]:
    return {
        "cert_file": str(settings.identity.certificate_file.absolute()),
        "key_file": str(settings.identity.key_file.absolute()),
        "ca_file": str(authority),
        "verify_and_map": True,
        "min_version": "1.3",
        "timeout": HANDSHAKE_SECONDS,
    }


def _valid(members: Members) -> list[Member]:
    return sorted((m for m in members if m.state() == "valid"), key=lambda m: m.name)


def _user(member: Member, members: Members) -> dict[str, Any]:
    own = members.token(member.name)
    allowed = {"party": _party, "analyst": _analyst, "coordinator": _coordinator}[member.kind](own, members)
    heard = [f"{inbox(own)}.>", *([question_subject("*", own)] if member.kind in SPOKEN_TO else [])]
    permissions = {"publish": {"allow": allowed}, "subscribe": {"allow": heard}}
    return {"user": f"CN={member.name},OU={key_tag(member.key)}", "permissions": permissions}


def _party(own: str, members: Members) -> list[str]:
    del members
    return [f"t.*.{own}.*", control_subject(own, "*"), *_reading(own)]


def _analyst(own: str, members: Members) -> list[str]:
    coordinators = [members.token(m.name) for m in members.of_kind("coordinator")]
    return [subject(own, c) for subject in (control_subject, question_subject) for c in coordinators]


def _coordinator(own: str, members: Members) -> list[str]:
    return [*_party(own, members), question_subject(own, "*"), "$JS.API.>"]


def _reading(own: str) -> list[str]:
    """Fetch from the consumers of one's own name, and acknowledge."""
    return [f"$JS.API.CONSUMER.MSG.NEXT.*.{own}", f"$JS.ACK.*.{own}.>"]


def _refuse_unfit(members: Members, identity: Identity) -> None:
    member = members.member(identity.name)
    if member.kind != "coordinator":
        raise LocalError(
            f"{identity.name} is {member.kind}: the server needs a coordinator's certificate (tacit keys new --kind coordinator)"
        )
    if member.key != identity.public or identity.certificate is None:
        raise LocalError(f"{identity.certificate_file} is not the certificate that {members!r} lists for {identity.name}: get both anew")
