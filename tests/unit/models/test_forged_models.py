"""Model files that somebody made up.

Whatever their bytes, there is one line or a model that answers, and no memory beyond the file's.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import tracemalloc
import warnings

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

import tacit
from tacit import (
    SVC,
    SVR,
    ELMClassifier,
    ELMRegressor,
    FederatedEncoder,
    FederatedImputer,
    FederatedScaler,
    LocalError,
    TableVectorizer,
)
from tacit.choreo import Frames, decode, encode
from tacit.models import files

X, TWO = make_classification(n_samples=90, n_features=5, random_state=1)
THREE = (X[:, 0] > 0) * 1 + (X[:, 1] > 0)
RAW = pd.DataFrame(X[:, :3], columns=["x0", "x1", "x2"]).assign(x3=np.where(THREE == 2, "yes", "no"), x4=TWO)
FOUR = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
SMALL = {"features": 8, "alpha": 0.1}
KINDS = {
    "exact": lambda: SVC(features="exact", loss="hinge").fit(X, np.where(TWO, "ill", "well")),
    "exact, linear": lambda: SVC(kernel="linear", features="exact", loss="hinge").fit(X, TWO),
    "svc": lambda: SVC(**SMALL).fit(X, TWO),
    "svc, linear": lambda: SVC(kernel="linear", alpha=0.1).fit(X, FOUR),
    "svc, probability": lambda: SVC(**SMALL, probability=True).fit(X, THREE),
    "svc, columns": lambda: SVC(**SMALL, partition="vertical").fit(X, TWO),
    "svr": lambda: SVR(**SMALL).fit(X, X[:, 0]),
    "elm": lambda: ELMClassifier(n_hidden=8, alpha=0.1).fit(X, THREE),
    "elm, number": lambda: ELMRegressor(n_hidden=8, alpha=0.1).fit(X, X[:, 0]),
    "scaler": lambda: FederatedScaler().fit(X),
    "imputer": lambda: FederatedImputer(add_indicator=True).fit(np.where(X > 2, np.nan, X)),
    "encoder": lambda: FederatedEncoder({"x0": [0.0, 1.0]}).fit(np.column_stack([TWO, X[:, 1:]])),
    "vectorizer": lambda: TableVectorizer({"x4": [0, 1]}).fit(RAW),
    "pipeline": lambda: tacit.Pipeline([("scale", FederatedScaler()), ("svm", SVC(**SMALL))]).fit(X, TWO),
}
LARGEST = 32 << 20


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A real file of every kind: its header line and its frame, and where to put others."""
    folder = tmp_path_factory.mktemp("forged")
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in KINDS.items():
            body = make().save(folder / "real.tacit").read_bytes()[: -files.DIGEST]
            header, _, frame = body[len(files.MAGIC) :].partition(b"\n")
            found[name] = (header, frame)
    return found, folder / "forged.tacit"


def put(path, header, frame):
    """A file whose checksum is right: anybody can compute one."""
    body = files.MAGIC + header + b"\n" + frame
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


TRUE = "that nobody declared|does not fit into fixed point|is not a finite number|of quota=.* are left"


def answer(model):
    """Whatever the model is for, on a few records.

    An encoder of other categories may say that it was not told of 0, weights that their sums do not fit, and a model
    with a quota that nothing is left of it.
    """
    rows = np.zeros((2, X.shape[1]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return model.predict(rows) if hasattr(model, "predict") else model.transform(rows)
        except LocalError as error:
            if not re.search(TRUE, str(error)):
                raise


def outcome(path):
    """Whether the file is refused, in one line, or makes a model that answers; without much memory."""
    tracemalloc.start()
    try:
        answer(tacit.load(path))
        told = None
    except LocalError as error:
        told = str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < LARGEST
    assert told is None or re.fullmatch(r".*(does not hold a model|holds a .* that this version does not know).*", told)
    return "refused" if told else "answers"


def frame_of(tree, table, buffers):
    header = msgspec.msgpack.encode([tree, table])
    return Frames(header, tuple(memoryview(b) for b in buffers)).join()


def parts_of(frame):
    """Tree, table of arrays, and each array's bytes."""
    frames = Frames.split(frame)
    tree, table = msgspec.msgpack.decode(frames.header)
    body, at, buffers = bytes(frames.buffers[0]), 0, []
    for dtype, shape in table:
        size = int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))
        buffers.append(body[at : at + size])
        at += size
    return tree, table, buffers


def places_of(tree, before=()):
    yield before
    if isinstance(tree, list):
        for i, inner in enumerate(tree):
            yield from places_of(inner, (*before, i))


