"""Comparison of records: whether row k is the same record at every holder of columns, by their ids.

The problem. Over columns and cells, row k of every table must be the same record, or a model is trained on patients put
together of several. Holder k has the ids of its records, in order, as one digest x_k. Everyone shall know which holders
have the same list as which, and nothing else of the lists: not how long they are, nor which ids are in both. With a
secret scalar s_k at each holder (`crypto.sets.blind_equality`),

    k tells every other l       s_k H(x_k)                                                                           (1)
    l answers k                 s_l (s_k H(x_k))                                                                     (2)
    k compares                  s_l (s_k H(x_k))  =  s_k (s_l H(x_l))      if and only if  x_k = x_l                 (3)

and tells everyone with whom it differs. If anybody differs from anybody the run ends before any other message.

Roles. Holder: ids.

Threat. Semi-honest. The coordinator, and any coalition, learns of an outsider's list whether it is a member's, which is
the result. Who brings another list than its own tests that list, once in a run, since (2) asks the owner of s_l. To
test which of its patients are known elsewhere it would have to guess all of them, in order.

Not protected: a holder that says that it has the same ids, and has not. It spoils the model, and its own part in it.

Source: ours; (1) to (3) are the comparison of two sets of one element in Meadows, A more efficient cryptographic
matchmaking protocol, S&P 1986.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.choreo import At, Each, Everyone, Holder, Message, Run, choreography
from tacit.crypto.sets.blind_equality import hash_to_point, put_on
from tacit.errors import LocalError
from tacit.protocols.facts import DIFFERS, UNIFORM


class Hidden(Message, tells=UNIFORM):
    """The list of a holder, as a point under its scalar, (1)."""

    point: bytes


class HiddenTwice(Message, tells=UNIFORM):
    """The receiver's list under the sender's scalar too, (2)."""

    point: bytes


class Differs(Message, tells=DIFFERS, ragged=True):
    """The other holders whose lists are not the author's, (3)."""

    holders: tuple[str, ...]


@choreography(opens={Everyone: DIFFERS})
def compare_records(run: Run, ids: At[bytes]) -> None:
    """Raise, alike at every party, unless all holders have the same records in the same order."""
    scalar = run.random(Holder)
    own = run.local(Holder, hide, ids, scalar)
    theirs = run.send(Hidden, Holder >> Holder, own)
    back = run.send(HiddenTwice, Holder >> Holder, run.local(Holder, hide_again, theirs, scalar))
    said = run.publish_all(Differs, run.local(Holder, find_differing, theirs, back, scalar))
    differing = [(party, *each.holders) for party, each in said.items() if each.holders]
    if differing:
        party, other, *_ = differing[0]
        raise LocalError(
            f"{party} and {other} hold other records, or the same ones in another order: align them first"
            " (protocol = 'align') and build on that job"
        )


def hide(ids: bytes, scalar: bytes) -> Hidden:
    """Return the hash of this holder's ids under its secret, (1)."""
    return Hidden(put_on(scalar, hash_to_point(ids)))


def hide_again(theirs: Mapping[str, Hidden], scalar: bytes) -> Each:
    """Return (2), for each of the others."""
    return Each({party: HiddenTwice(put_on(scalar, each.point)) for party, each in theirs.items()})


def find_differing(theirs: Mapping[str, Hidden], back: Mapping[str, HiddenTwice], scalar: bytes) -> Differs:
    """Return the holders for which (3) does not hold."""
    return Differs(tuple(p for p, each in theirs.items() if put_on(scalar, each.point) != back[p].point))
