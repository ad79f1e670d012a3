"""What a site fixes of its records holds in what is learnt: no label, column or class of a few persons gets there.

Each attack is played on the parts that a site brings to a job, with the rule that stops it and without.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from machines import OFF, distance, exact_weights, least_limits, names_of, play
from machines import edition as edition_of_points
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from job_files import one_step
from tacit.consortium.editions import edition
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.settings import Dataset
from tacit.consortium.site.tables import Tables
from tacit.errors import LocalError
from tacit.federation.part import Part, part_of
from tacit.protocols.features.landmarks import Level, sum_noisily, tie_noise
from tacit.protocols.features.maps import features_of
from tacit.protocols.learners import targets
from tacit.protocols.learners.targets import codes_of

RAW, _ = load_breast_cancer(return_X_y=True)
X = ((RAW - RAW.mean(axis=0)) / RAW.std(axis=0))[:300, :6]
N, RECORD = len(X), 17
ONE, OTHER = b"1" * 32, b"2" * 32  # secrets of sites
KERNEL: dict[str, Any] = {"kernel": "linear", "gamma": 1.0, "degree": 1, "coef0": 0.0}
LINEAR: dict[str, Any] = {**KERNEL, "alpha": 1e4, **OFF}
TERMS: dict[str, Any] = {
    "partition": "horizontal",
    "parties": ("north", "south", "east"),
    "coordinator": "clearing",
    "submitter": "analyst",
    "purpose": "research",
    "legal_basis": "consent",
    "now": datetime(2030, 1, 1, tzinfo=UTC),
}


@pytest.fixture
def site(tmp_path: Path) -> Any:
    """Return a function that offers columns of labels as datasets, and gives the part of a job on one of them."""

    def offer(labels: dict[str, Any], cells: Any = X, wanted: str | None = None) -> Part:
        offered = {}
        for name, y in labels.items():
            head = ",".join(["id", *(f"x{j}" for j in range(cells.shape[1])), name])
            rows = np.column_stack([np.arange(1, len(cells) + 1), cells, y])
            np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header=head, comments="", fmt="%.17g")
            offered[name] = Dataset(path=tmp_path / f"{name}.csv", label=name, id="id", judge=0.0)
        tables = Tables("north", tmp_path / "state", offered)
        job = propose("study", one_step("SVC", **KERNEL), dataset=wanted or next(iter(labels)), **TERMS)
        part = tables.part(job)
        assert part is not None
        return part

    return offer


def train(part: Part, others: Any = X, **chosen: Any) -> Any:
    """Return the model of this part and of two more, whose records the attacker knows and of whom none has a label."""
    rng = np.random.default_rng(1)
    cells = rng.normal(size=(60, others.shape[1]))
    more = {name: Part(cells, np.arange(60) % 2 + 5.0, None, part.features, None) for name in ("south", "east")}
    with exact_weights():
        return play({"north": part, **more}, **(LINEAR | chosen))[1]


@contextmanager
def hide_nothing() -> Iterator[None]:
    """Let a site bring, and protocols learn, every label that there is."""
    with (
        patch.object(edition, "_cover", lambda y, *_: y),
        patch.object(targets, "hidden_of", lambda part: np.zeros(len(part.X), dtype=bool)),
    ):
        yield


# The label selects rows


def test_a_class_of_one_at_a_site_is_named_by_nobody_and_learnt_by_nothing(site):
    y = np.where(np.arange(N) == RECORD, 3.0, np.arange(N) % 2)
    part = site({"ill": y})
    here = np.flatnonzero(np.isclose(part.X, X[RECORD]).all(axis=1))
    with hide_nothing():
        assert 3.0 in targets.name_own(site({"open": y})).names
    assert set(targets.name_own(part).names) == {0.0, 1.0}
    assert codes_of(part, (0.0, 1.0, 3.0))[here[0]] == -1


def test_two_label_columns_do_not_single_out_the_record_in_which_they_differ(site):
    """Classes of 30 and 29 of the same persons: the sums of both differ by one person's record."""
    learnt = site({"first": np.arange(N) % 2.0}, wanted="first")
    which = [int(np.flatnonzero(np.isclose(X, row).all(axis=1))[0]) for row in learnt.X[:30]]
    one, other = np.zeros(N), np.zeros(N)
    one[which], other[which[:-1]] = 1.0, 1.0
    few = {"one": one, "other": other}

    def difference() -> Any:
        """Return what the second dataset learns less than the first, by the signs of their targets."""
        found = []
        for wanted in few:
            part = site(few, wanted=wanted)
            codes = codes_of(part, (0.0, 1.0))
            found.append(part.X.T @ np.where(codes == 1, 1.0, 0.0))
        return found[0] - found[1]

    with hide_nothing():
        assert np.allclose(difference(), X[which[-1]])
    away = difference()
    assert not any(np.linalg.norm(away - row) < 0.5 * np.linalg.norm(row) for row in X[which])


