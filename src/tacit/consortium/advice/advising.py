"""The advisor: every method that `tacit` offers, asked whether it fits, and ranked.

Nothing is listed here. Methods are the estimators on the front door, with the parameters by which each of them is
another method (`ADVISED`). Whether one fits is what it says itself; what it opens is the ledger of its rehearsal; who
could work out records follows from the attacks that read those facts; accuracy is what benchmarks measured.
"""

from __future__ import annotations

import csv
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from statistics import mean
from typing import Any, Literal

import numpy as np

from tacit.attacks.learners import Attack
from tacit.base.by_name import estimators
from tacit.base.estimator import Federated
from tacit.cards import make_card, make_table
from tacit.choreo.fact import Fact, fault_of_word, prose_of
from tacit.choreo.protocol import Cost
from tacit.consortium.jobs.attacked import find_attacks
from tacit.consortium.jobs.preview import preview
from tacit.consortium.jobs.rehearsal import USUALLY
from tacit.consortium.jobs.requests import facts_by_role, has_dealer, list_single, list_told
from tacit.errors import LocalError, TacitError
from tacit.federation import Federation
from tacit.federation.columns import remake_columns
from tacit.federation.plan import Partition
from tacit.pipeline import Pipeline
from tacit.preprocessing import TableVectorizer
from tacit.protocols.learners.targets import LEAST_CLASS
from tacit.registry import PROTOCOLS
from tacit.report.words import count, human_bytes, listing
from tacit.sparse import is_sparse

Task = Literal["classes", "numbers"]
RISK = "accept_risk"
DEALER = "the coordinator together with any one party can work out all data"
GRAVITY = (
    "opens nothing about single records",
    "opens nothing about single records except the model, from which somebody may guess who was in the training",
    "tells somebody something about each record",
    "lets somebody with a little extra knowledge work out records",
)


@dataclass(frozen=True, repr=False)
class Advised:
    """A method that fits.

    model: the estimator, to be fitted. opens: which facts each role would know. gravity: which of GRAVITY says the
    worst of it. attacks: by what, and what that takes. together: what a coalition could do. below: points below the
    pooled learner, if measured. cost: its rounds and bytes. risk: why it has to be accepted; empty if
    it has not.
    """

    name: str
    model: Any = field(compare=False)
    opens: Mapping[str, tuple[Fact, ...]]
    gravity: int
    attacks: Mapping[str, str]
    below: float | None
    cost: Cost
    risk: str = ""
    together: str = ""

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """What it would open, how good it is and what it costs, in lines for people."""
        return [
            self.name,
            *(f"  opens to {role}: {prose_of(facts)}" for role, facts in self.opens.items()),
            f"  {GRAVITY[self.gravity]}{f': {self.how}' if self.attacks else ''}",
            *([f"  {self.together}"] if self.together else []),
            f"  accuracy: {self.accuracy}",
            f"  {self.price}",
            *([f"  needs accept_risk=True: {self.risk}"] if self.risk else []),
        ]

    @property
    def how(self) -> str:
        """By which attacks, and what each takes."""
        return "; ".join(f"{name}{f' with {needs}' if needs else ''}" for name, needs in self.attacks.items())

    @property
    def accuracy(self) -> str:
        """How far it is below the pooled learner, or above."""
        if self.below is None:
            return "not measured"
        points = round(self.below, 1)
        return f"{abs(points):.1f} points {'above' if points < 0 else 'below'} the pooled learner"

    @property
    def price(self) -> str:
        """Rounds and bytes."""
        most = human_bytes(max(self.cost.bytes.values(), default=0))
        return f"costs {count(self.cost.rounds, 'round')}, {most}"


@dataclass(frozen=True, repr=False)
class Advice:
    """The methods that fit, the best first, and why each of the others does not."""

    title: str
    fits: tuple[Advised, ...]
    others: Mapping[str, str]

    def __iter__(self) -> Iterator[Advised]:
        return iter(self.fits)

    def __len__(self) -> int:
        return len(self.fits)

    def __repr__(self) -> str:
        found = [line for k, each in enumerate(self.fits, 1) for line in (f"{k}. {each.lines[0]}", *each.lines[1:])]
        why = [f"  {name}: {reason}" for name, reason in self.others.items()]
        return "\n".join([self.title, *(found or ["no method fits"]), *(["these do not fit:", *why] if why else [])])

    def _repr_html_(self) -> str:
        rows = [(each.name, GRAVITY[each.gravity], each.accuracy, each.price, each.risk) for each in self.fits]
        return make_card(
            "Which method fits",
            self.title,
            make_table(("method", "opens", "accuracy", "cost", "to be accepted"), rows),
            make_table(("does not fit", "why"), self.others.items()),
        )


