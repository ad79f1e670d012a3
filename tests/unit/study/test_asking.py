"""What becomes of a model that was fitted over connect: asked, judged, kept; each as it is in simulation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from in_house import Sites, write_table
from sklearn.base import clone
from sklearn.datasets import make_classification

import tacit
from tacit.choreo import encode
from tacit.consortium.consent.people import Pending
from tacit.consortium.consent.proposals import in_sections
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.jobs.public_result import PublicResult
from tacit.consortium.jobs.record_answers import read_answers
from tacit.consortium.site.fitted import fit_from
from tacit.errors import LocalError, PeerError
from tacit.models.handle import Answers

NAMES, COLUMNS, OLD = ("north", "south", "east"), ("age", "bmi", "dose", "days", "pain"), 300
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(OLD + 240, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
    return X * (1, 10, 100, 1, 0.1), y


def parts(table, rows, gaps):
    """Records and labels by site; some values are missing."""
    X, y = table[0][rows].copy(), table[1][rows]
    X[np.random.default_rng(0).random(X.shape) < 0.05 * gaps] = np.nan
    return {name: (X[i::3], y[i::3]) for i, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def data(table):
    return {(when, gaps): parts(table, rows, gaps) for when, rows in
            (("cohort", slice(0, OLD)), ("new", slice(OLD, None))) for gaps in (False, True)}  # fmt: skip


@pytest.fixture
def house(data, tmp_path):
    """Sites, whose columns stand in another order in the new files; and the same federations in one process."""

    def make(*, gaps=True, **policy):
        files = {name: {} for name in NAMES}
        for i, name in enumerate(NAMES):
            (tmp_path / name).mkdir()
            for when in ("cohort", "new"):
                X, y = data[when, gaps][name]
                files[name][when] = tmp_path / name / f"{when}.csv"
                order = list(range(5))[::-1] if when == "new" else list(range(5))
                ids = [f"{name}-{when}-{k}" for k in range(len(y))] if i else None
                write_table(files[name][when], [COLUMNS[j] for j in order], X[:, order], y, ids)
        return Sites(tmp_path, files, **policy)

    return make


def here(data, when, *, gaps=True):
    made = tacit.from_parts(list(data[when, gaps].values()), names=NAMES, partition="horizontal",
                            coordinator="clearing", allow_missing=gaps)  # fmt: skip
    return made.rename_features(COLUMNS)


def pipeline(last):
    return tacit.Pipeline([("gaps", tacit.FederatedImputer()), ("scale", tacit.FederatedScaler()), ("model", last)])


LAST = {
    "svc": lambda: tacit.SVC(features=50, alpha=0.1, probability=True, random_state=1),
    "elm": lambda: tacit.ELMClassifier(n_hidden=8, alpha=0.1, random_state=1),
    "linear": lambda: tacit.SVC(kernel="linear", random_state=1),
    "search": lambda: tacit.FederatedGridSearch(tacit.SVC(random_state=1), {"alpha": [0.1, 1.0]}),
}

EXACT = tacit.SVC(C=3.0, gamma=0.3, loss="hinge", features="exact")
ROUNDED = 2.0**-14  # answers of a model in shares have 16 binary places
FAST = ("svc", "elm")
CLOSE = 0.1  # how far scores of models may be apart whose landmarks or nodes were drawn by another coin
KINDS = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in LAST]


def values_at(sites, answers):
    """Decision values as every site reads them, in the order of the pooled table."""
    found = {name: read_answers(name, sites.answers(name, answers.job)) for name in NAMES}
    return {name: np.array([line[2:3] for line in lines[1:]], dtype=float)[:, 0] for name, lines in found.items()}


@pytest.mark.parametrize("last", KINDS)
def test_a_pipeline_is_fitted_asked_and_judged_as_in_one_process(house, data, last):
    sites = house()
    there = pipeline(LAST[last]()).fit(sites.connect())
    alone = pipeline(LAST[last]()).fit(sites.used())
    for (_, one), (_, other) in zip(list(alone._steps())[:-1], list(there._steps())[:-1], strict=True):
        assert encode(one.model_).digest == encode(other.model_).digest
    new = here(data, "new")
    expected = there.decision_function(new)
    answers = there.predict(sites.connect().on("new"))
    assert answers.at == NAMES
    for name, told in values_at(sites, answers).items():
        np.testing.assert_array_equal(told, expected[new.rows[name]])
    found = tacit.evaluate(there, sites.connect().on("new"))
    simulated = tacit.evaluate(there, sites.used())
    np.testing.assert_array_equal(found.confusion_matrix, simulated.confusion_matrix)
    assert found.roc_auc == simulated.roc_auc
    assert there.report_.evaluations["records"] == found
    assert there.score(sites.connect().on("new")) == simulated.accuracy
    assert simulated.accuracy == pytest.approx(alone.score(sites.used()), abs=CLOSE)


@pytest.mark.slow
def test_an_estimator_alone_is_a_study_of_one_step_that_knows_its_columns_and_is_asked(house, data):
    sites = house(gaps=False)
    there = LAST["svc"]().fit(sites.connect())
    alone = LAST["svc"]().fit(sites.used())
    assert sites.jobs[-1].protocol == "study"
    assert there.feature_names_in_.tolist() == list(COLUMNS)
    assert there.report_.figures.keys() == alone.report_.figures.keys()
    assert "core.names" in {told.fact.identifier for told in there.report_.facts}
    new = here(data, "new", gaps=False)
    for name, told in values_at(sites, there.predict_proba(sites.connect().on("new"))).items():
        np.testing.assert_array_equal(told, there.decision_function(new)[new.rows[name]])
    score = there.score(sites.connect().on("new"))
    assert score == there.score(sites.used()) == pytest.approx(alone.score(sites.used()), abs=CLOSE)
    cohort = here(data, "cohort", gaps=False)
    for name, told in values_at(sites, there.predict(sites.connect())).items():
        np.testing.assert_array_equal(told, there.decision_function(cohort)[cohort.rows[name]])
    assert there.get_params() == alone.get_params()


@pytest.mark.slow
def test_a_search_alone_is_asked_by_the_best_estimator_that_it_found(house, data):
    sites = house(gaps=False)
    there = LAST["search"]().fit(sites.connect())
    assert there.best_params_["alpha"] in (0.1, 1.0)
    new = here(data, "new", gaps=False)
    for name, told in values_at(sites, there.predict(sites.connect().on("new"))).items():
        np.testing.assert_array_equal(told, there.decision_function(new)[new.rows[name]])


@pytest.mark.slow
def test_a_transformer_alone_is_fitted_at_the_sites_and_transforms_records_that_are_here(house, data):
    sites, X = house(gaps=False), data["new", False]["north"][0]
    there = tacit.FederatedScaler().fit(sites.connect())
    alone = tacit.FederatedScaler().fit(sites.used())
    np.testing.assert_array_equal(there.transform(X), alone.transform(X))
    assert there.feature_names_in_.tolist() == list(COLUMNS)
    with pytest.raises(LocalError, match="cannot transform records that stay at their sites by itself: make it a"):
        there.transform(sites.connect().on("new"))


@pytest.mark.slow
@pytest.mark.parametrize("last", KINDS)
def test_a_connected_model_is_saved_loaded_exported_and_asked_from_its_file(house, data, tmp_path, last):
    sites = house()
    there = pipeline(LAST[last]()).fit(sites.connect().ungated())
    X = pd.DataFrame(data["new", True]["north"][0], columns=COLUMNS)
    again = tacit.load(there.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.decision_function(X), there.decision_function(X))
    assert again.feature_names_in_.tolist() == list(COLUMNS)
    np.testing.assert_allclose(there.to_sklearn().decision_function(X), there.decision_function(X), atol=1e-9)
    assert there.export(tmp_path / "model.onnx").stat().st_size
    assert there.export(tmp_path / "model.skops").stat().st_size
    answers = again.predict(sites.connect().on("new"))
    new = here(data, "new")
    for name, told in values_at(sites, answers).items():
        np.testing.assert_array_equal(told, again.decision_function(new)[new.rows[name]])


def test_a_step_a_stranger_and_other_sites_are_refused_in_one_line(house, data):
    sites = house()
    there = pipeline(LAST["elm"]()).fit(sites.connect())
    with pytest.raises(LocalError, match="is one step of a study, and other steps prepare the records: ask the whole"):
        there[-1].predict(sites.connect().on("new"))
    stranger = pipeline(LAST["elm"]()).fit(here(data, "cohort"))
    for ask in (stranger.predict, stranger.score, lambda X: tacit.evaluate(stranger, X)):
        with pytest.raises(LocalError, match=r"was not fitted by a job of these sites: fit it over tacit\.connect"):
            ask(sites.connect().on("new"))
    fewer = sites.connect()
    fewer = dataclasses.replace(fewer, parts=dict(list(fewer.parts.items())[:2]))
    with pytest.raises(LocalError, match="was fitted between north, south, east, coordinated by clearing: ask it"):
        there.predict(fewer)
    prepared = tacit.Pipeline([("gaps", tacit.FederatedImputer()), ("scale", tacit.FederatedScaler())])
    with pytest.raises(AttributeError, match="predict"):
        prepared.fit(sites.connect()).predict(sites.connect().on("new"))


def test_a_coordinator_that_recalls_another_model_stops_the_run(house):
    sites = house()
    there = pipeline(LAST["elm"]()).fit(sites.connect().ungated())
    job = sites.jobs[-1].id
    kept = sites.answers("clearing", job)
    values = dict(vars(kept.public)["values"])
    last = values["ended"][-1]
    told = dict(vars(last)["values"])
    wrong = dataclasses.replace(last, values={**told, "weights": told["weights"] + 1.0})
    kept.keep_public(PublicResult.of({**values, "ended": (*values["ended"][:-1], wrong)}))
    with pytest.raises(PeerError, match="sent another result of the study than this site has kept: ask its people"):
        there.predict(sites.connect().on("new"))


@pytest.fixture
def small(table, tmp_path):
    """Sites with few records, by rows, and the same in one process; new ones without labels."""
    X, y = table[0][:48] / (1, 10, 100, 1, 0.1), table[1][:48]
    files, held = {}, {}
    for i, name in enumerate(NAMES):
        (tmp_path / name).mkdir()
        held[name] = X[:36][i::3], y[:36][i::3]
        files[name] = {when: tmp_path / name / f"{when}.csv" for when in ("cohort", "new")}
        write_table(files[name]["cohort"], COLUMNS, *held[name])
        write_table(files[name]["new"], COLUMNS, X[36:][i::3])
    here = tacit.from_parts(list(held.values()), names=NAMES, partition="horizontal", coordinator="clearing")
    new = tacit.from_parts([X[36:][i::3] for i in range(3)], names=NAMES, partition="horizontal",
                           coordinator="clearing")  # fmt: skip
    rules = {"protocols": '"any"', "minimum_rows": "5", "predictions": "12"}
    return Sites(tmp_path, files, **rules), *(each.rename_features(COLUMNS) for each in (here, new))


@pytest.mark.slow
def test_a_study_whose_model_stays_in_shares_is_asked_by_its_own_protocol_until_the_quota_is_used_up(small, tmp_path):
    sites, _, new = small
    made = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", EXACT)])
    there = clone(made).fit(sites.connect())
    alone = clone(made).fit(sites.used())
    handle = there.handle_
    assert (handle.estimator, handle.job) == ("SVC", sites.jobs[-1].id)
    assert alone.handle_ is None
    again = tacit.load(there.save(tmp_path / "model.tacit"))
    assert again.handle_ == handle
    rows = dict.fromkeys(NAMES, 4)
    expected = alone.decision_function(new)
    for name, told in values_at(sites, again.predict(sites.connect().on("new", rows=rows))).items():
        np.testing.assert_allclose(told, expected[new.rows[name]], atol=ROUNDED)
    with pytest.raises(PeerError, match="predictions = 12, of which 0 are left under models of 'cohort'"):
        there.predict(sites.connect().on("new", rows=rows))
    with pytest.raises(PeerError, match="does not say how many new records each party has"):
        there.predict(sites.connect().on("new"))


@pytest.mark.slow
def test_a_model_in_shares_that_was_a_job_of_its_own_is_asked_by_its_protocol(small, tmp_path):
    sites, _, new = small
    file = tmp_path / "train.toml"
    file.write_text(
        'estimator = "SVC"\npartition = "horizontal"\nparties = ["north", "south", "east"]\n'
        'coordinator = "clearing"\ndataset = "cohort"\npurpose = "a test"\nlegal_basis = "none"\n'
        '[params]\nC = 3.0\ngamma = 0.3\nloss = "hinge"\nfeatures = "exact"\n'
    )
    job = job_of_file(file, submitter="analyst")
    there = fit_from(job, sites.play(job))
    assert sites.jobs[-1].protocol == "gram_blind"
    assert there.handle_.job == there.model_.job
    answers = there.decision_function(sites.connect().on("new", rows=dict.fromkeys(NAMES, 4)))
    assert sites.jobs[-1].protocol == "blind_predict"
    alone = clone(EXACT).fit(sites.used(job))
    for name, told in values_at(sites, answers).items():
        np.testing.assert_allclose(told, alone.decision_function(new)[new.rows[name]], atol=ROUNDED)
    with pytest.raises(
        LocalError, match="trained a model outside a study, and only a study judges what it trained: fit it"
    ):
        there.score(sites.connect().on("new"))


@pytest.mark.slow
def test_a_file_asks_a_study_or_judges_it_by_the_beginning_of_its_id(house, data, tmp_path):
    sites = house()
    there = pipeline(LAST["elm"]()).fit(sites.connect())
    file, new = tmp_path / "ask.toml", here(data, "new")
    terms = 'dataset = "new"\npurpose = "a test"\nlegal_basis = "none"\n'
    file.write_text(f'builds_on = "{sites.jobs[-1].id[:8]}"\n{terms}')
    asked = job_of_file(file, submitter="analyst", state=sites.state("analyst"))
    assert asked.protocol == "study_answers"
    for name, told in values_at(sites, Answers(sites.play(asked).job, NAMES)).items():
        np.testing.assert_array_equal(told, there.decision_function(new)[new.rows[name]])
    file.write_text(f"{file.read_text()}[evaluate]\n")
    judged = job_of_file(file, submitter="analyst", state=sites.state("analyst"))
    assert judged.protocol == "study_scores"
    (ended,) = sites.play(judged).result["ended"]
    expected = tacit.evaluate(there, sites.connect().on("new")).confusion_matrix
    np.testing.assert_array_equal(vars(ended)["values"]["cells"][0], expected)


def test_a_question_whose_steps_are_not_those_of_its_study_is_refused(house, tmp_path):
    sites = house()
    pipeline(LAST["elm"]()).fit(sites.connect())
    file = tmp_path / "ask.toml"
    file.write_text(
        f'builds_on = "{sites.jobs[-1].id}"\ndataset = "new"\npurpose = "a test"\nlegal_basis = "none"\n'
        "[params]\nseed = 12345\n"
    )
    job = job_of_file(file, submitter="analyst", state=sites.state("analyst"))
    with pytest.raises(LocalError, match="the job has seed = 12345, and the model of job"):
        sites.play(job)


@pytest.mark.slow
def test_a_regression_is_asked_for_numbers_and_judged_by_its_errors(table, tmp_path):
    X = table[0] / (1, 10, 100, 1, 0.1)
    y = X[:, 0] - 2.0 * X[:, 1]
    files, parts = {}, {"cohort": [], "new": []}
    for i, name in enumerate(NAMES):
        (tmp_path / name).mkdir()
        files[name] = {when: tmp_path / name / f"{when}.csv" for when in parts}
        for when, rows in (("cohort", slice(i, OLD, 3)), ("new", slice(OLD + i, None, 3))):
            parts[when].append((X[rows], y[rows]))
            write_table(files[name][when], COLUMNS, X[rows], y[rows])
    new = tacit.from_parts(parts["new"], names=NAMES, partition="horizontal", coordinator="clearing")
    sites, model = Sites(tmp_path, files), tacit.ELMRegressor(n_hidden=200, random_state=1)
    there = clone(model).fit(sites.connect())
    alone = clone(model).fit(sites.used())
    here = new.rename_features(COLUMNS)
    answers = there.predict(sites.connect().on("new"))
    lines = read_answers("south", sites.answers("south", answers.job))
    assert lines[0] == ["record", "value"]
    expected = there.predict(here)[new.rows["south"]]
    np.testing.assert_array_equal([value for _, value in lines[1:]], expected)
    score = there.score(sites.connect().on("new"))
    assert score == tacit.evaluate(there, sites.used()).r2 == pytest.approx(alone.score(sites.used()), abs=CLOSE)


def test_people_read_which_steps_are_asked_and_what_a_public_model_opens(house):
    sites = house()
    there = pipeline(LAST["elm"]()).fit(sites.connect())
    there.predict(sites.connect().on("new"))
    one = Pending(sites.jobs[-1], (), (), 1, "waiting")
    shown = {heading: dict(lines) for heading, lines in in_sections(one, "north")}
    assert shown["parameters"]["asked step 3"].startswith("ELMClassifier")
    assert "held out" not in shown["parameters"]
    assert shown["who, what and why"]["builds on"] == f"job {sites.jobs[0].id}"
    assert "to each holder about its own" in shown["what is opened"]["to holder"]
