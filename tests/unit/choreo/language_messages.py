"""Messages that say little, for texts that test the language; and what came of a text at all parties."""

from tacit.choreo import Coordinator, Fact, Holder, Message, Roster

BOTH = Roster({Holder: ("ann", "ben", "cat"), Coordinator: ("ben",)})  # the coordinator is a holder, too


class Figure(Message, tells=Fact("tests.a_figure", "holders", "aggregate", "all", "a figure")):
    x: float


class Name(Message, tells=Fact("tests.who_the_sender_is", "holders", "aggregate", "all", "who the sender is")):
    who: str


def names(run, role=Holder):
    return run.local(role, Name, run.who(role))


def merged(found):
    """The entries of all parties, from one process or from many."""
    assert not [f for f in found if isinstance(f, Exception)]
    return {party: entry for entries in found for party, entry in entries.items()}
