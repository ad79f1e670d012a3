"""SVC and ELMs in shares: CPU seconds of all parties, and traffic."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Data, Figure, Step, Table, dataset
from streaming import peak_memory
from tacit.base.estimator import choose_classes
from tacit.choreo import Coordinator, Holder, Roster, entries_of
from tacit.choreo.ledger import Ledger
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.hinge_plan import G_FACTOR, Z_BITS, HingePlan, plan_hinge
from tacit.numeric.shares.ridge_plan import MENU, plan_ridge
from tacit.protocols.features.maps import features_of
from tacit.protocols.learners.bounds import HeldRows
from tacit.protocols.learners.fitting import bind_sums, share_sums
from tacit.protocols.learners.hinge import OwnRows, open_table, train_hinge
from tacit.protocols.learners.rounding import reveal_weights
from tacit.protocols.learners.targets import OwnSums, signs_of
from tacit.protocols.shares.dealing import agree_with_dealer
from tacit.runtimes.together import Together

SEED = 0
HINGE = {2000: (0.5, 27.0, 19.0), 20_000: (1.5, 70.0, 46.0), 100_000: (6.0, 245.0, 155.0)}  # CPU s, MB sent and dealt
WIDTH, ITERATIONS, SAME = 300, 30, 2e-3
LARGE_ROWS, LARGE_WIDTH, LARGE = 1_000_000, 100, 3.0  # GB of memory a party
RIDGE_WIDTH, RIDGE_ROWS, RIDGE = 400, (10_000, 100_000), (2.0, 60.0, 80)  # CPU s, MB of a holder, rounds
LETTER, TIMES, NEAR = 10_000, 1.2, 2.0
WIDE_ROWS, WIDE_FEATURES, WIDE = 100_000, 100, (20.0, 1200.0)  # CPU s, MB in all
EXACT_ROWS, EXACT = 455, (1.2, 22.0)  # CPU s, MB to each peer
NODES = 2000
MANY, MANY_ROWS, MANY_WIDTH = (3, 4, 5, 10, 20), 2000, 100  # parties by rows, records and landmarks
MEGA = 1e6


@dataclass(frozen=True)
class Cost:
    """What a run cost: CPU seconds of all parties, rounds in which a holder sends something, and MB.

    sent: by the holder that sends most, to all its peers. dealt: by the dealer. whole: by everybody.
    """

    seconds: float
    rounds: int
    sent: float
    dealt: float
    whole: float


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure what each learner costs."""
    with threadpool_limits(1), warnings.catch_warnings():  # every party has one core of its own
        warnings.simplefilter("ignore")  # that a fold or a site has few rows is what is measured
        _load()
        yield from _hinge(list(HINGE)[: 1 if quick else None])
        yield from _ridge(RIDGE_ROWS[: 1 if quick else None])
        yield from _exact()
        if not quick:
            yield from _letters()
            yield from _wide()
            yield from _layer()
            yield from _large()
            yield _many()


