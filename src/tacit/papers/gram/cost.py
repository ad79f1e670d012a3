"""What gram SVMs over rows and cells cost: ciphertexts are counted from the public plan, and none is made.

Who owns which cell, and of how many columns, is known only when a run has begun. Counted are `COLUMNS` columns, of
equal shares of the records by rows, and of random owners cell by cell; and where a model is asked, `VECTORS` support
vectors. Rounds are as rehearsed, and one more for each further band of the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tacit.choreo import Asker, Coordinator, Holder, Roster
from tacit.choreo.protocol import COLUMNS, SMALL, Cost, Params, Planned
from tacit.numeric.cells.ownership import Owners, owners_of
from tacit.papers.columns import count_bands
from tacit.papers.gram.algorithm1 import sent_cells
from tacit.papers.gram.cell_products import Scheme, plan_of
from tacit.papers.gram.cells import Multiply
from tacit.papers.gram.crossing import Crossing, dots_crossing, gram_crossing
from tacit.papers.gram.engines.engines import Block, Plan
from tacit.papers.gram.linear import fill_rows, give_to_all
from tacit.papers.gram.weights import answer_cells, make_engine

COUNTED = 2000  # records, and twice as many: products are counted for these, and larger tables scaled from them
VECTORS = 100
POINT = 32  # bytes of a hashed feature

Traffic = Mapping[str, float]  # bytes that each site sends and receives
Count = Callable[[Params, Roster, int], Traffic]


def count_products(traffic: Count, degree: int) -> Callable[[Planned], Cost]:
    """Return an estimate that counts products: bytes grow with the records to the degree."""

    def cost(planned: Planned) -> Cost:
        given, n = planned.complete, planned.records
        more = count_bands(n, given["band"]) - 1 if "band" in given else 0
        if n <= 2 * COUNTED:
            moved = traffic(given, planned.roster, n)
        else:
            half, whole = (traffic(given, planned.roster, times * COUNTED) for times in (1, 2))
            moved = {p: _extend(degree, n / COUNTED, half[p], whole[p]) for p in half}
        rounds = planned.rehearse(SMALL).rounds + more
        return Cost(rounds=rounds, bytes={p: round(size) for p, size in moved.items()})

    return cost


def _extend(degree: int, t: float, half: float, whole: float) -> float:
    """Return the value at t on the line, or the parabola through zero, that has these two values at 1 and 2."""
    if degree == 1:
        return half + (t - 1) * (whole - half)
    square = max(0.0, whole / 2 - half)
    return square * t * t + max(0.0, half - square) * t


def gram_traffic(params: Params, roster: Roster, records: int) -> Traffic:
    """Return what each site moves for a gram matrix."""
    owners, packed = _owners(params["partition"], roster[Holder], records), records * (records + 1) // 2
    method = params.get("method", "product")
    if method == "product":
        return _add(_products(gram_crossing(owners), params), _sum(roster, 8 * packed), roster)
    if method == "algorithm1":
        return _encrypted(owners, params["key_bits"] // 4, packed, roster)
    return _tokens(owners, roster)


def dots_traffic(params: Params, roster: Roster, records: int) -> Traffic:
    """Return what each site moves for answers about new records."""
    new, support = (_owners(params["partition"], roster[Holder], n) for n in (records, VECTORS))
    summed = _sum(roster, 8 * records * (VECTORS + bool(params["squares"])))
    return _add(_products(dots_crossing(new, support), params), summed, roster)


def weights_traffic(params: Params, roster: Roster, records: int) -> Traffic:
    """Return what each site moves for shares of the weights of a linear model."""
    del records  # the model has as many support vectors as it has
    way = make_engine(VECTORS, answer_cells(0, COLUMNS).ring_bits, params["key_bits"])
    plan = Plan((params["problems"],) * VECTORS, (Block(tuple(range(VECTORS)), COLUMNS),))
    return _sum(roster, way.count_bytes(plan) + 8 * params["problems"] * (COLUMNS + 1))


def linear_traffic(params: Params, roster: Roster, records: int) -> Traffic:
    """Return what each site moves for answers by shared weights; the coordinator has no part in them."""
    new = _owners(params["partition"], roster[Holder], records)
    crossing = dots_crossing(give_to_all((params["problems"], new.shape[1]), new), fill_rows(new))
    cells = answer_cells(0, new.shape[1])
    scheme = Scheme(params["engine"], cells, params["key_bits"], uploads=1 << cells.ring_bits)
    asker, size = roster[Asker][0], 8 * records * params["problems"]
    told = {
        p: size * (len(roster[Holder]) - 1 if p == asker or params["partition"] == "horizontal" else 1)
        for p in roster[Holder]
    }
    return _add(_pairs(crossing, scheme), told, roster)


def _add(a: Traffic, b: Traffic, roster: Roster) -> Traffic:
    return {p: a.get(p, 0) + b.get(p, 0) for p in roster.parties}


def _owners(partition: str, parties: tuple[str, ...], records: int) -> Owners:
    if partition == "vertical":
        return owners_of(partition, {p: np.ones((records, COLUMNS), np.bool_) for p in parties})
    if partition == "horizontal":
        shares = zip(parties, np.array_split(np.arange(records), len(parties)), strict=True)
        return owners_of(partition, {p: np.ones((len(rows), COLUMNS), np.bool_) for p, rows in shares})
    drawn = np.random.default_rng(0).integers(len(parties), size=(records, COLUMNS))
    return owners_of(partition, {p: drawn == i for i, p in enumerate(parties)})


def _sum(roster: Roster, size: int) -> Traffic:
    """Return the bytes of every holder's message to the coordinator."""
    return {**dict.fromkeys(roster[Holder], size), roster[Coordinator][0]: size * len(roster[Holder])}


def _products(crossing: Crossing, params: Params) -> Traffic:
    """Return what uploads and replies of every pair move, at both."""
    multiply = Multiply(**{name: params[name] for name in ("engine", "key_bits", "feature_bits") if name in params})
    return _pairs(crossing, Scheme(multiply.engine, multiply.cells(0, crossing.left.shape[1]), multiply.key_bits))


def _pairs(crossing: Crossing, scheme: Scheme) -> Traffic:
    total = dict.fromkeys(crossing.left.rows, 0)
    for p, q in crossing.pairs:
        if crossing.blocks(p, q):
            made = scheme.engine(crossing, p).count_bytes(plan_of(crossing, p, q))
            total[p] += made
            total[q] += made
    return total


def _encrypted(owners: Owners, each: int, packed: int, roster: Roster) -> Traffic:
    """Return what 001's Algorithm 1 moves.

    Every cell goes to every other owner in its column, then a number for each pair of records through all.
    """
    parties, site = roster[Holder], roster[Coordinator][0]
    sent = {p: {q: each * len(sent_cells(owners, p, q)) for q in parties if q != p} for p in parties}
    moved = {p: sum(sent[p].values()) + sum(sent[q][p] for q in parties if q != p) for p in parties}
    ends = {parties[0]: 1}  # who only sends; all others receive and send on
    return {**{p: moved[p] + ends.get(p, 2) * each * packed for p in parties}, site: each * packed}


def _tokens(owners: Owners, roster: Roster) -> Traffic:
    """Return what all features on their way to the coordinator move, and each holder's table."""
    parties, site = roster[Holder], roster[Coordinator][0]
    tables = {p: int(owners.masks[p].size) for p in parties}
    passes = POINT * sum(mask.shape[1] for mask in owners.masks.values())
    return {**{p: tables[p] + 2 * passes for p in parties}, site: sum(tables.values()) + passes}
