"""The language: roles, messages, places, the run and its ledger."""

from tacit.choreo.at import At, Carry, entries_of, once
from tacit.choreo.choreography import choreography
from tacit.choreo.codec import Frames, decode, decode_as, encode
from tacit.choreo.fact import Fact, Facts
from tacit.choreo.ledger import Learnt, Ledger, Opened, Row
from tacit.choreo.message import Each, Message, State
from tacit.choreo.randomness import Entropy, Pads
from tacit.choreo.result import Result
from tacit.choreo.role import Asker, Channel, Coordinator, Everyone, Giver, Holder, Labeller, Role, Roster, Site
from tacit.choreo.run import Run
from tacit.errors import ChoreographyError, LocalError, PeerError

__all__ = [
    "Asker",
    "At",
    "Carry",
    "Channel",
    "ChoreographyError",
    "Coordinator",
    "Each",
    "Entropy",
    "Everyone",
    "Fact",
    "Facts",
    "Frames",
    "Giver",
    "Holder",
    "Labeller",
    "Learnt",
    "Ledger",
    "LocalError",
    "Message",
    "Opened",
    "Pads",
    "PeerError",
    "Result",
    "Role",
    "Roster",
    "Row",
    "Run",
    "Site",
    "State",
    "choreography",
    "decode",
    "decode_as",
    "encode",
    "entries_of",
    "once",
]
