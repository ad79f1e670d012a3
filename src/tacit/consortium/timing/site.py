"""What a site has measured: its machine, once for each version of tacit, and the last round trip to the server."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import msgspec

from tacit.choreo.protocol import Cost
from tacit.choreo.role import Roster
from tacit.consortium.timing.machine import Machine, measure_machine
from tacit.consortium.timing.network import Link
from tacit.errors import LocalError
from tacit.files import write_whole
from tacit.report.words import human_seconds

FILE = "timing.json"


class Timing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was measured at a site; without a round trip, as long as it has not looked at the server's clock."""

    version: str
    machine: Machine
    round_trip: float | None = None

    @property
    def link(self) -> Link:
        """What lies between this site and the others, as far as it is known."""
        return Link() if self.round_trip is None else Link(self.round_trip)

    def say_time(self, cost: Cost, roster: Roster) -> str:
        """Return about how long a run takes, and under which assumption."""
        trip = f"{human_seconds(self.link.round_trip)} to the message server and back"
        seconds = human_seconds(self.link.seconds(cost, roster, self.machine))
        known = "measured here" if self.round_trip is not None else "assumed"
        return f"about {seconds}, if all sites are as fast as this one; {trip}, {known}"


def timing_of(state: Path) -> Timing:
    """Return what a site has measured; it measures its machine if it has not, and keeps what it found if it may."""
    found = _read(state)
    if found is not None and found.version == version("tacit"):
        return found
    trip = None if found is None else found.round_trip
    made = Timing(version=version("tacit"), machine=measure_machine(), round_trip=trip)
    _write(state, made)
    return made


def note_round_trip(state: Path, seconds: float) -> None:
    """Keep how long a word to the server and back took."""
    _write(state, msgspec.structs.replace(timing_of(state), round_trip=seconds))


def _read(state: Path) -> Timing | None:
    try:
        return msgspec.json.decode((state / FILE).read_bytes(), type=Timing)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def _write(state: Path, timing: Timing) -> None:
    """Write the file; a folder that cannot be written has none, and is measured again by whoever asks."""
    if state.is_dir():
        try:
            write_whole(state / FILE, msgspec.json.encode(timing), "what this site has measured")
        except LocalError:
            return
