"""Write the tables "Which method for whom" by asking the advisor: python docs/make_advice.py."""  # noqa: INP001 - a script

from __future__ import annotations

from pathlib import Path
from typing import get_args

import tacit
from tacit.consortium.advice import Advised, advise
from tacit.consortium.advice.advising import GRAVITY, invent
from tacit.federation.plan import Partition
from tacit.report.words import human_bytes, listing

DOCS = Path(__file__).parent
PAGE = DOCS / "choosing.md"
BEGIN, END = "<!-- which method: written by docs/make_advice.py -->", "<!-- which method: end -->"
PARTIES, RECORDS, COLUMNS = 4, 2000, 20
SPLIT = {"horizontal": "rows", "vertical": "columns", "arbitrary": "cells"}
WHOSE = {
    "horizontal": "Every party has the same columns, of different records: hospitals with different patients.",
    "vertical": "Every party has other columns of the same records: a bank and two insurers with the same customers.",
    "arbitrary": "Every party has some cells of the table, in any pattern: clinics that each did some of the tests.",
}
HEADS = ("method", "what is opened", "points below the pooled learner", "rounds", "traffic of the busiest site")


def make_long() -> str:
    """Return a section for each split: its picture, and a table of all methods that fit, with their attacks."""
    return "\n\n".join(_section(partition) for partition in get_args(Partition))


def _section(partition: Partition) -> str:
    split = SPLIT[partition]
    picture = f"```{{image}} images/{split}.svg\n:alt: A table split by {split} between three parties\n"
    picture += ":class: partition dark-light\n:width: 140px\n```"
    head = f'## Split by {split}\n\n{picture}\n\n{WHOSE[partition]} In code: `partition="{partition}"`.'
    return f"{head}\n\n{_table(HEADS, [_cells(each, attacks=True) for each in _ask(partition)])}"


def _ask(partition: Partition) -> list[Advised]:
    found = advise(invent(partition, PARTIES, COLUMNS), records=RECORDS)
    return [each for each in found if hasattr(tacit, each.name.partition("(")[0])]  # methods of papers are no advice


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, ("---",) * len(heads), *rows])


def _cells(found: Advised, *, attacks: bool) -> tuple[str, ...]:
    by = f" (`tacit attack`: {listing(found.attacks)})" if attacks and found.attacks else ""
    said = [f"{GRAVITY[found.gravity]}{by}", *([found.together] if found.together else [])]
    name = f"`{found.name}`" + (", if all accept a risk" if found.risk else "")
    below = "not measured" if found.below is None else f"{found.below:.1f}"
    return name, "; ".join(said), below, f"{found.cost.rounds}", human_bytes(max(found.cost.bytes.values()))


def renew() -> str:
    """Return the page with its tables as the code has them now."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{make_long()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(renew(), encoding="utf-8")