def replaced(tree, place, value):
    if not place:
        return value
    at, *rest = place
    return [replaced(inner, rest, value) if i == at else inner for i, inner in enumerate(tree)]


def deep(n):
    tree = 1
    for _ in range(n):
        tree = ["t", tree]
    return tree


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([2**40, -(2**40), 2**63 - 1, float("nan"),
                                                                   float("inf"), 1e308]),
    st.text(max_size=4), st.binary(max_size=4), st.just(["t"]), st.just(["d"]), st.just(["d", [["t", ["d"]], 1]]),
    st.just(deep(300)),
    st.sampled_from([["s", "GramModel"], ["s", "Scaled", 1, 2, 3], ["m", "Tokens", 1], ["a"], ["u"], []]),
)  # fmt: skip
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 5, 2**31, 2**38, 2**62]), max_size=4)


@st.composite
def mutations(draw):
    kind = draw(st.sampled_from(list(KINDS)))
    where = draw(st.integers(0, 10**6))
    return (
        kind,
        where,
        draw(st.sampled_from(["bytes", "header", "node", "shape", "drop", "swap"])),
        draw(ODD),
        draw(SHAPES),
    )


def mutated(header, frame, where, what, odd, shape):
    if what == "header":
        lines = [b"[]", b"{", b"[" * 100_000, b"1", b'{"estimator": {"a": "\x1b[2J"}}', b"\xff", b"{}", b""]
        return lines[where % len(lines)], frame
    if what == "bytes":
        at = where % len(frame)
        return header, frame[:at] + bytes([frame[at] ^ (1 << where % 8)]) + frame[at + 1 :]
    tree, table, buffers = parts_of(frame)
    places = list(places_of(tree))
    place = places[where % len(places)]
    if what == "node":
        return header, frame_of(replaced(tree, place, odd), table, buffers)
    if what == "swap":
        other = tree
        for at in places[where * 31 % len(places)]:
            other = other[at]
        return header, frame_of(replaced(tree, place, other), table, buffers)
    i = where % len(table) if table else 0
    if what == "shape" and table:
        size = int(np.prod(shape, dtype=object)) * np.dtype(table[i][0]).itemsize
        new = [*table[:i], [table[i][0], shape], *table[i + 1 :]]
        return header, frame_of(tree, new, [*buffers[:i], (buffers[i] * 99)[: min(size, 1 << 16)], *buffers[i + 1 :]])
    return header, frame[: where % len(frame)]


def answer_or_refuse(made, mutation):
    kind, *rest = mutation
    found, path = made
    assert outcome(put(path, *mutated(*found[kind], *rest))) in ("refused", "answers")


@settings(max_examples=100)
@given(mutation=mutations())
def test_a_forged_file_is_one_line_or_a_model_that_answers(made, mutation):
    answer_or_refuse(made, mutation)


@pytest.mark.slow
@settings(max_examples=1000)
@given(mutation=mutations())
def test_of_many_forged_files_each_is_one_line_or_a_model_that_answers(made, mutation):
    answer_or_refuse(made, mutation)


def with_each(frame, old, new):
    """The frame with one of the places that have this value replaced, for each of them."""
    tree, table, buffers = parts_of(frame)
    for place in places_of(tree):
        found = tree
        for at in place:
            found = found[at]
        if type(found) is type(old) and found == old:
            yield frame_of(replaced(tree, place, new), table, buffers)


def test_a_size_that_no_array_has_is_refused_before_anything_is_drawn(made):
    found, path = made
    header, frame = found["exact"]
    forged = list(with_each(frame, len(X), 2**38))
    assert forged
    assert [outcome(put(path, header, each)) for each in forged].count("refused") > 0


def test_a_statistic_cannot_take_the_place_of_something_else(made):
    found, path = made
    header, frame = found["scaler"]
    for name in ("report_", "transform", "__class__", "n_features_in_"):
        (forged,) = with_each(frame, "var_", name)
        put(path, header, forged)
        with pytest.raises(LocalError, match="does not hold a model that this version reads"):
            tacit.load(path)


@pytest.mark.parametrize("kind", ["exact", "svc", "svc, linear", "elm"])
def test_a_classifier_without_classes_is_refused(made, kind):
    header, frame = made[0][kind]
    forged = encode(dataclasses.replace(decode(frame), classes=())).join()
    assert outcome(put(made[1], header, forged)) == "refused"


def test_a_name_in_a_header_cannot_redraw_a_terminal(tmp_path):
    path = files.write(tmp_path / "x.tacit", {"estimator": "Ball\x1b[2J\n"}, ("hello",))
    with pytest.raises(LocalError, match="holds a Ball\N{REPLACEMENT CHARACTER}\\[2J that this version does not know"):
        tacit.load(path)
