"""What an analyst sees of any history of jobs on one dataset follows from the declared facts: a simulator makes it.

An analyst sees results, and in reports and audits each message's place, sender, receiver, type, shape and size. The
simulator is given the results and what is public of each job (sizes, names of classes, landmarks), and invents all
records. What judging opens follows from its counts and bins: `test_judge_leaks.py` has a simulator of its own for that.
`pytest -m slow` plays 700 histories.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.consortium.editions.edition import Edition, Fixed, make_edition
from tacit.consortium.editions.memory import Memory
from tacit.federation.part import Part, part_of
from tacit.federation.table import as_table
from tacit.protocols.learners import search, svm, targets
from tacit.registry import execute_together

SITES = ("north", "south", "east")
LAST: tuple[dict[str, Any], ...] = (
    {"use": "SVC", "features": 5, "alpha": 1.0},
    {"use": "SVC", "features": 5, "alpha": 1.0, "class_weight": "balanced"},
    {"use": "SVC", "features": 4, "alpha": 1.0, "probability": True},
    {"use": "SVC", "kernel": "linear", "alpha": 0.1},
    {"use": "ELMClassifier", "n_hidden": 4, "alpha": 0.1},
    {
        "use": "FederatedGridSearch",
        "estimator": {"use": "SVC", "features": 4},
        "grid": {"gamma": [0.1], "alpha": [0.1, 1.0]},
    },
)


class Cohort:
    """The records of one site while persons come and go, are corrected, and change class."""

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        self.memory, self.rng = Memory(folder), rng
        n = int(rng.integers(60, 90))
        self.ids, self.X = np.arange(n), rng.normal(size=(n, 3))
        self.y = rng.integers(0, 2, n)

    def change(self) -> None:
        """Let something happen to a few persons, or to many."""
        few = int(self.rng.choice([0, 1, 7]))
        kept = np.sort(self.rng.permutation(len(self.X))[few:])
        new = int(self.rng.choice([0, 1, 8]))
        self.ids = np.concatenate([self.ids[kept], self.ids.max() + 1 + np.arange(new)])
        self.X = np.concatenate([self.X[kept], self.rng.normal(size=(new, 3))])
        self.y = np.concatenate([self.y[kept], self.rng.integers(0, 2, new)])
        which = self.rng.permutation(len(self.X))[: int(self.rng.choice([0, 1, 6]))]
        self.X[which] += 1.0
        self.y[which] = 1 - self.y[which]

    def fix(self) -> Edition:
        """Return the edition of a job, and write down that it was used."""
        made = make_edition(self.memory, as_table(self.X, self.y), self.ids, None, Fixed(label="ill"))
        self.memory.use(made.digest, made.persons, made.dealt)
        return made

    def parts(self) -> tuple[Part, Part]:
        """Return the records to learn from and those to judge by, as a site brings them."""
        edition = self.fix()
        return self.part(edition, judged=False), self.part(edition, judged=True)

    def part(self, edition: Edition, *, judged: bool) -> Part:
        """Return one of them."""
        table, which = edition.choose(judged=judged)
        made = part_of(table.X, table.y, None, ("age", "dose", "mass"))
        folds = None if judged else edition.parts[which]
        key = self.memory.key + edition.digest.encode()
        return dataclasses.replace(made, folds=folds, unlabelled=edition.unlabelled[which], key=key)


@contextmanager
def facts(known: list[Any], *, tell: bool) -> Iterator[None]:
    """Note landmarks, weights of classes and scores that jobs find, or give a simulator those that were found."""

    def note(make: Any) -> Any:
        def made(*args: Any, **more: Any) -> Any:
            own = make(*args, **more)
            if not tell:
                known.append(own)
            return known.pop(0) if tell else own

        return made

    with (
        patch.object(svm, "find_distribution", note(svm.find_distribution)),
        patch.object(search, "Searched", note(search.Searched)),
        patch.object(targets, "balance", note(targets.balance)),
    ):
        yield


def play(parts: dict[str, tuple[Part, Part]], steps: Any, names: tuple[int, ...] | None) -> Any:
    roster = Roster({Holder: SITES, Coordinator: ("dealer",)})
    held = {name: (Holder, {p: each[k] for p, each in parts.items()}) for k, name in enumerate(("data", "judge"))}
    asked = {"steps": steps, "seed": 1, "partition": "horizontal", "evaluate": {}, "class_names": names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return execute_together(roster, "study", held | {"rules": (Holder, {site: {} for site in SITES})}, asked)


def seen_of(outcome: Any) -> list[Any]:
    """Return what is public of the messages until the model is judged."""
    rows = [row for row in outcome.ledger.rows if not row.place.startswith("/study/judge_model")]
    return [(r.place, r.sender, r.receiver, r.type, r.tells, r.shapes, r.bytes) for r in rows]


def invent(parts: tuple[Part, Part], rng: np.random.Generator) -> tuple[Part, Part]:
    """Return records of which the sizes, and the sizes of folds, are those of a site, and nothing else is."""
    found = []
    for part in parts:
        n = len(part.X)
        made = part_of(rng.normal(size=part.X.shape), rng.permutation(np.arange(n) % 2), None, part.features)
        found.append(dataclasses.replace(made, folds=part.folds))
    return found[0], found[1]


def play_history(folder: Path, seed: int, names: tuple[int, ...] | None = (0, 1)) -> None:
    """Play some jobs on records that change in between, and have the simulator make what is seen of each.

    names: the classes that the jobs declare; without them every site tells its own.
    """
    rng = np.random.default_rng(seed)
    cohorts = {site: Cohort(folder / f"{seed}" / site, rng) for site in SITES}
    for _ in range(int(rng.integers(1, 4))):
        parts = {site: cohort.parts() for site, cohort in cohorts.items()}
        steps = ({"use": "FederatedScaler"}, LAST[rng.integers(len(LAST))])
        known: list[Any] = []
        with facts(known, tell=False):
            outcome = play(parts, steps, names)
        invented = {site: invent(own, rng) for site, own in parts.items()}
        with facts(known, tell=True):
            simulated = play(invented, steps, names)
        assert seen_of(simulated) == seen_of(outcome), steps
        for cohort in cohorts.values():
            cohort.change()


def play_histories(folder: Path, count: int, names: tuple[int, ...] | None = (0, 1)) -> None:
    """Play so many."""
    for seed in range(count):
        play_history(folder, seed, names)


@pytest.mark.parametrize("seed", range(6))
def test_what_an_analyst_sees_of_a_history_follows_from_facts(tmp_path, seed):
    play_history(tmp_path, seed)


@pytest.mark.parametrize("seed", range(3))
def test_nor_does_more_where_sites_tell_their_classes(tmp_path, seed):
    play_history(tmp_path, seed, names=None)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_what_an_analyst_sees_of_700_histories_follows_from_facts(tmp_path):
    play_histories(tmp_path, 700)


def count_one(part: Any) -> targets.OwnClasses:
    """Return as many names as a holder has records of class 1: what an exact count would show."""
    few = 0 if part.y is None else int(np.count_nonzero(part.y == 1))
    return targets.OwnClasses(tuple(range(2, 2 + few)))


def test_a_message_whose_size_follows_from_records_is_noticed(tmp_path):
    """The simulator cannot make it, and makes every other message of the same study."""
    rng = np.random.default_rng(0)
    parts = {site: Cohort(tmp_path / site, rng).parts() for site in SITES}
    invented = {site: invent(own, np.random.default_rng(7)) for site, own in parts.items()}
    steps = ({"use": "FederatedScaler"}, LAST[0])
    known: list[Any] = []
    with patch.object(targets, "name_own", count_one), patch.object(targets, "check_number"):
        with facts(known, tell=False):
            real = seen_of(play(parts, steps, None))
        with facts(known, tell=True):
            made = seen_of(play(invented, steps, None))
    odd = {a[3] for a, b in zip(real, made, strict=False) if a != b}
    assert "OwnClasses" in odd
    first = next(k for k, (a, b) in enumerate(zip(real, made, strict=False)) if a != b)
    assert real[first][3] == "OwnClasses"
    assert real[:first] == made[:first]
    assert first > 10
