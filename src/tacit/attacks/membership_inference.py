"""Membership inference: whether a record was among those that a model was trained on.

    s(i)                             how sure the model is of record i; the loss threshold calls the surest ones members
    N(m_in, v_in), N(m_out, v_out)   what twins with i, and twins without it, are
    L(i) = log N(s; m_in, v_in) - log N(s; m_out, v_out)                                                            (1)

The attacker has the model, candidate records with their labels, and records like them to train twins on. It needs no
step of any protocol: a public model is enough, and so are answers. Variances of few twins are drawn towards that of
all records, as so many twins more would.

Source: Carlini, Chien, Nasr, Song, Terzis, Tramer: Membership Inference Attacks From First Principles (2022), the
likelihood-ratio attack LiRA in its online form; Yeom, Giacomelli, Fredrikson, Jha (2018) for the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from tacit.arrays import F64, I64
from tacit.attacks.learners import Learner, Point, Points, list_learners
from tacit.attacks.twins import Bools, Target, Twins, target_twins, train_twins

PRIOR = 8  # as many twins more, which have the variance of all records
FALSE = 0.01  # non-members that are called members
COUNTS = (3, 7, 15)  # twins of an attacker in the study


@dataclass(frozen=True)
class Membership:
    """How well members are told from others: area under the curve, and members found at 1 % false alarms.

    Those of the likelihood ratio (1), and those of the loss threshold.
    """

    auc: float
    true_positives: float
    loss_auc: float
    loss_true_positives: float


def membership_inference(targets: Sequence[Target]) -> Membership:
    """Attack all targets; what is judged is all of them together."""
    ratio = np.concatenate([likelihood_ratios(target.twins, target.sure) for target in targets])
    sure, member = (np.concatenate([getattr(target, name) for target in targets]) for name in ("sure", "member"))
    return Membership(
        float(roc_auc_score(member, ratio)),
        find_true_positives(ratio, member),
        float(roc_auc_score(member, sure)),
        find_true_positives(sure, member),
    )


def likelihood_ratios(twins: Twins, sure: F64) -> F64:
    """Return L(i) of every record."""
    ratio = np.zeros(len(sure))
    for sign, rows in ((1.0, twins.member), (-1.0, ~twins.member)):
        mean, variance = expect(twins.sure, rows)
        ratio += sign * -0.5 * (np.square(sure - mean) / variance + np.log(variance))  # (1)
    return ratio


def expect(sure: F64, rows: Bools) -> tuple[F64, F64]:
    """Return mean and variance of what is expected of every record: over the twins that `rows` says."""
    count = rows.sum(axis=0)
    few = np.maximum(count, 1)
    mean = np.where(count > 0, (sure * rows).sum(axis=0) / few, sure.mean())
    squares = (np.square(sure - mean) * rows).sum(axis=0)
    common = squares.sum() / max(1, (few - 1).sum()) + np.finfo(float).tiny
    variance = (squares + PRIOR * common) / (few - 1 + PRIOR)
    return mean, variance * (1 + 1 / few)  # the mean is off, too


def find_true_positives(score: F64, member: Bools, false: float = FALSE) -> float:
    """Return which share of the members is found at so small a share of false alarms.

    A record that is no member scores above the k-th highest of n others with probability k / (n + 1): between these
    points the curve is straight, so that a guess finds that same small share of the members also where others are few.
    """
    others = np.sort(score[~member])[::-1]
    inside = np.sort(score[member])
    above = 1.0 - np.searchsorted(inside, others, side="right") / max(1, len(inside))
    alarms = np.arange(1, len(others) + 1) / (len(others) + 1)
    return float(np.interp(false, [0.0, *alarms, 1.0], [0.0, *above, 1.0]))


def study(X: F64, y: I64) -> Points:
    """Yield the area under the curve by how many twins the attacker trains, of every learner with a public model."""
    for learner in list_learners():
        yield from _study_learner(learner, X, y)


def _study_learner(learner: Learner, X: F64, y: I64) -> Points:
    twins = train_twins(learner.train, X, y, count=max(COUNTS) + 1)
    for count in COUNTS:
        found = membership_inference(target_twins(twins.first(count + 1)))
        yield Point(f"{learner.name}, likelihood ratio", count, found.auc)
        yield Point(f"{learner.name}, loss threshold", count, found.loss_auc)
