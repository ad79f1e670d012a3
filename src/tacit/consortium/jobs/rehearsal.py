"""A protocol played once on a few invented records: what it will open, and what it will cost.

The disclosure of a proposal is never taken from its author: each party rehearses the protocol itself, with the same
roles and parameters, and compares. Nothing real takes part; the ledger's template does not depend on the records.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import msgspec

from tacit.choreo import Asker, Coordinator, Holder, Labeller, Ledger, Roster
from tacit.choreo.protocol import MOST, SMALL, Cost, Plan, Planned, Rehearsal, Stage
from tacit.errors import LocalError, TacitError
from tacit.federation.part import part_of
from tacit.registry import PROTOCOLS, declared, execute_together, job_protocols

Params = Mapping[str, Any]
USUAL = Roster({Holder: ("a", "b", "c"), Labeller: ("a",), Asker: ("a",), Coordinator: ("site",)})
USUALLY = 500  # records, where nobody has said how many there are: rounds hardly depend on it
CAST, MORE = 5, 2  # holders of a rehearsal, whose words are the same for more; costs follow from those with a few more


def disclosure_of(protocol: str, params: Params, roster: Roster | None = None) -> str:
    """Return the ledger template that the protocol will produce, by default between three holders and a site."""
    return _rehearse(protocol, cast(roster or USUAL, CAST), params, SMALL, {}).template()


def cost_of(protocol: str, params: Params, roster: Roster, records: int) -> Cost:
    """Return an estimate, before anything is sent; it takes as long for many records and holders as for few."""
    few, holders = CAST, len(roster[Holder])
    if holders <= few + MORE:
        return _bound(_estimate(protocol, params, roster, records))
    one, other = (_estimate(protocol, params, cast(roster, n), records) for n in (few, few + MORE))

    def extrapolate(a: int, b: int) -> int:
        """Return the value on the line through both, which shrinks no faster than the number of holders grows."""
        return round(max(a + (holders - few) * (b - a) / MORE, b * (few + MORE) / holders))

    usual = cast(roster, few)[Holder][-1]  # whoever took no part moves as many bytes, and does as much

    def of_all(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
        known = a and b
        return {p: extrapolate(*(each.get(p, each[usual]) for each in (a, b))) for p in roster.parties if known}

    rounds = extrapolate(one.rounds, other.rounds)
    return _bound(Cost(rounds=rounds, bytes=of_all(one.bytes, other.bytes)))


def steps_of(protocol: str, params: Params, roster: Roster, records: int | None = None) -> dict[str, Cost]:
    """Return an estimate for each step of a protocol that plays several, by their names; none of any other."""
    steps = _script(protocol).steps
    few = cast(roster, CAST)
    return {} if steps is None else dict(steps(_planned(protocol, params, few, records or USUALLY)))


def check_params(protocol: str, params: Params) -> None:
    """Refuse a protocol or a parameter that does not exist, or one that lacks a value."""
    known = declared(protocol).takes
    unknown = [repr(name) for name in params if name not in known]
    if unknown:
        raise LocalError(f"protocol {protocol} has no parameter {', '.join(unknown)}: it takes {', '.join(known)}")
    missing = [repr(name) for name, p in known.items() if p.default is p.empty and name not in params]
    if missing:
        raise LocalError(f"protocol {protocol} needs a value for {', '.join(missing)}: add it to [params]")


def takes(protocol: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a protocol; none of one that is unknown."""
    return PROTOCOLS[protocol].takes if protocol in PROTOCOLS else {}


def defaults_of(protocol: str) -> dict[str, Any]:
    """Return the values of those parameters that a job of the protocol may leave out."""
    return {name: each.default for name, each in takes(protocol).items() if each.default is not each.empty}


def _estimate(protocol: str, params: Params, roster: Roster, records: int) -> Cost:
    return _script(protocol).cost(_planned(protocol, params, roster, records))


def _planned(protocol: str, params: Params, roster: Roster, records: int) -> Planned:
    play = partial(_rehearse, protocol, roster)

    def other(name: str, given: Params) -> Cost:
        return _estimate(name, given, roster, records)

    complete, plan = {**defaults_of(protocol), **params}, partial(plan_of, protocol, params, roster)
    return Planned(params, complete, roster, records, play, other, plan)


def _bound(cost: Cost) -> Cost:
    return Cost(rounds=min(cost.rounds, MOST), bytes={p: max(0, min(n, MOST)) for p, n in cost.bytes.items()})


def cast(roster: Roster, most: int = CAST) -> Roster:
    """Return the same roles with so many holders at most, those with a role of their own among them."""
    special = {name for role, names in roster.roles.items() if role is not Holder for name in names}
    kept = set(sorted(roster[Holder], key=lambda p: p not in special)[:most])
    return Roster({**roster.roles, Holder: tuple(p for p in roster[Holder] if p in kept)})


def _script(protocol: str) -> Rehearsal:
    found = declared(protocol).rehearsal
    if found is None:
        unknown = f"protocol {protocol!r} has no rehearsal, so its disclosure is unknown"
        raise LocalError(f"{unknown}: use one of {', '.join(job_protocols())}")
    return found


def _rehearse(protocol: str, roster: Roster, params: Params, records: int, changed: Params) -> Ledger:
    check_params(protocol, params)
    given = {**params, **_script(protocol).small(params), **changed}
    return _play(protocol, _key(given), tuple(roster.roles.items()), records)


def plan_of(protocol: str, params: Params, roster: Roster) -> Plan | None:
    """Return what a protocol that plays others asks for; None of any other."""
    known = PROTOCOLS[protocol].rehearsal if protocol in PROTOCOLS else None
    if known is None or known.plan is None:
        return None
    roles = cast(roster, CAST).roles
    return _plan(protocol, _key(params), tuple(roles.items()))


def _key(params: Params) -> bytes:
    """Return the same bytes for the same parameters, whatever their order, so that each study is rehearsed once."""
    return msgspec.msgpack.encode(_sort(params))


def _sort(value: Any) -> Any:
    """Return a value whose dictionaries are in the order of their keys, however deep."""
    if isinstance(value, Mapping):
        return {key: _sort(value[key]) for key in sorted(value, key=repr)}
    return [_sort(each) for each in value] if isinstance(value, list | tuple) else value


@lru_cache(maxsize=16)
def _plan(protocol: str, packed: bytes, roles: tuple[Any, ...]) -> Plan:
    rehearse = _script(protocol).plan
    if rehearse is None:
        raise LocalError(f"protocol {protocol!r} plays no others: ask for its own request")
    return rehearse(Roster(dict(roles)), msgspec.msgpack.decode(packed, strict=False))


@lru_cache(maxsize=64)
def _play(protocol: str, packed: bytes, roles: tuple[Any, ...], records: int) -> Ledger:
    roster, params = Roster(dict(roles)), msgspec.msgpack.decode(packed, strict=False)
    try:
        script = _script(protocol)
        if script.plan is not None:
            return _plan(protocol, packed, roles).ledger
        inputs = script.inputs(Stage(roster, records, params, part_of))
        return execute_together(roster, protocol, inputs, params).ledger
    except TacitError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, MemoryError) as error:
        raise LocalError(f"protocol {protocol} does not run with these parameters: {error}; correct [params]") from None
