"""What a public model gives away of the records that it was trained on: every site attacks it, figures are summed.

The problem. Holder h has m_h records that a model was trained on and o_h others, and an attack that gives each of them
a score. Its own figures are

    a_h   the share of pairs of a member and another record in which the member scores higher (the area)
    f_h   the share of its members that score above all but 1 % of its others
    g_hj  of column j: how many of its members, and of its others, have their value guessed

Everyone shall know how well that went over all sites, and nothing of a single one:

    a = sum_h m_h a_h / sum_h m_h,   f = sum_h m_h f_h / sum_h m_h,   and the column whose values are guessed best  (1)

Members are compared with others of the same site only, since every site attacks with twins of its own: models of the
same training on its own records (`attacks.twins`). A site that has too few records, or whose twins cannot be trained,
brings nothing; with fewer than three sites that do, all bring zeros, since a sum would be the figures of one or two.
Sums have ten bits after the point, and what is published three digits.

How much a model may give away is a matter of each site's policy: `release_limits` lets every holder tell its own. A
policy may also say how many of a site's own records the model may get wrong. How many sites find more is summed too:
where somebody brought records or sums that turn the model, those of others show it.

Roles. Holder: records, and what it found. Coordinator: opens the sums.
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: all sites but one, together with the coordinator, can
subtract their own figures and have those of the last one; what figures of two studies on almost the same records tell.
Source: ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, State, choreography, once
from tacit.choreo.protocol import Declaration
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.facts import RELEASE
from tacit.protocols.sums.secure_sum import protect, secure_sum

FEWEST = 3  # sites whose figures are summed, at least
BITS, DIGITS = 10, 3  # of sums, and of what is published
SHARES = ("area", "loss_area", "found", "loss_found")
GUESSES = 4  # of a column: members guessed, members, others guessed, others

Limit = bool | int | float
LIMITS = Fact("release.limits", "nobody", "nothing", "none", "how much each site's policy lets a model give away")


class Allowed(Message, tells=LIMITS, ragged=True, of_records=False):
    """A site's limits, by name."""

    limits: dict[str, Limit]


class Attacked(State):
    """What a site found on its own records; all zero where it measured nothing.

    wrong: whether the model gets more of the site's own records wrong than it allows. direct: whether the model itself
    was attacked, and not its twins. shares: as `SHARES`. guesses: as `GUESSES`, by column.
    """

    wrong: bool
    measured: bool
    direct: bool
    members: int
    others: int
    shares: F64
    guesses: F64


class Measured(Message, tells=RELEASE):
    """To how many sites the model is too often wrong; how many attacked, how many the model itself, on what records."""

    wrong: int
    sites: int
    direct: int
    members: int
    others: int


class Figures(Message, tells=RELEASE):
    """The figures (1) over all sites."""

    shares: F64
    column: int
    advantage: float


class Attacks(Result):
    """Everything that is known of the attacks; figures are 0 where fewer than three sites measured.

    wrong: to how many sites the model is too often wrong. column: the number, among those that were tried, of the one
    whose values are guessed best.
    """

    wrong: int
    sites: int
    direct: int
    members: int
    others: int
    shares: F64
    column: int
    advantage: float


@choreography(opens={Everyone: LIMITS})
def release_limits(run: Run, rules: At[dict[str, Limit]]) -> dict[str, dict[str, Limit]]:
    """Let every holder tell how much its policy lets a model give away; nothing stands for the usual limits."""
    told = run.publish_all(Allowed, run.local(Holder, tell_limits, rules))
    return {str(party): each.limits for party, each in told.items()}


@choreography(
    opens={
        Coordinator: RELEASE,
        Everyone: (RELEASE, RELEASE),
    }
)
def release_figures(run: Run, attacked: At[Attacked]) -> Attacks:
    """Publish how well the sites' attacks on a model went."""
    by = protect(run)
    counted = secure_sum(run, run.local(Holder, count_here, attacked), to=Coordinator, by=by, what="attacked records")
    who = run.publish(Measured, run.local(Coordinator, read_counts, counted))
    fixed = FixedPoint(BITS, terms=len(run.roster[Holder]))
    mine = run.local(Holder, weigh_figures, attacked, who.sites >= FEWEST)
    total = secure_sum(run, mine, to=Coordinator, by=by, fixed=fixed, what="figures of attacks")
    found = run.publish(Figures, run.local(Coordinator, read_figures, total, who.members))
    return Attacks(
        wrong=who.wrong, sites=who.sites, direct=who.direct, members=who.members, others=who.others,
        shares=found.shares, column=found.column, advantage=found.advantage,
    )  # fmt: skip


# Steps at the holders


@once  # a policy may change before a run that stopped is taken up again
def tell_limits(rules: dict[str, Limit]) -> Allowed:
    """Return what the site's policy says."""
    return Allowed(rules)


def count_here(attacked: Attacked) -> U64:
    """Return whether the model is too often wrong, whether the site attacked, the model itself, and on what records."""
    own = (1, attacked.direct, attacked.members, attacked.others)
    return np.array([attacked.wrong, *(own if attacked.measured else (0, 0, 0, 0))], dtype=np.uint64)


def weigh_figures(attacked: Attacked, enough: bool) -> F64:  # noqa: FBT001 - a step has no names
    """Return the site's part of the sums of (1); zeros where too few sites measured."""
    own = np.concatenate([attacked.shares * attacked.members, attacked.guesses.ravel()])
    return own if enough and attacked.measured else np.zeros_like(own)


# Steps at the coordinator


def read_counts(total: U64) -> Measured:
    """Return who measured, of the sum."""
    return Measured(*map(int, total))


def read_figures(total: F64, members: int) -> Figures:
    """Return the figures (1) with three digits."""
    shares, guesses = total[: len(SHARES)] / max(1, members), total[len(SHARES) :].reshape(-1, GUESSES)
    right, other = (guesses[:, k] / np.maximum(guesses[:, k + 1], 1.0) for k in (0, 2))
    apart = np.where((guesses[:, 1] > 0) & (guesses[:, 3] > 0), right - other, -1.0)
    column = int(apart.argmax()) if apart.size and apart.max() > -1 else -1
    best = float(apart[column]) if column >= 0 else 0.0
    return Figures(np.round(shares, DIGITS), column, round(best, DIGITS))


RELEASE_LIMITS = Declaration(release_limits)
RELEASE_FIGURES = Declaration(release_figures)
