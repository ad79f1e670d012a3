"""What nats-server is told: who is a user, what each may do, how it is reached.

Tokens stand for names (see `names`). Who may do what:

    party         publishes t.*.<own>.* and c.<own>.*; reads its own consumers, and asks about that of its letters
    analyst       publishes c.<own>.<coordinator> and q.<own>.<coordinator>; listens to q.*.<own>; takes part in no run
    coordinator   as a party; publishes q.<own>.*, listens to q.*.<own>, creates and deletes streams and consumers

A user is a certificate's subject, and a subject names its key: a revoked or replaced key is refused while its
certificate still holds. Where sites dial directly, keys are pinned besides; nats-server ignores pins on websockets.

NOT protected: who runs the server sees sizes, times and who talks to whom, and can drop, replay and alter; sites seal
what they send. A member can name another's inbox as the reply subject of its own request, so that a server's reply
proves nothing to its receiver.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit.consortium.membership.identity import Identity, key_digest, key_tag
from tacit.consortium.membership.members import Member, Members
from tacit.consortium.membership.names import CONTROL_STREAM, SPOKEN_TO, Kind, control_subject, inbox, question_subject
from tacit.consortium.site.settings import listening_at
from tacit.errors import LocalError
from tacit.files import write_whole
from tacit.runtimes.nats.network import dealt_to

HEAD = "# written by tacit: changes are overwritten"
MAX_PAYLOAD = 1 << 20
WRITE_SECONDS = 120  # for what lies before one site, `PENDING` letters: nobody is cut off for a line of 2 Mbit/s
HANDSHAKE_SECONDS = 5  # a reload waits for handshakes under way, so this is also how long a stranger can hold one up
LOG_BYTES, LOGS = 10 << 20, 5
STORE_BYTES, LEAST_STORE = 10 << 30, 2 << 30  # of all streams, at most, and however small the disk is
OF_DISK = 0.8  # the share of what is free that streams may take
CONFIG, PID = "nats.conf", "nats.pid"


@dataclass(frozen=True)
class ServerSettings:
    """The coordinator whose certificate the server shows, and where the server listens and stores."""

    identity: Identity
    store_dir: Path
    listen: str = "127.0.0.1:4222"
    websocket: str | None = None
    store_bytes: int = STORE_BYTES
    memory_bytes: int = 64 << 20

    @property
    def config_file(self) -> Path:
        """The configuration; absolute, since a process is recognised by it."""
        return self.store_dir.absolute() / CONFIG

    @property
    def log_file(self) -> Path:
        """What the server says."""
        return self.store_dir.absolute() / "nats.log"

    @property
    def pid_file(self) -> Path:
        """Which process it is."""
        return self.store_dir.absolute() / PID

    def fitted(self) -> ServerSettings:
        """Return these settings with streams that leave room on the disk: the server refuses more, and says so."""
        folder = self.store_dir / "jetstream"
        used = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        room = int(OF_DISK * (shutil.disk_usage(self.store_dir).free + used))
        return replace(self, store_bytes=min(self.store_bytes, max(LEAST_STORE, room)))

    def addresses(self) -> dict[str, tuple[str, int]]:
        """Return host and port of each door, by the setting that opens it."""
        doors = {"listen": listening_at(self.listen, "listen")}
        if self.websocket:
            doors["websocket"] = listening_at(self.websocket, "websocket")
        return doors


def write_config(members: Members, settings: ServerSettings) -> None:
    """Write the configuration and the authority beside it."""
    authority = settings.config_file.with_name("ca.crt")
    text = json.dumps(configuration(members, settings, authority), indent=2, ensure_ascii=False)
    write_whole(authority, members.authority.encode(), "the server's authority")
    write_whole(settings.config_file, f"{HEAD}\n{text}".encode(), "the server's configuration")


def configuration(members: Members, settings: ServerSettings, authority: Path) -> dict[str, Any]:
    """Return the configuration; nats-server reads JSON."""
    _refuse_unfit(members, settings.identity)
    doors = settings.addresses()
    host, port = doors["listen"]
    tls = _tls(settings, authority)
    config: dict[str, Any] = {
        "server_name": "tacit",
        "host": host,
        "port": port,
        "max_payload": MAX_PAYLOAD,
        "write_deadline": f"{WRITE_SECONDS}s",
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
    heard = [f"{inbox(own)}.>", *([question_subject("*", own)] if member.kind in SPOKEN_TO else [])]
    permissions = {"publish": {"allow": _publishes(member.kind, own, members)}, "subscribe": {"allow": heard}}
    return {"user": f"CN={member.name},OU={key_tag(member.key)}", "permissions": permissions}


def _publishes(kind: Kind, own: str, members: Members) -> list[str]:
    """Return the subjects on which a member may publish."""
    if kind == "analyst":
        coordinators = [members.token(m.name) for m in members.of_kind("coordinator")]
        return [subject(own, c) for subject in (control_subject, question_subject) for c in coordinators]
    both = (own, dealt_to(own))  # consumers of one's own name
    fetching = [f"$JS.API.CONSUMER.MSG.NEXT.*.{each}" for each in both] + [f"$JS.ACK.*.{each}.>" for each in both]
    asking = f"$JS.API.CONSUMER.INFO.{CONTROL_STREAM}.{own}"  # the answer says what time it is
    party = [f"t.*.{own}.*", control_subject(own, "*"), *fetching, asking]
    return party if kind == "party" else [*party, question_subject(own, "*"), "$JS.API.>"]


def _refuse_unfit(members: Members, identity: Identity) -> None:
    member = members.member(identity.name)
    if member.kind != "coordinator":
        needed = "the server needs a coordinator's certificate (tacit keys new --kind coordinator)"
        raise LocalError(f"{identity.name} is {member.kind}: {needed}")
    if member.key != identity.public or identity.certificate is None:
        listed = f"the certificate that {members!r} lists for {identity.name}"
        raise LocalError(f"{identity.certificate_file} is not {listed}: get both again")
