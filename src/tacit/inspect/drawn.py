"""What can be looked at: an SVG that a notebook shows and a file holds."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path

from tacit.files import write_whole


class Drawn(ABC):
    """Something with a picture."""

    @abstractmethod
    def to_svg(self) -> str:
        """Return the picture as SVG text."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file."""
        return write_whole(path, self.to_svg().encode(), "the picture")

    def _repr_svg_(self) -> str:
        return self.to_svg()