def _load() -> None:
    """Train on a few records in all ways: machine code is loaded once in a process."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), np.arange(120) % 3
    for partition in ("horizontal", "vertical"):
        fit(tacit.SVC(features=5, partition=partition, random_state=0, verbose=False), X, y, 3)
    _train_hinge(*_invent_rows(60, 5), plan_hinge((20, 20, 20), 5, 1, 1.0, iterations=3))
    fit(tacit.SVC(features="exact", loss="hinge", partition="vertical", random_state=0, verbose=False), X, y % 2, 3)


def score(model: Any, Z: np.ndarray, z: np.ndarray) -> float:
    """Return the accuracy of a public model; new records are not asked about in shares."""
    return 100 * float(np.mean(model.classes_[choose_classes(model.public_model().decide(Z))] == z))


def fit(model: Any, X: np.ndarray, y: np.ndarray, parties: int) -> Cost:
    """Train between so many parties, and return what it cost."""
    federation = tacit.Federation.simulate(X, y, parties=parties, partition=model.partition or "horizontal", seed=SEED)
    began = time.process_time()
    outcome = federation.run(model.request(federation))
    model.receive(federation, outcome)
    return _cost(outcome.ledger, federation.roster, time.process_time() - began)


def _cost(ledger: Ledger, roster: Roster, seconds: float) -> Cost:
    sent = {party: sum(row.bytes or 0 for row in ledger if row.sender == party) / MEGA for party in roster.parties}
    holders = roster[Holder]
    dealt = sum(sent[party] for party in roster[Coordinator])
    rounds = len({row.place for row in ledger if row.sender in holders})
    return Cost(seconds, rounds, max(sent[party] for party in holders), dealt, sum(sent.values()))


def at_most(name: str, value: float, most: float, told: str, *, judged: bool = True) -> Figure:
    """Return a figure that has a bar."""
    return Figure(name, told.format(value), f"at most {most:g}" if judged else "", value <= most if judged else None)


def standardise(data: Data) -> Data:
    """Return records in units of the training records."""
    scaler = StandardScaler().fit(data.X)
    return Data(scaler.transform(data.X), data.y, scaler.transform(data.Z), data.z)


def pooled(data: Data) -> float:
    """Return the accuracy of SVC on all records in one place, in percent."""
    return 100 * float(SVC().fit(data.X, data.y).score(data.Z, data.z))


def score_exactly(model: Any, data: Data) -> float:
    """Return the accuracy of exact output weights on the public map of a model, with its alpha."""
    the_map, names = model.public_model().map, model.classes_
    Z, T = features_of(the_map, data.X), signs_of(np.searchsorted(names, data.y), len(names))
    w = np.linalg.solve(Z.T @ Z + model.alpha_ * np.eye(Z.shape[1]), Z.T @ T)
    return 100 * float(np.mean(names[choose_classes(features_of(the_map, data.Z) @ w)] == data.z))


# The hinge


def _hinge(sizes: list[int]) -> Iterator[Figure]:
    for n in sizes:
        seconds, sent, dealt = HINGE[n]
        Z, y = _invent_rows(n, WIDTH)
        plan = plan_hinge((n - 2 * (n // 3), n // 3, n // 3), WIDTH, 1, 1.0, iterations=ITERATIONS)
        w, cost = _train_hinge(Z, y, plan)
        name = f"hinge, {n:,} x {WIDTH}"
        yield at_most(f"{name}: CPU seconds", cost.seconds, seconds, "{:.2f}")
        yield at_most(f"{name}: MB sent by a holder", cost.sent, sent, "{:.1f}")
        yield at_most(f"{name}: MB dealt", cost.dealt, dealt, "{:.1f}")
        yield Figure(f"{name}: rounds of holders", str(cost.rounds))
        z = np.ldexp(Z.astype(np.float64), -Z_BITS)
        objective = partial(_objective, z, y, plan.C)
        off = abs(objective(w) / objective(_train_in_doubles(z, y, plan)) - 1.0)
        yield at_most(f"{name}: objective beside that of doubles", off, SAME, "{:.1e} off")
        best = LinearSVC(loss="hinge", C=plan.C, fit_intercept=False, tol=1e-4, max_iter=2000).fit(z, y[:, 0])
        yield Figure(f"{name}: objective above LinearSVC's", f"{objective(w) / objective(best.coef_.T) - 1.0:.1e}")


def _large() -> Iterator[Figure]:
    """Train on a million records in a process of its own, whose memory is that of all parties and the dealer."""
    command = [sys.executable, __file__, "--large"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this interpreter
    found = json.loads(done.stdout)
    name = f"hinge, {LARGE_ROWS:,} x {LARGE_WIDTH}"
    yield Figure(f"{name}: CPU seconds", f"{found['seconds']:.1f}")
    together, asked = found["peak"], f"at most {LARGE:g} a party"
    yield Figure(
        f"{name}: GB of memory, three parties and the dealer together", f"{together:.2f}", asked, together <= 3 * LARGE
    )
    yield Figure(f"{name}: MB sent by a holder, dealt", f"{found['sent']:.0f}, {found['dealt']:.0f}")


def _train_large() -> dict[str, float]:
    _train_hinge(*_invent_rows(60, 5), plan_hinge((20, 20, 20), 5, 1, 1.0, iterations=3))
    Z, y = _invent_rows(LARGE_ROWS, LARGE_WIDTH)
    third = LARGE_ROWS // 3
    plan = plan_hinge((LARGE_ROWS - 2 * third, third, third), LARGE_WIDTH, 1, 1.0, iterations=ITERATIONS)
    _, cost = _train_hinge(Z, y, plan)
    return {"seconds": cost.seconds, "sent": cost.sent, "dealt": cost.dealt, "peak": peak_memory()}


def _invent_rows(n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of length 1 with a constant column as fixed point, and labels of a noisy plane."""
    rng = np.random.default_rng(n)
    z = rng.normal(size=(n, columns))
    z[:, 0] = np.sqrt(columns)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    away = 3 * z @ rng.normal(size=(columns, 1)) + 0.5 * rng.normal(size=(n, 1))
    return np.rint(np.ldexp(z, Z_BITS)).astype(np.int16), np.where(away > np.median(away), 1, -1).astype(np.int8)


