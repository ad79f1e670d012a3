"""The control stream: where the broker keeps letters until they are heard, and how much of them.

    a subject      holds LETTERS messages of one sender to one receiver, and fewer where there are many receivers, so
                   that one sender alone fills a SHARE of the stream at most; the next message is refused until one
                   was acknowledged
    the stream     takes the subjects of listed members only, so that a sender cannot make up receivers, and
                   CONTROL_BYTES in all
    a letter       is gone once it was acknowledged, and after KEEP seconds at the latest

So a member that floods the stream fills its own subjects; other members' letters, and the store that runs need, are out
of its reach. NOT protected: many members that work together can fill the stream, so that no letter passes for a day;
runs go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tacit.consortium.membership.members import Member, Members
from tacit.consortium.membership.names import CONTROL_STREAM, LETTERED, control_subject
from tacit.runtimes.nats.intake import SEALED_CHUNK
from tacit.runtimes.nats.network import PENDING, ensure_stream

if TYPE_CHECKING:
    from nats.js.api import StreamConfig
    from nats.js.client import JetStreamContext

LETTERS, SHARE = 32, 1 / 4
CONTROL_BYTES = 1 << 30
KEEP = 24 * 3600.0
AGAIN = 5  # seconds after which a letter that a site took, and was killed over, is given to it once more


def receivers_of(members: Iterable[Member]) -> list[str]:
    """Return the names of all members that get letters."""
    return sorted({m.name for m in members if m.kind in LETTERED and m.state() == "valid"})


def per_subject(receivers: int) -> int:
    """Return how many messages of one sender to one receiver are kept."""
    return max(1, min(LETTERS, int(SHARE * CONTROL_BYTES / SEALED_CHUNK / max(1, receivers))))


def stream_config(members: Members) -> StreamConfig:
    """Return the stream for these members."""
    from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig  # noqa: PLC0415 - an extra

    receivers = receivers_of(members)
    return StreamConfig(
        name=CONTROL_STREAM,
        subjects=[control_subject("*", members.token(name)) for name in receivers],
        storage=StorageType.FILE,
        retention=RetentionPolicy.WORK_QUEUE,
        discard=DiscardPolicy.NEW,
        discard_new_per_subject=True,
        max_msgs_per_subject=per_subject(len(receivers)),
        max_msg_size=SEALED_CHUNK,
        max_bytes=CONTROL_BYTES,
        max_age=KEEP,
    )


async def prepare(js: JetStreamContext, members: Members) -> None:
    """Make the stream, and a consumer for every member that gets letters; only a coordinator may."""
    from nats.js.api import AckPolicy, ConsumerConfig  # noqa: PLC0415 - an extra

    await ensure_stream(js, stream_config(members))
    for name in receivers_of(members):
        token = members.token(name)
        own, explicit = control_subject("*", token), AckPolicy.EXPLICIT
        config = ConsumerConfig(
            durable_name=token, filter_subject=own, ack_policy=explicit, ack_wait=AGAIN, max_ack_pending=PENDING
        )
        await js.add_consumer(CONTROL_STREAM, config)