def test_without_the_rule_one_model_of_a_class_of_one_is_its_record_and_with_it_no_model_knows_the_class(site):
    y = np.where(np.arange(N) == RECORD, 3.0, np.arange(N) % 2)
    part = site({"ill": y})
    prices = {0.0: 1e-3, 1.0: 1e-3, 3.0: 1.0, 5.0: 1e-3, 6.0: 1e-3}
    with hide_nothing():
        told = train(site({"open": y}), class_prices=prices)
    place = told.classes.index(3.0)
    w = told.weights[:, place] - told.weights[:, [k for k in range(5) if k != place]].mean(axis=1)
    assert abs(np.corrcoef(w[:-1], X[RECORD])[0, 1]) > 0.9
    assert 3.0 not in train(part, class_prices={**prices}).classes


def test_a_target_of_one_dataset_is_no_feature_of_another(site, tmp_path):
    site({"ill": np.arange(N) % 2.0})
    both = {
        "ill": Dataset(path=tmp_path / "ill.csv", label="ill", id="id"),
        "size": Dataset(path=tmp_path / "ill.csv", label="x0", id="id", drop=("ill",)),
    }
    job = propose("study", one_step("SVC", **KERNEL), dataset="ill", **TERMS)
    with pytest.raises(LocalError, match=r"column 'x0' is the label of \[datasets.size\] and a feature of"):
        Tables("north", tmp_path / "other", both).part(job)


def test_however_many_label_columns_there_are_no_jobs_on_them_tell_a_few_persons_apart(site):
    """Any sum or difference of their models is about the cells of what they learn, whichever classes they name."""
    columns = {f"t{j}": np.digitize(X[:, j % 6], np.quantile(X[:, j % 6], [(1 + j) / 12, 0.7])) for j in range(6)}
    columns |= {"rare": (np.arange(N) < 12) * 1, "rarer": (np.arange(N) < 13) * 1}
    learnt = {}
    for wanted in columns:
        part = site(columns, wanted=wanted)
        learnt |= {(wanted, names): codes_of(part, names) for names in ((0.0, 1.0, 2.0), (0.0, 1.0), (1.0, 2.0))}
    cells = np.unique(np.stack([*learnt.values()]), axis=1, return_counts=True)[1]
    assert len(cells) > 3
    assert cells.min() >= 5
    raw = np.unique(np.stack([y.astype(int) for y in columns.values()]), axis=1, return_counts=True)[1]
    assert raw.min() == 1


def members_told(parts: list[Part], out: Any) -> float:
    """Return how well a site's records are told from others by the span of 21 models, each with another label."""
    rng, found = np.random.default_rng(1), []
    public = {
        name: part_of(rng.normal(size=(3, X.shape[1])), np.arange(3) % 3, None, parts[0].features) for name in "ab"
    }
    for j, part in enumerate(parts):
        asked = {"features": 120, "gamma": 1 / 6, "alpha": float(10 ** rng.uniform(-2, 1)), "classes": (0, 1, 2)}
        with edition_of_points(), least_limits():
            model = play({"north": part, **public}, noise=j, **asked)[1]
        found.append(model.weights / model.step)
    W = np.concatenate(found, axis=1)
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    seen = U[:, s > 1.3 * sum(np.sqrt(W.shape))]
    Z = features_of(model.map, np.concatenate([parts[0].X, out]))
    inside = np.square(Z @ seen).sum(axis=1) / np.square(Z).sum(axis=1)
    return float(roc_auc_score(np.arange(len(Z)) < len(parts[0].X), inside))


def test_21_label_columns_of_few_records_do_not_tell_who_is_in_them(site):
    rows = 60
    labels = {
        f"t{j}": np.digitize(X[:rows, j % 6], np.quantile(X[:rows, j % 6], [0.2 + j / 60, 0.6 + j / 60]))
        for j in range(21)
    }
    fixed = [site(labels, X[:rows], wanted) for wanted in labels]
    assert members_told(fixed, X[rows : 2 * rows]) < 0.6
    with patch.object(edition, "merge_small", lambda targets, *_: targets):
        raw = [site(labels, X[:rows], wanted) for wanted in labels]
    assert members_told(raw, X[rows : 2 * rows]) > 0.65


# A target that few have


