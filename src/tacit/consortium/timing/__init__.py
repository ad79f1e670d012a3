"""How long a run will take: what a machine does, what lies between the sites, and what a protocol costs."""

from tacit.consortium.timing.machine import Machine, look_at_machine, measure_machine
from tacit.consortium.timing.network import Link, busy
from tacit.consortium.timing.site import Timing, note_round_trip, timing_of

__all__ = ["Link", "Machine", "Timing", "busy", "look_at_machine", "measure_machine", "note_round_trip", "timing_of"]
