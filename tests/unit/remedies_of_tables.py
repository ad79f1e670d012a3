"""Errors of tables, files, ids and new records, and what a user does about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from remedy import FRAME, GAPS, NAMES, TEXTS, THIRDS, Case, X, Y, by_columns, by_rows, columns_of, parts_of, write
from scipy.sparse import csr_matrix

import tacit
from tacit.federation import read

IDS = np.arange(240)
SITES = np.array(["north", "south", "east"])[IDS % 3]


def cells(*, twice: bool = False) -> Any:
    """Return three parties' cells; the first owns one of the second's too."""
    owner = IDS[:, None] % 3 + np.zeros(4, dtype=int)
    parts = [np.where(owner == k, X, np.nan) for k in range(3)]
    if twice:
        parts[0][1, 0] = 0.0
    return tacit.from_parts(parts, partition="arbitrary", y=Y)


def identified(*ids: Any) -> Any:
    return tacit.from_parts([(X[:, :1], Y), X[:, 1:2], X[:, 2:]], partition="vertical", ids=list(ids))


def spoil(ids: Any, at: int, value: Any) -> list[Any]:
    return [*ids[:at].tolist(), value, *ids[at + 1 :].tolist()]


def lines(file: str, text: str, **how: Any) -> Any:
    """Write the text of a file and read it."""
    Path(file).write_text(text)
    return read(file, **how)


CASES = {
    "a cell of two": Case(lambda: cells(twice=True), "all others leave it empty (NaN)", cells),
    "names for nobody": Case(
        lambda: columns_of(1, 1, 2, names=["a", "b"]),
        "give every part exactly one name",
        lambda: columns_of(1, 1, 2, names=["a", "b", "c"]),
    ),
    "weights without labels": Case(
        lambda: tacit.from_parts([(X[:, :1], None, np.ones(240)), X[:, 1:2], X[:, 2:]], partition="vertical", y=Y),
        "give weights only where labels are held",
        lambda: tacit.from_parts([(X[:, :1], Y, np.ones(240)), X[:, 1:2], X[:, 2:]], partition="vertical"),
    ),
    "other features": Case(
        lambda: tacit.from_parts([(X[s, : 4 - (s.start > 0)], Y[s]) for s in THIRDS], partition="horizontal"),
        "needs the same features at every party",
        lambda: parts_of(X),
    ),
    "other records": Case(
        lambda: tacit.from_parts([(X[:, :1], Y), X[:, 1:2], X[:99, 2:]], partition="vertical"),
        "needs the same records in the same order at every party",
        lambda: columns_of(1, 1, 2),
    ),
    "labels at some": Case(
        lambda: tacit.from_parts([(X[:80], Y[:80]), X[80:160], X[160:]], partition="horizontal"),
        "give them everywhere or nowhere",
        lambda: parts_of(X),
    ),
    "classes in words and numbers": Case(
        lambda: tacit.from_parts(
            [(X[:80], Y[:80]), (X[80:160], Y[80:160].astype(str)), (X[160:], Y[160:])], partition="horizontal"
        ),
        "write classes alike everywhere",
        lambda: parts_of(X),
    ),
    "a text that nobody declared": Case(
        lambda: tacit.simulate(TEXTS, Y, parties=3, categories={"sex": ["f"]}),
        "declare them at every party",
        lambda: tacit.simulate(TEXTS, Y, parties=3, categories={"sex": ["f", "m"]}),
    ),
    "numbers where texts were declared": Case(
        lambda: tacit.simulate(FRAME, Y, parties=3, categories={"a": ["f", "m"]}),
        "write it as text",
        lambda: tacit.simulate(TEXTS[["a", "sex"]], Y, parties=3, categories={"sex": ["f", "m"]}),
    ),
    "a column of several types": Case(
        lambda: tacit.simulate(FRAME.assign(e=["x", 1.0] * 120), Y, parties=3),
        "convert it to numbers, or leave it out",
        lambda: tacit.simulate(FRAME.assign(e=[0.0, 1.0] * 120), Y, parties=3),
    ),
    "one column name twice": Case(
        lambda: tacit.simulate(pd.DataFrame(X, columns=list("abca")), Y, parties=3),
        "give every column its own name",
        lambda: tacit.simulate(pd.DataFrame(X, columns=NAMES), Y, parties=3),
    ),
    "too few lists of ids": Case(
        lambda: identified(IDS, IDS), "give every part exactly one", lambda: identified(IDS, IDS, IDS)
    ),
    "labels that have no ids": Case(
        lambda: tacit.from_parts(np.split(X, [1, 2], axis=1), partition="vertical", y=Y, ids=[IDS] * 3),
        "give the labels beside their own records, as (X, y)",
        lambda: identified(IDS, IDS, IDS),
    ),
    "ids of other records": Case(
        lambda: identified(IDS, IDS, IDS[:9]), "give one per record", lambda: identified(IDS, IDS, IDS)
    ),
    "a missing id": Case(
        lambda: identified(spoil(IDS, 3, None), IDS, IDS),
        "every record needs one",
        lambda: identified(IDS, IDS, IDS),
    ),
    "an id that is none": Case(
        lambda: identified(spoil(IDS, 3, 0.5), IDS, IDS),
        "ids are whole numbers or text",
        lambda: identified(spoil(IDS, 3, "p3"), spoil(IDS, 3, "p3"), IDS),
    ),
    "an id twice": Case(
        lambda: identified(spoil(IDS, 3, 4), IDS, IDS),
        "every record needs its own",
        lambda: identified(IDS, IDS, IDS),
    ),
    "a part of four": Case(
        lambda: tacit.from_parts([(X, Y, None, None)], partition="vertical"),
        "give X, (X, y) or (X, y, sample_weight)",
        lambda: tacit.from_parts([(X, Y)], partition="vertical", allow_two_parties=True),
    ),
    "a labeller without labels": Case(
        lambda: tacit.from_parts([(X[:, :1], Y), X[:, 1:2], X[:, 2:]], partition="vertical", labeller="party-2"),
        "say labeller='party-1'",
        lambda: tacit.from_parts([(X[:, :1], Y), X[:, 1:2], X[:, 2:]], partition="vertical", labeller="party-1"),
    ),
    "a range of nothing": Case(
        lambda: by_rows(split="range"),
        "needs by=, the name or the index of one of the 4 features",
        lambda: by_rows(split="range", by=0),
    ),
    "other names than the column's": Case(
        lambda: tacit.simulate(X, Y, parties=["a", "b", "c"], split="column", by=SITES),
        "leave parties= out",
        lambda: tacit.simulate(X, Y, split="column", by=SITES),
    ),
    "sites of other records": Case(
        lambda: tacit.simulate(X, Y, split="column", by=SITES[:9]),
        "one value for each of the 240 records",
        lambda: tacit.simulate(X, Y, split="column", by=SITES),
    ),
    "a record of no site": Case(
        lambda: tacit.simulate(X, Y, split="column", by=np.array(spoil(SITES, 0, None), dtype=object)),
        "fill them in",
        lambda: tacit.simulate(X, Y, split="column", by=SITES),
    ),
    "a split of sparse records by columns": Case(
        lambda: tacit.simulate(csr_matrix(X), Y, parties=3, partition="vertical"),
        "give X.toarray(), or use partition='horizontal'",
        lambda: tacit.simulate(csr_matrix(X).toarray(), Y, parties=3, partition="vertical"),
    ),
    "one dimension": Case(
        lambda: tacit.simulate(X[:, 0], Y, parties=3), "reshape", lambda: tacit.simulate(X[:, :1], Y, parties=3)
    ),
    "rows of other lengths": Case(
        lambda: tacit.simulate([[1.0, 2.0], [1.0]], [0, 1], parties=3),
        "give every record the same number of features",
        lambda: tacit.simulate([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], [0, 1, 1], parties=3),
    ),
    "labels twice": Case(
        lambda: tacit.simulate(write("known.csv", FRAME.assign(label=Y)), Y, parties=3),
        "keep one of them",
        lambda: tacit.simulate(read("known.csv"), parties=3),
    ),
    "fewer labels than records": Case(
        lambda: tacit.simulate(X, Y[:9], parties=3), "", lambda: tacit.simulate(X, Y, parties=3)
    ),
    "negative weights": Case(
        lambda: tacit.simulate(X, Y, parties=3, sample_weight=-np.ones(240)),
        "needs weights of 0 or more",
        lambda: tacit.simulate(X, Y, parties=3, sample_weight=np.ones(240)),
    ),
    "a file that is not there": Case(
        lambda: read("nowhere.csv"), "correct the path", lambda: write("somewhere.csv", FRAME.assign(label=Y))
    ),
    "a file without records": Case(
        lambda: lines("header.csv", "a,label\n"),
        "give a file with at least one record",
        lambda: lines("header.csv", "a,label\n1.0,0\n"),
    ),
    "an empty file": Case(
        lambda: lines("empty.csv", ""),
        "give a file with at least one record",
        lambda: lines("empty.csv", "a,label\n1.0,0\n"),
    ),
    "a huge index": Case(
        lambda: lines("wide.svm", "1 3000000:1\n"),
        "declare the width with n_features=",
        lambda: lines("wide.svm", "1 3:1\n", n_features=4),
    ),
    "a line that is no LIBSVM": Case(
        lambda: lines("broken.svm", "1 a:b\n"),
        "every line needs 'label index:value index:value ...'",
        lambda: lines("broken.svm", "1 1:2\n"),
    ),
    "new records of others": Case(
        lambda: tacit.SVC().fit(by_columns()).predict(tacit.simulate(X, parties=["a", "b", "c"], partition="vertical")),
        "must be held by the same parties as in training: party-1, party-2, party-3; coordinator coordinator",
        lambda: tacit.SVC().fit(by_columns()).predict(by_columns()),
    ),
    "a score without labels": Case(
        lambda: tacit.SVC().fit(by_rows()).score(tacit.simulate(X, parties=3)),
        "give it labels",
        lambda: tacit.SVC().fit(by_rows()).score(by_rows()),
    ),
    "a column that is not there": Case(
        lambda: tacit.FederatedImputer({"z": "median"}).fit(tacit.simulate(GAPS, parties=3, allow_missing=True)),
        "that does not exist (columns: a, b, c, d)",
        lambda: tacit.FederatedImputer({"a": "median"}).fit(tacit.simulate(GAPS, parties=3, allow_missing=True)),
    ),
    "the most frequent of what": Case(
        lambda: tacit.FederatedImputer("most_frequent").fit((X > 0).astype(float)),
        "declare them in categories",
        lambda: tacit.FederatedImputer("most_frequent", categories={f"x{j}": (0, 1) for j in range(4)}).fit(
            (X > 0).astype(float)
        ),
    ),
    "a range for some": Case(
        lambda: tacit.FederatedScaler("minmax", ranges={"a": (-9, 9)}).fit(tacit.simulate(FRAME, parties=3)),
        "declare it in ranges",
        lambda: tacit.FederatedScaler("minmax", ranges=dict.fromkeys(NAMES, (-9, 9))).fit(
            tacit.simulate(FRAME, parties=3)
        ),
    ),
    "an evaluation of arrays": Case(
        lambda: tacit.evaluate(tacit.SVC().fit(X, Y), X),
        "needs a Federation that holds labelled records",
        lambda: tacit.evaluate(tacit.SVC().fit(by_rows()), by_rows()),
    ),
    "something that is no model": Case(
        lambda: tacit.load(write_text("known.tacit")),
        "give a file that `tacit train --out` or save() wrote",
        lambda: tacit.load(tacit.SVC().fit(X, Y).save("known.tacit")),
    ),
}


def write_text(file: str) -> Path:
    """Write a file that is no model."""
    Path(file).write_text("a")
    return Path(file)