def _train_hinge(Z: np.ndarray, y: np.ndarray, plan: HingePlan) -> tuple[np.ndarray, Cost]:
    run, roster, names = _start(len(plan.rows))
    cuts = np.cumsum(plan.rows)[:-1]
    own = zip(np.split(Z, cuts), np.split(y, cuts), strict=True)
    with run:
        began = time.process_time()
        rows = run.hold(Holder, {p: OwnRows(*part) for p, part in zip(names, own, strict=True)})
        dealing = agree_with_dealer(run)
        shares = train_hinge(run, dealing, open_table(run, dealing, rows, plan), plan)
        seconds = time.process_time() - began
    return plan.decode([*entries_of(shares).values()]), _cost(run.ledger, roster, seconds)


def _start(holders: int) -> tuple[Together, Roster, tuple[str, ...]]:
    names = tuple(f"party-{i}" for i in range(holders))
    roster = Roster({Holder: names, Coordinator: ("dealer",)})
    entropy = RootEntropy(roster.parties, b"benchmark")
    return Together(roster, job=b"benchmark", entropy=entropy), roster, names


def _train_in_doubles(z: np.ndarray, y: np.ndarray, plan: HingePlan) -> np.ndarray:
    """Return the weights that as many iterations leave in double precision, (1) to (5) of `hinge_plan`."""
    pull, rho = y / plan.kappa, 2.0**plan.exponent
    S = z.T @ z
    G = G_FACTOR * np.linalg.inv(np.eye(len(S)) + rho * S)
    w = W = H = np.zeros((len(S), 1))
    Sigma = np.zeros(y.shape)
    for _ in range(plan.iterations):
        s = np.clip(pull + (y < 0) - (z @ W - Sigma), 0, 1) - (y < 0)
        h = z.T @ s
        new = w + G @ (rho * (S @ (W - w) - H + 2 * h) - w)
        w, W, H, Sigma = new, 1.5 * new - 0.5 * W, 1.5 * h - 0.5 * H, 1.5 * s - 0.5 * Sigma
    return plan.kappa * w


def _objective(z: np.ndarray, y: np.ndarray, C: float, w: np.ndarray) -> float:
    return float(0.5 * (w**2).sum() + C * np.maximum(0.0, 1.0 - y * (z @ w)).sum())


# Least squares


