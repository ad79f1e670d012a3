"""What synthetic landmarks give away of one record: no more than the bound that their noise is made for.

The attacker knows all records but one, all noise but that of one honest holder, and all that is opened. It takes what
it knows off the noisy sums, and is left with u, u u' and one holder's noise. Without noise it has the record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import load_breast_cancer

from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.features.normal_points import BITS, sum_products, whole_records
from tacit.numeric.ring.triangle import pack, unpack
from tacit.protocols.features import landmarks as protocol
from tacit.protocols.features.landmarks import MU, Level, find_distribution, find_scales, sum_noisily
from tacit.protocols.shares.dealing import agree_with_dealer
from tacit.runtimes.together import Together

WDBC = load_breast_cancer().data
N, D = WDBC.shape
TRIALS = 400


def part(X: Any) -> Any:
    return part_of(X, None, None, tuple(f"x{j}" for j in range(X.shape[1])))


def key_of(number: int) -> bytes:
    return number.to_bytes(32, "little")


@pytest.fixture
def no_noise(monkeypatch):
    monkeypatch.setattr(protocol, "draw_noise", lambda _key, count, _variance: np.zeros(count, np.int64))


@dataclass
class Attack:
    """What is known of a table before the sums are opened: the units, and all rows but one."""

    centre: Any
    scale: Any
    level: Level

    def record(self, x: Any) -> Any:
        """Return u of a row."""
        return np.ldexp(self._whole(x[None])[0].astype(float), -BITS)

    def look(self, X: Any, target: int, key: int) -> tuple[Any, Any]:
        """Return u and u u' of one row with one holder's noise: the opened sums less all that is known."""
        d = X.shape[1]
        words = sum_noisily(part(X), self.centre, self.scale, self.level, key_of(key)).view(np.int64)
        rest = self._whole(np.delete(X, target, axis=0))
        sums = (words[:d] >> self.level.lift) - rest.sum(axis=0)
        products = words[d:] - pack(sum_products(rest), 0)
        return np.ldexp(sums.astype(float), -BITS), np.ldexp(unpack([products], d).astype(float), -2 * BITS)

    def _whole(self, X: Any) -> Any:
        return whole_records(X, self.centre, self.scale, self.level.radius)

    def recover(self, X: Any, target: int) -> float:
        """Return the cosine of a row and the strongest direction that is seen."""
        sums, products = self.look(X, target, target)
        found = np.linalg.eigh(products)[1][:, -1]
        return cosine(found if found @ sums >= 0 else -found, self.record(X[target]))

    def choose(self, X: Any, rows: Any, editions: int = 1) -> float:
        """Return how often the likelihood finds which of two rows is the last of the table."""
        right, candidates = 0, [self.record(x) for x in rows]
        for trial in range(TRIALS):
            table = np.vstack([X[:-1], rows[trial % 2]])
            seen = [self.look(table, len(X) - 1, editions * trial + i) for i in range(editions)]
            sums, products = (np.mean([each[i] for each in seen], axis=0) for i in range(2))
            away = [
                np.square((sums - u) / self.level.sum_noise).sum() * 4**BITS  # noise of either kind has its own unit
                + np.square((products - np.outer(u, u)) / self.level.product_noise).sum() * 16**BITS
                for u in candidates
            ]
            right += int(away[1] < away[0]) == trial % 2
        return right / TRIALS


def cosine(a: Any, b: Any) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def most(mu: float) -> float:
    """Return the share of right choices that mu allows, and three deviations of what so many trials show."""
    return float(ndtr(mu / 2)) + 1.5 / math.sqrt(TRIALS)


PLAIN = Attack(np.median(WDBC, axis=0), WDBC.std(axis=0), Level(N, 2, D))
REAL = [WDBC[0], WDBC[N - 2]]
OPPOSITE = np.where(np.arange(D) < 3 * D // 4, -1.0, 1.0)
WORST = [PLAIN.centre + 7 * PLAIN.scale, PLAIN.centre + 7 * PLAIN.scale * OPPOSITE]  # at an angle of 120 degrees


def test_the_bound_is_that_of_the_noise():
    level = Level(10_000, 3, 8)
    cos = np.linspace(-1, 1, 2001)
    terms = (2 - 2 * cos) * level.radius**2 / (level.sum_noise / 2**BITS) ** 2
    terms += 2 * (1 - cos**2) * level.radius**4 / (level.product_noise / 4**BITS) ** 2
    assert math.sqrt(terms.max()) == pytest.approx(MU, rel=1e-5)
    assert pytest.approx(0.424, abs=1e-3) == MU


def test_no_record_is_longer_than_the_bound_says():
    X = np.random.default_rng(0).standard_cauchy((500, D)) * 1e3
    u = whole_records(X, np.zeros(D), np.ones(D), PLAIN.level.radius)
    assert np.sqrt(np.square(u.astype(float)).sum(axis=1)).max() <= PLAIN.level.radius * 2**BITS


@pytest.mark.usefixtures("no_noise")
def test_without_noise_a_record_is_found():
    assert min(PLAIN.recover(WDBC, i) for i in range(0, N, 20)) > 0.999


def test_with_noise_no_record_is_found():
    found = np.abs([PLAIN.recover(WDBC, i) for i in range(0, N, 4)])
    assert found.mean() < 0.25  # a random direction has 0.15
    assert np.quantile(found, 0.95) < 0.6


@pytest.mark.parametrize("rows", [WORST, REAL], ids=["worst", "real"])
def test_of_two_candidates_the_right_one_is_found_as_often_as_the_bound_says(rows):
    assert PLAIN.choose(WDBC, rows) < most(MU)


@pytest.mark.usefixtures("no_noise")
def test_without_noise_the_right_candidate_is_always_found():
    assert PLAIN.choose(WDBC, REAL) == 1


def test_two_editions_tell_as_much_as_the_bound_says():
    """Both hold the record, so that their noise is averaged: the most that another edition adds."""
    assert PLAIN.choose(WDBC, WORST, editions=2) < most(math.sqrt(2) * MU)


# Rare values


def with_rare(ones: int) -> Any:
    """Return the table with a column that is 1 in so many rows, the last one among them."""
    return np.column_stack([WDBC[:, :-1], np.arange(N) >= N - ones])


def scales(X: Any, key: int) -> tuple[Any, Any]:
    """Return centre and scale as two holders find them, with the noise of one."""
    calls = iter(range(9))

    def ask(count: Any, brackets: Any, level: Level, targets: Any) -> Any:
        own = protocol.count_noisily(part(X), count, brackets, level, key_of(10 * key + next(calls)))
        return own.reshape(targets.shape) >= targets

    return find_scales(ask, X.shape[1], Level(len(X), 2))


def test_a_column_with_few_ones_is_constant():
    assert [scales(with_rare(ones), ones)[1][-1] for ones in (1, 3, 5)] == [0, 0, 0]
    assert scales(with_rare(60), 60)[1][-1] == pytest.approx(with_rare(60)[:, -1].std(), rel=0.5)


def rare_attack() -> float:
    X = with_rare(30)
    attack = Attack(np.median(X, axis=0), X.std(axis=0), PLAIN.level)
    return attack.choose(X, [np.append(X[-1, :-1], value) for value in (0.0, 1.0)])


def test_who_has_a_rare_value_is_not_found():
    assert rare_attack() < most(MU)


@pytest.mark.usefixtures("no_noise")
def test_without_noise_it_is_found_who_has_a_rare_value():
    assert rare_attack() == 1


# Digits


def tell_editions_apart() -> float:
    """Return how often two editions are told apart that differ in one row, where a scale is about to change by it."""
    tables = [with_rare(ones)[:, -1:] for ones in (21, 22)]  # a crowd of two holders is 21.2 rows
    seen = [[float(scales(X, trial)[1][0]) for trial in range(TRIALS)] for X in tables]
    values = sorted({*seen[0], *seen[1]})
    shares = [np.array([each.count(value) for value in values]) / TRIALS for each in seen]
    return 0.5 + 0.25 * float(np.abs(shares[0] - shares[1]).sum())


def test_a_scale_hardly_changes_by_one_row():
    assert tell_editions_apart() < 0.75


@pytest.mark.usefixtures("no_noise")
def test_without_noise_one_row_changes_a_scale():
    assert tell_editions_apart() == 1


# Many jobs on the same records


def sums_of(X: Any, partition: str, monkeypatch: Any, secret: bytes | None, job: int) -> Any:
    """Return what is opened of the sums, and where points are drawn, in one job of sites that keep a secret."""
    opened, read = [], protocol.read_sums

    def keep(sums: Any, coarse: Any, scale: Any, level: Any) -> Any:
        opened.append((sums, coarse, scale))
        return read(sums, coarse, scale, level)

    cut = np.array_split(X, 3, axis=int(partition == "vertical"))
    names = tuple(f"p{i}" for i in range(3))
    roster = Roster({Holder: names, Coordinator: ("dealer",)})
    owned = [np.arange(X.size).reshape(X.shape) % 3 == i for i in range(3)] if partition == "arbitrary" else None
    tables = cut if owned is None else [np.where(mask, X, 0.0) for mask in owned]
    data = {p: part_of(x, None, None, tuple(f"x{j}" for j in range(x.shape[1])), m) for p, x, m in zip(
        names, tables, owned or [None] * 3, strict=True
    )}  # fmt: skip
    kept = None if secret is None else dict.fromkeys(names, secret)
    entropy = RootEntropy(roster.parties, key_of(job), lasting=kept)
    monkeypatch.setattr(protocol, "read_sums", keep)
    with Together(roster, job=key_of(job), entropy=entropy) as run:
        rows = {p: len(each.X) for p, each in data.items()}
        find_distribution(
            run, agree_with_dealer(run), run.hold(Holder, data), partition=partition, rows=rows, columns=D
        )
    monkeypatch.undo()
    return [np.concatenate([np.ravel(each) for each in of_owner]) for of_owner in opened]


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_jobs_on_the_same_records_find_the_same_so_that_there_is_nothing_to_average(partition, monkeypatch):
    first, again, other = (sums_of(WDBC, partition, monkeypatch, b"s", job) for job in (1, 2, 3))
    for each in (again, other):
        assert max(np.abs(a - b).max() for a, b in zip(first, each, strict=True)) <= 1  # a unit of rounding


def test_a_party_that_keeps_no_secret_has_noise_of_each_run(monkeypatch):
    first, again = (sums_of(WDBC, "horizontal", monkeypatch, None, job) for job in (1, 2))
    assert np.abs(first[0] - again[0]).max() > 8  # units of an eighth of a holder's noise


def test_other_records_or_another_secret_have_other_noise(monkeypatch):
    """The difference of two editions is no record: nearly every sum differs by more than one record changes it."""
    X = WDBC.copy()
    X[0] = X[1]
    one, two, three = (
        sums_of(table, "vertical", monkeypatch, secret, 1) for table, secret in ((WDBC, b"s"), (X, b"s"), (WDBC, b"t"))
    )
    same = [np.mean(a == b) for a, b in (*zip(one, two, strict=True), *zip(one, three, strict=True))]
    assert max(same) < 0.3  # coarse centres and scales may be equal


# The whole run


def ledger_of(parts: list[Any], partition: str = "horizontal") -> list[Any]:
    names = tuple(f"p{i}" for i in range(len(parts)))
    roster = Roster({Holder: names, Coordinator: ("dealer",)})
    data = {p: part(X) for p, X in zip(names, parts, strict=True)}
    columns = sum(X.shape[1] for X in parts) if partition == "vertical" else D
    with Together(roster, job=b"landmarks", entropy=RootEntropy(roster.parties, b"run")) as run:
        held, rows = run.hold(Holder, data), {p: len(X) for p, X in zip(names, parts, strict=True)}
        find_distribution(run, agree_with_dealer(run), held, partition=partition, rows=rows, columns=columns)
    return run.ledger.rows


def kinds(rows: list[Any]) -> list[Any]:
    return [(row.place, row.sender, row.receiver, row.type, row.tells, row.shapes, row.bytes) for row in rows]


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_nothing_but_the_opened_values_depends_on_data(partition):
    other = np.random.default_rng(0).standard_cauchy(WDBC.shape) * 10.0 ** np.arange(-15, 15)
    other[:, ::4] = 0.0
    cut = np.array_split if partition == "horizontal" else lambda X, n: np.array_split(X, n, axis=1)
    assert kinds(ledger_of(cut(WDBC, 3), partition)) == kinds(ledger_of(cut(other, 3), partition))


def test_one_fact_is_told_of_data_and_the_dealer_hears_it_alone():
    rows = ledger_of(np.array_split(WDBC, 3))
    told = {fact.identifier for row in rows for fact in row.tells if fact.kind not in {"nothing", "key"}}
    assert told == {"core.landmarks"}
    heard = {row.type for row in rows if row.receiver == "dealer"}
    assert heard == {"PublicKey", "Published", "CoinCommitment", "CoinPart"}
