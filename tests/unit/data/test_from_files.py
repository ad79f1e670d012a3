import numpy as np
import pytest

from tacit.errors import LocalError
from tacit.federation import Federation


@pytest.fixture
def files(tmp_path):
    def files(suffix="csv", **texts):
        paths = [tmp_path / f"{name}.{suffix}" for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text)
        return paths

    return files


def test_horizontal_files_name_their_parties(files):
    paths = files(north="id,age,label\n7,1,0\n", south="id,age,label\n8,2,1\n", east="id,age,label\n9,3,0\n")
    fed = Federation.from_files(paths, partition="horizontal", drop=["id"])
    assert list(fed.parts) == ["north", "south", "east"]
    assert fed.features == ("age",)
    assert fed.pooled()[0].tolist() == [[1], [2], [3]]
    assert fed.pooled()[1].tolist() == [0, 1, 0]


def test_the_vertical_file_with_the_label_column_makes_the_labeller(files):
    paths = files(north="id,age\n7,1\n", south="bmi,label\n2,0\n", east="height\n3\n")
    fed = Federation.from_files(paths, partition="vertical", drop=["id"])
    assert fed.labeller == "south"
    assert fed.features == ("age", "bmi", "height")


def test_a_party_may_hold_the_labels_only(files):
    paths = files(a="u\n1\n2\n", b="v\n1\n2\n", c="w\n1\n2\n", d="label\n0\n1\n")
    fed = Federation.from_files(paths, partition="vertical")
    assert fed.labeller == "d"
    assert fed.n_features == 3


def test_blank_cells_of_an_arbitrary_split_are_another_partys(files):
    paths = files(a="u,v,label\n1,,0\n,,1\n", b="u,v\n,2\n,\n", c="u,v\n,\n3,4\n")
    fed = Federation.from_files(paths, partition="arbitrary")
    assert np.array_equal(fed.pooled()[0], [[1, 2], [3, 4]])


def test_the_labeller_says_whose_libsvm_labels_count(files):
    paths = files("svm", a="1 1:1\n", b="0 1:2\n", c="0 1:3\n")
    with pytest.raises(LocalError, match=r"labels are given twice, by 'a' and 'b': .* labeller="):
        Federation.from_files(paths, partition="vertical")
    assert Federation.from_files(paths, partition="vertical", labeller="a").pooled()[1].tolist() == [1]


def test_libsvm_files_of_different_widths_need_the_number_of_features(files):
    paths = files("svm", a="1 1:1\n", b="0 2:2\n", c="0 3:3\n")
    with pytest.raises(LocalError, match=r"party 'b' has 2 features, 'a' has 1: .* pass n_features="):
        Federation.from_files(paths, partition="horizontal")
    assert Federation.from_files(paths, partition="horizontal", n_features=3).n_features == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"partition": "horizontal"}, "b.csv has no column 'label'"),
        ({"partition": "vertical", "label": "class"}, "no file has the label column 'class'"),
        ({"partition": "vertical", "drop": ["site"]}, "no file has the column 'site' of drop="),
        ({"partition": "vertical", "labeller": "b"}, "labeller='b' has no labels, but 'a' has"),
        ({"partition": "vertical"}, "only 2 parties hold data"),
        ({"partition": "vertical", "names": ["x", "x"]}, "two parties are named 'x'"),
    ],
)
def test_files_that_do_not_fit_are_refused(files, settings, words):
    with pytest.raises(LocalError, match=words):
        Federation.from_files(files(a="u,label\n1,0\n", b="v\n2\n"), **settings)


def test_a_single_path_is_one_party(files):
    (path,) = files(a="u,label\n1,0\n")
    with pytest.raises(LocalError, match="only 1 party holds data"):
        Federation.from_files(path, partition="vertical")
