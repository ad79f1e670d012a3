"""The answers of a prediction as a table, at the hospital that asked for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.arrays import F64
from tacit.base.estimator import choose_classes
from tacit.consortium.jobs.folder import Folder, Used
from tacit.consortium.jobs.questions import readers_of
from tacit.errors import LocalError
from tacit.numeric.scores.platt import probabilities
from tacit.registry import kind_of
from tacit.report.words import listing


def read_answers(site: str, folder: Folder) -> list[list[Any]]:
    """Return the answers that a finished prediction left at a site, a line for each record."""
    job = folder.job
    if kind_of(job.protocol) != "answers":
        raise LocalError(f"job {job.id} is a {job.protocol} and asks nothing: give the id of a prediction")
    if folder.finished is None or not folder.finished.ok:
        raise LocalError(f"job {job.id} has no answers yet: see tacit status")
    if site not in readers_of(job):
        raise LocalError(f"the answers of job {job.id} are at {listing(readers_of(job))} only: ask there")
    (values,) = folder.result.values()  # a question leaves nothing else at who is told
    return list_answers(values, folder.used)


def list_answers(values: F64, used: Used) -> list[list[Any]]:
    """Return a heading, and a line for each record with its class, decision values and probabilities, if there are any.

    Without classes the values are the numbers themselves.
    """
    records, classes = used.records, used.classes
    if not classes:
        return [["record", "value"], *([r, float(v)] for r, v in zip(records, values[:, 0], strict=True))]
    kinds = [str(classes[1])] if values.shape[1] == 1 else [str(c) for c in classes]
    head = ["record", "class", *(f"decision for {c}" for c in kinds)]
    columns = [values]
    if used.sigmoids is not None:
        head += [f"probability of {c}" for c in classes]
        columns.append(probabilities(values, np.array(used.sigmoids)))
    found = np.column_stack(columns).tolist()
    return [
        head,
        *([r, classes[k], *numbers] for r, k, numbers in zip(records, choose_classes(values), found, strict=True)),
    ]
