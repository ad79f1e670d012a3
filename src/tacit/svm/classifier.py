"""What all SVMs of classes share: how several classes are told apart and weighed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar

from tacit.base.parameters import parameterized
from tacit.base.probability import ProbabilityClassifier
from tacit.numeric.svm.problems import MULTI_CLASS, OVO


@parameterized
class SupportVectorClassifier(ProbabilityClassifier):
    """An SVM, of one problem for two classes and of several for more."""

    unsaid: ClassVar[Mapping[str, Any]] = {"multi_class": MULTI_CLASS}

    model_: Any = field(init=False)

    _: KW_ONLY
    multi_class: str = OVO  # docs/defaults.md
    class_weight: dict[Any, float] | str | None = None
    probability: bool = False
