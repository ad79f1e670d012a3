"""FederatedEncoder: declared categories become columns at every party; what nobody declared is refused where it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from tacit import FederatedEncoder, FederatedScaler, Federation, LocalError

RNG = np.random.default_rng(4)
FRAME = pd.DataFrame({"age": RNG.normal(50, 9, 60), "thal": RNG.choice([3, 6, 7], 60), "dose": RNG.random(60)})
TEXT = FRAME.assign(sex=RNG.choice(["f", "m"], 60))
THAL = {"thal": [3, 6, 7, 9]}  # 9 is declared, and nobody has it
SEX = {"sex": ("f", "m", "x")}
PARTITIONS = pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])


@parametrize_with_checks([FederatedEncoder(), FederatedEncoder(partition="vertical")])
@pytest.mark.filterwarnings("ignore::UserWarning")  # checks that are skipped
def test_the_encoder_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@PARTITIONS
def test_it_equals_scikit_learns_encoder_with_the_same_categories(partition):
    fed = Federation.simulate(FRAME, parties=3, partition=partition, seed=2)
    encoder = FederatedEncoder(THAL).fit(fed)
    hot = OneHotEncoder(categories=[[3, 6, 7, 9]], sparse_output=False).fit_transform(FRAME[["thal"]].to_numpy())
    expected = np.column_stack([FRAME["age"], hot, FRAME["dose"]])
    np.testing.assert_array_equal(encoder.transform(FRAME), expected)
    pooled, _, _ = encoder.transform(fed).pooled()
    np.testing.assert_array_equal(pooled, expected)
    np.testing.assert_array_equal(encoder.to_sklearn().transform(FRAME).astype(float), expected)
    assert encoder.get_feature_names_out().tolist() == ["age", "thal_3", "thal_6", "thal_7", "thal_9", "dose"]
    assert [values.tolist() for values in encoder.categories_] == [[3, 6, 7, 9]]
    assert encoder.report_.bytes == 0


def test_every_party_gets_its_own_new_columns_only():
    fed = Federation.simulate(FRAME, parties=["a", "b", "c"], partition="vertical", split="contiguous")
    moved = FederatedEncoder(THAL).fit(fed).transform(fed)
    assert {p: part.features for p, part in moved.parts.items()} == {
        "a": ("age",), "b": ("thal_3", "thal_6", "thal_7", "thal_9"), "c": ("dose",),
    }  # fmt: skip
    assert moved.columns["b"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_federation_carries_text_as_the_number_of_its_category(make):
    parts = [make(TEXT.iloc[i::3].to_dict("list")) for i in range(3)]
    fed = Federation.from_parts(parts, partition="horizontal", categories=SEX)
    assert set(np.unique(fed.parts["party-1"].X[:, 3])) <= {0.0, 1.0}
    encoder = FederatedEncoder(THAL).fit(fed)
    moved = encoder.transform(fed)
    assert moved.features[-3:] == ("sex_f", "sex_m", "sex_x")
    np.testing.assert_array_equal(moved.parts["party-2"].X[:, -2], (TEXT["sex"].iloc[1::3] == "m").to_numpy())
    assert moved.categories == {}


def test_text_in_plain_frames_is_encoded_too_and_by_scikit_learn_the_same():
    encoder = FederatedEncoder({**THAL, **SEX}).fit(TEXT)
    moved = encoder.transform(TEXT)
    np.testing.assert_array_equal(moved[:, -3], TEXT["sex"] == "f")
    np.testing.assert_array_equal(encoder.to_sklearn().transform(TEXT).astype(float), moved)


def test_missing_values_are_refused_or_no_category():
    frame = FRAME.copy()
    frame.loc[4, "thal"] = np.nan
    fed = Federation.simulate(frame, parties=["a", "b", "c"], split="range", by="age", allow_missing=True)
    with pytest.raises(
        LocalError,
        match=r"column 'thal' of party '\w' has 1 missing values \(first in row \d+\): impute the most frequent",
    ):
        FederatedEncoder(THAL).fit_transform(fed)
    encoder = FederatedEncoder(THAL, missing="zeros").fit(fed)
    pooled, _, _ = encoder.transform(fed).pooled()
    np.testing.assert_array_equal(pooled, encoder.transform(frame))
    assert encoder.transform(frame)[4, 1:5].tolist() == [0, 0, 0, 0]
    np.testing.assert_array_equal(encoder.to_sklearn().transform(frame).astype(float), encoder.transform(frame))


@pytest.mark.parametrize("step", ["fit", "transform"])
def test_a_category_that_nobody_declared_is_refused_at_its_party_and_not_quoted(step):
    frame = FRAME.copy()
    frame.loc[7, "thal"] = 4321.0
    site = np.repeat(["north", "south"], 30)
    fed, good = (Federation.simulate(f, split="column", by=site) for f in (frame, FRAME))
    encoder = FederatedEncoder(THAL)
    with pytest.raises(
        LocalError, match=r"north'? has 1 values of column 'thal' that nobody declared \(first in row 8\)"
    ) as caught:
        encoder.fit(fed) if step == "fit" else encoder.fit(good).transform(fed)
    assert "4321" not in str(caught.value)


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
        (lambda: FederatedEncoder(missing="ignore").fit(FRAME),
         r"The 'missing' parameter of FederatedEncoder must be among"),
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
    assert [v.tolist() for v in again.categories_] == [[3, 6, 7, 9], ["f", "m", "x"]]


def test_text_from_files_goes_through_encoder_and_scaler(tmp_path):
    paths = []
    for i, name in enumerate(("a", "b", "c")):
        TEXT.iloc[i::3].assign(label=i % 2).to_csv(tmp_path / f"{name}.csv", index=False)
        paths.append(tmp_path / f"{name}.csv")
    fed = Federation.from_files(paths, partition="horizontal", categories=SEX)
    moved = FederatedScaler().fit_transform(FederatedEncoder().fit_transform(fed))
    assert moved.features == ("age", "thal", "dose", "sex_f", "sex_m", "sex_x")
