"""What a consensus gives away, as working attacks on what its parties and its coordinator are sent."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.learners import ERROR, Attack, Point, Points, steps
from tacit.federation.part import part_of
from tacit.papers.consensus.attacks.iterate_differencing import Weights, iterate_differencing, overhear, recover_share
from tacit.papers.consensus.attacks.two_party import measure_mistake, two_party
from tacit.papers.consensus.attacks.vertical_modes import nearest, vertical_modes
from tacit.papers.consensus.attacks.vertical_span import deal_columns, listen, vertical_span

CONSENSUS = ("ConsensusSVC",)
KNOWN, SHARE = "known records", "share of the records"
RHO = 0.2
_COLUMN_RUN: dict[str, float | int] = {"C": 50.0, "rho": RHO, "over_relaxation": 1.9, "max_rounds": 300, "tol": 1e-12}
_ADMM = "ADMM, 300 rounds"


def iterate_differencing_study(X: F64, y: I64) -> Points:
    """Yield the share of records that a party's weights, seen round by round, give away, by parties."""
    for parties in (2, 4, 8):
        heard = _overhear(X, y, parties)
        each = [iterate_differencing(told, heard.average, heard.rho, parties) for told in heard.told.values()]
        yield Point("every party's weights in clear", parties, recover_share(np.vstack(each), X))
        mixed = iterate_differencing(heard.average, heard.average, heard.rho, parties)
        yield Point("the secure sum only", parties, recover_share(mixed, X))


def two_party_study(X: F64, y: I64) -> Points:
    """Yield how far off one party's guess of another's weights is in a consensus over rows, by parties."""
    for parties in (2, 3, 4):
        heard = _overhear(X, y, parties)
        own, other = list(heard.told.values())[:2]
        guess = two_party(own, heard.average, parties)
        yield Point("the secure sum only", parties, measure_mistake(guess, other, heard.average))


def _overhear(X: F64, y: I64, parties: int) -> Weights:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    held = {f"p{i + 1}": part_of(X[i::parties], y[i::parties], None, names) for i in range(parties)}
    return overhear(held, C=1.0, rho=100.0, rounds=100)  # rho as in the paper


def vertical_span_study(X: F64, y: I64) -> Points:
    """Yield the error of records that sums of a consensus over columns give, by how many records are known."""
    d = X.shape[1]
    _, sums = listen(deal_columns(X, y, np.array_split(np.arange(d), min(4, d))), **_COLUMN_RUN)
    for known in steps(2 * d)[1:]:
        yield Point(_ADMM, known, min(1.0, vertical_span(sums, X, np.arange(known))))


def vertical_modes_study(X: F64, y: I64) -> Points:
    """Yield the error of a party's column that ADMM over columns gives, by how many rounds are seen."""
    d = X.shape[1]
    cuts = [np.array([0]), *np.array_split(np.arange(1, d), min(3, d - 1))]
    told, sums = listen(deal_columns(X, y, cuts), **_COLUMN_RUN)
    for rounds in (d, 2 * d + 10, 4 * d, 10 * d):
        seen = slice(min(rounds, sums.shape[1]))
        yield Point(_ADMM, rounds, nearest(vertical_modes(told[:, seen], sums[:, seen], d, RHO), X[:, 0]))


ATTACKS = (
    Attack(
        "iterate_differencing",
        CONSENSUS,
        "weights of two rounds differ by the one record that moved",
        "parties",
        SHARE,
        iterate_differencing_study,
        reads=("consensus.averages",),
        stopped="parties' weights are summed securely",
    ),
    Attack(
        "two_party",
        CONSENSUS,
        "each of two parties can compute the other's weights",
        "parties",
        ERROR,
        two_party_study,
        reads=("consensus.averages",),
        needs="one other party only",
        stopped="a job of two parties is refused unless all of them allow it",
        accepted=True,
    ),
    Attack(
        "vertical_span",
        CONSENSUS,
        "the sums span the columns, and known records give all others",
        KNOWN,
        ERROR,
        vertical_span_study,
        reads=("consensus.column_sums",),
        needs="as many known records as there are columns",
    ),
    Attack(
        "vertical_modes",
        CONSENSUS,
        "many rounds of ADMM give a party's column without a known record",
        "rounds",
        ERROR,
        vertical_modes_study,
        reads=("consensus.column_sums",),
        needs="many rounds",
    ),
)