def _ridge(sizes: Iterable[int]) -> Iterator[Figure]:
    for n in sizes:
        Z, t = _invent_rows(n, RIDGE_WIDTH + 1)
        z = np.ldexp(Z.astype(np.float64), -Z_BITS)
        z[:, -1] = 1.0  # the last feature of every map
        for told, alphas in (("alpha=0.03", (0.03,)), ("alpha='auto'", MENU)):
            solved, revealed, cost = _solve(z, t.astype(np.float64), alphas)
            name = f"least squares, {n:,} x {RIDGE_WIDTH}, {told}"
            seconds, sent, rounds = RIDGE
            yield at_most(f"{name}: CPU seconds", cost.seconds, seconds, "{:.2f}")
            yield at_most(f"{name}: MB sent by a holder", cost.sent, sent, "{:.1f}")
            yield at_most(f"{name}: rounds of holders", cost.rounds, rounds, "{:.0f}")
            yield Figure(f"{name}: MB dealt", f"{cost.dealt:.1f}")
            both = f"{solved:.0e}, {revealed:.0e}"
            yield Figure(f"{name}: relative error in shares, and of what is revealed", both)


def _solve(z: np.ndarray, t: np.ndarray, alphas: tuple[float, ...]) -> tuple[float, float, Cost]:
    """Return by how much weights are off the solution in shares and as revealed, and the cost of both steps."""
    run, roster, names = _start(3)
    plan = plan_ridge(len(z), z.shape[1], 1, alphas)
    sums = [OwnSums(x.T @ x, x.T @ y, np.square(y).sum(axis=0), len(x)) for x, y in zip(
        np.array_split(z, 3), np.array_split(t, 3), strict=True
    )]  # fmt: skip
    with run:
        own = dict(zip(names, sums, strict=True))
        held = HeldRows({p: each.rows for p, each in own.items()}, weighted=False)
        brought = run.hold(Holder, {p: share_sums(each, plan) for p, each in own.items()})
        began = time.process_time()
        dealing = agree_with_dealer(run)
        shares, solve = bind_sums(run, dealing, brought, plan, held)
        solved = solve(run, dealing, shares, plan)
        found, _ = reveal_weights(run, dealing, solved.W, size=plan.size, bits=plan.bits)
        seconds = time.process_time() - began
    alpha = solved.resolvent.alpha
    exact = np.linalg.solve(z.T @ z + alpha * np.eye(z.shape[1]), z.T @ t)[:, 0]
    own = Z64.total(entries_of(solved.W).values())
    off = [np.linalg.norm(w - exact) / np.linalg.norm(exact) for w in (FixedPoint(plan.bits).decode(own), found)]
    return float(off[0]), float(off[1]), _cost(run.ledger, roster, seconds)


def _letters() -> Iterator[Figure]:
    data = _split("letter", LETTER)
    halves = np.where(np.isin(data.y, np.unique(data.y)[::2]), "one half", "the other")
    model = tacit.SVC(random_state=SEED, verbose=False)
    two = fit(model, data.X, halves, 3)
    many = fit(model, data.X, data.y, 3)
    below = pooled(data) - score(model, data.Z, data.z)
    name = f"letter, {LETTER:,} rows, 26 classes"
    times = f"{{:.2f}} ({many.seconds:.1f} s, {two.seconds:.1f} s)"
    yield at_most(f"{name}: CPU seconds over those of two classes", many.seconds / two.seconds, TIMES, times)
    yield at_most(f"{name}: points below SVC()", below, NEAR, "{:.2f}")
    yield Figure(f"{name}: MB sent by a holder, dealt; of two classes", _told(many) + "; " + _told(two))


def _told(cost: Cost) -> str:
    return f"{cost.sent:.0f}, {cost.dealt:.0f}"


def _split(name: str, rows: int) -> Data:
    """Return so many standardised rows of a set to learn from, and the others to judge by."""
    whole = dataset(name)
    order = np.random.default_rng(SEED).permutation(len(whole.X))
    here, there = order[:rows], order[rows:]
    return standardise(Data(whole.X[here], whole.y[here], whole.X[there], whole.y[there]))


# Many parties


