"""A protocol played once on a few invented records: what it will open, and what it will cost.

The disclosure of a proposal is never taken from its author: each party rehearses the protocol itself, with the same
roles and parameters, and compares. Nothing real takes part; the ledger's template does not depend on the records.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any

import msgspec

from tacit.choreo import Asker, Coordinator, Holder, Labeller, Ledger, Roster
from tacit.consortium.cell_cost import COLUMNS, dots_traffic, gram_traffic, linear_traffic, weights_traffic
from tacit.consortium.invented import SUPPORT, by_cells, by_columns, by_rows, ids, linear_model, new_cells, new_columns, new_linear
from tacit.errors import LocalError, TacitError
from tacit.numeric.elm import size_of
from tacit.numeric.triangle import count_bands
from tacit.protocols.align import BLOCK
from tacit.protocols.elm_horizontal import nodes_of
from tacit.protocols.fold_scores import MOST as FOLDS
from tacit.protocols.gram_vertical import BAND
from tacit.protocols.planes import STEPS
from tacit.protocols.row_problems import Svm, wanted
from tacit.registry import PROTOCOLS, Inputs, execute_together

Params = Mapping[str, Any]
SMALL, LARGE = 8, 64  # records of the rehearsals
CAST, MORE = 5, 2  # holders of a rehearsal, whose words are the same for more; costs follow from those with a few more
SHORTLIST = 10  # candidates of a search
USUAL = 60  # rounds of cutting planes, where that is not known
AVERAGES = 150  # rounds of a consensus
GROUP = 2  # rows of a group in a rehearsal, unless every row is one
PLANES = 4  # messages, one after the other, of a round of cutting planes
COUNTED = 2000  # records, and twice as many: products are counted for these, and larger tables scaled from them
MOST = 10**18  # rounds or bytes of an estimate

Figure = Annotated[int, msgspec.Meta(ge=0, le=MOST)]


class Cost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An estimate: communication rounds, and the bytes each party sends and receives."""

    rounds: Figure
    bytes: dict[str, Figure]


@dataclass(frozen=True)
class Script:
    """How to rehearse a protocol.

    inputs: invented records, so many of them.
    small: parameters that the rehearsal sets itself; none of them changes the words of what is opened.
    cost: an estimate for so many records.
    """

    inputs: Callable[[Roster, int, Params], Inputs]
    small: Params
    cost: Callable[[Params, Roster, int], Cost]


def disclosure_of(protocol: str, params: Params, roster: Roster | None = None) -> str:
    """The ledger template the protocol will produce; three holders and a separate site unless a roster is given."""
    return _rehearse(protocol, params, _cast(roster or _usual(), _few(params)), SMALL, BAND).template()


def cost_of(protocol: str, params: Params, roster: Roster, records: int) -> Cost:
    """An estimate, before anything is sent; it takes as long for many records and holders as for few."""
    cost, few, holders = _script(protocol).cost, _few(params), len(roster[Holder])
    if holders <= few + MORE:
        return _bounded(cost(params, roster, records))
    one, other = (cost(params, _cast(roster, n), records) for n in (few, few + MORE))

    def along(a: int, b: int) -> int:
        """On the line through both; what shrinks as more holders share it does so no faster than their number grows."""
        return round(max(a + (holders - few) * (b - a) / MORE, b * (few + MORE) / holders))

    usual = _cast(roster, few)[Holder][-1]  # whoever took no part moves as many bytes
    sizes = {p: along(one.bytes.get(p, one.bytes[usual]), other.bytes.get(p, other.bytes[usual])) for p in roster.parties}
    return _bounded(Cost(rounds=along(one.rounds, other.rounds), bytes=sizes))


def _bounded(cost: Cost) -> Cost:
    return Cost(rounds=min(cost.rounds, MOST), bytes={p: max(0, min(size, MOST)) for p, size in cost.bytes.items()})


def _few(params: Params) -> int:
    """How many holders a rehearsal needs: some, and as many as there must be for its rings."""
    return max(CAST, 2 * int(params.get("segments", 1)) + 1)


def _cast(roster: Roster, most: int) -> Roster:
    """The same roles with so many holders at most, those with a role of their own among them."""
    special = {name for role, names in roster.roles.items() if role is not Holder for name in names}
    kept = set(sorted(roster[Holder], key=lambda p: p not in special)[:most])
    return Roster({**roster.roles, Holder: tuple(p for p in roster[Holder] if p in kept)})


