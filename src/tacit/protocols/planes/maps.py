"""Maps and groups: what every training over rows that many hold begins with, once classes and gamma are agreed on.

The maps say how many numbers a sum over rows opens, and so of how many rows a group must be (`atoms`); landmarks are
means over groups, and so the groups must be known before the maps. In this order:
  groups    for the maps that are planned: the columns themselves, if there are landmarks, and as many features as asked
  landmarks over these groups, if a kernel needs them; then the maps
  groups    again, for the maps as they are: those that were opened before cost nothing; large ones are cut into pieces
            of rows near each other
  sizes     how many records of each class take part

Roles. Holder: records with labels. Coordinator: opens the sums.
Threat. As `landmarks`, `secure_sum`. Counts of records are opened, and of how many rows each holder's groups are at
least.
Source: ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.arrays import F64
from tacit.choreo import At, Everyone, Fact, Holder, Message, Run, choreography
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.part import Records
from tacit.protocols.planes.feature_map import FeatureMap, nystroem_maps, open_map
from tacit.protocols.planes.landmarks import landmarks
from tacit.protocols.planes.problems import Common, check_taking, choose_size, classes_at
from tacit.protocols.sums.atoms import IDENTITY, Atoms, Told, begin, forget, maps_of, sizes_by_kind, split_by_nearness
from tacit.protocols.work import CLUSTERS, MAP

GROUP_SIZES = Fact("rows.group_sizes", "holder", "size", "party", "how many rows each party's groups have at least")
LANDMARKS_OF_GROUPS = Fact(
    "rows.landmarks",
    "holder",
    "aggregate",
    "group",
    "the landmarks, each the mean of at least min_cluster records over whole groups (none with "
    "landmark_source='fourier' or linear kernels)",
)
CLASS_COUNTS = Fact("rows.class_counts", "holders", "count", "class", "how many records of each class take part")
TAKING_PART = Fact(
    "rows.taking_part_of_these", "holders", "count", "class", "how many of the records of each class take part"
)

SQUARES = "squares of columns"
NOTHING = Told(())


class GroupSize(
    Message,
    tells=Fact(
        "rows.own_group_size", "holder", "size", "party", "how many rows each of the sender's groups has at least"
    ),
):
    """Of how many rows a holder's groups are at least: what min_count="auto" comes to there."""

    least: int


class Taking(
    Message,
    tells=Fact(
        "rows.taking_part", "holders", "count", "class", "how many records of each class take part, over all parties"
    ),
):
    """How many records of each class take part."""

    sizes: F64


@dataclass(frozen=True)
class Prepared:
    """What a training begins with.

    One map for every kernel, the groups at each holder, what was agreed on, and of how many rows each party's groups
    are.
    """

    maps: tuple[FeatureMap, ...]
    atoms: At[Atoms]
    ground: Common
    least: dict[str, int]


@choreography(opens={Everyone: (CLASS_COUNTS, GROUP_SIZES, LANDMARKS_OF_GROUPS)})
def prepare(
    run: Run, data: At[Records], kernels: Sequence[Kernel], *, ground: Common, extra: Told = NOTHING
) -> Prepared:
    """Agree on maps and make groups for them, and for what else the run will open (`extra`)."""
    svm, kind = ground.svm, run.local(Holder, classes_at, data, ground.classes, ground.weights)
    bent = tuple(kernel for kernel in kernels if kernel.name != "linear")
    size, by_landmarks = choose_size(svm, ground.rows, ground.columns), bool(bent) and svm.landmark_source != "fourier"
    before, found = None, dict[Kernel, FeatureMap]()
    if by_landmarks:
        squares = ((SQUARES, ground.columns),) if svm.landmark_source == "joint" else ()
        shown = Told(((IDENTITY, ground.columns), *squares))
        planned = Told(
            tuple((f"planned {i}", n) for i, n in enumerate([size] * len(bent) + [n for _, n in extra.maps]))
        )
        before = run.local(Holder, begin, data, kind, Told((*shown.maps, *planned.maps)), svm.hold_back)
        run.phase(CLUSTERS)
        centres, before = landmarks(
            run,
            data,
            before,
            voice=ground.voice,
            source=svm.landmark_source,
            count=size,
            rows=ground.rows,
            min_cluster=svm.min_cluster,
            device=svm.device,
        )
        made = nystroem_maps(run, centres, bent, source=svm.landmark_source, seed=svm.seed, witness=svm.witness)
        found = dict(zip(bent, made, strict=True))
        before = run.local(Holder, forget, before, planned)
    run.phase(MAP)
    maps = tuple(found.get(k) or open_map(k, columns=ground.columns, size=size, seed=svm.seed) for k in kernels)
    told = maps_of((IDENTITY if each.source == "identity" else each, each.size) for each in maps)
    atoms = run.local(Holder, begin, data, kind, Told((*told.maps, *extra.maps)), svm.hold_back, before)
    if bent:  # one direction is all that a linear kernel has, and margins find it
        atoms = run.local(Holder, split_by_nearness, data, atoms)
    least, ground = counted(run, atoms, ground=ground)
    return Prepared(maps, atoms, ground, least)


@choreography(opens={Everyone: (CLASS_COUNTS, GROUP_SIZES)})
def counted(run: Run, atoms: At[Atoms], *, ground: Common) -> tuple[dict[str, int], Common]:
    """Return of how many rows each holder's groups are, and what was agreed on with the classes that take part."""
    told = run.publish_all(GroupSize, run.local(Holder, group_size, atoms))
    least = {party: message.least for party, message in told.items()}
    sums = ground.voice.add_up(sizes_by_kind, atoms, len(ground.classes))
    sizes = ground.voice.announce(Taking, whole_sizes, sums).sizes
    ground = dataclasses.replace(ground, taking=sizes)
    check_taking(ground)
    return least, ground


def group_size(atoms: Atoms) -> GroupSize:
    """Return of how many rows this holder's groups are at least."""
    return GroupSize(atoms.least)


def whole_sizes(sizes: F64) -> Taking:
    """Return the sizes that were summed in fixed point as whole numbers."""
    return Taking(sizes.round())
