"""Blind gram SVMs as jobs name them: what a training leaves, what may ask it, rehearsals and costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.choreo import Coordinator, Holder, Roster
from tacit.choreo.declaration import Number, Parameter
from tacit.choreo.protocol import (
    COLUMNS,
    SMALL,
    Cost,
    Declaration,
    Inputs,
    Params,
    Planned,
    Rehearsal,
    Stage,
)
from tacit.numeric.shares.dual_plan import RBF, DualPlan, describe_linear, describe_powers, plan_dual
from tacit.numeric.shares.losses import HINGE, INSENSITIVE, WEIGHTED
from tacit.protocols.blind.cells import SQUARINGS
from tacit.protocols.blind.kernels import LINEAR, RADIAL
from tacit.protocols.blind.numbers import half_of
from tacit.protocols.blind.size import describe_size
from tacit.protocols.blind.training import BlindShare, blind_predict, gram_blind
from tacit.protocols.part import by_cells
from tacit.protocols.shares.gates import triangle_size
from tacit.protocols.shares.lean_clip import Looked

# What blind training costs: every opening and everything that is dealt, counted from the plan of the run

WORD = 8  # bytes
AROUND = 150  # bytes of a message beside its words
AT_FIRST = 7  # rounds in which classes, ownership, keys and gamma are told
PROBLEMS = 1  # of two classes; how many there are is known when the labeller has told them


@dataclass(frozen=True)
class Moved:
    """How many openings and deals there are, how many words each holder opens, and how many are dealt."""

    openings: int = 0
    deals: int = 0
    opened: int = 0
    dealt: int = 0

    def __add__(self, other: Moved) -> Moved:
        return Moved(
            self.openings + other.openings,
            self.deals + other.deals,
            self.opened + other.opened,
            self.dealt + other.dealt,
        )

    def __mul__(self, times: int) -> Moved:
        return Moved(*(times * each for each in (self.openings, self.deals, self.opened, self.dealt)))


def product(size: int) -> Moved:
    """Return what a product of so many entries moves."""
    return Moved(1, 1, 2 * size, size)


def square(size: int) -> Moved:
    """Return what a square moves, of a matrix or entry by entry."""
    return Moved(1, 1, size, size)


def truncation(size: int) -> Moved:
    """Return what a truncation moves."""
    return Moved(1, 1, size, 2 * size)


def kernel(entries: int, given: Params, holders: int, cells: int) -> Moved:
    """Return what the entries of a kernel move, from factors or from a table of so many cells."""
    partition = given["partition"]
    if given["kernel"] == LINEAR:
        return Moved()
    if given["kernel"] != RADIAL:
        dots = Moved() if partition == "vertical" else Moved(1, 1, cells, entries) + truncation(entries)
        raised = (product(entries) + truncation(entries)) * (int(given["degree"]) - 1)
        return dots + raised + Moved(1, 1, 1, 1) + truncation(entries)
    if partition != "vertical":
        power = square(entries) + truncation(entries)
        return Moved(1, 1, cells, entries) + truncation(entries) + power * (1 + SQUARINGS[0])
    found = Moved()
    while holders > 1:
        half = holders // 2
        found, holders = found + product(half * entries) + truncation(half * entries), holders - half
    return found


def guess_plan(n: int, given: Params) -> DualPlan:
    """Return the plan; what a diagonal will turn out to be is guessed by columns of variance 1, targets likewise."""
    loss = HINGE if given["class_weight"] is None else WEIGHTED
    if given["tube"] is not None:
        loss = INSENSITIVE
    price = given["C"] / half_of(given["target_range"])
    if given["kernel"] == RADIAL:
        return plan_dual(n, PROBLEMS, price, RBF, loss)
    if given["kernel"] == LINEAR:
        return plan_dual(n, PROBLEMS, COLUMNS * price, describe_linear(n, 1.0), loss)
    return plan_dual(n, PROBLEMS, price, describe_powers(n, 1.0), loss)


def matrices(rows: int, others: int, columns: int, entries: int) -> Moved:
    """Return what a product of matrices moves, of which so many entries are made."""
    return Moved(1, 1, (rows + others) * columns, entries)


def solving(plan: DualPlan) -> Moved:
    """Return what the targets' mean and iterations move."""
    vector = plan.n * plan.problems
    applied, values = Moved(1, 1, vector, vector), vector * plan.loss.pieces
    looked = Looked(values, plan.clipping, clips=True, cuts=True)
    opened, dealt = values + sum(looked.sizes.bits), sum(looked.sizes.made + looked.sizes.tables)
    clipped = Moved(looked.openings, 1, opened, dealt)
    averaged = truncation(vector) * (plan.averaged > 0)
    return truncation(plan.problems) + (applied + clipped) * plan.rounds + averaged


