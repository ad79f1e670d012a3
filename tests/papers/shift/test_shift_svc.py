"""ShiftSVC: scikit-learn's contract, the pooled SVM's answers, what it warns about and what it refuses."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import estimator_checks_generator

import tacit
from tacit import Federation, LocalError
from tacit.papers.shift import ShiftSVC

# as GramSVC: scikit-learn's own SVC is on scikit-learn's list of expected failures of this check
AS_SVC = {"check_sample_weight_equivalence_on_dense_data": "as scikit-learn's SVC"}
VARIANTS = [
    (p, s, r) for p in ("horizontal", "vertical") for s, r in (("plain", False), ("secret", False), ("secret", True))
]


# a variant
def shifted(partition: str = "horizontal", shift: str = "plain", rotation: bool = False, **params):  # noqa: FBT001, FBT002
    return ShiftSVC(partition=partition, shift=shift, rotation=rotation, accept_risk=True, **params)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=80, n_features=6, n_informative=4, random_state=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[4]], ids=str)
def test_check_estimator_passes(variant):
    for estimator, check in estimator_checks_generator(shifted(*variant), expected_failed_checks=AS_SVC, mark="skip"):
        try:
            check(estimator)
        except Exception as error:
            if type(error).__name__ != "SkipTest":
                raise


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_variant_equals_the_pooled_svm(cancer, variant):
    X, y = cancer
    for kernel in ("linear", "rbf"):
        ours = shifted(*variant, kernel=kernel, C=3, tol=1e-9, n_parties=5).fit(X[:300], y[:300], compare=True)
        setting = {"kernel": kernel, "C": 3, "tol": 1e-9, "gamma": ours.model_.core.gamma}
        # LIBSVM keeps a linear kernel matrix in single precision: around the mean it rounds as the coordinator's does
        middle = X[:300].mean(axis=0)
        centred = SVC(**setting).fit(X[:300] - middle, y[:300]).decision_function(X[300:] - middle)
        np.testing.assert_allclose(ours.decision_function(X[300:]), centred, atol=1e-6)
        assert ours.report_.comparison["training records labelled differently"] == 0
        assert ours.report_.comparison["relative gap of the dual objective"] < 1e-6


def test_gamma_scale_is_scikit_learns_on_standardised_columns(cancer):
    X, y = cancer
    assert shifted().fit(X, y).model_.core.gamma == pytest.approx(1 / (30 * X.var()), rel=1e-9)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_several_classes_weights_and_text_labels(variant):
    X, codes = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[codes]
    weight = np.linspace(0.5, 2, len(y))
    how = {"tol": 1e-8, "gamma": 0.3, "class_weight": "balanced", "multi_class": "ovr"}
    model = shifted(*variant, **how).fit(X, y, sample_weight=weight)
    each = [SVC(gamma=0.3, tol=1e-8).fit(X, y == c, sample_weight=weight).decision_function(X) for c in model.classes_]
    np.testing.assert_allclose(model.decision_function(X), np.transpose(each), atol=1e-5)  # of equal class sizes


def test_class_weights_are_those_of_the_pooled_svm(small):
    X, y = small[0][:70], small[1][:70]
    for class_weight in ({0: 3.0, 1: 0.5}, "balanced"):
        pooled = SVC(gamma=0.2, class_weight=class_weight, tol=1e-8).fit(X, y).decision_function(X)
        for partition in ("horizontal", "vertical"):
            model = shifted(partition, gamma=0.2, class_weight=class_weight, tol=1e-8).fit(X, y)
            np.testing.assert_allclose(model.decision_function(X), pooled, atol=1e-5)


def test_without_accept_risk_it_says_what_it_gives_away_and_sends_nothing(small):
    words = (
        "all records to the coordinator once it knows one of them.*every other party",
        "all records.*any party's help",
        "as many of them",
        "every other party's columns",
        "every other party's columns",
        "independent component analysis",
    )
    for (partition, shift, rotation), told in zip(VARIANTS, words, strict=True):
        with pytest.raises(LocalError, match=f"ShiftSVC gives away .*{told}.*say accept_risk=True") as caught:
            ShiftSVC(partition=partition, shift=shift, rotation=rotation).fit(*small)
        assert "\n" not in str(caught.value)


def test_the_report_counts_the_intervals_of_table_1_and_what_they_come_to(small, tmp_path):
    report = shifted(width=10.0).fit(*small).report_
    told = {name: value for name, value in report.figures.items() if "any confidence" not in name}
    assert [round(value, 2) for value in told.values()] == [10, 19, 19.8, 19.98, 13.49, 39.2, 51.52, 65.81]
    assert report.figures["interval of a value at any confidence once one record is known"] == 0
    assert report.figures["interval of a value at any confidence once the column's minimum is known"] == 0
    assert "interval of a value at 99.9 % confidence, gaussian shift" in report.to_text()
    assert "once one record is known" in report.to_html(tmp_path / "r.html").read_text()
    rotated = shifted("vertical", "secret", rotation=True).fit(*small).report_.figures
    assert [name for name in rotated if "known" in name] == [
        "interval of a value at any confidence once about as many records as there are columns are known"
    ]


def test_the_report_says_who_learnt_what(small):
    report = shifted().fit(*small).report_
    opens = {o.role: o.what for o in report.opens if o.protocol == "shift_ring"}
    assert "of which it can undo all but r_q" in opens["coordinator"]
    assert "the rows of every other holder" in opens["holder"]
    assert any("this gives away all records to the coordinator" in line for line in report.not_protected)
    assert "plain shift, uniform up to 100" in report.protection


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_a_shift_too_small_for_its_data_warns(small, partition):
    X, y = small
    with pytest.warns(
        UserWarning, match=r"the shift is too small for \d columns of party-\d, such as x\d: .*raise width, or scale"
    ):
        model = shifted(partition, width=1.0).fit(X, y)
    assert any("too small" in line for line in model.report_.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shifted(partition, width=tuple(np.ptp(X, axis=0))).fit(X, y)
    with pytest.warns(UserWarning, match="too small for 1 columns of .* such as x3"):
        shifted(partition, width=np.where(np.arange(6) == 3, 0.1, 1.0) * np.ptp(X, axis=0), n_parties=1).fit(X, y)


def test_a_party_s_shift_stays_the_same_for_later_records_and_changes_from_fit_to_fit(small):
    X, y = small
    model = shifted().fit(X, y)
    first = {p: s.r.copy() for p, s in model.model_.shifts.items()}
    model.predict(X)
    assert all(np.array_equal(first[p], s.r) for p, s in model.model_.shifts.items())
    assert not any(np.array_equal(first[p], s.r) for p, s in shifted(random_state=0).fit(X, y).model_.shifts.items())
    np.testing.assert_array_equal(model.predict(X[:1]), model.predict(X)[:1])


def test_the_initiator_of_columns_is_the_labeller_and_keeps_its_own_unmoved(small):
    model = shifted("vertical").fit(*small)
    assert model.model_.coordinator == "party-1"
    assert not model.model_.shifts["party-1"].r.any()
    assert model.model_.shifts["party-2"].r.all()
    assert model.report_.parties["party-1"].endswith("the labels, and coordinates")
    assert "coordinator" not in model.report_.parties


@pytest.mark.parametrize("shift", ["plain", "secret"])
def test_parts_in_another_order_and_an_initiator_without_labels(small, shift):
    X, y = small
    frame = pd.DataFrame(X, columns=list("abcdef"))
    parts = {"north": frame[["a", "b"]], "south": frame[["c"]], "east": frame[["d", "e", "f"]]}
    site = {"coordinator": "east"} if shift == "plain" else {}
    fed = Federation.from_parts(
        list(parts.values()), names=list(parts), partition="vertical", y=y, labeller="south", **site
    )
    model = shifted("vertical", shift).fit(fed)
    turned = dict(reversed(parts.items()))
    new = Federation.from_parts([p[:9] for p in turned.values()], names=list(turned), partition="vertical", **site)
    np.testing.assert_array_equal(model.predict(new), model.predict(frame[:9]))
    assert model.score(fed) == model.score(frame, y)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_saved_model_answers_as_before_and_says_whose_records_it_holds(small, variant, tmp_path):
    X, y = small
    model = shifted(*variant, width=tuple([50.0] * 6)).fit(X, y)
    copy = tacit.load(model.save(tmp_path / "m.tacit"))
    assert copy.n_iter_ == model.n_iter_
    assert copy.report_.figures == model.report_.figures
    assert set(model.model_.records_of()) == {"party-1", "party-2", "party-3"}
    assert "the shift that opens them" in model.model_.records_of()["party-1"]
    for each in (copy, pickle.loads(pickle.dumps(model))):  # noqa: S301 - what scikit-learn asks of estimators
        np.testing.assert_allclose(each.decision_function(X), model.decision_function(X), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_any_number_of_parties_some_with_nothing_and_constant_columns_change_nothing(small, variant):
    X, y = small
    wide = np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))])
    pooled = SVC(gamma=0.1, tol=1e-8).fit(X, y).decision_function(X)
    for parties, records in ((1, X), (2, X), (100, X), (3, wide)):
        model = shifted(*variant, gamma=0.1, tol=1e-8, n_parties=parties).fit(records, y)
        np.testing.assert_allclose(model.decision_function(records[:7]), pooled[:7], atol=1e-5)


BAD = {
    "kernel": ("poly", "kernel='poly' changes when all records are shifted"),
    "shift": ("open", "The 'shift' parameter of ShiftSVC must be among {'plain', 'secret'}"),
    "distribution": ("cauchy", "The 'distribution' parameter of ShiftSVC must be among {'uniform', 'gaussian'}"),
    "width": (0.0, r"The 'width' parameter of ShiftSVC must be a float in the range \(0, inf\) or a tuple or array"),
    "rotation": (True, "rotation=True needs shift='secret'"),
    "partition": ("arbitrary", "The 'partition' parameter of ShiftSVC"),
}


def test_bad_parameters_are_refused_in_one_line(small):
    for name, (value, words) in BAD.items():
        with pytest.raises(LocalError, match=words) as caught:
            ShiftSVC(accept_risk=True, **{name: value}).fit(*small)
        assert "\n" not in str(caught.value)
    with pytest.raises(LocalError, match="width has 2 entries for 6 columns"):
        shifted(width=(1.0, 2.0)).fit(*small)


def test_a_party_that_coordinates_is_refused_where_it_would_know_the_shift(small):
    for variant in VARIANTS:
        fed = Federation.simulate(*small, parties=3, partition=variant[0], coordinator="party-2")
        if variant[:2] == ("vertical", "plain"):
            assert shifted(*variant).fit(fed).model_.coordinator == "party-2"
            continue
        with pytest.raises(LocalError, match=r"party 'party-2' would coordinate.*must hold no data"):
            shifted(*variant).fit(fed)


def test_new_records_without_a_party_s_part_are_refused(small):
    X, y = small
    model = shifted("vertical", "secret", n_parties=3).fit(X, y)
    new = Federation.simulate(X, parties=["party-1", "party-2"], partition="vertical")
    with pytest.raises(LocalError, match="must be held by the same parties as in training: party-1, party-2, party-3"):
        model.predict(new)
