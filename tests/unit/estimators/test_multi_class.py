"""Several classes: each against the rest, or each against each as SVC does it, for every SVM."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import tacit
from tacit import ConsensusSVC, FederatedGridSearch, GramSVC, LocalError, PanSVC, ShiftSVC

RISK = {"accept_risk": True}
OLD = Path(__file__).parents[1] / "models" / "of_0_1_0"
SVMS = {
    "PanSVC": (PanSVC(kernel="linear", C=0.1, tol=1e-5, min_count=1, **RISK), "horizontal"),
    "GramSVC, columns": (GramSVC(), "vertical"),
    "GramSVC, rows": (GramSVC(), "horizontal"),
    "GramSVC, linear": (GramSVC(kernel="linear", C=0.1), "vertical"),
    "ConsensusSVC, rows": (ConsensusSVC(C=0.1, tol=1e-5, **RISK), "horizontal"),
    "ConsensusSVC, rows, kernel": (ConsensusSVC(kernel="rbf", landmarks=20, **RISK), "horizontal"),
    "ConsensusSVC, columns": (ConsensusSVC(C=0.1, tol=1e-6, **RISK), "vertical"),
    "ShiftSVC, rows": (ShiftSVC(gamma=0.1, **RISK), "horizontal"),
    "ShiftSVC, columns": (ShiftSVC(gamma=0.1, shift="secret", **RISK), "vertical"),
}
SAME = [name for name in SVMS if name != "ConsensusSVC, rows, kernel"]  # which is another model by its method
SURE = [name for name in SVMS if name not in {"GramSVC, rows", "ConsensusSVC, rows, kernel"}]  # with probabilities
WAYS = {"ovr": OneVsRestClassifier, "ovo": lambda svc: svc.set_params(break_ties=True)}


def vowels():
    """Records of six classes that overlap so much that pairs and rests choose differently."""
    X, y = make_classification(
        360, 8, n_informative=6, n_redundant=0, n_classes=6, n_clusters_per_class=1, class_sep=0.7, random_state=3
    )
    return scale(X), np.array(list("aeiouy"))[y]


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def fit(name, data, *, compare=False, **how):
    svm, partition = SVMS[name]
    fed = tacit.simulate(*data, parties=3, partition=partition, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(svm).set_params(**how).fit(fed, compare=compare)


def pooled(name, data, multi_class):
    """Scikit-learn's classifier with the same parameters, on whole records."""
    svm, _ = SVMS[name]
    params = {key: getattr(svm, key) for key in ("C", "kernel", "gamma")}
    return WAYS[multi_class](SVC(**params, tol=1e-5)).fit(*data)


@pytest.mark.parametrize(("name", "multi_class"), [("GramSVC, columns", "ovr"), *((name, "ovo") for name in SAME)])
def test_every_svm_labels_as_scikit_learn_does_on_the_pooled_records(name, multi_class):
    data = wine()
    model, reference = fit(name, data, multi_class=multi_class), pooled(name, data, multi_class)
    np.testing.assert_array_equal(model.predict(data[0]), reference.predict(data[0]))
    values = model.decision_function(data[0])
    assert values.shape == (178, 3)
    np.testing.assert_allclose(values, reference.decision_function(data[0]), atol=0.02)


def test_with_pairs_a_kernel_consensus_labels_nearly_as_svc_does():
    data = wine()
    model = fit("ConsensusSVC, rows, kernel", data, multi_class="ovo")
    assert np.mean(model.predict(data[0]) == SVC().fit(*data).predict(data[0])) > 0.98
    assert all(each.shape == (178, 3) for each in model.party_decisions(data[0]).values())


@pytest.mark.parametrize(
    ("multi_class", "reference"),
    [
        ("ovo", "scikit-learn's SVC(break_ties=True) on the pooled records"),
        ("ovr", "scikit-learn's OneVsRestClassifier(estimator=SVC()) on the pooled records"),
    ],
)
def test_compare_names_the_reference_exactly_and_labels_no_vowel_differently(multi_class, reference):
    X, y = vowels()
    model = fit("GramSVC, columns", (X, y), compare=True, multi_class=multi_class)
    told = model.report_.comparison
    assert told["reference"] == reference
    assert told["training records labelled differently"] == 0
    assert told["relative gap of the dual objective"] < 1e-6
    named = reference.removeprefix("scikit-learn's ").removesuffix(" on the pooled records")
    theirs = eval(named, {"SVC": SVC, "OneVsRestClassifier": OneVsRestClassifier}).fit(X, y)  # noqa: S307 - our words
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))


def test_pairs_and_rests_are_two_classifiers_and_plain_svc_is_the_pairs_but_for_ties():
    X, y = vowels()
    svc = SVC().fit(X, y)
    pairs, rests = (fit("GramSVC, columns", (X, y), multi_class=way).predict(X) for way in ("ovo", "ovr"))
    assert np.sum(rests != svc.predict(X)) > 10
    won = np.rint(svc.decision_function(X))
    tied = np.sum(won == won.max(axis=1, keepdims=True), axis=1) > 1
    np.testing.assert_array_equal(pairs[~tied], svc.predict(X)[~tied])


