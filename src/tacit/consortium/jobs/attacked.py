"""Which attacks start from what somebody is told. It loads every attack, so that only dossiers and advice import it."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.attacks.catalogue import list_attacks
from tacit.attacks.learners import Attack


def find_attacks(read: Iterable[str], *, stopped: bool, accepted: bool = False) -> list[Attack]:
    """Return the attacks that start from one of these facts: those that a rule stops, or those that none does.

    `accepted` says that the rules which a job may do without are not in force.
    """
    names = set(read)
    tried = [attack for attack in list_attacks().values() if names & set(attack.reads)]
    return [attack for attack in tried if bool(attack.stopped and not (accepted and attack.accepted)) is stopped]