def _banded(
    protocol: str, words: Callable[[int, Params], int], loops: Callable[[int, Params], int], params: Params, roster: Roster, records: int
) -> Cost:
    """Scaled from rehearsals: bytes grow with `words`, the numbers in a holder's largest messages, and with the rounds of its loop.

    Good to a few per cent from 100 records on.
    """
    tiny = {"band": BAND, **params, **_script(protocol).small}
    sizes = [words(n, tiny) for n in (SMALL, LARGE)]
    small, large, looped = (_rehearse(protocol, params, roster, n, b) for n, b in ((SMALL, BAND), (LARGE, BAND), (LARGE, sizes[1] // 2)))
    more = loops(records, {"band": BAND, **params}) - 1
    extra = more / (loops(LARGE, {**tiny, "band": sizes[1] // 2}) - 1)  # in units of the loops that `looped` has more
    growth = (words(records, params) - sizes[0]) / (sizes[1] - sizes[0])
    sent = [_traffic(ledger, roster) for ledger in (small, large, looped)]
    return Cost(
        rounds=round(small.rounds + extra * (looped.rounds - large.rounds)),
        bytes={p: round(a + max(0.0, growth) * (b - a) + extra * (c - b)) for p, a, b, c in zip(roster.parties, *sent, strict=True)},
    )


def _iterated(params: Params, roster: Roster, records: int) -> Cost:
    """How many rounds cutting planes take is not known before: told is the cost of `USUAL`, of one problem and `COLUMNS` columns."""
    short, long = (_rehearse("pan_svm", {**params, "max_rounds": n}, roster, LARGE, BAND) for n in (3, 4))
    size = COLUMNS if params["kernel"] == "linear" else _features(params, records)
    holders, site = len(roster[Holder]), roster[Coordinator][0]
    problems = 1 + (FOLDS if params.get("probability") else 0)
    each = 8 * (USUAL * problems * (len(STEPS) + 2 * size) + 2 * size * COLUMNS + size * size)
    rounds = short.rounds + (USUAL - 3) * (long.rounds - short.rounds)
    return Cost(rounds=rounds, bytes={p: each * (holders if p == site else 1) for p in roster.parties})


def _searched(params: Params, roster: Roster, records: int) -> Cost:
    """As `_iterated`, of two classes: every price of a kernel takes the rounds of a training that has half of its cuts already."""
    short, long = (_rehearse("pan_search", {**params, "max_rounds": n}, roster, LARGE, BAND) for n in (3, 4))
    kernels, rehearsed = (_kernels(given["candidates"]) for given in (params, _shortlisted(params)))
    prices, folds = max(kernels.values()), params.get("cv", FOLDS)
    size, pools = _features(params, records), len(kernels) * folds
    rounds = USUAL * (1 + prices) // 2
    each = 8 * (rounds * pools * (len(STEPS) + 2 * size) + 2 * size * COLUMNS + len(kernels) * size * size)
    holders, site = len(roster[Holder]), roster[Coordinator][0]
    steps = max(1, round((long.rounds - short.rounds) / max(1, max(rehearsed.values()) + int(params.get("refit", True)))))  # of one round
    return Cost(rounds=short.rounds + rounds * steps, bytes={p: each * (holders if p == site else 1) for p in roster.parties})


def _kernels(candidates: Sequence[Params]) -> Counter[tuple[tuple[str, Any], ...]]:
    """How many candidates have which kernel."""
    return Counter(tuple(sorted((name, value) for name, value in each.items() if name != "C")) for each in candidates)


def _shortlisted(params: Params) -> Params:
    """The same search with few candidates, one of every kind among them, and with stages if it has some."""
    candidates, factor = params.get("candidates", ()), params.get("factor", 0)
    if len(candidates) <= SHORTLIST:
        return params
    kinds = {(each.get("kernel"), isinstance(each.get("gamma"), str)): each for each in reversed(candidates)}
    chosen = [*kinds.values(), *(each for each in candidates if each not in list(kinds.values()))][:SHORTLIST]
    return {**params, "candidates": tuple(chosen), "factor": 2 if 2 <= factor <= len(candidates) else 0}  # noqa: PLR2004 - halves


def _features(params: Params, records: int) -> int:
    """How many features a map has, of a table of `COLUMNS` columns."""
    given = {name: params[name] for name in ("landmark_source", "landmarks", "min_count") if name in params}
    return wanted(Svm("rbf", 1.0, 3, 0.0, 1.0, **given), records, COLUMNS)


def _averaged(params: Params, roster: Roster, records: int) -> Cost:
    """How many rounds a consensus takes is not known before: told is the cost of `AVERAGES`, of one problem and `COLUMNS` columns."""
    del records  # averages are as long as there are columns, or landmarks
    width = COLUMNS if params.get("kernel", "linear") == "linear" else params.get("landmarks", COLUMNS)
    short = _rehearse("consensus_horizontal", params, roster, SMALL, BAND)
    holders, site = len(roster[Holder]), roster[Coordinator][0]
    each = 8 * (AVERAGES * (2 * width + 10) + width * width)
    rounds = short.rounds + (AVERAGES - 3) * 2
    if params.get("probability"):  # cutting planes without each fold
        each += 8 * USUAL * FOLDS * (len(STEPS) + 2 * width)
        rounds += (USUAL - 3) * PLANES
    return Cost(rounds=rounds, bytes={p: each * (holders if p == site else 1) for p in roster.parties})


def _one_sum(params: Params, roster: Roster, records: int) -> Cost:
    """Of two classes, or of a number: each further class adds its output weights."""
    nodes, site, holders = nodes_of(params["n_hidden"], records, accept_risk=True), roster[Coordinator][0], len(roster[Holder])
    each = 16 * size_of(nodes, 1) + 8 * nodes
    rings = params.get("segments", 1) if params.get("method") == "ring" else 0  # on which a vector passes a holder in and out
    rounds = _rehearse("elm_horizontal", params, roster, SMALL, BAND).rounds
    return Cost(rounds=rounds, bytes={p: each * ((rings or holders) if p == site else 2 * rings or 1) for p in roster.parties})


def _multiplied(
    protocol: str, traffic: Callable[[Params, Roster, int], dict[str, int]], degree: int, params: Params, roster: Roster, records: int
) -> Cost:
    """Of `COLUMNS` columns: rounds as rehearsed, and one more for each further band of the sum; bytes grow with records to the degree."""
    given = {**{name: p.default for name, p in takes(protocol).items()}, **params}
    more = count_bands(records, given["band"]) - 1 if "band" in given else 0
    rounds = _rehearse(protocol, params, roster, SMALL, BAND).rounds + more
    return Cost(rounds=rounds, bytes=_scaled(partial(traffic, given, roster), degree, records))


def _scaled(traffic: Callable[[int], dict[str, int]], degree: int, records: int) -> dict[str, int]:
    """Bytes by party: counted for few records; for many along the line, or the parabola, through two such counts."""
    if records <= 2 * COUNTED:
        return traffic(records)
    (half, whole), t = (traffic(times * COUNTED) for times in (1, 2)), records / COUNTED
    if degree == 1:
        return {p: round(a + (t - 1) * (whole[p] - a)) for p, a in half.items()}
    square = {p: max(0.0, whole[p] / 2 - a) for p, a in half.items()}
    return {p: round(square[p] * t * t + max(0.0, a - square[p]) * t) for p, a in half.items()}


def _matched(params: Params, roster: Roster, records: int) -> Cost:
    """Bytes grow with the ids; every block of them takes two rounds."""
    small, large = (_rehearse("align", params, roster, n, BAND) for n in (SMALL, LARGE))
    growth, blocks = (records - SMALL) / (LARGE - SMALL), -(-records // params.get("block", BLOCK))
    sent = zip(_traffic(small, roster), _traffic(large, roster), strict=True)
    each = {p: round(a + max(0.0, growth) * (b - a)) for p, (a, b) in zip(roster.parties, sent, strict=True)}
    return Cost(rounds=small.rounds + 2 * (blocks - 1), bytes=each)


def check_params(protocol: str, params: Params) -> None:
    """Refuse a protocol or a parameter that does not exist, or one that lacks a value."""
    if protocol not in PROTOCOLS:
        raise LocalError(f"unknown protocol {protocol!r}: use one of {', '.join(PROTOCOLS)}")
    known = takes(protocol)
    unknown = [name for name in params if name not in known]
    if unknown:
        raise LocalError(f"protocol {protocol} has no parameter {', '.join(map(repr, unknown))}: it takes {', '.join(known)}")
    missing = [name for name, p in known.items() if p.default is p.empty and name not in params]
    if missing:
        raise LocalError(f"protocol {protocol} needs a value for {', '.join(map(repr, missing))}: add it to [params]")


def takes(protocol: str) -> dict[str, inspect.Parameter]:
    """The parameters of a protocol; none of one that is unknown."""
    found = inspect.signature(PROTOCOLS[protocol]).parameters if protocol in PROTOCOLS else {}
    return {n: p for n, p in found.items() if p.kind is p.KEYWORD_ONLY}


def _usual() -> Roster:
    return Roster({Holder: ("a", "b", "c"), Labeller: ("a",), Asker: ("a",), Coordinator: ("site",)})


def _script(protocol: str) -> Script:
    if protocol not in SCRIPTS:
        raise LocalError(f"protocol {protocol!r} has no rehearsal, so its disclosure is unknown: use one of {', '.join(SCRIPTS)}")
    return SCRIPTS[protocol]


def _rehearse(protocol: str, params: Params, roster: Roster, records: int, band: int) -> Ledger:
    check_params(protocol, params)
    params = _shortlisted(params)
    script = _script(protocol)
    grouped = {"min_count": GROUP} if "accept_risk" in script.small and params.get("min_count") != 1 else {}
    given = {**params, **script.small, **grouped, **({"band": band} if "band" in takes(protocol) else {})}
    key = (protocol, msgspec.msgpack.encode(given, order="sorted"), tuple(roster.roles.items()), records)
    return _played(key)


@lru_cache(maxsize=64)
def _played(key: tuple[str, bytes, tuple[Any, ...], int]) -> Ledger:
    protocol, packed, roles, records = key
    roster, params = Roster(dict(roles)), msgspec.msgpack.decode(packed, strict=False)
    try:
        return execute_together(roster, protocol, SCRIPTS[protocol].inputs(roster, records, params), params).ledger
    except TacitError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, MemoryError) as error:
        raise LocalError(f"protocol {protocol} does not run with these parameters: {error}; correct [params]") from None


def _traffic(ledger: Ledger, roster: Roster) -> list[int]:
    moved: Counter[str] = Counter()
    for row in ledger:
        moved[row.sender] += row.bytes or 0
        moved[row.receiver] += row.bytes or 0
    return [moved[p] for p in roster.parties]


def _triangle_loops(records: int, params: Params) -> int:
    return count_bands(records, params["band"])


def _answer_loops(records: int, params: Params) -> int:
    step: int = max(1, params["band"] // (params["support"] + 1))
    return -(-records // step)


def _over_columns(params: Params) -> bool:
    """Whether a search needs sums only."""
    return (params.get("partition", "vertical"), params.get("how", "product")) == ("vertical", "product")


SUMMED = partial(_banded, "gram_search", lambda n, _: n * (n + 1) // 2, _triangle_loops)
SCRIPTS: dict[str, Script] = {
    "gram_vertical": Script(
        by_columns,
        {"C": 1.0, "tol": 1e-3, "max_iter": -1, "class_weight": None},
        partial(_banded, "gram_vertical", lambda n, _: n * (n + 1) // 2, _triangle_loops),
    ),
    "gram_predict": Script(
        new_columns,
        {"support": SUPPORT},
        partial(_banded, "gram_predict", lambda n, params: n * (params["support"] + 1), _answer_loops),
    ),
    "gram_arbitrary": Script(
        by_cells,
        {"C": 1.0, "tol": 1e-3, "max_iter": -1, "class_weight": None},
        partial(_multiplied, "gram_arbitrary", gram_traffic, 2),
    ),
    "gram_arbitrary_predict": Script(new_cells, {"records": None}, partial(_multiplied, "gram_arbitrary_predict", dots_traffic, 1)),
    "gram_weights": Script(linear_model, {"problems": 2}, partial(_multiplied, "gram_weights", weights_traffic, 1)),
    "gram_linear_predict": Script(
        new_linear, {"problems": 2, "records": None}, partial(_multiplied, "gram_linear_predict", linear_traffic, 1)
    ),
    "align": Script(ids, {"min_records": 1}, _matched),
    "pan_svm": Script(
        by_rows,
        {
            "C": 1.0,
            "tol": 1e-9,
            "landmarks": 3.0,
            "min_cluster": 1,
            "min_count": 1,
            "accept_risk": True,
            "class_weight": None,
            "dtype": "float64",
        },
        _iterated,
    ),
    "gram_search": Script(
        lambda roster, records, params: (by_columns if _over_columns(params) else by_cells)(roster, records, params),
        {"C": 1.0, "tol": 1e-3, "max_iter": -1, "class_weight": None, "cv": 2, "scoring": "accuracy", "min_count": 1},
        lambda params, *size: (SUMMED if _over_columns(params) else partial(_multiplied, "gram_search", gram_traffic, 2))(params, *size),
    ),
    "pan_search": Script(
        by_rows,
        {
            "tol": 1e-9,
            "landmarks": 3.0,
            "min_cluster": 1,
            "min_count": 1,
            "accept_risk": True,
            "class_weight": None,
            "dtype": "float64",
            "cv": 2,
            "scoring": "accuracy",
        },
        _searched,
    ),
    "consensus_horizontal": Script(
        by_rows,
        {
            "C": 1.0,
            "tol": 1e-9,
            "max_rounds": 3,
            "landmarks": 3,
            "min_cluster": 1,
            "min_count": 1,
            "accept_risk": True,
            "class_weight": None,
            "landmark_range": (-1.0, 1.0),
        },
        _averaged,
    ),
    "elm_horizontal": Script(by_rows, {"n_hidden": 3, "min_rows": 1, "scale": 1.0}, _one_sum),
}
