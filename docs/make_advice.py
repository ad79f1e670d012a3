"""Write the tables "Which method for whom" by asking the advisor: python docs/make_advice.py."""  # noqa: INP001 - a script

from __future__ import annotations

from pathlib import Path
from typing import get_args

from tacit.consortium.advice import Advised, advise
from tacit.consortium.advice.advising import GRAVITY
from tacit.consortium.advice.federations import invent
from tacit.federation.plan import Partition
from tacit.report.words import human_bytes, listing

DOCS = Path(__file__).parent
SHORT, LONG = DOCS.parent / "README.md", DOCS / "choosing.md"
BEGIN, END = "<!-- which method: written by docs/make_advice.py -->", "<!-- which method: end -->"
PARTIES, RECORDS, COLUMNS = 4, 2000, 20
SPLIT = {"horizontal": "rows", "vertical": "columns", "arbitrary": "cells"}
HEADS = ("split by", "method", "what is opened", "points below the pooled learner", "rounds", "busiest site")


def make_table(*, whole: bool) -> str:
    """Return the table: for every split the methods that fit, the best first.

    `whole` also has methods at a risk to accept, and names the attacks.
    """
    lines = [HEADS, ("---",) * len(HEADS)]
    for partition in get_args(Partition):
        found = advise(invent(partition, PARTIES, COLUMNS), records=RECORDS)
        lines += [(SPLIT[partition], *_cells(each, attacks=whole)) for each in found if whole or not each.risk]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(found: Advised, *, attacks: bool) -> tuple[str, ...]:
    by = f" (`tacit attack`: {listing(found.attacks)})" if attacks and found.attacks else ""
    said = [f"{GRAVITY[found.gravity]}{by}", *([found.together] if found.together else [])]
    name = f"`{found.name}`" + (", if all accept a risk" if found.risk else "")
    below = "not measured" if found.below is None else f"{found.below:.1f}"
    return name, "; ".join(said), below, f"{found.cost.rounds}", human_bytes(max(found.cost.bytes.values()))


def renew(page: Path) -> str:
    """Return a page with the table as the code has it now."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{make_table(whole=page == LONG)}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    for page in (SHORT, LONG):
        page.write_text(renew(page), encoding="utf-8")
