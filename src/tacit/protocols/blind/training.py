"""Blind gram SVM: the pooled SVM in shares. Nobody sees the gram matrix, or which records support the model.

The problem is that of `gram.vertical` and `gram.arbitrary`. There the coordinator learns the gram
matrix; here it deals correlated randomness and learns nothing of the records (`shares.dealing`):

    1. kernel       K in shares, from each holder's own factor, or from products      `blind.kernels`, `blind.cells`
    2. resolvent    Z = rho (PKP + rho I)^-1 in shares, from squares                  `blind.iterate`
    3. iteration    beta in shares, in a number of rounds that is public before       `blind.iterate`
    4. bias         b / C = rho mean(q) - mean(K beta)                                                               (1)
    5. answers      f(z) / C = K(z, .) beta + b / C, opened to the asker alone                                       (2)

Labels or targets are in shares from the start, and so are the boxes and prices that follow from them (`blind.goals`).
In a regression f is (2) plus the middle of the targets' range.

With the linear kernel, steps 1, 2, 4 and 5 are in as many dimensions as there are columns (`blind.linear`). Several
classes are several problems, and all of them share the same rounds.

Roles. Holder: columns, rows or cells. Labeller: the holder that has the labels, where not every holder has its own.
Coordinator: the dealer, which must hold no data. Asker: the holder that is told the decision values.

Threat. Semi-honest. The dealer learns sizes and the number of iterations; so do any M - 1 holders. An asker learns its
decision values, whose last bits are rounded at random. NOT protected: the dealer together with one holder has
everything; what decision values reveal.

Source: ours; the problem is 001's, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64, Flags
from tacit.choreo import Asker, At, Each, Everyone, Holder, Labeller, Message, Result, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.dual_plan import K_BITS, Q_BITS, ROW_BITS, DualPlan, plan_dual
from tacit.numeric.shares.losses import Loss
from tacit.protocols.blind.goals import Goal, SideShare, centre_pull, check_unweighted, own_sides, weigh
from tacit.protocols.blind.iterate import apply_fixed, iterate, repeat, resolve, subtract_means
from tacit.protocols.blind.kernels import (
    LINEAR,
    RADIAL,
    Asked,
    check_kernel,
    choose_gamma,
    cross,
    known_gamma,
    make_kernel,
)
from tacit.protocols.blind.linear import Centred, centre_table, new_cells, solve_narrow
from tacit.protocols.blind.numbers import Span, agree_on_numbers, half_of, middle_of
from tacit.protocols.blind.owners import check_declared, ownership, publish_classes
from tacit.protocols.classes import Classes, check_class_weight, name_classes
from tacit.protocols.facts import ANSWERS, BALANCE, CLASSES, MAGNITUDES, SIZES, UNIFORM
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import ClassWeight, Held, Names
from tacit.protocols.shares.dealing import Dealing, agree_with_dealer, check_dealer
from tacit.protocols.shares.gates import multiply, truncate
from tacit.protocols.shares.matrices import Crossed, multiply_matrices

ANSWER_BITS = 16


class BlindShare(State):
    """A holder's share of a model: its own cells of all records, and words that only all holders together can read.

    beta: a column for each problem, `Q_BITS` after the point; with the linear kernel w (`blind.linear`), and X without
    any record. bias: of each problem, divided by C.
    """

    X: F64
    owned: Flags | None
    beta: U64
    bias: U64


class Trained(Result):
    """What a blind training leaves.

    classes: empty for a regression. target_range: None for classes. divisor: the kernel was divided by it.
    """

    classes: Names
    share: At[BlindShare]
    gamma: float
    divisor: float
    target_range: tuple[float, float] | None
    records: int
    iterations: int


@dataclass(frozen=True)
class Scale:
    """How words become answers: numbers with so many bits after the point, times C, plus the middle of the targets."""

    C: float
    bits: int
    middle: float

    def read(self, shares: list[U64], problems: int) -> F64:
        """Return the decision values, or numbers, from all their shares."""
        return self.middle + self.C * FixedPoint(self.bits).decode(Z64.total(shares)).reshape(-1, problems)


class AnswerShare(Message, tells=ANSWERS):
    """A holder's share of decision values, which only the asker gets from all."""

    words: U64


class OwnAnswerShare(Message, tells=ANSWERS, ragged=True):
    """A holder's share of decision values of the receiver's own records."""

    words: U64


