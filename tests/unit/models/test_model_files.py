"""Model files: whole or refused, readable by people, no pickle."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_classification

import tacit
from tacit import SVC, LocalError
from tacit.models import files


@pytest.fixture(scope="module")
def fitted():
    X, y = make_classification(n_samples=60, n_features=5, random_state=1)
    return SVC(class_weight={"ill": 1.0, "well": 2.0}).fit(X, np.where(y, "ill", "well")), X


def test_a_model_comes_back_as_it_was(fitted, tmp_path):
    model, X = fitted
    again = tacit.load(model.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert again.report_.to_dict() == model.report_.to_dict()
    assert again.classes_.dtype == model.classes_.dtype


def test_the_header_says_whose_records_the_file_contains(fitted, tmp_path):
    model, _ = fitted
    _, line, _ = model.save(tmp_path / "model.tacit").read_bytes().split(b"\n", 2)
    header = json.loads(line)
    assert header["contains_records_of"] == {}, "a public model has landmarks, and no record"
    exact = SVC(features="exact", loss="hinge", partition="vertical").fit(np.eye(30)[:, :6], np.arange(30) % 2)
    _, line, _ = exact.save(tmp_path / "exact.tacit").read_bytes().split(b"\n", 2)
    known = json.loads(line)["contains_records_of"]
    assert known == dict.fromkeys(("party-1", "party-2", "party-3"), "2 columns of 30 records")


def test_every_truncation_and_every_flipped_byte_is_refused(fitted, tmp_path):
    model, _ = fitted
    data = model.save(tmp_path / "model.tacit").read_bytes()
    broken = tmp_path / "broken.tacit"
    for cut in [0, 5, 13, 14, 60, len(data) // 2, len(data) - 1]:
        broken.write_bytes(data[:cut])
        with pytest.raises(LocalError, match=r"not a tacit model file|damaged or truncated"):
            tacit.load(broken)
    for at in range(0, len(data), 97):
        broken.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(LocalError, match=r"not a tacit model file|damaged or truncated"):
            tacit.load(broken)


def test_a_file_of_something_else_is_refused(tmp_path):
    other = tmp_path / "model.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(LocalError, match="not a tacit model file"):
        tacit.load(other)
    with pytest.raises(LocalError, match="cannot be read: No such file"):
        tacit.load(tmp_path / "none.tacit")


def test_a_whole_file_with_unknown_content_is_refused(tmp_path):
    path = files.write(tmp_path / "x.tacit", {"estimator": "CrystalBall"}, ("hello",))
    with pytest.raises(LocalError, match="holds a CrystalBall that this version does not know"):
        tacit.load(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(fitted, tmp_path, monkeypatch):
    model, _ = fitted
    path = tmp_path / "model.tacit"
    path.write_bytes(b"old")

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(LocalError, match=r"the model cannot be written to .*No space left on device"):
        model.save(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
