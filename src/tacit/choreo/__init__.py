"""The language: roles, messages, places, the run and its ledger."""

from tacit.choreo.at import At, Carry, entries_of
from tacit.choreo.choreography import choreography
from tacit.choreo.codec import Frames, decode, decode_as, encode
from tacit.choreo.ledger import Learnt, Ledger, Opened, Row
from tacit.choreo.message import F64, I64, U64, Array, Each, Message, State
from tacit.choreo.role import Asker, Channel, Coordinator, Everyone, Holder, Labeller, Role, Roster
from tacit.choreo.run import Entropy, Run, once
from tacit.errors import ChoreographyError, LocalError, PeerError

__all__ = [
    "F64", "I64", "U64", "Array", "Asker", "At", "Carry", "Channel", "ChoreographyError", "Coordinator", "Each", "Entropy",
    "Everyone", "Frames", "Holder", "Labeller", "Learnt", "Ledger", "LocalError", "Message", "Opened", "PeerError", "Role",
    "Roster", "Row", "Run", "State", "choreography", "decode", "decode_as", "encode",
    "entries_of", "once",
]  # fmt: skip