def test_several_classes_are_told_apart_by_pairs_as_svc_does_unless_that_opens_more():
    X, y = vowels()
    svc = SVC(break_ties=True).fit(X, y)
    np.testing.assert_array_equal(GramSVC().fit(X, y).predict(X), svc.predict(X))
    assert [svm().multi_class for svm in (PanSVC, GramSVC, ShiftSVC, ConsensusSVC)] == ["ovo", "ovo", "ovo", "ovr"]


def test_a_job_that_does_not_say_how_classes_are_told_apart_means_what_it_meant():
    X, y = vowels()
    fed = tacit.simulate(X, y, parties=3, partition="horizontal", seed=2)
    asked = PanSVC(kernel="linear").request(fed)
    unsaid = {name: value for name, value in asked.params.items() if name != "multi_class"}
    found = fed.run(tacit.Request(asked.protocol, asked.inputs, unsaid)).result
    assert found.pairs == tuple((k, -1) for k in range(6))


@pytest.mark.parametrize("name", ["gram", "shift"])
def test_a_model_file_that_does_not_say_how_classes_are_told_apart_means_what_it_meant(name):
    assert tacit.load(OLD / f"{name}.tacit").multi_class == "ovr"


@pytest.mark.slow
def test_features_are_selected_by_one_class_against_the_rest_whatever_the_learner_does_with_pairs():
    same = {"kernel": "linear", "min_count": 1, "random_state": 0, **RISK}
    learners = (PanSVC(multi_class=way, **same) for way in ("ovo", "ovr"))
    pairs, rests = (tacit.VotedWrapperSelector(each, n_features_to_select=4).fit(*wine()) for each in learners)
    np.testing.assert_array_equal(pairs.ranking_, rests.ranking_)


def test_the_objective_of_every_pair_is_compared():
    comparison = fit("ConsensusSVC, columns", wine(), compare=True, multi_class="ovo").report_.comparison
    assert comparison["reference"].startswith("scikit-learn's SVC(C=0.1, break_ties=True, kernel='linear'")
    assert comparison["relative gap of the objective"] < 1e-5
    assert comparison["training records labelled differently"] == 0


def test_a_reference_with_weights_of_classes_says_so():
    weighed = fit("GramSVC, columns", wine(), compare=True, multi_class="ovo", class_weight={0: 3.0})
    assert weighed.report_.comparison["reference"].endswith("pooled records, each weighed by class_weight")
    assert weighed.report_.comparison["training records labelled differently"] == 0
    theirs = SVC(class_weight={0: 3.0}).fit(*wine())
    np.testing.assert_allclose(weighed.decision_function(wine()[0]), theirs.decision_function(wine()[0]), atol=1e-5)


@pytest.mark.parametrize("name", SURE)
def test_with_pairs_probabilities_are_of_every_class(name):
    X, y = wine()
    model = fit(name, (X, y), multi_class="ovo", probability=True)
    chances = model.predict_proba(X)
    assert chances.shape == (178, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.mean(chances.argmax(axis=1) == y) > 0.95
    assert model.probA_.shape == model.probB_.shape == (3,)


@pytest.mark.slow
@pytest.mark.parametrize("name", SVMS)
def test_a_model_of_pairs_is_saved_and_answers_as_before(name, tmp_path):
    X, y = vowels()
    model = fit(name, (X[:150], y[:150]), multi_class="ovo")
    before = model.decision_function(X[:20])
    again = tacit.load(model.save(tmp_path / "model.tacit"))
    assert again.multi_class == "ovo"
    assert before.shape == (20, 6)
    np.testing.assert_allclose(again.decision_function(X[:20]), before, atol=1e-9)
    np.testing.assert_array_equal(again.predict(X[:20]), model.predict(X[:20]))


def test_a_search_scores_pairs_as_grid_search_of_svc_does():
    X, y = wine()
    grid = {"C": [0.01, 0.1, 1.0], "gamma": [0.02, 0.3]}
    search = FederatedGridSearch(GramSVC(multi_class="ovo", tol=1e-6), grid, cv=3).fit(X, y)
    reference = GridSearchCV(SVC(tol=1e-6, break_ties=True), grid, cv=PredefinedSplit(search.folds_)).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], reference.cv_results_["mean_test_score"], atol=1e-12
    )
    assert search.best_params_ == reference.best_params_
    np.testing.assert_array_equal(search.predict(X), reference.predict(X))
    assert search.best_estimator_.multi_class == "ovo"


