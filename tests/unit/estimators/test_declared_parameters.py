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
from tacit import SVC, SVR
from tacit.base.parameters import check, rules_of
from tacit.choreo.declaration import Either, Number, Settings
from tacit.errors import LocalError
from tacit.protocols.parameters import PARAMETERS, AnyKernel
from tacit.registry import PROTOCOLS

RUNS = [
    ("SVC", "train_svm"),
    ("SVR", "train_svm"),
    ("SVC", "gram_blind"),
    ("SVC", "private_svm"),
    ("ELMClassifier", "train_elm"),
    ("ELMClassifier", "private_elm"),
    ("FederatedScaler", "noisy_columns"),
    ("FederatedImputer", "noisy_columns"),
    ("FederatedGridSearch", "search_machine"),
]
OTHERWISE: dict[tuple[str, str], str] = {
    (name, "epsilon"): "None stands for another protocol, without differential privacy"
    for name in ("SVC", "ELMClassifier", "FederatedScaler", "FederatedImputer")
}


@pytest.mark.parametrize(("estimator", "protocol"), RUNS)
def test_defaults_of_an_estimator_are_those_of_its_protocol(estimator, protocol):
    ours = inspect.signature(getattr(tacit, estimator)).parameters
    theirs = PROTOCOLS[protocol].takes
    shared = [name for name in theirs if name in ours and theirs[name].default is not inspect.Parameter.empty]
    differing = {name for name in shared if ours[name].default != theirs[name].default}
    assert differing <= {name for who, name in OTHERWISE if who == estimator}


SHARED = {each.name for record in (AnyKernel,) for each in dataclasses.fields(record)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_takes_a_kernel_as_a_record_and_a_job_gives_their_fields_one_by_one(protocol):
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
        (PARAMETERS["min_records"].kind, "an int in the range [1, inf)"),
        (PARAMETERS["count_only"].kind, "among {True, False}"),
    ],
)
def test_what_an_estimator_takes_is_said_in_the_form_of_scikit_learn(kind, words):
    assert kind.words == words


def test_a_number_that_is_too_large_for_any_float_is_refused_in_one_line():
    with pytest.raises(
        LocalError, match=r"The 'C' parameter of SVC must be .* a float in the range \(0, inf\). Got 1000"
    ):
        check(SVC(C=10**400))


@pytest.mark.parametrize("estimator", [SVC, SVR])
def test_every_parameter_has_a_kind_and_its_default_is_one_of_them(estimator):
    assert set(rules_of(estimator)) == set(estimator().get_params())
    check(estimator())


def test_the_signature_is_explicit_and_scikit_learn_can_clone_it():
    parameters = inspect.signature(SVC).parameters
    assert list(parameters)[:3] == ["class_weight", "probability", "classes"]
    assert all(p.kind is p.KEYWORD_ONLY and p.annotation is not p.empty for p in parameters.values())
    assert set(parameters) == set(SVC().get_params())
    weights = {0: 1.0, 1: 2.0}
    copy = clone(SVC(C=7, class_weight=weights))
    assert copy.get_params() == SVC(C=7, class_weight=weights).get_params()
    with pytest.raises(TypeError):
        SVC(1.0)


@pytest.mark.parametrize(
    "name", sorted({name for name, _ in RUNS} | {"FederatedScaler", "FederatedImputer", "FederatedEncoder"})
)
def test_the_docstring_explains_the_parameters_that_there_are(name):
    estimator = getattr(tacit, name)
    explained = inspect.getdoc(estimator).partition("Args:\n")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^    (\w+):", explained, re.MULTILINE)) == sorted(
        inspect.signature(estimator).parameters
    )
