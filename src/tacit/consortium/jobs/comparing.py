"""What a job over columns or cells plays before its protocol: whether row k is the same record at every holder.

A job that says `aligned = true` leaves that out: its author vouches for it, and people read so before they agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from tacit.choreo import Holder, Ledger, Roster, Run
from tacit.choreo.protocol import Cost
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.rehearsal import cast, cost_of, disclosure_of
from tacit.consortium.site.settings import Dataset, Schema
from tacit.federation.part import Part
from tacit.protocols.align.same_records import compare_records
from tacit.registry import PROTOCOLS, execute_together

DIGEST = 32  # bytes


def compares_records(job: Job) -> bool:
    """Return whether a job begins with a comparison: where tables are put side by side, and nobody vouches for it."""
    return job.partition != "horizontal" and PROTOCOLS[job.protocol].reads_table and not job.aligned


def compare(run: Run, job: Job, own: dict[str, bytes]) -> None:
    """Play the comparison, if the job begins with one; `own` is a digest of the ids of the holder that is here."""
    if compares_records(job):
        compare_records(run, run.hold(Holder, own))


def disclose(job: Job) -> str:
    """Return the ledger template of the whole run of a job, as it is rehearsed here."""
    protocol = disclosure_of(job.protocol, job.arguments, job.roster)
    if not compares_records(job):
        return protocol
    return protocol + _rehearse(tuple(cast(job.roster).roles.items())).template()


def estimate(job: Job, records: int) -> Cost:
    """Return what the whole run of a job costs."""
    cost = cost_of(job.protocol, job.arguments, job.roster, records)
    if not compares_records(job):
        return cost
    few = cast(job.roster)
    ledger, pairs = _rehearse(tuple(few.roles.items())), len(few[Holder]) * len(few.parties)
    each = -(-ledger.bytes // pairs) * len(job.roster.parties)  # a holder has as many messages as there are others
    more = {party: size + 2 * each for party, size in cost.bytes.items()}
    return msgspec.structs.replace(cost, rounds=cost.rounds + ledger.rounds, bytes=more)


@lru_cache(maxsize=16)
def _rehearse(roles: tuple[Any, ...]) -> Ledger:
    roster = Roster(dict(roles))
    same: Any = {"ids": (Holder, dict.fromkeys(roster[Holder], bytes(DIGEST)))}
    return execute_together(roster, compare_records, same, {}).ledger


# What sites declare of their tables, compared: columns of another kind, unit or categories, and other classes.
#
# Each site compares its own table with its own declaration, and nobody hears more of that than whether it fits. The
# declarations themselves are told to the sites of a job, and are compared there: no value takes part in it, and what a
# site does not declare is not compared.


SHOWN = 6  # values that a line names
FIELDS = {"columns": "{}s", "units": "{}", "categories": "the categories {}"}  # what is declared of a column, in words


def compare_schemas(declared: Mapping[str, Schema], *, by_columns: bool) -> Iterator[tuple[str, str]]:
    """Yield who declares something that is not like another's, and how; over columns only labels are in common."""
    for field, words in () if by_columns else FIELDS.items():
        for name in dict.fromkeys(name for schema in declared.values() for name in getattr(schema, field)):
            said = {party: getattr(s, field)[name] for party, s in declared.items() if name in getattr(s, field)}
            for party, here, first, there in _unlike(said):
                yield party, f"column {name!r}: {words.format(here)} here, {words.format(there)} at {first}"
    classes = {party: schema.classes for party, schema in declared.items() if schema.classes is not None}
    for party, here, first, there in _unlike(classes):
        yield party, f"the classes {here} here, {there} at {first}"


def compare_classes(declared: Dataset, classes: Sequence[Any] | None) -> Iterator[str]:
    """Yield how the classes that a site declares differ from those that a job names."""
    if classes is not None and declared.classes is not None and set(declared.classes) != set(classes):
        yield f"the classes {_show(declared.classes)} here, {_show(classes)} in the job"


def check_table(part: Part, declared: Dataset) -> Iterator[str]:
    """Yield what of a table is not as its own site declares it, without quoting a value."""
    for name, kind in declared.columns.items():
        if name in part.features and (held := _kind_of(part, name)) not in (kind, ""):
            yield f"column {name!r} holds {held}s, and this site declares {kind}s"
    for name, values in declared.categories.items():
        if name in part.features and (wrong := _count_others(part, name, values)):
            yield f"column {name!r} has {wrong} values that this site does not declare"
    if declared.classes is not None and part.y is not None:
        known = set(declared.classes)
        if wrong := sum(label not in known for label in part.y.tolist()):
            yield f"{wrong} records have a class that this site does not declare"


def _unlike(said: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield who says something else than the first who says anything: who, what, the first, and what that says."""
    pairs = iter(said.items())
    first, there = next(pairs, ("", None))
    for party, here in pairs:
        if (set(here) != set(there)) if isinstance(here, tuple) and there is not None else here != there:
            yield party, _show(here), first, _show(there)


def _show(value: Any) -> str:
    if not isinstance(value, (tuple, list)):
        return str(value)
    return ", ".join(map(repr, value[:SHOWN])) + ", ..." * (len(value) > SHOWN)


def _kind_of(part: Part, name: str) -> str:
    """Return what a column holds; nothing if it has no value."""
    if name in part.texts:
        return "text"
    j = part.features.index(name)
    held = part.X[:, j] if part.owned is None else part.X[part.owned[:, j], j]
    return "" if np.isnan(held).all() else "date" if name in part.dates else "number"


def _count_others(part: Part, name: str, values: Sequence[Any]) -> int:
    """Return how many cells of a column hold a value that is none of these."""
    j = part.features.index(name)
    own = np.ones(len(part.X), bool) if part.owned is None else part.owned[:, j]
    cells = part.X[own & ~np.isnan(part.X[:, j]), j]
    if name in part.texts:
        known = {str(value) for value in values}
        listed = [k for k, text in enumerate(part.texts[name]) if text in known]
    else:
        listed = [value for value in values if not isinstance(value, str)]
    return int((~np.isin(cells, listed)).sum())
