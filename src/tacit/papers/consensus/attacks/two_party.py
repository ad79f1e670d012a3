"""Two parties: in a consensus over rows of two, each has the other's weights of every round, secure sum or not.

    told_2 = 2 z - told_1,    from which theta_2 follows as in `iterate_differencing`, and then records    (1)

The average of more parties less one's own part is the average of all others, which is nobody's: who takes it for one of
theirs is wrong by as much as their rows differ. So real federations of two are refused unless they say
allow_two_parties.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.papers.consensus.attacks.iterate_differencing import own_weights


def two_party(own: F64, average: F64, parties: int) -> F64:
    """Return what the others told on average, a line for each round; of two parties, what the other told, (1)."""
    others: F64 = (parties * average - own) / (parties - 1)
    return others


def measure_mistake(guess: F64, told: F64, average: F64) -> float:
    """Return how wrong the guessed theta is, relative to how far the party's own is from the public average."""
    theta, truth = (own_weights(each, average)[0] for each in (guess, told))
    return float(np.linalg.norm(theta - truth) / np.linalg.norm(average - truth))
