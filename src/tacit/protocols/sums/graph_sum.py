"""The graph of `secure_sum='graph'`: each of thousands of holders shares pads with k others, and not with all.

The problem. (3) of `secure_sum` costs every holder M - 1 keys, and M - 1 pads in every sum. Pads cancel, and hide as
much, along the edges of any graph that is still connected without the colluders. The holders stand on a ring in an
order that nobody chose, and each shares pads with the k/2 nearest on either side (`numeric.cells.ring_graph`):

    c_k = H(r_k), r_k fresh 32 bytes of holder k; every c_k goes to `to`, which publishes them all             (1)
    holder k looks for its own c_k in them and sends r_k to `to`, which publishes them all                     (2)
    everyone checks (2) by (1); the ring is the names l sorted by H(H(r_1, ..., r_M), l)                       (3)
    every holder sends its public key to its k neighbours, and nobody else                                     (4)
    m_k = x_k + sum_{l ~ k, l > k} s_kl - sum_{l ~ k, l < k} s_lk,   and the sum is (4) of `secure_sum`        (5)

A holder pays for k pads and reads 64 M bytes once a run, and no message goes from each holder to each.

Let a share g of the M holders collude with `to`. They learn the sum over each connected component of the other holders
in the graph. These are connected, so that nothing but their sum is learnt, except with probability

    M^2 g^k / 2,   at most 2^-40 for g = 1/2 and the k that is chosen: 54 of 100 holders, 66 of 10,000   (6)

With k + 1 holders or fewer every two of them share pads, and the sum is the pairwise one.

Roles. Holder: has x_k. `to`: a role of one party, which may itself be a holder; it passes (1) and (2) on.

Threat. As `pairwise`, up to (6), for colluders that are fixed before (1). They may see all other r_k before they send
their own, and stop the run instead: each stop that everybody sees gives them one more draw. A `to` that tells holders
different things in (1) or (2) gains nothing: a holder's own r_k makes its neighbours uniform to itself, the keys of (4)
come from the neighbours, and pads are bound to all that was published, so those of two holders that were told different
things do not cancel.

Not protected: more than half of the holders colluding, beyond what (6) says of them. All holders must stay to the end;
`graph_threshold_sum` lets some go.

Source: beyond the papers; after [Bell2020], see docs/methods/graph_sum.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from tacit.choreo import At, Fact, Holder, LocalError, Message, PeerError, Role, Run
from tacit.numeric.cells.ring_graph import bound_failure, choose_degree, join_neighbours
from tacit.protocols.sums.secure_sum import (
    Commitment,
    OrderShare,
    PublicKey,
    check_opened,
    commit,
    draw_order,
    own_key,
    pair_seeds,
)

COLLUDING = 0.5  # the largest share of the holders for which (6) is to hold
FAILURE = 2.0**-40
SHARE = 32  # bytes of a share of the order, and of its commitment


class Commitments(
    Message,
    tells=Fact("sums.order_commitments", "nobody", "nothing", "none", "nothing yet: all commitments to the ring order"),
    of_records=False,
):
    """The commitments (1) of all holders, in public order."""

    digests: bytes


class OrderShares(
    Message,
    tells=Fact("sums.order_shares", "nobody", "key", "party", "all random shares of the ring order"),
    of_records=False,
):
    """The shares (2) of all holders, in public order."""

    shares: bytes


def agree_on_graph(run: Run, to: Role, degree: int | None) -> tuple[At[dict[str, bytes]], tuple[str, ...]]:
    """Agree on the ring and on pair seeds along it; return the seeds and the ring."""
    holders = run.roster[Holder]
    k = choose_degree(len(holders), COLLUDING, FAILURE) if degree is None else check_degree(degree)
    share = run.random(Holder)
    committed = run.send(Commitment, Holder >> to, run.local(Holder, commit, share))
    agreed = open_ring(run, share, committed, to, k)
    run.note(neighbours=k, failure=bound_failure(len(holders), COLLUDING, k))
    return agreed


def open_ring(
    run: Run, share: At[bytes], committed: At[dict[str, Commitment]], to: Role, k: int
) -> tuple[At[dict[str, bytes]], tuple[str, ...]]:
    """Open what the holders committed to; return the pair seeds along the ring (3), and the ring.

    Nobody may go while this lasts: who may choose whether to open its share has a choice of rings.
    """
    holders, private, who = run.roster[Holder], run.random(Holder), run.who(Holder)
    digests = run.publish(Commitments, run.local(to, list_commitments, committed))
    numbers = {party: i for i, party in enumerate(holders)}
    opened = run.local(Holder, open_own, share, digests, numbers, who)
    shares = run.publish(OrderShares, run.local(to, list_shares, run.send(OrderShare, Holder >> to, opened)))
    ring = order_holders(holders, digests, shares)
    keys = run.send(PublicKey, Holder >> Holder, run.local(Holder, own_key, private), along=join_neighbours(ring, k))
    return run.local(Holder, seeds_along, private, keys, who), ring


def check_degree(degree: int) -> int:
    """Return a given number of neighbours; raise if no ring has it."""
    if degree < 2 or degree % 2:  # noqa: PLR2004 - one neighbour on either side
        raise LocalError(f"secure_sum='graph' needs an even number of neighbours, 2 or more; got {degree}")
    return degree


def list_commitments(messages: Mapping[str, Commitment]) -> Commitments:
    """Return all commitments (1), in public order."""
    return Commitments(b"".join(message.digest for message in messages.values()))


def open_own(share: bytes, digests: Commitments, numbers: Mapping[str, int], me: str) -> OrderShare:
    """Return the own share (2), after a look whether all holders are told that it was committed to."""
    if digests.digests[SHARE * numbers[me] : SHARE * (numbers[me] + 1)] != commit(share).digest:
        raise PeerError(f"the commitment of {me} to the ring order was published as another one: compare the audits")
    return OrderShare(share)


def list_shares(messages: Mapping[str, OrderShare]) -> OrderShares:
    """Return all shares (2), in public order."""
    return OrderShares(b"".join(message.share for message in messages.values()))


def order_holders(holders: tuple[str, ...], digests: Commitments, shares: OrderShares) -> tuple[str, ...]:
    """Return the ring (3), after a check of all shares."""
    committed = {p: Commitment(part) for p, part in split_by_party(digests.digests, holders).items()}
    check_opened(committed, {p: OrderShare(part) for p, part in split_by_party(shares.shares, holders).items()})
    return draw_order(holders, hashlib.sha256(shares.shares).digest())


def split_by_party(joined: bytes, holders: tuple[str, ...]) -> dict[str, bytes]:
    """Return the pieces of what was published for all holders, by holder."""
    if len(joined) != SHARE * len(holders):
        raise PeerError(f"{len(joined)} bytes of the ring order were published, expected {SHARE} for each holder")
    return {p: joined[SHARE * i : SHARE * (i + 1)] for i, p in enumerate(holders)}


def seeds_along(private: bytes, keys: Mapping[str, PublicKey], me: str) -> dict[str, bytes]:
    """Return one seed with every neighbour, (4), known to no third party."""
    return pair_seeds(private, {party: message.key for party, message in keys.items()}, me)
