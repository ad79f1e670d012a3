"""All attacks by name, each as a study: what an attacker finds out about the records at hand, by what it knows.

Those on models of the core stand here; papers and other packages bring their own by the entry points of `GROUP`, each
an `Attack` or a tuple of them. Every study plays the attack on the view that the protocol gives the attacker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import entry_points

from tacit.attacks import attribute_inference, lone_class, membership_inference, repeated_release
from tacit.attacks.learners import ERROR, Attack
from tacit.errors import LocalError

GROUP = "tacit.attacks"  # entry points by which other packages bring attacks
MACHINES = ("SVC",)
PUBLIC = ("SVC", "ELMClassifier")
AREA = "area under the curve; 0.5 is a guess"
_MODELS = ("core.model", "noisy.model")
OWN = (
    Attack(
        "membership_inference",
        PUBLIC,
        "a public model is surer about records that were in its training",
        "models that the attacker trains",
        AREA,
        membership_inference.study,
        reads=_MODELS,
        needs="a candidate record, and records like those of the training",
        finds="members",
        per_column=0,
    ),
    Attack(
        "attribute_inference",
        PUBLIC,
        "a public model is surest about a training record with its true value",
        "models that the attacker trains",
        "members guessed beyond others, share",
        attribute_inference.study,
        reads=_MODELS,
        needs="a record except for one value, and records like those of the training",
        finds="members",
        per_column=0,
    ),
    Attack(
        "lone_class",
        MACHINES,
        "a class of one record and a large alpha give that record",
        "records of the class",
        ERROR,
        lone_class.study,
        reads=("core.model",),
        needs="a choice of labels, so that few records are a class of their own",
        stopped="between organisations no class has fewer than 10 records, and no job gives class weights",
    ),
    Attack(
        "repeated_release",
        PUBLIC,
        "two models, from before and after one record was added, reveal that record",
        "candidates",
        "share of the trials in which it is the first",
        repeated_release.study,
        reads=_MODELS,
        needs="two models, one trained with the record and one without it",
        finds="members",
        per_column=0,
    ),
)


@cache
def list_attacks() -> dict[str, Attack]:
    """Return the attacks of the core and of installed packages, by name."""
    brought = (point.load() for point in sorted(entry_points(group=GROUP), key=lambda point: point.name))
    all_of_them: Iterable[Attack] = (
        *OWN,
        *(a for found in brought for a in (found if isinstance(found, tuple) else (found,))),
    )
    found: dict[str, Attack] = {}
    for attack in all_of_them:
        if found.setdefault(attack.name, attack) != attack:
            raise LocalError(f"two packages bring an attack {attack.name!r}: remove one of them")
    return found


def attack_of(name: str, estimator: str | None = None) -> Attack:
    """Return the attack of that name, if it is against that estimator."""
    attacks = list_attacks()
    if name not in attacks:
        raise LocalError(f"unknown attack '{name}': use one of {', '.join(attacks)}")
    found = attacks[name]
    if estimator is not None and estimator not in found.against:
        fitting = _list_names([a.name for a in attacks.values() if estimator in a.against])
        raise LocalError(
            f"{name} is against {_list_names(found.against)}, not '{estimator}': against that, use {fitting}"
        )
    return found


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
