"""`tacit.train_test_split`: records set aside at each site, by a public seed; nothing is sent."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import train_test_split as sklearn_split

from tacit.base.parameters import FACE, draw_seed
from tacit.choreo.declaration import Number, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.deal import Deal
from tacit.federation.slices import Dealt

SHARE = Number(0, 1, above=True)
FOLDS = Number(2, whole=True)


def train_test_split(
    federation: Any,
    *arrays: Any,
    test_size: float = 0.25,
    stratify: Any = None,
    random_state: Any = None,
) -> Any:
    """Return two federations: records to learn from, and records to judge by.

    Every site sets some of its own records aside, by a public seed, and tells nobody which or how many. Over columns
    all sites set the same records aside.

    Args:
        federation: a `Federation`; or plain arrays, which scikit-learn splits.
        arrays: more plain arrays.
        test_size: share of the records to judge by, between 0 and 1.
        stratify: True: each site divides its records class by class. The default, None, does so where every site has
            labels. Over columns only the labeller has labels, and the other sites must choose the same records without
            them.
        random_state: an int gives the same split every time; None gives a new one.
    """
    if not isinstance(federation, Federation):
        same = {"test_size": test_size, "stratify": stratify, "random_state": random_state}
        return sklearn_split(federation, *arrays, **same)
    if arrays:
        raise LocalError("a Federation holds its labels itself: give it alone to train_test_split")
    if isinstance(test_size, bool) or not SHARE.allows(test_size) or test_size == 1:
        raise wrong_value("test_size", "train_test_split", "a float in the range (0.0, 1.0)", test_size)
    shares = (1.0 - float(test_size), float(test_size))
    dealt = deal_out(federation, shares, "train_test_split", stratify, random_state)
    return dealt.take(0), dealt.take(1)


def deal_out(federation: Federation, shares: tuple[float, ...], who: str, stratify: Any, random_state: Any) -> Dealt:
    """Let every site deal its records into parts of these shares; refuse what `who` cannot do."""
    by_site = federation.partition == "horizontal"
    if stratify is not None and not isinstance(stratify, bool):
        given = type(stratify).__name__
        raise LocalError(f"{who}: sites divide by their own labels: stratify must be True, False or None, not {given}")
    if stratify and not by_site:
        raise LocalError(
            f"{who} cannot stratify records split by columns or cells: only {federation.labeller!r} has labels, and the"
            " other sites must find the same records; leave stratify= out"
        )
    if not FACE["random_state"].allows(random_state):
        raise wrong_value("random_state", who, FACE["random_state"].words, random_state)
    by_class = by_site if stratify is None else bool(stratify)
    dealt = federation.deal(Deal(shares, draw_seed(random_state), by_class))
    for part, share in enumerate(shares):
        if not any((own == part).any() for own in dealt.part.values()):
            raise LocalError(
                f"{who} leaves a part of {share:.0%} without any record: no site has one to spare;"
                " bring more records, or ask for fewer parts"
            )
    return dealt


def deal_folds(federation: Federation, cv: Any, who: str, random_state: Any) -> Dealt:
    """Let every site deal its records into so many folds, class by class where it has labels."""
    check_folds(cv, who)
    return deal_out(federation, (1.0 / int(cv),) * int(cv), who, None, random_state)


def check_folds(cv: Any, who: str) -> None:
    """Refuse what is no number of folds."""
    if not FOLDS.allows(cv):
        raise wrong_value("cv", who, FOLDS.words, cv)
