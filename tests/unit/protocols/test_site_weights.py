"""Weights of records that sites declare: learnt as pooled, refused where one record would weigh too much."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from conformance import machine_reference as reference
from conformance.case import Case, by_name, flat
from tacit import LocalError
from tacit.choreo import Holder
from tacit.consortium.site.settings import Dataset
from tacit.consortium.site.sources import source_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.protocols.learners.svm import train_svm
from tacit.protocols.learners.targets import LEAST_CLASS
from tacit.runtimes.together import Together

ASKED = {
    "kernel": "rbf", "gamma": 0.2, "degree": 2, "coef0": 1.0, "features": 8, "alpha": 3.0, "repeat": 5,
    "least_class": LEAST_CLASS,
}  # fmt: skip


def train(partition, weigh, **other):
    """A training as between organisations, and what parties held, some of them with weights."""
    roster = Case("weights", dict, train_svm, print).roster(3)
    held = reference.parts(roster[Holder], partition, "2")
    held = {p: dataclasses.replace(part, weight=weigh(p, part)) for p, part in held.items()}
    with Together(roster, job=b"weights", entropy=RootEntropy(roster.parties, b"weights")) as run:
        result = flat(train_svm)(run, run.hold(Holder, held), partition=partition, **ASKED | other)
    return by_name(result), held


def heavy(party, part):
    """Weights with a mean of 1 at two of three parties."""
    if part.y is None or party == "p3":
        return None
    weight = np.exp(np.random.default_rng(len(party)).normal(size=len(part.X)))
    return weight / weight.mean()


def pool_weights(held):
    parts = [part for part in held.values() if part.y is not None]
    return np.concatenate([np.ones(len(p.X)) if p.weight is None else p.weight for p in parts])


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
@pytest.mark.parametrize("loss", ["least_squares", "hinge"])
def test_weights_of_sites_are_learnt_as_pooled(partition, loss):
    result, held = train(partition, heavy, loss=loss)
    q = pool_weights(held)
    if loss == "hinge":
        reference.check_hinge(result, held, partition=partition, weights=lambda _: q)
        return
    exact = 1e-3 if partition == "horizontal" else 2e-2
    reference.check_machine(result, held, partition=partition, weights=lambda _: q, atol=exact)
    assert result["alpha"] == pytest.approx(3.0, rel=1e-3), "alpha is beside weights of mean 1"


def test_a_record_that_weighs_too_much_is_refused_before_anything_is_sent():
    def crowd(_, part):
        weight = np.ones(len(part.X))
        weight[0] = 40.0
        return weight

    with pytest.raises(
        LocalError, match=r"a record of p1 has weight 40, and at most 32 is taken.*cut the weights"
    ) as no:
        train("horizontal", crowd)
    assert "\n" not in str(no.value)
    train("horizontal", lambda party, part: np.minimum(crowd(party, part), 32.0))


def write(path, weights):
    rows = [f"{i},{i % 2},{weight}" for i, weight in enumerate(weights)]
    path.write_text("age,label,counts\n" + "\n".join(rows))
    return Dataset(path=path, label="label", weight="counts")


def test_a_site_declares_the_column_of_weights(tmp_path):
    table = source_of("cohort", write(tmp_path / "cohort.csv", [2, 4, 6, 0])).now()[1]
    np.testing.assert_allclose(table.weight, [2 / 3, 4 / 3, 2, 0])
    assert table.features == ("age",)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1] * 99 + [100], r"cohort.csv in column 'counts' is 50.3 times their mean, and at most 32 is taken: cut it"),
        ([0, 0, 0], r"all weights of cohort.csv are 0 in column 'counts': give some record a weight"),
        ([1, -1, 3], r"cohort.csv needs weights of 0 or more"),
    ],
)
def test_weights_that_no_record_may_have_are_refused_at_the_site(tmp_path, weights, says):
    with pytest.raises(LocalError, match=says):
        source_of("cohort", write(tmp_path / "cohort.csv", weights)).now()
    source_of("cohort", write(tmp_path / "cohort.csv", np.clip(weights, 0.5, 30))).now()
