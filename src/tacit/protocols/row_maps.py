"""Maps and groups: what every training over rows that many hold begins with, once classes and gamma are agreed on.

The maps say how many numbers a sum over rows opens, and so of how many rows a group must be (`atoms`); landmarks are means over groups,
and so the groups must be known before the maps. In this order:
  groups    for the maps that are planned: the columns themselves, if there are landmarks, and as many features as are asked for
  landmarks over these groups, if a kernel needs them; then the maps
  groups    again, for the maps as they are: those that were opened before cost nothing; large ones in pieces of rows near each other
  sizes     how many records of each class take part

Roles. Holder: records with labels. Coordinator: opens the sums.
Threat. As `landmarks`, `secure_sum`. Counts of records are opened, and of how many rows each holder's groups are at least.
Source: ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.choreo import F64, At, Everyone, Holder, Message, Run, choreography
from tacit.numeric.kernels import Kernel
from tacit.protocols.atoms import IDENTITY, Atoms, Told, begin, forget, maps_of, near, sizes_by_kind
from tacit.protocols.feature_map import FeatureMap, nystroem_maps, open_map
from tacit.protocols.landmarks import landmarks
from tacit.protocols.row_problems import Common, check_taking, classes_at, wanted
from tacit.protocols.witness import Voice

SQUARES = "squares of columns"
NOTHING = Told(())


class GroupSize(Message, tells="of how many rows each of the sender's groups is at least"):
    """What min_count="auto" comes to here."""

    least: int


class Taking(Message, tells="how many records of each class take part, over all parties"):
    """By class."""

    sizes: F64


@dataclass(frozen=True)
class Prepared:
    """One map for every kernel, the groups at each holder, what is agreed on, and of how many rows groups are at each."""

    maps: tuple[FeatureMap, ...]
    atoms: At[Atoms]
    ground: Common
    least: dict[str, int]


@choreography(
    opens={
        Everyone: "how many records of each class take part; of how many rows each party's groups are at least; the landmarks, each the"
        " mean of at least min_cluster records over whole groups (none with landmark_source='fourier' or linear kernels)"
    }
)
def prepare(run: Run, data: At[Any], kernels: Sequence[Kernel], *, ground: Common, extra: Told = NOTHING) -> Prepared:
    """Agree on maps and make groups for them, and for what else the run will open (`extra`)."""
    svm, kind = ground.svm, run.local(Holder, classes_at, data, ground.classes, ground.weights)
    bent = tuple(kernel for kernel in kernels if kernel.name != "linear")
    size, by_landmarks = wanted(svm, ground.rows, ground.columns), bool(bent) and svm.landmark_source != "fourier"
    before, found = None, dict[Kernel, FeatureMap]()
    if by_landmarks:
        squares = ((SQUARES, ground.columns),) if svm.landmark_source == "joint" else ()
        shown = Told(((IDENTITY, ground.columns), *squares))
        planned = Told(tuple((f"planned {i}", n) for i, n in enumerate([size] * len(bent) + [n for _, n in extra.maps])))
        before = run.local(Holder, begin, data, kind, Told((*shown.maps, *planned.maps)), svm.hold_back)
        centres, before = landmarks(
            run, data, before, source=svm.landmark_source, count=size, rows=ground.rows, min_cluster=svm.min_cluster, by=ground.by,
            fixed=ground.fixed, witness=svm.witness,
        )  # fmt: skip
        made = nystroem_maps(run, centres, bent, source=svm.landmark_source, seed=svm.seed, witness=svm.witness)
        found = dict(zip(bent, made, strict=True))
        before = run.local(Holder, forget, before, planned)
    maps = tuple(found.get(k) or open_map(k, columns=ground.columns, size=size, seed=svm.seed) for k in kernels)
    told = maps_of((IDENTITY if each.source == "identity" else each, each.size) for each in maps)
    atoms = run.local(Holder, begin, data, kind, Told((*told.maps, *extra.maps)), svm.hold_back, before)
    if bent:  # one direction is all that a linear kernel has, and margins find it
        atoms = run.local(Holder, near, data, atoms)
    least, ground = counted(run, atoms, ground=ground)
    return Prepared(maps, atoms, ground, least)


@choreography(opens={Everyone: "how many records of each class take part; of how many rows each party's groups are at least"})
def counted(run: Run, atoms: At[Atoms], *, ground: Common) -> tuple[dict[str, int], Common]:
    """Of how many rows each holder's groups are, and the classes as they take part."""
    least = {party: told.least for party, told in run.publish_all(GroupSize, run.local(Holder, group_size, atoms)).items()}
    voice = Voice(run, ground.by, ground.fixed, ground.svm.witness)
    sizes = voice.told(Taking, taking, voice.added(sizes_by_kind, atoms, len(ground.classes))).sizes
    ground = dataclasses.replace(ground, taking=sizes)
    check_taking(ground)
    return least, ground


def group_size(atoms: Atoms) -> GroupSize:
    """Of this holder."""
    return GroupSize(atoms.least)


def taking(sizes: F64) -> Taking:
    """Whole numbers."""
    return Taking(sizes.round())