def read_target(y: Any, site: Any, name: str) -> float:
    """Return how near the record is whose target is far from all others', from one regression without noise.

    The attacker is given S, so that H = (S + a I) w is the sum of all records by their targets.
    """
    part = site({name: y})
    rng = np.random.default_rng(1)
    more = {p: part_of(rng.normal(size=(60, X.shape[1])), np.zeros(60), None, part.features) for p in ("south", "east")}
    with edition_of_points(), exact_weights():
        model = play({"north": part, **more}, **(LINEAR | {"alpha": 1e3, "classify": False}))[1]
    Z = features_of(model.map, np.concatenate([part.X, *(each.X for each in more.values())]))
    H = (Z.T @ Z + model.alpha * np.eye(Z.shape[1])) @ model.weights[:, 0]
    z = features_of(model.map, X[RECORD][None])[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return distance(H[:-1] / H[-1], z[:-1])


RARE = {
    "zero but for one": np.where(np.arange(N) == RECORD, 1.0, 0.0),
    "mostly zero but for one": np.where(np.arange(N) == RECORD, 1e4, np.arange(N) % 7 // 6 * np.sin(np.arange(N))),
    "zero but for two sides": np.where(np.arange(N) == RECORD, 1.0, np.where(np.arange(N) == 3, -1e-3, 0.0)),
}


@pytest.mark.parametrize("kind", RARE)
def test_a_target_that_one_person_has_does_not_give_the_record(site, kind):
    assert read_target(RARE[kind], site, "cost") > 0.5
    with (
        patch.object(edition, "find_ends", lambda *_: (-np.inf, np.inf)),
        patch.object(edition, "_cover", lambda y, *_: y),
    ):
        assert read_target(RARE[kind], site, "again") < 0.5


def test_what_a_site_brings_has_no_label_that_it_hides(site):
    """Whichever protocol asks, of whichever package: the label itself is gone, and nothing has to be remembered."""
    y = np.where(np.arange(N) == RECORD, 3.0, np.arange(N) % 2)
    assert set(np.unique(site({"ill": y}).y)) == {0.0, 1.0}
    whole = np.where(np.arange(N) == RECORD, 900, np.arange(N) // 5)  # too many to be classes only
    part = site({"days": whole})
    assert part.y.max() == N // 5 - 1
    assert part.unlabelled is not None


# A column that few have


def test_a_column_that_one_person_has_is_constant_in_what_a_site_brings(site):
    rare = np.column_stack([X, np.arange(N) == RECORD])
    part = site({"ill": np.arange(N) % 2.0}, rare)
    assert np.ptp(part.X[:, -1]) == 0
    with patch.object(edition, "flatten_rare", lambda X, *_: (X, ())):
        assert np.ptp(site({"again": np.arange(N) % 2.0}, rare).X[:, -1]) == 1


# Noise that would average out


def test_all_jobs_on_records_that_a_site_fixed_have_the_same_landmarks():
    """Without an edition 21 jobs open 21 noisy sums, whose mean has a fifth of the noise.

    Rounding in shares goes up or down by lot, so that the last digit differs: the noise below it is the same.
    """

    def play_jobs(key: bytes) -> list[Any]:
        y = np.arange(N) % 2
        parts = {
            f"p{i}": replace(part_of(X[i::3], y[i::3], None, names_of(X)), key=key and bytes([i]) + key)
            for i in range(3)
        }
        plain = {"kernel": "linear", "alpha": 1.0, "repeat": None, "features": 5}
        return [play(parts, noise=j, lasting=bool(key), **plain)[1] for j in range(6)]

    def spread(models: list[Any]) -> float:
        return float(np.std([model.map.centres for model in models], axis=0).sum())

    assert len({model.seed for model in play_jobs(b"")}) == 6
    fixed = play_jobs(b"secret")
    assert len({model.seed for model in fixed}) == 1
    assert spread(fixed) < spread(play_jobs(b"")) / 4


def test_who_is_told_the_points_of_an_edition_cannot_tell_its_records_by_another_that_has_one_less():
    """Noise of another edition is drawn anew, so that a difference has the noise of both."""
    part = part_of(X, np.arange(N) % 2, None, names_of(X))
    level = Level(N, 1, columns=X.shape[1])
    centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])

    def sums(cells: Any, secret: bytes) -> Any:
        own = replace(part, X=cells)
        return sum_noisily(own, centre, scale, level, tie_noise(own, secret, "p")).view(np.int64)

    assert np.array_equal(sums(X, ONE), sums(X, ONE))
    gap = np.abs(sums(X, ONE) - sums(X[1:], ONE))
    assert np.median(gap) > level.product_noise / 4
    assert np.median(np.abs(sums(X, ONE) - sums(X, OTHER))) > level.product_noise / 4