def squaring(size: int, levels: int) -> Moved:
    """Return what a resolvent moves: a point, p_0, squares, of which 9 bytes are opened and 20 dealt, and their sum."""
    squares = Moved(2, 2, 9 * size // WORD, 20 * size // WORD) * levels
    return truncation(size) + Moved(1, 1, size) + squares + Moved(2, 2, 10 * size // WORD, 12 * size // WORD)


def whole(plan: DualPlan) -> Moved:
    """Return what is moved beside iterations where the kernel matrix is in shares."""
    vector = plan.n * plan.problems
    last = Moved(1, 1, vector, vector) + truncation(vector) + truncation(plan.n) + product(vector)
    return squaring(triangle_size(plan.n), plan.squares.levels) + last


def narrow(plan: DualPlan, columns: int) -> Moved:
    """Return what is moved beside iterations with the linear kernel."""
    n, m, d, size = plan.n, plan.problems, columns, triangle_size(plan.n)
    table = truncation(d) + Moved(1, 1, n * d, triangle_size(d)) + Moved(1, 1, 1, 1)
    made = matrices(d, n, d, d * n) + truncation(d * n) + matrices(n, n, d, size) + truncation(size)
    weights = matrices(d, m, n, d * m) + truncation(d * m) + truncation(d) + product(d * m)
    newton = truncation(triangle_size(d)) + (matrices(d, d, d, d * d) + truncation(d * d)) * 2
    opened = Moved(1, 1, size)
    return table + squaring(triangle_size(d), plan.squares.levels) + newton + made + opened + weights


def cost_of(moved: Moved, roster: Roster) -> Cost:
    """Return rounds, and the bytes that each party sends and receives."""
    others, rounds = len(roster[Holder]) - 1, moved.openings + moved.deals + AT_FIRST
    to_peers = 2 * others * (WORD * moved.opened + AROUND * moved.openings)
    dealt = WORD * moved.dealt + AROUND * moved.deals * len(roster[Holder])
    each = to_peers + dealt // (others + 1)  # they take turns in what is dealt
    sizes = dict.fromkeys(roster.parties, each) | {roster[Coordinator][0]: dealt}
    return Cost(rounds=rounds, bytes=sizes)


def estimate_training(planned: Planned) -> Cost:
    """Return the cost of a training."""
    n = planned.records
    made = kernel(triangle_size(n), planned.complete, len(planned.roster[Holder]), n * COLUMNS)
    plan = guess_plan(n, planned.complete)
    linear = planned.complete["kernel"] == LINEAR
    rest = narrow(plan, COLUMNS) if linear else whole(plan)
    return cost_of(made + rest + solving(plan), planned.roster)


def estimate_answers(planned: Planned) -> Cost:
    """Return the cost of answers about so many new records, by a model of as many as it was trained on."""
    given, new = planned.complete, planned.records
    inner, problems = COLUMNS if given["kernel"] == LINEAR else given["trained_on"], given["problems"]
    made = kernel(new * inner, given, len(planned.roster[Holder]), (new + given["trained_on"]) * COLUMNS)
    answered = matrices(new, problems, inner, new * problems) + truncation(new * problems)
    return cost_of(made + answered, planned.roster)


WIDE = 1024.0  # larger than any invented target
DIVISOR = Parameter("divisor", Number(0, above=True, job_most=2.0**64), "by what the kernel was divided", follows=True)
TRAINED_ON = Parameter("trained_on", Number(1, whole=True), "how many records the model was trained on", follows=True)


def new_records(stage: Stage) -> Inputs:
    """Return new records of any split, and shares of a model to ask about them."""
    problems, by_rows = stage.params["problems"], stage.params["partition"] == "horizontal"
    made = by_cells(Stage(stage.roster, SMALL, stage.params, stage.part))["data"][1]
    linear, widths = stage.params["kernel"] == LINEAR, [part.X.shape[1] for part in made.values()]
    columns = sum(widths) if stage.params["partition"] == "vertical" else widths[0]
    words = np.zeros((columns if linear else SMALL) * problems, np.uint64), np.zeros(problems, np.uint64)
    old = np.arange(0 if linear else SMALL)
    rows = np.array_split(old, len(made)) if by_rows else [old] * len(made)
    held = zip(made.items(), rows, strict=True)
    shares = {party: BlindShare(part.X[own], part.owned, *words) for (party, part), own in held}
    return {**by_cells(stage), "share": (Holder, shares)}


def shrink(params: Params) -> Params:
    """Return what a rehearsal takes instead: a C that suits few records, and a range that holds invented targets."""
    if params.get("tube") is None:
        return {"C": 1.0}
    if params.get("target_range") is None:
        return {"C": 1.0, "tube": 0.0}
    half_of(params["target_range"])
    return {"C": WIDE, "tube": 0.0, "target_range": (-WIDE, WIDE)}


GRAM_BLIND = Declaration(
    gram_blind,
    rehearsal=Rehearsal(by_cells, shrink, estimate_training),
    dealt=True,
    warns=describe_size,
)
BLIND_PREDICT = Declaration(
    blind_predict,
    rehearsal=Rehearsal(new_records, lambda _: {"problems": 1, "trained_on": SMALL}, estimate_answers),
    asks=True,
    dealt=True,
    parameters=(TRAINED_ON, DIVISOR),
)
