"""Probabilities of an extreme learning machine over rows: sigmoids on values of models that did not see the row.

The problem. The coordinator has the sums of each fold q, A_q and B_q of `horizontal`, and with them the models without
one:

    beta_q = (sum_p A_p - A_q + r I)^-1 (sum_p B_p - B_q),      f_i = h(x_i) beta_q   for a row i of fold q          (7)

It publishes the models. Every holder has f of its own rows; `platt` fits a slope and an offset of each class to the
values of all.

Roles. Holder: rows, dealt to folds. Coordinator: opens the sums.
Threat. As `horizontal`, of which (4) and (5) hold for every fold by itself, and `platt`. The values that are fitted to
are not those of single rows: a holder's rows of a class are put into groups of at least min_rows (`atoms`) with about
the same f, and every row has the mean of its group. Not protected: five models instead of one.
Source: Platt, 1999, section 2.2, and LIBSVM (folds); the rest is ours.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.numeric.features.elm import BLOCK, hidden, solve
from tacit.protocols.elm.shape import Layer, layer_weights, outputs_of
from tacit.protocols.part import Names, Records
from tacit.protocols.planes.problems import codes_of
from tacit.protocols.scores.fold_accuracy import FOLD_MODELS
from tacit.protocols.scores.fold_scores import scores_of, split_by_scores
from tacit.protocols.scores.platt import platt
from tacit.protocols.sums.atoms import Atoms, HoldBack, Past, begin, keep, maps_of, sizes_by_kind
from tacit.protocols.witness import Voice

TAKING = Fact(
    "elm.taking_part", "holders", "count", "class", "how many records of each class probabilities are fitted to"
)


class FoldWeights(Message, tells=FOLD_MODELS):
    """beta_q of (7), for every fold."""

    beta: F64


class Taking(Message, tells=TAKING):
    """How many records of each class are in a group, so that sigmoids are fitted to their values."""

    sizes: F64


class Unseen(State):
    """The models whose values are opened as means of groups: by their digest later runs know them."""

    layer: Layer
    beta: F64


@dataclass(frozen=True)
class AtLeast(HoldBack):
    """Groups of at least so many rows, and of more where the numbers that are opened ask for it."""

    def least(self, auto: int) -> int:
        """Return how many rows a group needs, where its numbers ask for so many."""
        asked = self.min_count if isinstance(self.min_count, int) else auto
        return max(1, asked) if self.accept_risk else max(asked, auto)


@dataclass(frozen=True)
class Models:
    """What the models of all folds have in common, and of how many rows groups are that their values are told of."""

    layer: Layer
    classes: Names
    ridge: float
    hold_back: AtLeast


@choreography(
    opens={
        Coordinator: Fact(
            "elm.fold_sums",
            "holders",
            "aggregate",
            "group",
            "with probability=True the sums H'H and H'T over the rows of each fold, instead of over all",
        ),
        Everyone: (FOLD_MODELS, TAKING),
    }
)
def fit_sigmoids(
    run: Run,
    data: At[Records],
    past: At[Past],
    fold: At[I64],
    sums: At[F64],
    *,
    models: Models,
    voice: Voice,
) -> F64:
    """Return the sigmoids of all classes.

    `past` is what was opened of the rows so far, in this run too; `sums` has a line for each fold.
    """
    unseen = Unseen(models.layer, run.publish(FoldWeights, run.local(Coordinator, fit_without, sums, models)).beta)
    values = run.local(Holder, values_of, data, fold, unseen)
    atoms = run.local(Holder, group_rows, data, past, fold, values, unseen, models)
    keep(run, atoms)
    taking = voice.announce(Taking, count_taking, voice.add_up(sizes_by_kind, atoms, len(models.classes))).sizes
    return platt(run, run.local(Holder, scores_of, atoms, values), voice=voice, sizes=taking)


# Steps at the holders


def values_of(part: Records, fold: I64, unseen: Unseen) -> F64:
    """Return the values (7) of every row, by the model that did not see it; 0 of one that takes no part."""
    values = np.zeros((len(part.X), unseen.beta.shape[2]))
    W, b = layer_weights(unseen.layer)
    step = max(1, BLOCK // unseen.layer.nodes)
    for q, beta in enumerate(unseen.beta):
        use = np.flatnonzero(fold == q)
        for i in range(0, len(use), step):
            block = use[i : i + step]
            values[block] = hidden(part.X[block], W, b, unseen.layer.activation) @ beta
    return values


def group_rows(part: Records, past: Past, fold: I64, values: F64, unseen: Unseen, models: Models) -> Atoms:
    """Return groups of a holder's rows of a class with about the same values."""
    kind = np.where(fold < 0, -1, codes_of(part, models.classes))
    told = maps_of([(unseen, values.shape[1])])  # of each group, the mean of each value
    rows: Any = dataclasses.replace(part, past=past)  # type: ignore[type-var]  # a part is a record
    return split_by_scores(begin(rows, kind, told, models.hold_back), values)


# Steps at the coordinator


def fit_without(sums: F64, models: Models) -> FoldWeights:
    """Return the models (7)."""
    nodes, outputs = models.layer.nodes, outputs_of(models.classes)
    others: Array = sums.sum(axis=0) - sums
    return FoldWeights(np.stack([solve(each, nodes, outputs, models.ridge).beta for each in others]))


def count_taking(total: F64) -> Taking:
    """Return the counts as whole numbers."""
    return Taking(np.rint(total))