def advise(
    federation: Federation,
    *,
    task: Task = "classes",
    records: int | None = None,
    never: Sequence[str] = (),
) -> Advice:
    """Return which methods fit a federation, ranked, and why the others do not; nobody is asked and nothing is run.

    never: facts that may be opened to nobody, in the words of a policy: a kind, `kind:granularity`, or an identifier.
    records: how many there are, if not here.
    """
    for word in never:
        if fault := fault_of_word(word):
            raise LocalError(f"never has {word!r}, which {fault}")
    number = records or (federation.n_rows if federation.holds_records else USUALLY)
    raw = federation.holds_records and is_raw(federation)
    asked = as_prepared(federation) if raw else federation
    fits, others = [], {}
    for name, model in list_methods(task):
        try:
            found = _ask(name, model, asked, number)
            _refuse_unwanted(found, never)
            fits.append(after_vectorizer(found) if raw else found)
        except TacitError as error:
            others[name] = str(error)
    title = f"{count(number, 'record')}, {federation.partition}, between {len(federation)} parties"
    title += ", after a TableVectorizer" if raw else ""
    return Advice(title, tuple(sorted(fits, key=_rank)), others)


def is_raw(federation: Federation) -> bool:
    """Whether records have texts, dates or gaps, which methods leave to a TableVectorizer."""
    unwritten = federation.kinds or federation.categories
    return bool(unwritten) or any(
        not is_sparse(part.X) and np.isnan(part.X).any() for part in federation.parts.values()
    )


def as_prepared(federation: Federation) -> Federation:
    """Return about as many columns of numbers as a TableVectorizer would make; methods are asked, and none trained."""
    shown = [_count_columns(federation, name) for name in federation.features]
    sources = np.repeat(np.arange(federation.n_features), shown)
    new = tuple(f"{federation.features[j]}_{i}" for i, j in enumerate(sources.tolist()))
    filled = remake_columns(federation, sources, new, lambda X, _: np.nan_to_num(X))
    return dataclasses.replace(filled, kinds={}, categories={})


def _count_columns(federation: Federation, name: str) -> int:
    """Return how many columns become of one: one of numbers, and one for each text that records enough have."""
    if federation.kinds.get(name) != "text":
        return max(1, len(federation.categories.get(name, ())))
    times: Counter[str] = Counter()
    for part in (each for each in federation.parts.values() if name in each.texts):
        codes = part.X[:, part.features.index(name)]
        held = np.bincount(codes[np.isfinite(codes)].astype(np.int64), minlength=len(part.texts[name]))
        times.update(dict(zip(part.texts[name], held.tolist(), strict=True)))
    return sum(n >= LEAST_CLASS for n in times.values())


def after_vectorizer(found: Advised) -> Advised:
    """Return the advice with a pipeline as its model, which prepares the table first."""
    steps = [("table", TableVectorizer()), ("model", found.model)]
    return dataclasses.replace(found, model=Pipeline(steps))


def list_methods(task: Task = "classes") -> list[tuple[str, Any]]:
    """Return every method for classes, or for numbers, by name, not yet fitted."""
    kinds: dict[str, Any] = estimators(Federated)
    fitting = [kind for kind in kinds.values() if kind.NUMBERS is (task == "numbers")]
    return [(_name(kind, given), kind(**given)) for kind in fitting for given in kind.ADVISED]


def _name(kind: type[Any], given: Mapping[str, Any]) -> str:
    usual = kind().get_params()
    said = ", ".join(f"{name}={value!r}" for name, value in given.items() if usual[name] != value)
    return f"{kind.__name__}({said})" if said else kind.__name__


