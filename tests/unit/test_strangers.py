"""A stranger's script: dirty tables through everything, with warnings that are true and errors that are one line."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from dirty_tables import clean_tables, make_dirty

import tacit

TABLES = clean_tables()
FAST = ("iris", "made 3")
TRUE = (  # what may be warned of: all of it is so in these tables
    r"column '(id|note)' has no declared category",
    r"column 'empty' has too few values",
    r"column 'city': some categories may be two spellings of one, 'Rome' and 'rome'",
    r"a class has fewer than 10 records among the \d+ that were judged",
    r"class .* has no record",
)
CHECK = """
import warnings, pandas, tacit
warnings.simplefilter("ignore")
print("|".join(tacit.load("model.tacit").predict(pandas.read_parquet("table.parquet"))))
"""


def pipeline(last: Any) -> tacit.Pipeline:
    """Return a pipeline for raw tables."""
    return tacit.Pipeline([("table", tacit.TableVectorizer()), ("last", last)])


def selecting() -> tacit.Pipeline:
    """Return one that keeps the columns that matter."""
    steps = [("table", tacit.TableVectorizer()), ("select", tacit.FederatedSelector(n_features_to_select=3))]
    return tacit.Pipeline([*steps, ("last", tacit.SVC(random_state=0))])


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in FAST else pytest.mark.slow) for n in TABLES])
def test_a_dirty_table_goes_through_everything(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing fails, nothing untrue is warned of, and a new process says the same of all records."""
    monkeypatch.chdir(tmp_path)
    table, labels, site = make_dirty(*TABLES[name], seed=list(TABLES).index(name))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        parts = {f"site {k}": (table[site == k], labels[site == k]) for k in range(4)}
        fed = tacit.from_parts(parts, partition="horizontal", raw=True)
        doubts = fed.describe().warnings
        learn, judge = tacit.train_test_split(fed, random_state=0)
        model = pipeline(tacit.SVC(probability=True, random_state=0)).fit(learn)
        search = tacit.FederatedGridSearch(tacit.SVC(random_state=0), {"C": [1.0, 10.0]})
        found = pipeline(search).fit(learn)
        chosen = selecting().fit(learn)
        for each in (model, chosen):
            tacit.evaluate(each, judge)
        answers = model.predict(table.drop(columns="id"))
        model.export("model.onnx")
        model.save("model.tacit")
    told = [str(each.message) for each in heard if issubclass(each.category, UserWarning)]
    assert [line for line in told if not any(re.match(words, line) for words in TRUE)] == []
    constant = {words[1] for line in doubts if (words := re.match(r"column '(\w+)' has the same value", line))}
    assert "constant" in constant
    assert all(table[column].nunique() < 20 or table[column].value_counts().iloc[0] > 0.9 * len(table)
               for column in constant)  # fmt: skip
    assert set(found.classes_) <= set(labels)
    assert chosen["select"].n_features_ == 3
    assert len(set(chosen.predict(table))) > 1
    table.to_parquet("table.parquet")
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert done.stdout.strip().split("|") == list(answers)
