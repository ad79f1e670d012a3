"""A federation with other columns: each new one is made of one old one, at whoever holds that."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.errors import LocalError
from tacit.federation.federation import Federation
from tacit.federation.frames import Texts
from tacit.federation.part import Part, freeze, map_parts, with_columns
from tacit.scratch import ROWS, blocks, is_on_disk, map_blocks
from tacit.sparse import is_sparse

Make = Callable[[F64, I64], F64]  # a column for each new one, and the numbers of these -> the new columns


def remake_columns(federation: Federation, sources: I64, features: tuple[str, ...], make: Make) -> Federation:
    """Return a federation whose column i is made of column `sources[i]`, value by value."""
    columns = {p: np.flatnonzero(np.isin(sources, own)) for p, own in federation.columns.items()}
    declared = {name: known for name, known in federation.categories.items() if name in features}
    kinds = {name: kind for name, kind in federation.kinds.items() if name in features}
    before = federation.columns  # the step travels to the records, and the federation does not

    def remake(party: str, part: Part) -> Part:
        new = columns[party]
        place = {int(j): i for i, j in enumerate(before[party])}
        at = [place[int(source)] for source in sources[new]]
        owned = None if part.owned is None else part.owned[:, at]
        own = tuple(features[i] for i in new)
        texts = {name: own_texts for name, own_texts in part.texts.items() if name in kinds}
        # value by value, and so block by block as well
        made = (
            map_blocks(part.X, ROWS, lambda block: make(block[:, at], new), len(new))
            if is_on_disk(part.X)
            else make(part.X[:, at], new)
        )
        return with_columns(part, made, own, owned, texts)

    parts = {p: remake(p, part) for p, part in federation.parts.items()}
    return dataclasses.replace(
        federation,
        parts=parts,
        columns=columns,
        features=features,
        named=False,  # these names are made, and not the caller's
        categories=declared,
        kinds=kinds,
        alignment=None,  # it is in the report of whoever makes the new columns
        backend=federation.backend.remake(remake),
    )


def declare_texts(federation: Federation, declared: Texts) -> Federation:
    """Return the federation with raw text columns as numbers of the declared texts, others as -1.

    A party hears of others at its own site only.
    """
    known = {name: tuple(texts) for name, texts in declared.items() if federation.kinds.get(name) == "text"}
    if not known:
        return federation

    def number(party: str, part: Part) -> Part:
        X = np.array(part.X)
        for name in (each for each in known if each in part.texts):
            j = part.features.index(name)
            X[:, j] = translate(part.X[:, j], part.texts[name], known[name])
            warn_of_undeclared(X[:, j] < 0, name, party)
        left = {name: texts for name, texts in part.texts.items() if name not in known}
        return dataclasses.replace(part, X=freeze(X), texts=left)

    return dataclasses.replace(
        federation,
        parts={party: number(party, part) for party, part in federation.parts.items()},
        categories={**federation.categories, **known},
        kinds={name: kind for name, kind in federation.kinds.items() if name not in known},
        backend=federation.backend.remake(number),
    )


def translate(codes: F64, texts: Sequence[str], known: Sequence[Any]) -> F64:
    """Return numbers of some texts as numbers of others; -1 for a text that is none of these, NaN for no value."""
    numbers = {text: float(k) for k, text in enumerate(known)}
    table = np.array([*(numbers.get(text, -1.0) for text in texts), np.nan])
    gaps = np.isnan(codes)
    return table[np.where(gaps, len(texts), codes).astype(np.int64)]


def warn_of_undeclared(wrong: Flags, name: str, party: str) -> None:
    """Warn at the party itself of values that count as none of the categories."""
    if wrong.any():
        unknown = f"{int(wrong.sum())} values that nobody declared (first in row {int(wrong.argmax()) + 1})"
        warnings.warn(
            f"column '{name}' of party '{party}' has {unknown}: they count as none of the categories; correct them, or"
            " declare them in categories",
            stacklevel=2,
        )


def check_prepared(federation: Federation, who: str, *, gaps: bool = False) -> None:
    """Refuse texts, dates and, unless they are allowed, missing values, at whoever holds the records."""
    check_numbers(federation, who)
    if gaps:
        return
    map_parts(check_whole, federation.parts)
    federation.backend.check_records(check_whole)


def check_whole(name: str, part: Part) -> None:
    """Refuse missing values in a party's part; sparse rows had none when they were taken."""
    if is_sparse(part.X) or not any(np.isnan(block.min(initial=np.inf)) for _, block in blocks(part.X, ROWS)):
        return
    missing = sum((np.isnan(block).sum(axis=0) for _, block in blocks(part.X, ROWS)), np.zeros(part.X.shape[1], int))
    if missing.any():
        j = int(missing.argmax())
        column = f"column '{part.features[j]}' of party '{name}' has {missing[j]} missing values"
        raise LocalError(f"Input X contains NaN: {column}: fit a FederatedImputer first, as in a tacit.Pipeline")


def check_numbers(federation: Federation, who: str) -> None:
    """Refuse columns of texts or dates, which are carried as numbers that mean nothing."""
    texts = [name for name in federation.features if name in federation.categories]
    raw = [name for name in federation.features if name in federation.kinds]
    if texts:
        remedy = "encode it by a FederatedEncoder, or by a TableVectorizer,"
        raise LocalError(
            f"column '{texts[0]}' holds texts, which {who} cannot use: {remedy} before it in a tacit.Pipeline"
        )
    if raw:
        held = f"column '{raw[0]}' holds {federation.kinds[raw[0]]}s, which {who} cannot use"
        raise LocalError(f"{held}: put a TableVectorizer before it in a tacit.Pipeline")
