"""The ledger: every message of a run, as every party can write it down by walking the same text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from tacit.cards import fold_away, make_card, make_table
from tacit.choreo.fact import Facts, prose_of, read_names, write_names
from tacit.errors import LocalError

Shape = tuple[int, ...]
SILENT = ("nothing", "key")  # kinds of facts that tell nothing of anybody's data
OPENS = "opens "


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
    tells: Facts
    shapes: tuple[Shape, ...] | None
    bytes: int | None
    digest: str | None = None

    def plain(self) -> tuple[Any, ...]:
        """Return the fields as the codec can write them, facts by their names; `from_plain` reads them back."""
        *before, tells, shapes, size, digest = FIELDS(self)
        return (*before, write_names(tells), shapes, size, digest)

    @classmethod
    def from_plain(cls, values: Iterable[Any]) -> Row:
        """Return the row that `plain` wrote."""
        fields = dict(zip(cls.__slots__, values, strict=True))
        return cls(**{**fields, "tells": read_names(fields["tells"])})


FIELDS = attrgetter(*Row.__slots__)
PLAIN = tuple[str, str, str, str, str, str, str, tuple[Shape, ...] | None, int | None, str | None]


def write_rows(rows: Iterable[Row]) -> bytes:
    """Return rows as bytes, at once: a journal writes some in every round, and the codec looks at each value."""
    return msgspec.msgpack.encode([row.plain() for row in rows])


def read_rows(data: bytes) -> list[Row]:
    """Return the rows that `write_rows` wrote."""
    return [Row.from_plain(row) for row in msgspec.msgpack.decode(data, type=list[PLAIN])]


@dataclass(frozen=True, slots=True)
class Opened:
    """What a choreography as a whole lets a role know, which its single messages do not add up to."""

    protocol: str
    role: str
    facts: Facts

    @property
    def what(self) -> str:
        """The facts in prose."""
        return prose_of(self.facts)


@dataclass(frozen=True, slots=True)
class Learnt:
    """Rows of one kind, folded: who learnt what, from whom, how often."""

    who: str
    facts: Facts
    from_whom: str
    message: str
    times: int
    bytes: int

    @property
    def learnt(self) -> str:
        """The facts in prose."""
        return prose_of(self.facts)


class Line(NamedTuple):
    """A line of a template. `where` is a protocol if it opens the facts as a whole, or else the place of a message."""

    opens: bool
    where: str
    roles: str
    facts: Facts

    @property
    def reader(self) -> str:
        """The role that learns the facts."""
        return self.roles.rsplit(" > ", 1)[-1]


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
        """How many communication rounds there were: places at which anything moved."""
        return len({row.place for row in self.rows})

    @property
    def bytes(self) -> int:
        """How many bytes were sent, of the messages seen here."""
        return sum(row.bytes or 0 for row in self.rows)

    def open(self, opened: Opened) -> None:
        """Note a declared disclosure once, however often its choreography is called."""
        if opened not in self.opens:
            self.opens.append(opened)

    def learnt(self) -> list[Learnt]:
        """Return who learnt what from whom, how often, in order of first appearance."""
        times: Counter[tuple[str, Facts, str, str]] = Counter()
        size: Counter[tuple[str, Facts, str, str]] = Counter()
        for row in self.rows:
            key = (row.receiver, row.tells, row.sender, row.type)
            times[key] += 1
            size[key] += row.bytes or 0
        return [Learnt(*key, n, size[key]) for key, n in times.items()]

    def _repr_html_(self) -> str:
        known = [(opened.role, opened.what, opened.protocol) for opened in self.opens]
        first = [row for row in known if row[-1] == known[0][-1]]  # the outermost protocol, which sums the others up
        learnt = [(row.who, row.learnt, row.from_whom, row.message, row.times) for row in self.learnt()]
        heads = ("who", "learnt", "from", "message", "times")
        return make_card(
            "Ledger",
            f"{len(self):,} messages in {self.rounds:,} rounds, {self.bytes:,} bytes of those seen here",
            make_table(("who", "knows after the run", "by"), first),
            fold_away(
                "by protocols inside", make_table(("who", "knows", "by"), [row for row in known if row not in first])
            ),
            fold_away(f"every message, folded into {len(learnt):,} lines", make_table(heads, learnt)),
        )

    def template(self) -> str:
        """Return the ledger with indices, counters, names and sizes folded away: what a golden file holds."""
        opens = [line_of_opened(opened) for opened in self.opens]
        moved = [line_of_message(row.place, row.sender_role, row.receiver_role, row.tells) for row in self.rows]
        return "\n".join(dict.fromkeys([*opens, *moved])) + "\n"


def line_of_opened(opened: Opened) -> str:
    """Return the line of a template about what a choreography opens as a whole."""
    return f"{OPENS}{opened.protocol}: {opened.role}: {write_names(opened.facts)}"


def line_of_message(place: str, sender_role: str, receiver_role: str, tells: Facts) -> str:
    """Return the line of a template about messages of one kind."""
    return f"{fold(place)}: {sender_role} > {receiver_role}: {write_names(tells)}"


def fold(place: str) -> str:
    """Return a place without its numbers.

    `/train/round[3]/secure_sum#1/Masked` becomes `/train/round[]/secure_sum/Masked`.
    """
    return re.sub(r"#\d+", "", re.sub(r"\[\d+\]", "[]", place))


def read_template(template: str) -> list[Line]:
    """Return the lines that `Ledger.template` wrote."""
    lines = []
    for number, text in enumerate(template.splitlines(), 1):
        parts = text.removeprefix(OPENS).split(": ")
        if len(parts) != 3:  # noqa: PLR2004 - where, who, what
            raise LocalError(
                f"line {number} of a disclosure is not 'place: roles: facts': take what tacit submit writes"
            )
        where, roles, names = parts
        lines.append(Line(text.startswith(OPENS), where, roles, read_names(names)))
    return lines


def read_opened(template: str) -> list[Opened]:
    """Return what a template says that its protocols open as a whole."""
    return [Opened(line.where, line.roles, line.facts) for line in read_template(template) if line.opens]


def find_left_out(template: str) -> list[str]:
    """Return the messages that told a role what no choreography around them says in `opens=` that it learns.

    What tells nothing of anybody's data need not be said. A test of a protocol expects an empty list.
    """
    lines, found = read_template(template), []
    opened = {(line.where, line.reader, fact.identifier) for line in lines if line.opens for fact in line.facts}
    for line in lines:
        around = () if line.opens else re.sub(r"\[\]", "", line.where).split("/")[1:-1]
        readers = {line.reader, "everyone", *(("holder",) if line.reader in {"labeller", "asker"} else ())}
        for fact in line.facts:
            said = any((name, reader, fact.identifier) in opened for name in around for reader in readers)
            if not line.opens and fact.kind not in SILENT and not said:
                found.append(f"{line.where} tells {line.reader}: {fact.identifier}, which no opens= says")
    return found
