"""Devices: the same features, sums and models wherever arrays are; a GPU is stood in for by the bare standard."""

import dataclasses
import re
import sys

import array_api_strict
import numpy as np
import pytest
from sklearn.datasets import make_classification

from tacit import SVC, ELMClassifier, LocalError
from tacit.errors import install_command
from tacit.numeric import devices
from tacit.numeric.devices import CPU, Device, device_of
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.features.landmarks import draw_landmarks, standard_distribution
from tacit.protocols.features.local import add_rows
from tacit.protocols.features.maps import map_kernel, map_layer

STRICT = Device(
    array_api_strict,
    put=array_api_strict.asarray,
    get=np.asarray,
    empty=lambda shape, dtype: array_api_strict.empty(shape, dtype=getattr(array_api_strict, dtype)),
    cast=lambda x, dtype: array_api_strict.astype(x, getattr(array_api_strict, dtype)),
    block=1000,
    rows=100,
    sort=lambda x: array_api_strict.sort(x, axis=0),
    largest=lambda x: array_api_strict.max(x, axis=0),
    total=lambda x: array_api_strict.sum(x, axis=0),
)
RNG = np.random.default_rng(0)
WITHOUT_GPU = {"cupy": None, "torch": None}


@pytest.fixture
def gpu(monkeypatch):
    """Stand in for a GPU with a module that has the array API standard and nothing beside it."""
    monkeypatch.setattr(devices, "find_gpu", lambda: STRICT)


@pytest.mark.usefixtures("gpu")
def test_the_local_pass_on_a_gpu_finds_the_sums_of_the_processor():
    X, T, q = RNG.normal(size=(150, 10)), RNG.choice([-1.0, 1.0], size=(150, 2)), RNG.uniform(size=150)
    points = draw_landmarks(standard_distribution(10, 0), 20)
    maps = [map_kernel(kernel, points) for kernel in (Kernel("rbf", 0.1), Kernel("poly", 0.1, 3, 1.0))]
    for the_map in (*maps, *(map_layer(each, 20, 1.0, 0, 10) for each in ("tanh", "fourier"))):
        for weight in (None, q):
            here, there = (add_rows(X, T, weight, the_map, np.eye(2), device) for device in ("cpu", "cuda"))
            for sums, same in zip(dataclasses.astuple(there), dataclasses.astuple(here), strict=True):
                np.testing.assert_allclose(sums, same, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("svm", [{}, {"kernel": "poly"}, {"kernel": "linear"}], ids=["rbf", "poly", "linear"])
def test_a_model_trained_on_a_gpu_is_as_good_as_that_of_the_processor(svm):
    X, y = make_classification(n_samples=400, n_features=6, n_informative=4, random_state=0)
    here, there = (SVC(**svm, device=each, random_state=0).fit(X, y) for each in ("cpu", "cuda"))
    assert there.score(X, y) == pytest.approx(here.score(X, y), abs=0.03)  # noise and landmarks differ


@pytest.mark.slow
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_elm_trained_on_a_gpu_labels_as_that_of_the_processor(activation):
    X, y = make_classification(n_samples=400, n_features=6, n_informative=4, n_classes=3, random_state=0)
    asked = {"n_hidden": 15, "activation": activation, "random_state": 0}
    here, there = (ELMClassifier(**asked, device=device).fit(X, y) for device in ("cpu", "cuda"))
    assert np.mean(there.predict(X) == here.predict(X)) > 0.8


@pytest.mark.parametrize("svm", [{}, {"kernel": "linear"}])
def test_without_a_gpu_it_is_refused_before_anything_is_sent_and_the_remedy_works(svm, monkeypatch):
    monkeypatch.setattr(sys, "modules", {**sys.modules, **WITHOUT_GPU})
    devices.find_gpu.cache_clear()
    X, y = make_classification(n_samples=200, n_features=6, random_state=0)
    model = SVC(**svm, device="cuda", n_parties=2)
    with pytest.raises(
        LocalError,
        match=rf"needs a GPU, and CuPy or PyTorch .*: use device='cpu', or {re.escape(install_command('gpu'))}",
    ):
        model.fit(X, y)
    assert model.set_params(device="cpu").fit(X, y).score(X, y) > 0.5


def test_the_processor_is_numpy_and_imports_nothing():
    assert device_of("cpu") is CPU
    assert CPU.xp is np
