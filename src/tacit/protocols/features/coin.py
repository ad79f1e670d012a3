"""A joint coin: public random bytes that no holder can choose, as long as one of them is honest.

    digest_p = H("coin" | p | r_p)     published by every holder p, before any r is known                           (1)
    r_p                                revealed, and checked against (1)                                            (2)
    coin     = H("joint coin" | r_1 | r_2 | ...)                                                                    (3)

Each holder's name is in its digest, so that nobody can repeat another's commitment as its own. Where sites fixed their
records, r_p follows from these, so that all jobs on the same records of the same holders have the same coin. A holder
then knows the others' parts beforehand, and one that departs from the protocol could choose among coins.

Roles. Holder: has 32 random bytes of its own.
Threat. Active holders: whoever reveals something else than it committed to is named. Not protected: a holder that stops
after it has seen the others' bytes, and so refuses a coin; the run ends there, and nothing of the data has moved by it.
Source: Blum, Coin flipping by telephone, CRYPTO 1981.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.errors import PeerError
from tacit.protocols.facts import UNIFORM
from tacit.protocols.part import fix_key

SIZE = 32
SEED = 8  # bytes of the coin that make the seed of a generator


class CoinCommitment(
    Message,
    tells=UNIFORM,
    of_records=False,
):
    """The digest (1) of a part of the coin."""

    digest: bytes


class CoinPart(
    Message,
    tells=UNIFORM,
    of_records=False,
):
    """The part (2) itself."""

    part: bytes


@choreography(opens={Everyone: UNIFORM})
def toss_coin(run: Run, data: At[Any] | None = None) -> bytes:
    """Return 32 public random bytes (3); `data`: the records that the coin is for."""
    own = run.random(Holder)
    if data is not None:
        own = run.local(Holder, fix_key, data, own, b"coin")
    digests = run.publish_all(CoinCommitment, run.local(Holder, commit, own, run.who(Holder)))
    return join_parts(digests, run.publish_all(CoinPart, run.local(Holder, CoinPart, own)))


def commit(part: bytes, party: str) -> CoinCommitment:
    """Return the commitment (1) of a party to its part."""
    name = party.encode()
    return CoinCommitment(hashlib.sha256(b"coin" + len(name).to_bytes(4, "little") + name + part).digest())


def join_parts(digests: Mapping[str, CoinCommitment], parts: Mapping[str, CoinPart]) -> bytes:
    """Return the coin (3); raise if a party revealed something else than it committed to."""
    for party, message in parts.items():
        fits = len(message.part) == SIZE and hmac.compare_digest(
            commit(message.part, party).digest, digests[party].digest
        )
        if not fits:
            raise PeerError(f"{party} revealed another part of the coin than it committed to: stop and ask {party}")
    return hashlib.sha256(b"joint coin" + b"".join(message.part for message in parts.values())).digest()


def seed_of(coin: bytes) -> int:
    """Return the 64-bit seed of a coin, for a public generator."""
    return int.from_bytes(coin[:SEED], "little")
