"""Say which methods fit: what each opens to whom, how good it is, what it costs; and why the others do not.

Nobody is asked and nothing is run. With files, the methods are those that fit these: texts, dates and gaps are left to
a TableVectorizer. Without files, options say what records there will be.

Example: tacit advise --partition horizontal --parties 4 --records 2000 --never record
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tacit.cli.local.train import LabelColumn, find_partition
from tacit.cli.options import AsJson, Drop
from tacit.cli.output import print_json
from tacit.consortium.advice import Advised
from tacit.consortium.advice import advise as ask_advisor
from tacit.consortium.advice.advising import invent
from tacit.federation import Federation
from tacit.federation.plan import Partition


def advise(
    data: Annotated[list[Path] | None, Argument(metavar="DATA", help="One file for each party.")] = None,
    *,
    partition: Annotated[
        Partition | None, Option(help="How the records are split between the parties; files tell it by their columns.")
    ] = None,
    label: LabelColumn = "label",
    drop: Drop = None,
    parties: Annotated[int, Option(min=2, max=100, help="How many parties have data.")] = 4,
    records: Annotated[int, Option(min=1, help="How many records there are in all.")] = 500,
    columns: Annotated[int, Option(min=1, help="How many columns there are in all.")] = 20,
    numbers: Annotated[bool, Option("--numbers", help="Targets are numbers, and not classes.")] = False,
    never: Annotated[
        list[str] | None,
        Option(metavar="FACTS", help="What may never be opened: a kind, kind:granularity or a fact; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rank the methods that fit."""
    if data:
        split = partition or find_partition(data, label, drop or ())
        federation = Federation.from_files(data, partition=split, label=label, drop=drop or (), raw=True)
    else:
        federation = invent(partition or "horizontal", parties, columns)
    found = ask_advisor(
        federation,
        task="numbers" if numbers else "classes",
        records=None if data else records,
        never=tuple(never or ()),
    )
    if as_json:
        print_json(fits=[_plain(each) for each in found], others=dict(found.others))
    else:
        typer.echo(repr(found))


def _plain(found: Advised) -> dict[str, object]:
    return {
        "method": found.name,
        "opens": {role: [fact.identifier for fact in facts] for role, facts in found.opens.items()},
        "attacks": dict(found.attacks),
        "together": found.together,
        "points_below": found.below,
        "rounds": found.cost.rounds,
        "bytes": max(found.cost.bytes.values(), default=0),
        "risk": found.risk,
    }