@choreography(
    opens={
        Holder: UNIFORM,
        Everyone: (SIZES, CLASSES, BALANCE, MAGNITUDES),
    }
)
def gram_blind(
    run: Run,
    data: At[Held],
    *,
    partition: str,
    kernel: AnyKernel,
    C: float,
    class_weight: ClassWeight = None,
    tube: float | None = None,
    target_range: tuple[float, float] | None = None,
    feature_range: float | None = None,
) -> Trained:
    """Train a model, of which every holder keeps its share. With `tube`, targets are numbers."""
    check_kernel(kernel)
    check_dealer(run)
    run.local(Holder, check_declared, data, feature_range, run.who(Holder))
    run.local(Holder, check_unweighted, data, run.who(Holder))
    classes = () if tube is not None else agree_on_classes(run, data, partition)
    check_class_weight(classes, class_weight)
    owners = ownership(run, data, partition)
    n, columns = owners.shape
    dealing = agree_with_dealer(run)
    goal: Goal = (
        weigh(run, dealing, data, classes, class_weight)
        if tube is None
        else agree_on_numbers(run, data, partition, tube, target_range)
    )
    price = goal.price(C)
    check_room(n, price, kernel.name, goal.loss)
    gamma = choose_gamma(run, dealing, data, kernel, n, columns)
    asked = Asked(partition, kernel, gamma, feature_range, price)
    linear, make = kernel.name == LINEAR, centre_table if kernel.name == LINEAR else make_kernel
    made = make(run, dealing, data, owners, asked)
    plan = plan_dual(n, goal.problems, price * made.divisor, made.spectrum, goal.loss)
    own = run.local(Holder, own_sides, data, goal, plan, owners, run.who(Holder))
    sides = centre_pull(run, dealing, own, plan)
    weights, bias = (
        solve_narrow(run, dealing, made, sides, plan)
        if isinstance(made, Centred)
        else solve_whole(run, dealing, made.K, sides, plan)
    )
    run.note(records=n, iterations=plan.rounds, squares=plan.squares.levels)
    share = run.local(Holder, keep_share, data, weights, bias, goal.exponent, linear)
    return Trained(
        classes=classes,
        share=share,
        gamma=gamma,
        divisor=made.divisor,
        target_range=goal.target_range,
        records=n,
        iterations=plan.rounds,
    )


@choreography(opens={Asker: ANSWERS})
def blind_predict(
    run: Run,
    data: At[Held],
    share: At[BlindShare],
    *,
    partition: str,
    kernel: AnyKernel,
    problems: int,
    trained_on: int,
    C: float,
    divisor: float = 1.0,
    target_range: tuple[float, float] | None = None,
    feature_range: float | None = None,
    records: int | None = None,
) -> At[F64]:
    """Return decision values of new records, at the asker, or by rows at their holders, (2).

    kernel: as in the training, with gamma as a number. divisor, target_range: as the training published them.
    """
    check_dealer(run)
    gamma, price = known_gamma(kernel), C / half_of(target_range)
    run.local(Holder, check_declared, data, feature_range, run.who(Holder))
    new = ownership(run, data, partition)
    if records is not None and new.shape[0] > records:
        raise LocalError(
            f"the parties bring {new.shape[0]} new records, and the job declares {records}: declare them all in [rows]"
        )
    if kernel.name == LINEAR:
        dealing, inner = agree_with_dealer(run), new.shape[1]
        K = new_cells(run, data, new, feature_range, trained_on, price * divisor, divisor)
    else:
        old = ownership(run, share, partition)
        check_trained(old.shape[0], trained_on)
        dealing, inner = agree_with_dealer(run), trained_on
        asked = Asked(partition, kernel, gamma, feature_range, price)
        K = cross(run, dealing, data, share, (new, old), asked, divisor)
    weights = run.local(Holder, turn_weights, share, inner, problems)
    product = multiply_matrices(run, dealing, K, weights, Crossed(new.shape[0], problems, inner))
    answers = run.local(Holder, add_bias, product, share)
    scale = Scale(C * divisor, choose_bits(price * divisor, target_range), middle_of(target_range))
    cut = truncate(run, dealing, answers, ROW_BITS + Q_BITS - scale.bits, size=new.shape[0] * problems)
    if partition != "horizontal":
        received = run.send(AnswerShare, Holder >> Asker, run.local(Holder, AnswerShare, cut))
        return run.local(Asker, read_answers, received, problems, scale)
    received = run.send(OwnAnswerShare, Holder >> Holder, run.local(Holder, share_out, cut, new, problems))
    return run.local(Holder, read_own, received, cut, new, run.who(Holder), problems, scale)


