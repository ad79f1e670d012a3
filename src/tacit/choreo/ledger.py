"""The ledger: every message of a run, as every party can write it down by walking the same text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One message. Shapes and bytes are None at a party that neither sent nor received it.

    `digest` is what this party saw published there, so that audits can be compared; messages to one party have none.
    """

    place: str
    sender: str
    receiver: str
    sender_role: str
    receiver_role: str
    type: str
    tells: str
    shapes: tuple[Shape, ...] | None
    bytes: int | None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """What a choreography as a whole lets a role know, which its single messages do not add up to."""

    protocol: str
    role: str
    what: str


@dataclass(frozen=True, slots=True)
class Learnt:
    """Rows of one kind, folded: who / learnt / from whom / how often."""

    who: str
    learnt: str
    from_whom: str
    message: str
    times: int
    bytes: int


@dataclass
class Ledger:
    """Rows in the order of the text, and what the choreographies declare to open."""

    rows: list[Row] = field(default_factory=list)
    opens: list[Opened] = field(default_factory=list)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rounds(self) -> int:
        """Communication rounds: places at which anything moved."""
        return len({row.place for row in self.rows})

    @property
    def bytes(self) -> int:
        """Bytes sent, of the messages seen here."""
        return sum(row.bytes or 0 for row in self.rows)

    def open(self, opened: Opened) -> None:
        """Note a declared disclosure once, however often its choreography is called."""
        if opened not in self.opens:
            self.opens.append(opened)

    def learnt(self) -> list[Learnt]:
        """Who learnt what from whom, how often; in order of first appearance."""
        times: Counter[tuple[str, str, str, str]] = Counter()
        size: Counter[tuple[str, str, str, str]] = Counter()
        for row in self.rows:
            key = (row.receiver, row.tells, row.sender, row.type)
            times[key] += 1
            size[key] += row.bytes or 0
        return [Learnt(who, tells, sender, kind, n, size[who, tells, sender, kind])
                for (who, tells, sender, kind), n in times.items()]  # fmt: skip

    def template(self) -> str:
        """The ledger with indices, counters, names and sizes folded away: what a golden file holds."""
        lines = [f"opens {o.protocol}: {o.role}: {o.what}" for o in self.opens]
        for row in self.rows:
            line = f"{fold(row.place)}: {row.sender_role} > {row.receiver_role}: {row.tells}"
            if line not in lines:
                lines.append(line)
        return "\n".join(lines) + "\n"


def fold(place: str) -> str:
    """`/train/round[3]/secure_sum#1/Masked` -> `/train/round[]/secure_sum/Masked`."""
    return re.sub(r"#\d+", "", re.sub(r"\[\d+\]", "[]", place))