def _ask(name: str, model: Any, federation: Federation, records: int) -> Advised:
    """Return what a method would open and cost; raise why it does not fit. One that needs it is asked at risk."""
    try:
        return _describe(name, model, federation, records, risk="")
    except TacitError as error:
        if RISK not in str(error):
            raise
        return _describe(name, model.set_params(**{RISK: True}), federation, records, risk=str(error))


def _describe(name: str, model: Any, federation: Federation, records: int, *, risk: str) -> Advised:
    seen = preview(federation, model, records)
    told = facts_by_role(seen.disclosure)
    tried = [a for facts in told.values() for a in find_attacks(facts, stopped=False, accepted=bool(risk))]
    single = any(list_single(facts) for facts in told.values())
    attacked = "; ".join(PROTOCOLS[played].attacked for played in seen.protocols if PROTOCOLS[played].attacked)
    opens = {
        opened.role: tuple(list_told({fact.identifier: fact for fact in opened.facts}).values())
        for opened in seen.opens
    }
    return Advised(
        name,
        model,
        {role: facts for role, facts in opens.items() if facts},
        _weigh(tried, single=single, attacked=bool(attacked)),
        {attack.name: attack.needs for attack in tried},
        points_below(type(model).__name__, records),
        seen.cost,
        risk or attacked,
        DEALER if has_dealer(seen.disclosure) else "",
    )


def _weigh(tried: Sequence[Attack], *, single: bool, attacked: bool) -> int:
    """Return which of GRAVITY says the worst of a method."""
    if attacked or any(attack.finds == "records" for attack in tried):
        return 3
    return 2 if single else int(bool(tried))


def _refuse_unwanted(found: Advised, never: Sequence[str]) -> None:
    for role, facts in found.opens.items():
        unwanted = [fact.identifier for fact in facts if any(fact.is_called(word) for word in never)]
        if unwanted:
            raise LocalError(f"it opens {listing(unwanted)} to {role}, which may never be opened")


def _rank(found: Advised) -> tuple[bool, int, float, int]:
    """Return by what methods are ordered: risks to accept, what is opened, accuracy lost, bytes."""
    unknown = 100.0
    return (
        bool(found.risk),
        found.gravity,
        unknown if found.below is None else found.below,
        max(found.cost.bytes.values(), default=0),
    )


# How far methods are below the pooled learner, as `benchmarks/run.py --only defaults` measured (docs/defaults.md)


POOLED, SMALL = "pooled", 1000  # scikit-learn's SVC on all records; tables of fewer rows are told apart from others
OTHERS = ("dataset", "rows", "columns", "classes")


@dataclass(frozen=True)
class Measured:
    """One dataset: how many rows it has, and the accuracy of each learner on it, in percent."""

    dataset: str
    rows: int
    accuracy: dict[str, float]


@cache
def read_accuracy() -> tuple[Measured, ...]:
    """Return what was measured."""
    text = resources.files("tacit.consortium.advice").joinpath("accuracy.csv").read_text(encoding="utf-8")
    lines = csv.DictReader(text.splitlines())
    return tuple(Measured(each["dataset"], int(each["rows"]), _scores(each)) for each in lines)


def points_below(learner: str, records: int) -> float | None:
    """Return by how many points a learner is below the pooled one on tables of about so many records; None if unknown.

    Of those measured, the small ones stand for small tables and the others for larger ones.
    """
    alike = [each for each in read_accuracy() if (each.rows < SMALL) == (records < SMALL)]
    lost = [each.accuracy[POOLED] - each.accuracy[learner] for each in alike if learner in each.accuracy]
    return mean(lost) if lost else None


def _scores(line: dict[str, str]) -> dict[str, float]:
    return {name: float(value) for name, value in line.items() if name not in OTHERS}


# A federation of parties that nobody has named yet, with invented records, to be advised about


ROWS = 20  # invented records for each party: methods are asked whether they fit, and none is trained


def invent(partition: Partition, parties: int, columns: int) -> Federation:
    """Return so many parties that split invented records of so many columns."""
    if partition == "vertical" and columns < parties:
        raise LocalError(f"{parties} parties cannot split {columns} columns: name as many columns as parties at least")
    records = ROWS * parties
    cells = np.random.default_rng(0).normal(size=(records, columns))
    return Federation.simulate(cells, np.arange(records) % 2, parties=parties, partition=partition, seed=0)
