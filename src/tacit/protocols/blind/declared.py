"""Blind gram SVMs as jobs name them: what a training leaves, what may ask it, rehearsals and costs."""

from __future__ import annotations

import numpy as np

from tacit.choreo import Holder
from tacit.choreo.declaration import Number, Parameter
from tacit.choreo.protocol import SMALL, TABLE, Brought, Declaration, Inputs, Params, Rehearsal, Stage
from tacit.protocols.blind.cost import estimate_answers, estimate_training
from tacit.protocols.blind.kernels import LINEAR
from tacit.protocols.blind.numbers import half_of
from tacit.protocols.blind.size import describe_size
from tacit.protocols.blind.training import BlindShare, blind_predict, gram_blind
from tacit.protocols.invented import by_cells

BLIND = "a blind gram model"
WIDE = 1024.0  # larger than any invented target
DIVISOR = Parameter("divisor", Number(0, above=True, job_most=2.0**64), "by what the kernel was divided", follows=True)
TRAINED_ON = Parameter("trained_on", Number(1, whole=True), "how many records the model was trained on", follows=True)


def new_records(stage: Stage) -> Inputs:
    """Return new records of any split, and shares of a model to ask about them."""
    problems, by_rows = stage.params["problems"], stage.params["partition"] == "horizontal"
    made = by_cells(Stage(stage.roster, SMALL, stage.params, stage.part))["data"][1]
    linear, widths = stage.params["kernel"] == LINEAR, [part.X.shape[1] for part in made.values()]
    columns = sum(widths) if stage.params["partition"] == "vertical" else widths[0]
    words = np.zeros((columns if linear else SMALL) * problems, np.uint64), np.zeros(problems, np.uint64)
    old = np.arange(0 if linear else SMALL)
    rows = np.array_split(old, len(made)) if by_rows else [old] * len(made)
    held = zip(made.items(), rows, strict=True)
    shares = {party: BlindShare(part.X[own], part.owned, *words) for (party, part), own in held}
    return {**by_cells(stage), "share": (Holder, shares)}


def shrink(params: Params) -> Params:
    """Return what a rehearsal takes instead: a C that suits few records, and a range that holds invented targets."""
    if params.get("tube") is None:
        return {"C": 1.0}
    if params.get("target_range") is None:
        return {"C": 1.0, "tube": 0.0}
    half_of(params["target_range"])
    return {"C": WIDE, "tube": 0.0, "target_range": (-WIDE, WIDE)}


GRAM_BLIND = Declaration(
    gram_blind,
    TABLE,
    Rehearsal(by_cells, shrink, estimate_training),
    leaves=(BLIND,),
    dealt=True,
    warns=describe_size,
)
BLIND_PREDICT = Declaration(
    blind_predict,
    {**TABLE, "share": Brought(Holder, "earlier")},
    Rehearsal(new_records, lambda _: {"problems": 1, "trained_on": SMALL}, estimate_answers),
    builds_on=(BLIND,),
    dealt=True,
    parameters=(TRAINED_ON, DIVISOR),
)
