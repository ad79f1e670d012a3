"""Errors of making federations, preparing, training, searching and evaluating, and what a user does about them."""

from __future__ import annotations

import numpy as np
from remedy import FRAME, GAPS, TEXTS, THIRDS, Case, X, Y, by_columns, by_rows, columns_of, parts_of, write

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
        lambda: tacit.SVC().fit(tacit.simulate(GAPS, Y, parties=3, allow_missing=True)),
        "fit a FederatedImputer first, as in a tacit.Pipeline",
        lambda: tacit.Pipeline([("gaps", tacit.FederatedImputer()), ("learn", tacit.SVC())]).fit(
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
    "another partition": Case(
        lambda: tacit.SVC(partition="horizontal").fit(by_columns()),
        "set partition to match it",
        lambda: tacit.SVC(partition="vertical").fit(by_columns()),
    ),
    "a federation and y": Case(
        lambda: tacit.SVC().fit(by_rows(), Y),
        "leave these out, the federation has its own",
        lambda: tacit.SVC().fit(by_rows()),
    ),
    "no labels": Case(
        lambda: tacit.SVC().fit(tacit.simulate(X, parties=3)),
        "build it with y=",
        lambda: tacit.SVC().fit(by_rows()),
    ),
    "labels that are fractions": Case(
        lambda: tacit.ELMRegressor().fit(X, np.where(Y, "yes", "no")),
        "use a classifier for classes",
        lambda: tacit.ELMClassifier().fit(X, np.where(Y, "yes", "no")),
    ),
    "a coordinator without": Case(
        lambda: tacit.SVC().fit(by_rows(coordinator="party-1")),
        "name a site without data",
        lambda: tacit.SVC().fit(by_rows(coordinator="clearing")),
    ),
    "quantiles of any number": Case(
        lambda: tacit.FederatedScaler("robust", quantile_range=(20, 80)).fit(by_rows()),
        "two of 1, 5, 10, 25, 50, 75, 90, 95, 99",
        lambda: tacit.FederatedScaler("robust", quantile_range=(10, 90)).fit(by_rows()),
    ),
    "ranges without use": Case(
        lambda: tacit.FederatedScaler("standard", ranges=(-9, 9)).fit(by_rows()),
        "leave them out, or use method='minmax'",
        lambda: tacit.FederatedScaler(method="minmax", ranges=(-9, 9)).fit(by_rows()),
    ),
    "no candidate": Case(
        lambda: tacit.FederatedGridSearch(tacit.SVC(), {"C": []}).fit(X, Y),
        "",
        lambda: tacit.FederatedGridSearch(tacit.SVC(), {"C": [1]}).fit(X, Y),
    ),
    "an unknown suffix": Case(
        lambda: tacit.SVC().fit(X, Y).export("model.pkl"),
        "export to a file that ends in one of .onnx, .skops",
        lambda: tacit.SVC().fit(X, Y).export("model.skops"),
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