def _many() -> Table:
    """Return what a site sends where all compute, and where three of them compute for all."""
    X, y = make_classification(MANY_ROWS, 20, n_informative=10, random_state=1)
    rows = []
    for loss in ("least_squares", "hinge"):
        for parties in MANY:
            every, (member, giver, three) = (_sent(X, y, parties, loss, who) for who in ("all", "three"))
            told = (every[0], every[2], member, giver, three)
            rows.append((loss, str(parties), *("" if mb is None else f"{mb:.1f}" for mb in told)))
    title = (
        f"MB sent in training on {MANY_ROWS:,} records with {MANY_WIDTH} landmarks by rows; committee='all', and"
        " committee='three'"
    )
    columns = ("loss", "parties", "all: a site", "in all", "three: a member", "another site", "in all")
    return Table(title, columns, tuple(rows))


def _sent(X: np.ndarray, y: np.ndarray, parties: int, loss: str, committee: str) -> tuple[float, float | None, float]:
    """Return the MB that a party which computes sends, those of one that does not, and those of everybody."""
    federation = tacit.Federation.simulate(X, y, parties=parties, partition="horizontal", seed=SEED)
    model = tacit.SVC(loss=loss, features=MANY_WIDTH, committee=committee, random_state=SEED, verbose=False)
    rows = [row for row in federation.run(model.request(federation)).ledger if row.bytes]
    sent = {party: sum(row.bytes or 0 for row in rows if row.sender == party) / MEGA for party in federation.parts}
    computing = {row.sender for row in rows if row.type == "Opening"}
    others = [mb for party, mb in sent.items() if party not in computing]
    whole = sum(row.bytes or 0 for row in rows) / MEGA
    return max(sent[party] for party in computing), max(others, default=None), whole


# Columns, exact kernels, layers


def _wide() -> Iterator[Figure]:
    X, y = make_classification(
        WIDE_ROWS, 30, n_informative=12, n_clusters_per_class=4, class_sep=0.7, flip_y=0.05, random_state=1
    )
    model = tacit.SVC(features=WIDE_FEATURES, partition="vertical", random_state=SEED, verbose=False)
    cost = fit(model, StandardScaler().fit_transform(X), y, 3)
    name, (seconds, whole) = f"columns, {WIDE_ROWS:,} records, {WIDE_FEATURES} landmarks", WIDE
    yield at_most(f"{name}: CPU seconds", cost.seconds, seconds, "{:.1f}")
    yield at_most(f"{name}: MB in all", cost.whole, whole, "{:.0f}")
    yield Figure(f"{name}: rounds of holders", str(cost.rounds))


def _exact() -> Iterator[Figure]:
    data = dataset("wdbc")
    order = np.random.default_rng(SEED).permutation(len(data.X))[:EXACT_ROWS]
    model = tacit.SVC(C=10.0, features="exact", loss="hinge", partition="vertical", random_state=SEED, verbose=False)
    cost = fit(model, StandardScaler().fit_transform(data.X)[order], data.y[order], 3)
    name, (seconds, sent) = f"exact, wdbc {EXACT_ROWS} x 30", EXACT
    yield at_most(f"{name}: CPU seconds", cost.seconds, seconds, "{:.2f}")
    yield at_most(f"{name}: MB to each peer", cost.sent / 2, sent, "{:.1f}")
    yield Figure(f"{name}: rounds of holders", str(cost.rounds))


def _layer() -> Iterator[Figure]:
    data = _split("letter", LETTER)
    model = tacit.ELMClassifier(n_hidden=NODES, random_state=SEED, verbose=False)
    cost = fit(model, data.X, data.y, 3)
    name = f"ELMClassifier(n_hidden={NODES}), letter, {LETTER:,} rows"
    told = f"{score(model, data.Z, data.z):.1f}, {score_exactly(model, data):.1f}"
    yield Figure(f"{name}: accuracy in %, and of the pooled ELM with the same layer and alpha", told)
    yield Figure(f"{name}: CPU seconds; MB sent by a holder, dealt", f"{cost.seconds:.0f}; {_told(cost)}")


if __name__ == "__main__":
    with threadpool_limits(1):
        print(json.dumps(_train_large()))
