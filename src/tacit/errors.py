"""Errors: whose fault it is decides the class; every text says what, where and what to do."""

from __future__ import annotations


class TacitError(Exception):
    """Anything tacit refuses."""


class LocalError(TacitError, ValueError):
    """Yours: an input, a file or a setting at this very place."""


class PeerError(TacitError, RuntimeError):
    """Theirs: another party sent what the protocol does not allow, or stopped."""


class ChoreographyError(TacitError, TypeError):
    """The protocol text itself breaks a rule of the language; raised alike at every party."""


class MissingExtraError(TacitError, ImportError):
    """A part of tacit that is installed separately."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install 'tacit[{extra}]'")
