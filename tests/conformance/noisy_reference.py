"""The learner of `noisy_svm` on pooled records, without noise, without parties and without whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.numeric.features.feature_map import fourier_weights


def scale(X: Any, ranges: tuple[float, float] | None) -> Any:
    """Bounds from magnitudes or as declared, then means and deviations within them."""
    if ranges is None:
        exponents = np.frexp(X)[1]
        span = np.arange(-16, 25)
        counts = np.stack([(np.clip(exponents, -16, 24) == e).sum(axis=0) for e in span], axis=1)
        windows = counts[:, :-2] + counts[:, 1:-1] + counts[:, 2:]
        middle, half = 0.0, 2.0 ** (span[windows.argmax(axis=1)] + 2)
    else:
        middle, half = sum(ranges) / 2, (ranges[1] - ranges[0]) / 2
    u = np.clip((X - middle) / half, -1, 1)
    return np.clip((u - u.mean(axis=0)) / u.std(axis=0), -4, 4)


def rows(z: Any, kernel: str, seed: int, pairs: int) -> Any:
    """Rows of length 1 at most."""
    if kernel == "linear":
        made = np.column_stack([np.ones(len(z)), z]) * 2 / np.sqrt(z.shape[1] + 1)
        return made / np.maximum(1.0, np.linalg.norm(made, axis=1, keepdims=True))
    phase = z @ fourier_weights(seed, z.shape[1], pairs, 1 / z.shape[1])[0]
    bias = 1228 / 4096
    height = np.sqrt((1 - bias**2) / pairs)
    return np.column_stack([np.full(len(z), bias), height * np.cos(phase), height * np.sin(phase)])


def train(F: Any, y: Any, classes: int, *, C: float, logistic: bool) -> Any:
    """Eight steps with the true second moments as preconditioner, and the mean of the last four models."""
    curvature = 0.25 if logistic else 0.5
    P = np.linalg.inv(F.T @ F / len(F) + np.eye(F.shape[1]) / (curvature * C * len(F)))
    w, iterates = np.zeros((F.shape[1], 1 if classes == 2 else classes)), []
    for _ in range(8):
        f = F @ w
        if classes > 2:
            chance = np.exp(f - f.max(axis=1, keepdims=True))
            slope = np.eye(classes)[y] - chance / chance.sum(axis=1, keepdims=True)
            slope /= np.maximum(1.0, np.linalg.norm(slope, axis=1, keepdims=True))
        else:
            margin = f[:, 0] * (2 * y - 1)
            size = 1 / (1 + np.exp(margin)) if logistic else np.clip((2 - margin) / 2, 0, 1)
            slope = (size * (2 * y - 1))[:, None]
        w = w + 1.5 / curvature * P @ (F.T @ slope / len(F) - w / (C * len(F)))
        iterates.append(w)
    return np.mean(iterates[-4:], axis=0)


def machine(X, y, layer, asked, weight):
    """Return the hidden layer of records, and output weights of ridge regression on rows that are shortened."""
    W, b = layer
    name, classes = asked.get("activation", "sigmoid"), asked["classes"]
    H = 1 / (1 + np.exp(-(X @ W + b))) if name == "sigmoid" else np.tanh(X @ W + b)
    offset, usual = (0.5, 0.3) if name == "sigmoid" else (0.0, 0.75)
    largest = 1.0
    if classes is None:
        within = asked.get("privacy_targets")
        y = y if within is None else np.clip(y, *within)
        largest = 8.0 if within is None else 4.0  # |y| of the table lies between 4 and 8 at most
        T = np.clip(y / largest, -1, 1)[:, None]
    else:
        signs = np.where(y[:, None] == np.array(classes), 1.0, -1.0)
        T = signs[:, 1:] if len(classes) == 2 else signs
    parts = [np.full(len(X), 0.1 * (offset > 0)), 0.6 * ((H - offset) ** 2).mean(axis=1) / usual**2]
    square = (parts[0] + parts[1] + 0.3 * (T**2).mean(axis=1)) * weight
    weight = weight * np.minimum(1.0, 1.0 / square)
    A = (H * weight[:, None]).T @ H + asked["ridge"] * np.eye(len(b))
    return H, largest * np.linalg.solve(A, (H * weight[:, None]).T @ T)
