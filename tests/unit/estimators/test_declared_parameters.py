"""A parameter of an estimator is declared once.

Its checks, its words and the protocol's arguments follow, and defaults agree.
"""

import dataclasses
import inspect
import re
from typing import get_type_hints

import pytest
from sklearn.base import clone

import tacit
from tacit import GramSVC, GramSVR, PanSVC
from tacit.base.parameters import check, rules_of
from tacit.choreo.declaration import Either, Number, Settings
from tacit.errors import LocalError
from tacit.protocols.parameters import PARAMETERS
from tacit.protocols.settings import AnyKernel, Sums
from tacit.registry import PROTOCOLS

RUNS = [
    ("PanSVC", "pan_svm"),
    ("GramSVC", "gram_vertical"),
    ("GramSVC", "gram_arbitrary"),
    ("GramSVR", "gram_vertical"),
    ("GramSVR", "gram_arbitrary"),
    ("ConsensusSVC", "consensus_horizontal"),
    ("ConsensusSVC", "consensus_vertical"),
    ("SecureELMClassifier", "elm_horizontal"),
    ("SecureELMClassifier", "elm_vertical"),
    ("ShiftSVC", "shift_ring"),
    ("FederatedScaler", "column_moments"),
    ("FederatedScaler", "column_extremes"),
    ("FederatedScaler", "column_quantiles"),
    ("FederatedImputer", "fill_values"),
    ("SecureELMClassifier", "noisy_elm"),
    ("FederatedScaler", "noisy_columns"),
    ("FederatedImputer", "noisy_columns"),
    ("FederatedGridSearch", "pan_search"),
    ("FederatedGridSearch", "gram_search"),
]
OTHERWISE = {
    ("GramSVC", "method"): "how cells are multiplied, not how sums are protected",
    ("GramSVR", "method"): "the same",
    ("GramSVR", "epsilon"): "without it the protocol classifies",
    ("PanSVC", "multi_class"): "a job that names none means what it always meant: each class against the rest",
    ("GramSVC", "multi_class"): "the same",
    ("ShiftSVC", "multi_class"): "the same",
    ("FederatedScaler", "method"): "how columns are scaled, not how sums are protected",
}


@pytest.mark.parametrize(("estimator", "protocol"), RUNS)
def test_defaults_of_an_estimator_are_those_of_its_protocol(estimator, protocol):
    ours = inspect.signature(getattr(tacit, estimator)).parameters
    theirs = PROTOCOLS[protocol].takes
    shared = [name for name in theirs if name in ours and theirs[name].default is not inspect.Parameter.empty]
    assert shared
    differing = {name for name in shared if ours[name].default != theirs[name].default}
    assert differing <= {name for who, name in OTHERWISE if who == estimator}


SHARED = {each.name for record in (Sums, AnyKernel) for each in dataclasses.fields(record)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_takes_kernel_and_sums_as_records_and_a_job_gives_their_fields_one_by_one(protocol):
    declared = PROTOCOLS[protocol]
    hints = get_type_hints(declared.play)
    signature = inspect.signature(declared.play).parameters
    keywords = {name: hints[name] for name, each in signature.items() if each.kind is each.KEYWORD_ONLY}
    records = {name for name, hint in keywords.items() if isinstance(hint, type) and issubclass(hint, Settings)}
    alone = set(keywords) - records
    assert not alone & SHARED
    assert len(keywords) <= 9
    assert alone <= set(declared.takes)


def test_bounds_in_a_job_are_within_those_of_estimators():
    for name, declared in PARAMETERS.items():
        kinds = declared.kind.kinds if isinstance(declared.kind, Either) else (declared.kind,)
        for number in (kind for kind in kinds if isinstance(kind, Number)):
            least, most, _ = number._job
            assert float("-inf") < least, name
            assert most < float("inf"), name
            assert number.least <= least <= most <= number.most, name


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (PARAMETERS["class_weight"].kind, "among {None, 'balanced'} or a dict of class weights"),
        (PARAMETERS["min_count"].kind, "among {'auto'} or an int in the range [1, inf)"),
        (PARAMETERS["fraction_bits"].kind, "an int in the range [0, 52]"),
        (PARAMETERS["witness"].kind, "among {True, False}"),
    ],
)
def test_what_an_estimator_takes_is_said_in_the_form_of_scikit_learn(kind, words):
    assert kind.words == words


def test_a_number_that_is_too_large_for_any_float_is_refused_in_one_line():
    with pytest.raises(
        LocalError, match=r"The 'C' parameter of PanSVC must be a float in the range \(0, inf\). Got 1000"
    ):
        check(PanSVC(C=10**400))


@pytest.mark.parametrize("estimator", [PanSVC, GramSVC, GramSVR])
def test_every_parameter_has_a_kind_and_its_default_is_one_of_them(estimator):
    assert set(rules_of(estimator)) == set(estimator().get_params())
    check(estimator())


def test_the_signature_is_explicit_and_scikit_learn_can_clone_it():
    parameters = inspect.signature(PanSVC).parameters
    assert list(parameters)[:3] == ["C", "kernel", "gamma"]
    assert all(p.kind is p.KEYWORD_ONLY and p.annotation is not p.empty for p in parameters.values())
    assert set(parameters) == set(PanSVC().get_params())
    weights = {0: 1.0, 1: 2.0}
    copy = clone(PanSVC(C=7, class_weight=weights))
    assert copy.get_params() == PanSVC(C=7, class_weight=weights).get_params()
    with pytest.raises(TypeError):
        PanSVC(1.0)


def test_the_protocol_is_given_every_parameter_that_it_takes():
    made = PanSVC(C=7, secure_sum="ring", random_state=3)._arguments("pan_svm")
    assert set(made) == set(PROTOCOLS["pan_svm"].takes)
    assert (made["C"], made["method"], made["landmarks"]) == (7.0, "ring", "auto")
    assert type(made["C"]) is float
    assert type(made["max_rounds"]) is int


@pytest.mark.parametrize(
    "name", sorted({name for name, _ in RUNS} | {"FederatedScaler", "FederatedImputer", "FederatedEncoder"})
)
def test_the_docstring_explains_the_parameters_that_there_are(name):
    estimator = getattr(tacit, name)
    explained = inspect.getdoc(estimator).partition("Args:\n")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^    (\w+):", explained, re.MULTILINE)) == sorted(
        inspect.signature(estimator).parameters
    )
