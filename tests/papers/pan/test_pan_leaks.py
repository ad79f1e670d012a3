"""What PAN-SVM shows to whom, and that the attacks on it succeed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leaks.views import played
from papers.pan import reference
from tacit.choreo import Holder
from tacit.federation.part import Part
from tacit.numeric.svm.kernels import Kernel
from tacit.papers.pan import attacks
from tacit.papers.pan.attacks.chosen_iterate import LIMIT, isolate
from tacit.papers.pan.attacks.coordinator import deal_rows, listen
from tacit.papers.pan.attacks.few_violators import find_record, find_truth, read_rows
from tacit.papers.pan.attacks.landmark_exposure import measure_exposure
from tacit.papers.pan.ground import PanSettings
from tacit.papers.pan.kmeans import find_centres
from tacit.papers.pan.pan_svm import map_by, pan_svm
from tacit.protocols.features.maps import features_of

X, Y = reference.table()
NAMES = ("p1", "p2", "p3")
LINEAR = PanSettings(kernel="linear", gamma=1.0, degree=1, coef0=0.0, C=1.0)


def train(parts: dict[str, Any], svm: PanSettings = LINEAR) -> Any:
    held = {p: Part(X[i], Y[i], None, ("a", "b", "c", "d"), None) for p, i in parts.items()}
    return played(lambda run: pan_svm(run, run.hold(Holder, held), svm=svm), NAMES)[0]


def test_nobody_receives_anything_but_masked_vectors_and_what_is_published():
    svm = PanSettings(kernel="rbf", gamma="scale", degree=3, coef0=0.0, C=1.0)
    run = train(reference.deal(NAMES, len(X)), svm)
    published = {"PublicKey", "OwnClasses", "Sizes", "LandmarkCount", "KeptSlots", "LandmarkTable", "Minima"}
    published |= {"LineStep", "Planes"}
    seen = {who: {row.type for row in run.ledger if row.receiver == who} for who in ("coordinator", "p2")}
    assert seen["p2"] == published
    assert seen["coordinator"] == {"PublicKey", "OwnClasses", "Masked"}


def test_the_view_of_the_coordinator_depends_on_sums_over_all_parties_only():
    """Without landmarks it sees the same, to the rounding of fixed point, however the records are dealt."""
    order = np.random.default_rng(0).permutation(len(X))
    first = train(reference.deal(NAMES, len(X)))
    second = train(dict(zip(NAMES, np.array_split(order, 3), strict=True)))
    assert [place for place, _ in first.sums] == [place for place, _ in second.sums]
    for (_, one), (_, other) in zip(first.sums, second.sums, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_two_sums_that_differ_by_one_row_are_in_every_run_and_give_records():
    rows = deal_rows(X, Y)
    found = np.concatenate([read_rows(listen(rows, C=C)) for C in (0.3, 1.0, 3.0, 10.0)])
    assert len(find_truth(found, X)) >= 2


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.2), Kernel("poly", 0.2, 3, 1.0), Kernel("linear")])
def test_a_record_follows_from_its_features(kernel):
    the_map = map_by(kernel, find_centres(X, 20))
    for x in X[:5]:
        features = features_of(the_map, x[None], shorten=False)[0, :-1]
        np.testing.assert_allclose(find_record(the_map, features + 1e-10), x, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_a_coordinator_that_chooses_models_isolates_a_record(seed):
    found = isolate(deal_rows(X, Y), radius=float(np.linalg.norm(X, axis=1).max()), seed=seed)
    assert found.rows == 1
    assert found.rounds <= LIMIT
    assert np.abs(X - found.features).max(axis=1).min() < 1e-7


def test_a_landmark_of_one_record_is_that_record():
    assert measure_exposure(X, X) == 1.0
    assert measure_exposure(X + 0.01, X) == 0.0
    assert measure_exposure(find_centres(X, 30), X) > 0.2


@pytest.mark.parametrize("attack", [attacks.FEW_VIOLATORS, attacks.CHOSEN_ITERATE, attacks.LANDMARK_EXPOSURE])
def test_studies_show_what_the_catalogue_says(attack):
    points = attack.points(X, Y)
    best = (
        min(each.found for each in points) if attack is attacks.CHOSEN_ITERATE else max(each.found for each in points)
    )
    assert best < 1e-6 if attack is attacks.CHOSEN_ITERATE else best > 0.01
    assert "PanSVC" in attack.against
