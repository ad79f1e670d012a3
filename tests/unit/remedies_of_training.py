"""Errors of making federations, preparing, training, searching and evaluating, and what a user does about them."""

from __future__ import annotations

import numpy as np
from remedy import EXACT, FRAME, GAPS, TEXTS, THIRDS, Case, X, Y, by_columns, by_rows, columns_of, parts_of, write
from sklearn.svm import SVC

import tacit
from tacit.federation import read

CASES = {
    "a text column, encoded": Case(
        lambda: tacit.simulate(TEXTS, Y, parties=3),
        "encode it as numbers (raw=True lets a TableVectorizer do it, or declare its texts in categories=)",
        lambda: tacit.simulate(TEXTS, Y, parties=3, categories={"sex": ["f", "m"]}),
    ),
    "a text column, carried raw": Case(
        lambda: tacit.simulate(TEXTS, Y, parties=3),
        "raw=True lets a TableVectorizer do it",
        lambda: tacit.TableVectorizer().fit(tacit.simulate(TEXTS, Y, parties=3, raw=True)),
    ),
    "a text column, left out": Case(
        lambda: parts_of(TEXTS),
        "leave the column out",
        lambda: parts_of(TEXTS.drop(columns="sex")),
    ),
    "gaps": Case(
        lambda: tacit.simulate(GAPS, Y, parties=3),
        "impute them first (allow_missing=True lets FederatedImputer do it)",
        lambda: tacit.FederatedImputer().fit_transform(tacit.simulate(GAPS, Y, parties=3, allow_missing=True)),
    ),
    "gaps at a learner": Case(
        lambda: tacit.PanSVC().fit(tacit.simulate(GAPS, Y, parties=3, allow_missing=True)),
        "fit a FederatedImputer first, as in a tacit.Pipeline",
        lambda: tacit.Pipeline([("gaps", tacit.FederatedImputer()), ("learn", tacit.PanSVC())]).fit(
            tacit.simulate(GAPS, Y, parties=3, allow_missing=True)
        ),
    ),
    "infinity": Case(
        lambda: tacit.simulate(FRAME.replace({"a": {FRAME["a"][0]: np.inf}}), Y, parties=3),
        "replace them with finite values first",
        lambda: tacit.simulate(FRAME, Y, parties=3),
    ),
    "two parties": Case(
        lambda: columns_of(2, 2),
        "accept it with allow_two_parties=True",
        lambda: columns_of(2, 2, allow_two_parties=True),
    ),
    "two parties, and a third": Case(lambda: columns_of(2, 2), "add a party", lambda: columns_of(1, 1, 2)),
    "one name twice": Case(
        lambda: columns_of(1, 1, 2, names=["a", "a", "b"]),
        "give each party its own name with names=",
        lambda: columns_of(1, 1, 2, names=["a", "c", "b"]),
    ),
    "a labeller who is none": Case(
        lambda: by_columns(labeller="bank"),
        "is not one of the parties (party-1, party-2, party-3): name one of them",
        lambda: by_columns(labeller="party-2"),
    ),
    "a labeller of rows": Case(lambda: by_rows(labeller="party-1"), "leave it out", by_rows),
    "labels beside and apart": Case(
        lambda: tacit.from_parts([(X[:, :1], Y), X[:, 1:2], X[:, 2:]], partition="vertical", y=Y),
        "keep one of them",
        lambda: tacit.from_parts([(X[:, :1], Y), X[:, 1:2], X[:, 2:]], partition="vertical"),
    ),
    "y of rows apart": Case(
        lambda: tacit.from_parts([X[s] for s in THIRDS], partition="horizontal", y=Y),
        "give each party's labels beside its records: (X, y)",
        lambda: parts_of(X),
    ),
    "labels of two": Case(
        lambda: tacit.from_parts([(X[:, :1], Y), (X[:, 1:2], Y), X[:, 2:]], partition="vertical"),
        "name it with labeller=",
        lambda: tacit.from_parts([(X[:, :1], Y), (X[:, 1:2], Y), X[:, 2:]], partition="vertical", labeller="party-2"),
    ),
    "ids of rows": Case(
        lambda: parts_of(X, ids=[np.arange(240)[s] for s in THIRDS]), "leave them out", lambda: parts_of(X)
    ),
    "a column twice": Case(
        lambda: tacit.from_parts([FRAME[["a", "b"]], FRAME[["b"]], FRAME[["c"]]], partition="vertical", y=Y),
        "rename it, or leave it out",
        lambda: tacit.from_parts([FRAME[["a"]], FRAME[["b"]], FRAME[["c"]]], partition="vertical", y=Y),
    ),
    "a dirichlet split without labels": Case(
        lambda: tacit.simulate(X, parties=3, split="dirichlet"),
        "pass y, or use split='random'",
        lambda: tacit.simulate(X, Y, parties=3, split="dirichlet"),
    ),
    "a party called coordinator": Case(
        lambda: tacit.simulate(X, Y, parties=["coordinator", "b", "c"]),
        "rename the party, or say coordinator='coordinator' if it is to coordinate itself",
        lambda: tacit.simulate(X, Y, parties=["coordinator", "b", "c"], coordinator="coordinator"),
    ),
    "an estimator of rows over columns": Case(
        lambda: tacit.PanSVC().fit(by_columns()),
        "these are split vertically: use one of ConsensusSVC, GramSVC",
        lambda: tacit.GramSVC().fit(by_columns()),
    ),
    "that says so itself": Case(
        lambda: tacit.PanSVC(partition="horizontal").fit(by_columns()),
        "these are split vertically: use one of ConsensusSVC, GramSVC",
        lambda: tacit.GramSVC().fit(by_columns()),
    ),
    "another partition": Case(
        lambda: tacit.GramSVC(partition="horizontal").fit(by_columns()),
        "set partition to match it",
        lambda: tacit.GramSVC(partition="vertical").fit(by_columns()),
    ),
    "a federation and y": Case(
        lambda: tacit.PanSVC().fit(by_rows(), Y),
        "leave these out, the federation has its own",
        lambda: tacit.PanSVC().fit(by_rows()),
    ),
    "no labels": Case(
        lambda: tacit.PanSVC().fit(tacit.simulate(X, parties=3)),
        "build it with y=",
        lambda: tacit.PanSVC().fit(by_rows()),
    ),
    "labels that are fractions": Case(
        lambda: tacit.SecureELMRegressor().fit(X, np.where(Y, "yes", "no")),
        "use a classifier for classes",
        lambda: tacit.SecureELMClassifier().fit(X, np.where(Y, "yes", "no")),
    ),
    "a coordinator with data": Case(
        lambda: tacit.PanSVC().fit(by_rows(coordinator="party-1")),
        "name a site without data, or say accept_risk=True",
        lambda: tacit.PanSVC(accept_risk=True).fit(by_rows(coordinator="party-1")),
    ),
    "a coordinator without": Case(
        lambda: tacit.PanSVC().fit(by_rows(coordinator="party-1")),
        "name a site without data",
        lambda: tacit.PanSVC().fit(by_rows(coordinator="clearing")),
    ),
    "landmarks that are no number": Case(
        lambda: tacit.PanSVC(landmarks=1.5).fit(X, Y), "correct it", lambda: tacit.PanSVC(landmarks=0.05).fit(X, Y)
    ),
    "too many landmarks": Case(
        lambda: tacit.PanSVC(landmarks=100).fit(X, Y),
        "lower landmarks or min_cluster",
        lambda: tacit.PanSVC(landmarks=8).fit(X, Y),
    ),
    "too large a share": Case(
        lambda: tacit.PanSVC(landmarks=0.5).fit(X, Y),
        "lower landmarks or min_cluster",
        lambda: tacit.PanSVC(landmarks=0.5, min_cluster=2, **EXACT).fit(X, Y),
    ),
    "too few rows for a landmark": Case(
        lambda: tacit.ConsensusSVC(kernel="rbf").fit(X[:12], Y[:12]),
        "landmark_source='fourier' (PanSVC) or 'ranges' (ConsensusSVC)",
        lambda: tacit.ConsensusSVC(kernel="rbf", landmark_source="ranges").fit(X[:12], Y[:12]),
    ),
    "groups larger than a class": Case(
        lambda: tacit.PanSVC(landmark_source="fourier", landmarks=200).fit(X, Y),
        "bring more rows, ask for fewer landmarks, or lower min_count with accept_risk=True",
        lambda: tacit.PanSVC(landmark_source="fourier", landmarks=8).fit(X, Y),
    ),
    "the same, at a risk": Case(
        lambda: tacit.PanSVC(landmark_source="fourier", landmarks=200).fit(X, Y),
        "lower min_count with accept_risk=True",
        lambda: tacit.PanSVC(landmark_source="fourier", landmarks=200, **EXACT).fit(X, Y),
    ),
    "few rows for many prices": Case(
        lambda: tacit.FederatedGridSearch(tacit.PanSVC(), {"C": [0.1, 1, 10, 100, 1000]}, cv=2).fit(X[:90], Y[:90]),
        "in a search try fewer values of C",
        lambda: tacit.FederatedGridSearch(tacit.PanSVC(), {"C": [0.1]}, cv=2).fit(X[:90], Y[:90]),
    ),
    "the same, accepted": Case(
        lambda: tacit.FederatedGridSearch(tacit.PanSVC(), {"C": [0.1, 1, 10, 100, 1000]}, cv=2).fit(X[:90], Y[:90]),
        "or say accept_risk=True",
        lambda: tacit.FederatedGridSearch(tacit.PanSVC(accept_risk=True), {"C": [0.1, 1, 10, 100, 1000]}, cv=2).fit(
            X[:90], Y[:90]
        ),
    ),
    "min_count below auto": Case(
        lambda: tacit.PanSVC(min_count=5, landmarks=30).fit(X, Y),
        "use min_count='auto', fewer landmarks, or say accept_risk=True",
        lambda: tacit.PanSVC(min_count="auto").fit(X, Y),
    ),
    "fourier for another kernel": Case(
        lambda: tacit.PanSVC(kernel="poly", landmark_source="fourier").fit(X, Y),
        "use 'local' or 'joint'",
        lambda: tacit.PanSVC(kernel="poly", landmark_source="joint", max_rounds=5).fit(X, Y),
    ),
    "a witness of a ring": Case(
        lambda: tacit.PanSVC(witness=True, secure_sum="ring").fit(X, Y),
        "witness=True needs secure_sum='pairwise'",
        lambda: tacit.PanSVC(witness=True, secure_sum="pairwise").fit(X, Y),
    ),
    "probabilities of a consensus": Case(
        lambda: tacit.ConsensusSVC(kernel="rbf", probability=True).fit(X, Y),
        "use PanSVC, which has one model for all",
        lambda: tacit.PanSVC(kernel="rbf", probability=True).fit(X, Y),
    ),
    "a span of columns": Case(
        lambda: tacit.ConsensusSVC().fit(by_columns()),
        "set max_rounds below 4, or say accept_risk=True",
        lambda: tacit.ConsensusSVC(accept_risk=True).fit(by_columns()),
    ),
    "a weak method": Case(
        lambda: tacit.ShiftSVC().fit(X, Y), "say accept_risk=True", lambda: tacit.ShiftSVC(accept_risk=True).fit(X, Y)
    ),
    "rotation of a plain shift": Case(
        lambda: tacit.ShiftSVC(rotation=True, accept_risk=True).fit(X, Y),
        "rotation=True needs shift='secret'",
        lambda: tacit.ShiftSVC(rotation=True, shift="secret", accept_risk=True).fit(X, Y),
    ),
    "an ELM over columns": Case(
        lambda: tacit.SecureELMClassifier().fit(by_columns()),
        "Use partition='horizontal', or say accept_risk=True",
        lambda: tacit.SecureELMClassifier(accept_risk=True).fit(by_columns()),
    ),
    "more nodes than rows": Case(
        lambda: tacit.SecureELMClassifier(n_hidden=300).fit(X, Y),
        "use at most 240 nodes",
        lambda: tacit.SecureELMClassifier(n_hidden=240).fit(X, Y),
    ),
    "an extreme": Case(
        lambda: tacit.FederatedScaler("minmax").fit(by_rows()),
        "accept_risk=True",
        lambda: tacit.FederatedScaler("minmax", accept_risk=True).fit(by_rows()),
    ),
    "an extreme, declared": Case(
        lambda: tacit.FederatedScaler("minmax").fit(by_rows()),
        "ranges",
        lambda: tacit.FederatedScaler("minmax", ranges=(-9, 9)).fit(by_rows()),
    ),
    "ranges without use": Case(
        lambda: tacit.FederatedScaler("standard", ranges=(-9, 9)).fit(by_rows()),
        "leave them out, or use method='minmax'",
        lambda: tacit.FederatedScaler(method="minmax", ranges=(-9, 9)).fit(by_rows()),
    ),
    "a value out of range": Case(
        lambda: tacit.FederatedScaler("minmax", ranges=(-1, 1)).fit(by_rows()),
        "declare a wider range",
        lambda: tacit.FederatedScaler("minmax", ranges=(-9, 9)).fit(by_rows()),
    ),
    "few present values": Case(
        lambda: tacit.FederatedScaler(min_count=500).fit(by_rows()),
        "lower min_count",
        lambda: tacit.FederatedScaler(min_count=5).fit(by_rows()),
    ),
    "few rows at a party": Case(
        lambda: tacit.FederatedScaler(min_rows=100).fit(by_rows()),
        "lower min_rows",
        lambda: tacit.FederatedScaler(min_rows=5).fit(by_rows()),
    ),
    "a search of something else": Case(
        lambda: tacit.FederatedGridSearch(tacit.ConsensusSVC(), {"C": [1, 10]}).fit(X, Y),
        "searches for the parameters of PanSVC and GramSVC",
        lambda: tacit.FederatedGridSearch(tacit.GramSVC(), {"C": [1, 10]}, cv=2).fit(X, Y),
    ),
    "a candidate of something else": Case(
        lambda: tacit.FederatedGridSearch(tacit.PanSVC(), {"tol": [0.1, 0.01]}).fit(X, Y),
        "set that on the estimator",
        lambda: tacit.FederatedGridSearch(tacit.PanSVC(tol=0.1), {"C": [1]}, cv=2).fit(X, Y),
    ),
    "no candidate": Case(
        lambda: tacit.FederatedGridSearch(tacit.GramSVC(), {"C": []}).fit(X, Y),
        "",
        lambda: tacit.FederatedGridSearch(tacit.GramSVC(), {"C": [1]}, cv=2).fit(X, Y),
    ),
    "f1 of three classes": Case(
        lambda: tacit.FederatedGridSearch(tacit.GramSVC(), {"C": [1]}, cv=2, scoring="f1").fit(X, Y + (X[:, 0] > 1)),
        "use 'f1_macro'",
        lambda: tacit.FederatedGridSearch(tacit.GramSVC(), {"C": [1]}, cv=2, scoring="f1_macro").fit(
            X, Y + (X[:, 0] > 1)
        ),
    ),
    "more features than there are": Case(
        lambda: tacit.VotedWrapperSelector(SVC(kernel="linear"), n_features_to_select=9).fit(X, Y),
        "lower it",
        lambda: tacit.VotedWrapperSelector(SVC(kernel="linear"), n_features_to_select=2).fit(X, Y),
    ),
    "a selection by SVC of a federation": Case(
        lambda: tacit.VotedWrapperSelector(SVC(kernel="linear")).fit(by_rows()),
        "give a PanSVC",
        lambda: tacit.VotedWrapperSelector(tacit.PanSVC(kernel="linear", tol=0.1, **EXACT), criteria=("rfe",)).fit(
            by_rows()
        ),
    ),
    "two of four sites": Case(
        lambda: tacit.evaluate(tacit.PanSVC().fit(by_rows()), by_rows(), per_site=["party-1", "party-2"]),
        "name all sites",
        lambda: tacit.evaluate(tacit.PanSVC().fit(by_rows()), by_rows(), per_site=["party-1", "party-2", "party-3"]),
    ),
    "a site that is none": Case(
        lambda: tacit.evaluate(tacit.PanSVC().fit(by_rows()), by_rows(), per_site=["north"]),
        "is not one of the parties (party-1, party-2, party-3): name some of them",
        lambda: tacit.evaluate(tacit.PanSVC().fit(by_rows()), by_rows(), per_site=["party-1", "party-2", "party-3"]),
    ),
    "sites of columns": Case(
        lambda: tacit.evaluate(tacit.GramSVC().fit(by_columns()), by_columns(), per_site=["party-1"]),
        "leave it out",
        lambda: tacit.evaluate(tacit.GramSVC().fit(by_columns()), by_columns()),
    ),
    "a small ring": Case(
        lambda: tacit.GramSVC(secure_sum="ring", accept_risk=True).fit(
            columns_of(2, 2, allow_two_parties=True, coordinator="party-1")
        ),
        "add a party or a separate coordinator",
        lambda: tacit.GramSVC(secure_sum="ring").fit(columns_of(1, 1, 2)),
    ),
    "too many segments": Case(
        lambda: tacit.GramSVC(secure_sum="ring", segments=9).fit(by_columns()),
        "lower segments or use secure_sum='pairwise'",
        lambda: tacit.GramSVC(secure_sum="pairwise").fit(by_columns()),
    ),
    "values that are too large": Case(
        lambda: tacit.GramSVC().fit(X * 1e12, Y), "scale the features", lambda: tacit.GramSVC().fit(X, Y)
    ),
    "too large for fixed point": Case(
        lambda: tacit.PanSVC(kernel="linear").fit(X * 1e12, Y),
        "scale the features, or lower fraction_bits",
        lambda: tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", tacit.PanSVC(kernel="linear"))]).fit(
            tacit.simulate(X * 1e12, Y, parties=3)
        ),
    ),
    "a pipeline that is not public": Case(
        lambda: tacit.Pipeline([("svm", tacit.GramSVC())]).fit(X, Y).export("model.onnx"),
        "export a pipeline that ends in PanSVC",
        lambda: tacit.Pipeline([("svm", tacit.PanSVC())]).fit(X, Y).export("model.onnx"),
    ),
    "an unknown suffix": Case(
        lambda: tacit.PanSVC().fit(X, Y).export("model.pkl"),
        "export to a file that ends in one of .onnx, .skops",
        lambda: tacit.PanSVC().fit(X, Y).export("model.skops"),
    ),
    "an unknown file": Case(
        lambda: read("table.txt"), "save it as one of .csv", lambda: write("table.csv", FRAME.assign(label=Y))
    ),
    "a file's text column": Case(
        lambda: write("texts.csv", TEXTS.assign(label=Y)),
        "drop=['sex'] of a file",
        lambda: read("texts.csv", drop=["sex"]),
    ),
    "a label of another name": Case(
        lambda: write("other.csv", FRAME.assign(ill=Y)), "correct the name", lambda: read("other.csv", label="ill")
    ),
}