def test_a_search_over_rows_takes_pairs_too():
    X, y = wine()
    svm = PanSVC(kernel="linear", multi_class="ovo", min_count=1, tol=1e-4, **RISK)
    search = FederatedGridSearch(svm, {"C": [1e-4, 0.1]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 0.1}
    assert search.decision_function(X).shape == (178, 3)
    assert search.score(X, y) > 0.97


@pytest.mark.parametrize("name", ["PanSVC", "GramSVC, columns", "ConsensusSVC, rows", "ShiftSVC, rows"])
def test_two_classes_are_one_problem_either_way(name):
    X, y = wine()
    two = (X[y < 2], y[y < 2])
    pairs, rests = (fit(name, two, multi_class=way).decision_function(two[0]) for way in ("ovo", "ovr"))
    assert pairs.shape == (130,)
    np.testing.assert_allclose(pairs, rests, atol=1e-6)


@pytest.mark.parametrize("svm", [PanSVC(), GramSVC(), ConsensusSVC(), ShiftSVC(**RISK)])
def test_another_way_is_refused_in_scikit_learns_words(svm):
    name = type(svm).__name__
    with pytest.raises(ValueError, match=f"The 'multi_class' parameter of {name} must be among {{'ovr', 'ovo'}}"):
        svm.set_params(multi_class="crammer_singer").fit(*wine())


# Classes that a party has few records of


def test_a_consensus_of_pairs_refuses_a_party_with_few_records_of_two_classes():
    X, y = wine()
    parts = [(X[::2], y[::2]), (X[1::2], y[1::2]), (X[y == 0][:20], y[y == 0][:20])]
    fed = tacit.Federation.from_parts(parts, partition="horizontal")
    with pytest.raises(LocalError, match="fewer than 5 records of the classes 1 and 2, and multi_class='ovo' would"):
        ConsensusSVC(multi_class="ovo", **RISK).fit(fed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ConsensusSVC(multi_class="ovr").fit(fed).score(fed) > 0.95
        assert PanSVC(kernel="linear", multi_class="ovo").fit(fed).score(fed) > 0.95


def test_a_consensus_of_pairs_over_rows_must_be_asked_for_with_its_risk():
    fed = tacit.simulate(*wine(), parties=3, partition="horizontal", seed=0)
    words = "two rounds of so few rows may differ by one or two records: use multi_class='ovr', or PanSVC"
    with pytest.raises(LocalError, match=words):
        ConsensusSVC(multi_class="ovo").fit(fed)
    asked = ConsensusSVC().request(fed).with_params(multi_class="ovo")
    with pytest.raises(LocalError, match=words):  # at a site that is asked without the estimator
        fed.run(asked)
    for remedy in (ConsensusSVC(), ConsensusSVC(multi_class="ovo", **RISK), PanSVC(kernel="linear", multi_class="ovo")):
        assert remedy.fit(fed).score(fed) > 0.95


def test_a_consensus_over_columns_counts_the_sums_of_all_pairs():
    X, y = vowels()
    fed = tacit.simulate(X, y, parties=2, partition="vertical", seed=0)
    with pytest.raises(LocalError, match="for each of 15 problems can span all 8 columns"):
        ConsensusSVC(multi_class="ovo", max_rounds=1).fit(fed)
    with pytest.raises(LocalError, match="for each of 6 problems can span all 8 columns"):
        ConsensusSVC(max_rounds=2).fit(fed)


# Weights of classes


@pytest.mark.parametrize(
    ("svm", "partition"),
    [
        *((svm, "horizontal") for svm in (PanSVC(), GramSVC(), ConsensusSVC(**RISK), ShiftSVC(**RISK))),
        *((svm, "vertical") for svm in (GramSVC(), ConsensusSVC(**RISK), ShiftSVC(**RISK))),
    ],
)
def test_a_weight_of_an_unknown_class_is_refused_in_scikit_learns_words(svm, partition):
    X, y = wine()
    fed = tacit.simulate(X, y, parties=2, partition=partition, seed=0)
    with pytest.raises(ValueError, match=r"The classes, \[0, 1, 2\], are not in class_weight") as theirs:
        SVC(class_weight={"x": 1}).fit(X, y)
    words = str(theirs.value).rstrip(".").replace("[", r"\[").replace("]", r"\]")
    with pytest.raises(LocalError, match=rf"{words}, which names \['x'\] instead: weigh classes of the labels"):
        clone(svm).set_params(class_weight={"x": 1}).fit(fed)


@pytest.mark.parametrize("partition", ["vertical", "horizontal"])
@pytest.mark.parametrize("svm", [GramSVC(), ConsensusSVC(**RISK)])
def test_a_site_that_is_asked_for_such_weights_refuses_them_too(svm, partition):
    fed = tacit.simulate(*wine(), parties=2, partition=partition, seed=0)
    asked = svm.request(fed).with_params(class_weight={"x": 1.0})
    with pytest.raises(LocalError, match=r"The classes, \[0, 1, 2\], are not in class_weight"):
        fed.run(asked)


def test_what_scikit_learn_weighs_is_weighed():
    """Some of the classes, or all and others that are not there."""
    X, y = wine()
    for class_weight in ({1: 5.0}, {0: 1.0, 1: 5.0, 2: 1.0, "x": 3.0}):
        ours = GramSVC(class_weight=class_weight, multi_class="ovo").fit(X, y)
        theirs = SVC(class_weight=class_weight).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
