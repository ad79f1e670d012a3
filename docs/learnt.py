"""One page for each method: who learns what, who could work out more, and what stops it.

Nothing is listed here. Methods are those that the advisor knows, what each opens is the ledger of its rehearsal, and
attacks are those of the catalogue that use these facts.
"""  # noqa: INP001 - Sphinx reads it by its path

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import reference
from reference import make_table, make_toctree, write_changed

import tacit
from tacit.base.by_name import estimators
from tacit.choreo.fact import KINDS, Fact
from tacit.consortium.advice import Advised, advise
from tacit.consortium.advice.advising import GRAVITY, invent, list_methods
from tacit.consortium.jobs.attacked import find_attacks
from tacit.consortium.jobs.requests import facts_by_role
from tacit.federation.plan import Partition

PARTIES, RECORDS, COLUMNS = 4, 2000, 20
SPLIT = {"horizontal": "Over rows", "vertical": "Over columns", "arbitrary": "Over cells"}
TASKS = ("classes", "numbers")
HEAD = """# Who learns what, method by method

One page for each method says who knows what after a run, which attacks could use that, what an attacker needs
besides, and which rule stops each attack. The pages are written from what the code declares, for four parties, a
coordinator that holds no data, and all parameters at their defaults. For your own parameters and parties,
`tacit advise` and the proposal of a job show the same. {doc}`../disclosures` lists it message by message.

"""


def write_pages(folder: Path) -> None:
    """Write a page for every method, and one that lists them."""
    folder.mkdir(exist_ok=True)
    found = _ask_all()
    for name, (splits, refused) in found.items():
        write_changed(folder / f"{slug(name)}.md", _page(name, splits, refused))
    rows = [row for name, (splits, _) in found.items() for row in _rows(name, splits)]
    table = make_table(("method", "split by", "in one line"), rows)
    write_changed(folder / "index.md", HEAD + table + "\n" + make_toctree(map(slug, found)))


def slug(name: str) -> str:
    """Return the name of a method's page."""
    return re.sub(r"\W+", "_", name).strip("_")


def _ask_all() -> dict[str, tuple[dict[str, Advised], str]]:
    """Return, for every method, what the advisor says of it by how records are split; or why it never fits."""
    found: dict[str, tuple[dict[str, Advised], str]] = {}
    for task in TASKS:
        asked = {p: advise(invent(p, PARTIES, COLUMNS), task=task, records=RECORDS) for p in get_args(Partition)}
        for name, _ in list_methods(task):
            splits = {p: each for p, told in asked.items() for each in told if each.name == name}
            found[name] = splits, "" if splits else asked[get_args(Partition)[0]].others[name]
    return found


def _rows(name: str, splits: dict[str, Advised]) -> Iterator[tuple[str, str, str]]:
    for partition, each in splits.items():
        risk = ", if all accept a risk" if each.risk else ""
        where = f"{SPLIT[partition].removeprefix('Over ')}{risk}"
        yield (
            f"[`{name}`]({slug(name)}.md)",
            where,
            GRAVITY[each.gravity] + (f"; {each.together}" * bool(each.together)),
        )
    if not splits:
        yield f"[`{name}`]({slug(name)}.md)", "simulation only", "opens everything; its page says why"


def _page(name: str, splits: dict[str, Advised], refused: str) -> str:
    kind = name.partition("(")[0]
    parts = [f"# Who learns what: {name}", reference.summarise(estimators(object)[kind])]
    parts += [f"Not between organisations: {refused}."] if refused else []
    for partition, each in splits.items():
        parts += [f"## {SPLIT[partition]}", *_section(each, partition)]
    parts += (
        ["## What you can change", _levers(kind)] if hasattr(tacit, kind) else []
    )  # a paper's has no page in the API
    return "\n\n".join(parts) + "\n"


def _section(found: Advised, partition: Partition) -> Iterator[str]:
    """Yield what a method opens over one way of splitting records, and what can be done with it."""
    yield f"In one line: it {GRAVITY[found.gravity]}." + (f" But {found.together}." if found.together else "")
    if found.risk:
        yield f"It runs only if every party accepts a risk (`accept_risk`): {found.risk}."
    yield make_table(("who", "knows after the run", "kind"), _known(found))
    told = facts_by_role(invent(partition, PARTIES, COLUMNS).rehearse(found.model).disclosure)
    rows = dict.fromkeys(row for facts in told.values() for row in _attacks(facts, accepted=bool(found.risk)))
    if rows:
        yield "Attacks that use what somebody is told:"
        yield make_table(("attack", "what it finds", "what else it needs", "stopped by"), rows)
    else:
        yield "No known attack uses what anybody is told."


def _known(found: Advised) -> Iterator[tuple[str, str, str]]:
    order = list(KINDS)
    for role, facts in found.opens.items():
        for fact in sorted(facts, key=lambda each: order.index(each.kind)):
            yield role, fact.prose, _kind(fact)


def _kind(fact: Fact) -> str:
    return f"`{fact.kind}:{fact.granularity}`"


def _attacks(facts: dict[str, Fact], *, accepted: bool) -> Iterator[tuple[str, ...]]:
    for stopped in (False, True):
        for attack in find_attacks(facts, stopped=stopped, accepted=accepted):
            yield f"`{attack.name}`", attack.shows, attack.needs or "nothing", attack.stopped if stopped else "nothing"


def _levers(kind: str) -> str:
    """Return the table of the parameters that change who learns what."""
    effects: Any = reference.effects_of(kind, getattr(tacit, kind), reference.read_effects())
    rows = [(f"`{each}`", said[2]) for each, said in effects.items() if not said[2].startswith("none")]
    return make_table(("parameter", "who learns what"), rows) + f"\nAll parameters: {{doc}}`../api/{kind}`."
