"""Facts: what a message tells, or a protocol opens, as data that policies, ledgers, audits and pages share.

    class Masked(Message, tells=Fact("sums.masked", "nobody", "nothing", "none", "nothing alone: a vector under pads")):
        values: U64

Policies, audits and golden ledgers name a fact by its identifier, so its prose can be improved at any time. The
identifier and what the fact says may not change: a new disclosure is a new fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tacit.errors import ChoreographyError

UNKNOWN = "unknown"

SUBJECTS = {
    "holders": "the data of all holders together",
    "holder": "the data of one holder, which the reader can name or narrow down",
    "labeller": "the labels of the one holder that has them",
    "reader": "the reader's own data",
    "nobody": "no data: what is public, random, or follows from what the reader has",
    UNKNOWN: "data of whoever it may be",
}
KINDS = {
    "aggregate": "a figure over several records",
    "count": "how many records are of some kind",
    "record": "values of records, or what gives them to a reader who knows a little more",
    "label": "classes or targets of records",
    "answer": "what a model answers about records: decision values, scores",
    "model": "a model, a part of one, or a choice made for one",
    "membership": "whether a record, a cell, a column or a party is among some",
    "size": "how much a party holds",
    "key": "keys, and what is made of them",
    "nothing": "nothing that the reader could not have made up",
    UNKNOWN: "what another version of tacit calls by a name that this one does not know",
}
GRANULARITIES = {
    "none": "of nothing",
    "all": "of all records together",
    "class": "of each class, or side of a problem",
    "party": "of each party",
    "column": "of each column",
    "group": "of each group of records",
    "record": "of each record",
    "cell": "of single cells",
    UNKNOWN: "of whatever it may be",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that somebody learns.

    identifier: a name for good, `family.thing`.
    subject: whose data it is about; one of SUBJECTS.
    kind: what is learnt; one of KINDS.
    granularity: of what; one of GRANULARITIES.
    prose: the same for people.
    brief: the same on a first page, which has few words; the prose, if it is short enough.
    """

    identifier: str
    subject: str
    kind: str
    granularity: str
    prose: str
    brief: str = ""

    def is_called(self, word: str) -> bool:
        """Whether a policy means this fact by the word: its identifier, its kind, or `kind:granularity`."""
        return word in {self.identifier, self.kind, f"{self.kind}:{self.granularity}"}


Facts = tuple[Fact, ...]

_declared: dict[str, tuple[Fact, str]] = {}  # with the module of who declares it


def declare_facts(facts: Fact | Facts, module: str) -> Facts:
    """Check facts and make them known by their identifiers; return them as a tuple.

    `module` is where they are declared.
    """
    found = facts if isinstance(facts, tuple) else (facts,)
    for fact in found:
        if not isinstance(fact, Fact):
            raise ChoreographyError(
                f"{module} tells or opens {found!r}, which are no facts: write Fact(identifier, subject, kind, ...)"
            )
        fault = _fault(fact)
        if fault:
            raise ChoreographyError(f"fact {fact.identifier!r} {fault}")
        known, where = _declared.setdefault(fact.identifier, (fact, module))
        if known != fact:
            raise ChoreographyError(f"two facts are called {fact.identifier!r}, in {where} and in {module}: rename one")
    return found


def _fault(fact: Fact) -> str | None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+", fact.identifier):
        return "needs a name of two or more words in lower case with dots between them"
    for word, words in ((fact.subject, SUBJECTS), (fact.kind, KINDS), (fact.granularity, GRANULARITIES)):
        if word not in words:
            return f"has {word!r}: use one of {', '.join(words)}"
    return None if fact.prose.strip() else "has no prose: say what is learnt"


def known_facts(*packages: str) -> Facts:
    """Return the facts that modules of these packages declare, as far as they were imported, by identifier."""
    declared = (_declared[name] for name in sorted(_declared))
    return tuple(fact for fact, module in declared if module.startswith(tuple(f"{package}." for package in packages)))


def fact_called(identifier: str) -> Fact:
    """Return the fact of that name; one that is unknown here has its name for prose."""
    if identifier in _declared:
        return _declared[identifier][0]
    return Fact(identifier, UNKNOWN, UNKNOWN, UNKNOWN, identifier)


def fault_of_word(word: str) -> str | None:
    """Return what is wrong with a word by which a policy means facts; None if `Fact.is_called` can be true of it."""
    kind, colon, granularity = word.partition(":")
    if word in _declared or (kind in KINDS and (not colon or granularity in GRANULARITIES)):
        return None
    if " " in word:
        return (
            f"is a phrase, and facts are data now: write a kind ({', '.join(KINDS)}), kind:granularity such as"
            " label:record, or identifiers"
        )
    return (
        f"is no fact: write a kind ({', '.join(KINDS)}), kind:granularity with one of {', '.join(GRANULARITIES)},"
        " or an identifier of docs/disclosures.md"
    )


def prose_of(facts: Iterable[Fact]) -> str:
    """Return what the facts say, for people."""
    return "; ".join(fact.prose for fact in facts)


def write_names(facts: Iterable[Fact]) -> str:
    """Return the identifiers of the facts in one text, which `read_names` reads."""
    return ", ".join(fact.identifier for fact in facts)


def read_names(names: str) -> Facts:
    """Return the facts that `write_names` wrote."""
    return tuple(fact_called(name) for name in names.split(", "))
