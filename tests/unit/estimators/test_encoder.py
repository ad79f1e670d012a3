"""FederatedEncoder: categories that enough records have become columns; others are joined, and stop nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import OneHotEncoder

import tacit
from tacit import FederatedEncoder, FederatedScaler, Federation, LocalError

pytestmark = pytest.mark.filterwarnings("ignore:column .* categories have too few records")
RNG = np.random.default_rng(4)
FRAME = pd.DataFrame({"age": RNG.normal(50, 9, 120), "thal": RNG.choice([3, 6, 7], 120), "dose": RNG.random(120)})
TEXT = FRAME.assign(sex=RNG.choice(["f", "m"], 120))
THAL = {"thal": [3, 6, 7, 9]}  # 9 is declared, and nobody has it
SEX = {"sex": ("f", "m", "x")}
PARTITIONS = pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])


@PARTITIONS
def test_it_equals_scikit_learns_encoder_with_the_same_categories(partition):
    fed = Federation.simulate(FRAME, parties=3, partition=partition, seed=2)
    encoder = FederatedEncoder(THAL).fit(fed)
    hot = OneHotEncoder(categories=[[3, 6, 7]], sparse_output=False).fit_transform(FRAME[["thal"]].to_numpy())
    expected = np.column_stack([FRAME["age"], hot, FRAME["dose"]])
    np.testing.assert_array_equal(encoder.transform(FRAME), expected)
    pooled, _, _ = encoder.transform(fed).pooled()
    np.testing.assert_array_equal(pooled, expected)
    np.testing.assert_array_equal(encoder.to_sklearn().transform(FRAME).astype(float), expected)
    assert encoder.get_feature_names_out().tolist() == ["age", "thal_3", "thal_6", "thal_7", "dose"]
    assert [values.tolist() for values in encoder.categories_] == [[3, 6, 7]]


def test_every_party_gets_its_own_new_columns_only():
    fed = Federation.simulate(FRAME, parties=["a", "b", "c"], partition="vertical", split="contiguous")
    moved = FederatedEncoder(THAL).fit(fed).transform(fed)
    assert {p: part.features for p, part in moved.parts.items()} == {
        "a": ("age",), "b": ("thal_3", "thal_6", "thal_7"), "c": ("dose",),
    }  # fmt: skip
    assert moved.columns["b"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_federation_carries_text_as_the_number_of_its_category(make):
    parts = [make(TEXT.iloc[i::3].to_dict("list")) for i in range(3)]
    fed = Federation.from_parts(parts, partition="horizontal", categories=SEX)
    assert set(np.unique(fed.parts["party-1"].X[:, 3])) <= {0.0, 1.0}
    encoder = FederatedEncoder(THAL).fit(fed)
    moved = encoder.transform(fed)
    assert moved.features[-2:] == ("sex_f", "sex_m")
    np.testing.assert_array_equal(moved.parts["party-2"].X[:, -1], (TEXT["sex"].iloc[1::3] == "m").to_numpy())
    assert moved.categories == {}


def test_text_in_plain_frames_is_encoded_too_and_by_scikit_learn_the_same():
    encoder = FederatedEncoder({**THAL, **SEX}).fit(TEXT)
    moved = encoder.transform(TEXT)
    np.testing.assert_array_equal(moved[:, -2], TEXT["sex"] == "f")
    np.testing.assert_array_equal(encoder.to_sklearn().transform(TEXT).astype(float), moved)


def test_missing_and_undeclared_values_have_no_category_and_stop_nothing():
    frame = FRAME.copy()
    frame.loc[4, "thal"], frame.loc[7, "thal"] = np.nan, 4321.0
    fed = Federation.simulate(frame, parties=["a", "b", "c"], split="range", by="age", allow_missing=True)
    encoder = FederatedEncoder(THAL).fit(fed)
    pooled, _, _ = encoder.transform(fed).pooled()
    np.testing.assert_array_equal(pooled, encoder.transform(frame))
    assert not encoder.transform(frame)[[4, 7], 1:4].any()
    np.testing.assert_array_equal(encoder.to_sklearn().transform(frame).astype(float), encoder.transform(frame))


@pytest.mark.parametrize("count", [9, 10])
def test_a_category_of_fewer_than_ten_records_gets_no_column(count):
    frame = FRAME.assign(thal=np.where(np.arange(120) < count, 9.0, 3.0))
    fed = Federation.simulate(frame, parties=3, seed=0)
    flat = [part.X[:, 1] for part in fed.parts.values()]
    sums = sum(0 if 0 < (x == 9).sum() < 10 else (x == 9).sum() for x in flat)  # nearly constant at a site: constant
    with pytest.warns(UserWarning, match="column 'thal': 3 categories have too few records"):
        encoder = FederatedEncoder(THAL).fit(fed)
    assert encoder.get_feature_names_out().tolist() == ["age", "thal_3", "dose"]
    assert sums == 0
    one = Federation.from_parts([frame[:60], frame[60:]], partition="horizontal", allow_two_parties=True)
    with pytest.warns(UserWarning, match="categories have too few"):
        kept = FederatedEncoder(THAL).fit(one).categories_[0].tolist()
    assert kept == ([3, 9] if count == 10 else [3])


def test_texts_that_nobody_declared_count_as_none_with_a_warning_where_they_are():
    raw = Federation.simulate(TEXT, parties=3, raw=True)
    with pytest.warns(UserWarning, match=r"column 'sex' of party 'party-\d' has \d+ values that nobody") as said:
        encoder = FederatedEncoder({"sex": ["f"]}).fit(raw)
    assert len(said) == 3
    assert [values.tolist() for values in encoder.categories_] == [["f"]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Federation.from_parts([TEXT, TEXT, TEXT], partition="horizontal", categories={"sex": ["f"]}),
         r"column 'sex' of party 'party-1' has \d+ values that nobody declared \(first in row \d+\)"),
        (lambda: Federation.from_parts([TEXT, TEXT, TEXT.assign(sex=1)], partition="horizontal", categories=SEX),
         r"column 'sex' of party 'party-3' holds int64 values, and texts were declared for it"),
        (lambda: FederatedEncoder({"sex": ["f"]}).fit(Federation.simulate(TEXT, categories=SEX)),
         "other categories of column 'sex'"),
        (lambda: FederatedEncoder({"dose": ["low"]}).fit(Federation.simulate(FRAME)),
         "other categories of column 'dose' than the"),
        (lambda: FederatedEncoder({"thal": [3, 3]}).fit(Federation.simulate(FRAME)),
         "needs the categories of column 'thal', each"),
        (lambda: FederatedEncoder({"thal": []}).fit(Federation.simulate(FRAME)),
         r"needs the categories of column 'thal'"),
        (lambda: FederatedEncoder({"city": [1]}).fit(Federation.simulate(FRAME)),
         r"names a column 'city' that does not exist"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(make, words):
    with pytest.raises(LocalError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_it_comes_back_from_a_file(tmp_path):
    encoder = FederatedEncoder({**THAL, **SEX}).fit(TEXT)
    again = tacit.load(encoder.save(tmp_path / "encoder.tacit"))
    np.testing.assert_array_equal(again.transform(TEXT), encoder.transform(TEXT))
    assert [v.tolist() for v in again.categories_] == [[3, 6, 7], ["f", "m"]]


def test_text_from_files_goes_through_encoder_and_scaler(tmp_path):
    paths = []
    for i, name in enumerate(("a", "b", "c")):
        TEXT.iloc[i::3].assign(label=i % 2).to_csv(tmp_path / f"{name}.csv", index=False)
        paths.append(tmp_path / f"{name}.csv")
    fed = Federation.from_files(paths, partition="horizontal", categories=SEX)
    moved = FederatedScaler().fit_transform(FederatedEncoder().fit_transform(fed))
    assert moved.features == ("age", "thal", "dose", "sex_f", "sex_m")
