"""Devices: the same features, sums and models wherever arrays are; a GPU is stood in for by the bare standard."""

import re
import sys

import array_api_strict
import numpy as np
import pytest
from sklearn.datasets import make_classification

from tacit import LocalError, PanSVC, SecureELMClassifier
from tacit.errors import install_command
from tacit.numeric import devices
from tacit.numeric.devices import CPU, Device, device_of
from tacit.numeric.features import landmarks
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.numeric.features.feature_map import basis_of, fourier, fourier_weights, nystroem
from tacit.numeric.groups.atoms import losses_along
from tacit.numeric.svm.kernels import Kernel

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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.1), Kernel("poly", 0.1, 3, 1.0), Kernel("sigmoid", 0.01)])
def test_features_by_landmarks_are_those_of_the_processor(kernel, dtype):
    X, L = RNG.normal(size=(150, 10)), RNG.normal(size=(20, 10))
    basis = basis_of(L, kernel)
    there = nystroem(X, L, basis, kernel, dtype, device=STRICT)
    assert isinstance(there, type(array_api_strict.asarray([1.0])))
    np.testing.assert_allclose(STRICT.get(there), nystroem(X, L, basis, kernel, dtype), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fourier_features_are_those_of_the_processor(dtype):
    X, drawn = RNG.normal(size=(150, 10)), fourier_weights(0, 10, 30, 0.1)
    there = fourier(X, *drawn, dtype, device=STRICT)
    np.testing.assert_allclose(STRICT.get(there), fourier(X, *drawn, dtype), atol=1e-6)


@pytest.mark.parametrize("rows", [300, 1500], ids=["all", "sampled"])
def test_clusters_are_those_of_the_processor(rows, monkeypatch):
    monkeypatch.setattr(landmarks, "SAMPLED", 100)
    X = RNG.normal(size=(rows, 4))
    np.testing.assert_array_equal(landmarks.clusters(X, 5, 5, 0, STRICT), landmarks.clusters(X, 5, 5, 0))


def test_losses_along_a_line_are_those_of_the_processor():
    h, slope, weight, steps = *RNG.normal(size=(2, 9000)), RNG.uniform(size=9000), np.array([0.0, 0.5, 2.0])
    there = losses_along(*map(STRICT.put, (h, slope, weight)), steps, STRICT)
    exact = weight @ np.maximum(h[:, None] + slope[:, None] * steps, 0.0)
    np.testing.assert_allclose(there, exact, rtol=1e-12)
    np.testing.assert_allclose(losses_along(h, slope, weight, steps), exact, rtol=1e-12)


@pytest.mark.usefixtures("gpu")
@pytest.mark.filterwarnings("ignore:.* rows are few")
@pytest.mark.parametrize(
    "svm",
    [
        {"min_count": 1, "accept_risk": True},
        {"min_count": 1, "accept_risk": True, "class_weight": {0: 1.0, 1: 3.0}, "probability": True},
        {"min_count": 5, "accept_risk": True},
        {"kernel": "linear"},
        {"landmark_source": "fourier", "landmarks": 20, "dtype": "float32", "probability": True},
    ],
    ids=["single", "folds", "groups", "linear", "fourier"],
)
def test_a_model_trained_on_a_gpu_is_that_of_the_processor(svm):
    X, y = make_classification(n_samples=400, n_features=6, n_informative=4, random_state=0)
    here, there = (
        PanSVC(**{"landmarks": 10, **svm}, device=device, random_state=0).fit(X, y) for device in ("cpu", "cuda")
    )
    close = here.report_.figures["relative gap to the optimum, at most"]
    assert there.report_.figures["relative gap to the optimum, at most"] == pytest.approx(close, abs=1e-4)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_elm_trained_on_a_gpu_is_that_of_the_processor(activation):
    X, y = make_classification(n_samples=400, n_features=6, n_informative=4, n_classes=3, random_state=0)
    asked = {"n_hidden": 15, "activation": activation, "random_state": 0, "class_weight": {0: 1.0, 1: 2.0, 2: 1.0}}
    here, there = (SecureELMClassifier(**asked, device=device).fit(X, y) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-6)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("rows", [8, 9])
def test_medians_are_those_of_the_processor(rows):
    x = RNG.normal(size=(rows, 3))
    np.testing.assert_array_equal(STRICT.get(STRICT.median(STRICT.put(x))), np.median(x, axis=0))


def test_an_elm_over_columns_refuses_a_gpu_and_the_remedy_works():
    X, y = make_classification(n_samples=100, n_features=6, random_state=0)
    model = SecureELMClassifier(partition="vertical", accept_risk=True, device="cuda", n_hidden=5)
    with pytest.raises(LocalError, match=r"over columns .* leave device out"):
        model.fit(X, y)
    assert model.set_params(device="cpu").fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("svm", [{"min_count": 1, "accept_risk": True}, {"kernel": "linear"}])
def test_without_a_gpu_it_is_refused_before_anything_is_sent_and_the_remedy_works(svm, monkeypatch):
    monkeypatch.setattr(sys, "modules", {**sys.modules, **WITHOUT_GPU})
    devices.find_gpu.cache_clear()
    X, y = make_classification(n_samples=200, n_features=6, random_state=0)
    model = PanSVC(**svm, landmarks=10, device="cuda", n_parties=2)
    with pytest.raises(
        LocalError,
        match=rf"needs a GPU, and CuPy or PyTorch .*: use device='cpu', or {re.escape(install_command('gpu'))}",
    ):
        model.fit(X, y)
    assert model.set_params(device="cpu").fit(X, y).score(X, y) > 0.5


def test_the_processor_is_numpy_and_imports_nothing():
    assert device_of("cpu") is CPU
    assert CPU.xp is np
