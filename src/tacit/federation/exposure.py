"""Who can work out whose cells, together with a coordinator that has the gram matrix: counted before anything is sent.

G = A A' is the table A, of m records and n columns, up to a rotation: A = U R, with U from G and R orthogonal if m >=
n. Column f of A is U r_f, so whoever has G and knows cells of the column, in whatever records, knows it all:

    min(m, n) of its cells give r_f,        n - 1 of them give it up to a sign, since |r_f| = 1              (1)

A known column is taken away, A_H A_H' = G - a_f a_f', and (1) holds again with one column less. By rows a party knows
as many cells of every column as it has records; by columns the coordinator and all parties but one leave the last one's
columns, and (1) gives a single one with no known cell at all. For rows and columns in general position nothing less
will do; scattered cells may do with fewer than (1) asks for, and so may columns that depend on each other.

Where nobody has the gram matrix, because values are in shares, there is nothing to count: a coordinator that deals the
random numbers has everything together with any one holder, and nobody has anything without both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tacit.arrays import I64
from tacit.federation.federation import Federation

Counts = Mapping[str, I64]
Who = Literal["alone", "with one", "with all", "members"]
WORDS: dict[Who, str] = {
    "alone": "{site} alone can work out {what}",
    "with one": "{site} together with {who} can work out {what}",
    "with all": "{site} and all other parties together can work out {what} of {who}",
}
IF_SO = {  # before it is known who brings how much
    "vertical": (
        "{site} and all other parties together can work out the column of {who}, up to a sign, if it brings one only,"
    ),
    "horizontal": "{site} together with {who} can work out all data, if it has as many records as there are columns,",
    "arbitrary": (
        "{site} together with {who} can work out all data, if it owns as many cells of each column as there are"
        " columns,"
    ),
}
ADVICE = "from the gram matrix and the cells they own: forbid it by agreement, or choose a method that opens none"

DEALT = (
    "nobody can work out records of others without {site}, which deals the random numbers, and {who} together: forbid"
    " it by agreement"
)
COMPUTING = (
    "{who} compute for all, and together can work out what each other party gave them: exact sums over its records, or"
    " with loss='hinge' its rows: forbid it by agreement, name others, or say committee = 'all'"
)


@dataclass(frozen=True)
class Exposure:
    """What a coalition can work out: the coordinating site alone, with any one party, or with all but one.

    parties: with one, any of which will do; with all, any of which is the one that is exposed. members: of a
    committee, all of which it takes, and no coordinating site.
    """

    who: Who
    site: str
    parties: tuple[str, ...]
    what: str
    text: str


def describe_dealing(federation: Federation) -> list[str]:
    """Return what the report of a run in shares has to warn of, wherever the records are: names say it all."""
    return [exposed_by_dealer(tuple(federation.parts), federation.coordinator).text]


def exposed_by_dealer(parties: Sequence[str], site: str) -> Exposure:
    """Return what is exposed where everything is in shares, and a site deals the random numbers."""
    return Exposure("with one", site, tuple(parties), "all data", DEALT.format(site=site, who=_any(parties)))


def exposed_by_members(members: Sequence[str]) -> Exposure:
    """Return what is exposed where some parties compute for all of them."""
    *others, last = members
    text = COMPUTING.format(who=f"{', '.join(others)} and {last}")
    return Exposure("members", "", tuple(members), "what other parties gave", text)


def exposures(counts: Counts, records: int, site: str) -> list[Exposure]:
    """Return one exposure for each kind of coalition that can work out cells of others.

    `counts` says how many cells of each column a party owns.
    """
    found: dict[tuple[Who, str, bool], list[str]] = {}
    seen: list[tuple[frozenset[str], int, bool]] = []
    own = counts.get(site, np.zeros_like(next(iter(counts.values()))))
    everything = sum(counts.values(), np.zeros_like(own))
    for who, name, members in _coalitions([p for p, cells in counts.items() if p != site and cells.any()]):
        known = everything - counts[name] if who == "with all" else sum((counts[p] for p in members), own)
        columns, signs = work_out(known, records)
        implied = any(fewer <= members and columns <= most and signs >= worse for fewer, most, worse in seen)
        if columns > np.sum(known == records) and not implied:
            seen.append((members, columns, signs))
            what = "all data" if columns == len(known) else f"all data in {columns} of {len(known)} columns"
            found.setdefault((who, what, signs), []).append(name)
    return [_exposure(who, site, names, what, signs=signs) for (who, what, signs), names in found.items()]


def _exposure(who: Who, site: str, names: Sequence[str], what: str, *, signs: bool) -> Exposure:
    text = f"{WORDS[who].format(site=site, who=_any(names), what=what)}{', up to a sign,' * signs} {ADVICE}"
    return Exposure(who, site, () if who == "alone" else tuple(names), what, text)


def exposed_if(partition: str, parties: Sequence[str], site: str) -> list[Exposure]:
    """Return the exposures of parties that have not said how much they bring."""
    if not parties:
        return []
    text = f"{IF_SO[partition].format(site=site, who=_any(parties))} {ADVICE}"
    return [Exposure("with all" if partition == "vertical" else "with one", site, tuple(parties), "all data", text)]


def work_out(known: I64, records: int) -> tuple[int, bool]:
    """Apply (1) as often as it goes, for somebody who knows so many cells of each column.

    Return how many columns come out, and whether up to signs only.
    """
    cells, hidden = np.sort(known)[::-1], len(known) - np.arange(len(known))
    short = np.flatnonzero(cells < np.minimum(records, hidden - 1))
    done = int(short[0]) if len(short) else len(known)
    return done, bool(np.any(cells[:done] < np.minimum(records, hidden[:done])))


def _coalitions(parties: Sequence[str]) -> Iterator[tuple[Who, str, frozenset[str]]]:
    """Yield who might join the coordinator: nobody, each party, all parties but one.

    Bigger ones are worth a warning only if no smaller one is.
    """
    yield "alone", "", frozenset()
    yield from (("with one", p, frozenset((p,))) for p in parties)
    yield from (("with all", p, frozenset(parties) - {p}) for p in parties)


def _any(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"any one of {', '.join(names)}"