def agree_on_classes(run: Run, data: At[Held], partition: str) -> Names:
    """Return the names of all classes, from the labeller, or by rows from every holder."""
    if partition == "horizontal":
        return publish_classes(run, data)
    return run.publish(Classes, run.local(Labeller, name_classes, data)).names


def check_room(n: int, price: float, kernel: str, loss: Loss) -> None:
    """Refuse an RBF kernel that would not fit, before any record is shared; others are checked once they are made."""
    if kernel == RADIAL:
        plan_dual(n, 1, price, loss=loss)


def choose_bits(price: float, target_range: Span | None) -> int:
    """Return how many bits answers have after the point: in units of C, or in a regression in units of its targets."""
    return ANSWER_BITS if target_range is None else ANSWER_BITS + max(0, math.ceil(math.log2(price)))


def check_trained(held: int, trained_on: int) -> None:
    """Refuse shares of another model."""
    if held != trained_on:
        raise LocalError(
            f"the shares are of {held} records, and the model was trained on {trained_on}: bring its own shares"
        )


@choreography(opens={Holder: UNIFORM})
def solve_whole(
    run: Run, dealing: Dealing, K: At[U64], sides: At[SideShare], plan: DualPlan
) -> tuple[At[U64], At[U64]]:
    """Return shares of beta, with `Q_BITS` after the point, and of b / C, from shares of the kernel matrix."""
    matrix = resolve(run, dealing, K, plan)
    q = iterate(run, dealing, matrix, sides, plan)
    a = apply_fixed(run, dealing, matrix, q, plan)
    beta = truncate(run, dealing, a, plan.z_bits, size=plan.n * plan.problems)
    return beta, find_bias(run, dealing, K, beta, q, sides, plan)


@choreography(opens={Holder: UNIFORM})
def find_bias(
    run: Run, dealing: Dealing, K: At[U64], beta: At[U64], q: At[U64], sides: At[SideShare], plan: DualPlan
) -> At[U64]:
    """Return shares of b / C, (1), with `ROW_BITS` + `Q_BITS` after the point."""
    n, m = plan.n, plan.problems
    means = truncate(run, dealing, run.local(Holder, sum_rows, K, n), K_BITS + Q_BITS - ROW_BITS, size=n)
    product = multiply(run, dealing, run.local(Holder, repeat, means, m), beta, size=n * m)
    return run.local(Holder, subtract_means, product, q, sides, plan)


# Steps at the holders


def sum_rows(K: U64, n: int) -> U64:
    """Return the share of the means of all rows of K, with `Q_BITS` more after the point."""
    sums: U64 = unpack([K], n).sum(axis=0)
    return sums * np.uint64(round(2**Q_BITS / n))


def keep_share(part: Held, weights: U64, bias: U64, exponent: int, linear: bool) -> BlindShare:  # noqa: FBT001 - a step
    """Return the holder's share of the model, times 2^exponent, so that it is in units of C."""
    kept, up = slice(0 if linear else None), np.uint64(exponent)
    return BlindShare(part.X[kept], None if part.owned is None else part.owned[kept], weights << up, bias << up)


def turn_weights(share: BlindShare, inner: int, problems: int) -> U64:
    """Return the share of beta or w, a row for each problem; refuse one of another size."""
    if share.beta.size != inner * problems:
        raise LocalError(
            f"the share has {share.beta.size} weights where {inner * problems} belong: ask its own records"
        )
    return share.beta.reshape(inner, problems).T.ravel()


def add_bias(product: U64, share: BlindShare) -> U64:
    """Return the share of K beta + b / C, (2)."""
    return (product.reshape(-1, share.bias.size) + share.bias).ravel()


def share_out(words: U64, new: Owners, problems: int) -> Each:
    """Return the holder's shares of the answers about everybody's own records."""
    lines = words.reshape(-1, problems)
    return Each({party: OwnAnswerShare(lines[rows].ravel()) for party, rows in new.rows.items()})


# Steps at the asker


def read_answers(received: Mapping[str, AnswerShare], problems: int, scale: Scale) -> F64:
    """Return the decision values: a column for each class, or one column for two classes or for numbers."""
    return scale.read([message.words for message in received.values()], problems)


def read_own(
    received: Mapping[str, OwnAnswerShare], own: U64, new: Owners, me: str, problems: int, scale: Scale
) -> F64:
    """Return the decision values of the holder's own records."""
    mine = own.reshape(-1, problems)[new.rows[me]].ravel()
    return scale.read([mine, *(message.words for message in received.values())], problems)
