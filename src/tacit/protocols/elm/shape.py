"""The hidden layer of an extreme learning machine over rows, and how many outputs it has."""

from __future__ import annotations

from tacit.arrays import F64
from tacit.choreo import State
from tacit.numeric.features.elm import layer_of, words_needed
from tacit.numeric.ring.draws import public_words
from tacit.protocols.part import Names


class Layer(State):
    """The hidden layer, as anybody draws it from the public seed."""

    activation: str
    columns: int
    nodes: int
    scale: float
    seed: int


def outputs_of(classes: Names) -> int:
    """Return how many columns T has: one for two classes or numbers, else one per class."""
    return len(classes) if len(classes) > 2 else 1  # noqa: PLR2004 - one column separates two


def layer_weights(layer: Layer) -> tuple[F64, F64]:
    """Return W and b of the hidden layer."""
    words = public_words(layer.seed, words_needed(layer.columns, layer.nodes))
    return layer_of(words, layer.nodes, layer.activation, layer.scale, layer.columns)
