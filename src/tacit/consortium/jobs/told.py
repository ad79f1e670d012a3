"""What each role is told, by the facts of a ledger's template, before anything is run."""

from __future__ import annotations

from tacit.choreo.fact import Fact
from tacit.choreo.ledger import read_template
from tacit.choreo.role import Everyone
from tacit.protocols.facts import DEALT

SILENT = {"nothing", "key"}  # kinds of facts that tell nothing of anybody's data
SINGLE = {"record", "cell"}  # granularities at which a fact is about one record
OWNED = ("membership", "cell")  # who has which column or cell: of the table, and not of a record
OF_OTHERS = {"holders", "holder", "labeller", "unknown"}  # subjects that are not the reader's own data
Facts = dict[str, Fact]


def facts_by_role(template: str) -> dict[str, Facts]:
    """Return what each role is told, by message or as a whole, under the facts' identifiers; everyone's is each's."""
    found: dict[str, Facts] = {}
    for line in read_template(template):
        found.setdefault(line.reader, {}).update({fact.identifier: fact for fact in line.facts})
    shared = found.get(Everyone.name, {})
    return {role: {**facts, **shared} for role, facts in found.items()}


def list_told(facts: Facts) -> Facts:
    """Return the facts that tell something of somebody's data."""
    return {name: fact for name, fact in facts.items() if fact.kind not in SILENT}


def list_single(facts: Facts) -> tuple[str, ...]:
    """Return the facts that tell something of each single record, or cell, of others."""
    of_others = {key: fact for key, fact in list_told(facts).items() if fact.subject in OF_OTHERS}
    single = {key: fact for key, fact in of_others.items() if fact.granularity in SINGLE}
    return tuple(key for key, fact in single.items() if (fact.kind, fact.granularity) != OWNED)


def has_dealer(template: str) -> bool:
    """Return whether the coordinator deals the masks of shares, and so could open them together with any one holder."""
    return any(fact.identifier == DEALT.identifier for line in read_template(template) for fact in line.facts)
