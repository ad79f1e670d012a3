"""How the attacks on sums, layers, shifts and consensus are played, each on the view that its protocol gives.

Those on gram matrices stand in `gram_studies` and `blind_studies`; those on public models beside their attacks.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.attacks import set_lattice
from tacit.attacks.chosen_iterate import chosen_iterate
from tacit.attacks.cluster_difference import cluster_difference, lloyd_sums
from tacit.attacks.coordinator import deal_rows
from tacit.attacks.elm_inversion import elm_inversion
from tacit.attacks.elm_known_records import elm_known_records
from tacit.attacks.elm_row_space import elm_row_space
from tacit.attacks.few_violators import few_violators
from tacit.attacks.ica import ica
from tacit.attacks.iterate_differencing import Weights, iterate_differencing, overhear, recover_share
from tacit.attacks.landmark_exposure import landmark_exposure
from tacit.attacks.shift_column_minimum import shift_column_minimum
from tacit.attacks.shift_initiator import shift_initiator
from tacit.attacks.shift_one_record import shift_one_record
from tacit.attacks.study import Point, Points, steps
from tacit.attacks.two_party import measure_mistake, two_party
from tacit.attacks.vertical_modes import nearest, vertical_modes
from tacit.attacks.vertical_span import deal_columns, listen, vertical_span
from tacit.attacks.weak_seed import numpy_pad, weak_seed
from tacit.errors import PeerError
from tacit.federation.part import part_of
from tacit.numeric.cells.shift import rotation_of
from tacit.numeric.features.landmarks import centres

FEW = 80  # records of an attack on single rows
READ = 1e-6  # how near a record is that was read, and not guessed


def landmark_exposure_study(X: F64, _: I64) -> Points:
    """Yield the share of records that are landmarks themselves, by how many landmarks there are."""
    for least in (1, 5):
        for share in (0.05, 0.1, 0.15, 0.2):
            found = centres(X, max(1, int(share * len(X))), least, 0)[0]
            yield Point(f"min_cluster={least}", share, landmark_exposure(found, X).share)


def cluster_difference_study(X: F64, _: I64) -> Points:
    """Yield the share of records that sums of k-means give away, by how many rounds are seen."""
    for name, least in (("every sum opened", 0), ("differences below 5 held back", 5)):
        told = lloyd_sums(X, 10, 15, 0, least)
        for rounds in (2, 5, 10, 15):
            yield Point(name, rounds, len(cluster_difference(told[:rounds], X).found) / len(X))


def few_violators_study(X: F64, y: I64) -> Points:
    """Yield the share of rows that the coordinator reads from cuts, by the price C."""
    few, sides = X[:FEW, :5], y[:FEW]  # where a round moves single rows
    for least in (1, 5):
        for C in (0.3, 1.0, 3.0):
            alone = few_violators(deal_rows(few, sides, parties=3), C=C, min_count=least, tol=1e-6)
            candidates = np.array([one.features for one in alone]).reshape(-1, few.shape[1])
            yield Point(f"min_count={least}", C, len(set_lattice.found_rows(candidates, few, within=READ)) / len(few))


def chosen_iterate_study(X: F64, y: I64) -> Points:
    """Yield how far from a record that is which a coordinator isolates by iterates of its own choice, in four draws."""
    radius = float(np.linalg.norm(X, axis=1).max())
    for name, least, witness in (("min_count=1", 1, False), ("min_count=5", 5, False), ("witnessed", 1, True)):
        for seed in range(4):
            yield Point(name, seed, _isolated(X, y, radius, seed, least, witness=witness))


def _isolated(X: F64, y: I64, radius: float, seed: int, least: int, *, witness: bool) -> float:
    """Return how far what the coordinator isolates is from the nearest record, relative to that record's length."""
    try:
        found = chosen_iterate(deal_rows(X, y, parties=3), radius=radius, min_count=least, seed=seed, witness=witness)
    except PeerError:
        return 1.0
    if found is None:
        return 1.0
    far = np.linalg.norm(X - found.features, axis=1)
    return min(1.0, float(far.min() / np.linalg.norm(X[far.argmin()])))


def weak_seed_study(X: F64, _: I64) -> Points:
    """Yield whether the seed of a pad is found, by how many seeds are tried."""
    bound, words = 1 << 40, np.rint(np.ldexp(X[0], 32)).astype(np.int64).view(np.uint64)
    masked = {"32-bit seed": words + numpy_pad(40000, words.size), "256-bit seed": words + _random_words(words.size)}
    for name, vector in masked.items():
        for bits in (12, 14, 16):
            yield Point(name, bits, float(weak_seed(vector, bound=bound, seeds=range(1 << bits)).seed is not None))


def elm_inversion_study(X: F64, _: I64) -> Points:
    """Yield the error of records that are worked out from a hidden layer, by its number of nodes."""
    rng = np.random.default_rng(0)
    for nodes in steps(2 * X.shape[1])[1:]:
        W, b = rng.normal(size=(X.shape[1], nodes)), rng.normal(size=nodes)
        yield Point("weights='master'", nodes, elm_inversion(X @ W + b, W, b, X).error)
        guess = rng.normal(size=W.shape)
        yield Point("weights='private'", nodes, min(1.0, elm_inversion(X @ W + b, guess, b, X).error))


def elm_known_records_study(X: F64, _: I64) -> Points:
    """Yield the error of records that are worked out from a hidden layer, by how many records are known."""
    rng, d = np.random.default_rng(0), X.shape[1]
    W, b = rng.normal(size=(d, 2 * d)), rng.normal(size=2 * d)
    for known in steps(2 * d)[1:]:
        yield Point("weights='private'", known, min(1.0, elm_known_records(X @ W + b, X, np.arange(known)).error))


def elm_row_space_study(X: F64, _: I64) -> Points:
    """Yield the share of eight rows that are read from their sum H'H, by its number of nodes."""
    rng, few = np.random.default_rng(0), X[:8, :3]
    for nodes in (8, 12, 16, 24):
        W, b = rng.normal(size=(3, nodes)), rng.normal(size=nodes)
        layer = partial(_layer, W, b)
        yield Point("8 rows in a sum", nodes, elm_row_space(layer(few).T @ layer(few), layer, few).share)


def _layer(W: F64, b: F64, x: F64) -> F64:
    return np.asarray(np.tanh(x @ W + b))


def shift_one_record_study(X: F64, _: I64) -> Points:
    """Yield the error of records whose shift is taken off, by how many records are known."""
    for name, moved in _move_records(X).items():
        for known in (1, *steps(2 * X.shape[1])[1:]):
            yield Point(name, known, shift_one_record(moved, X, np.arange(known), rotated=name == "rotation").error)


def shift_column_minimum_study(X: F64, _: I64) -> Points:
    """Yield the error of records whose shift is taken off by the least value of every column."""
    for name, moved in _move_records(X).items():
        yield Point(name, 0, shift_column_minimum(moved, X, X.min(axis=0)).error)


def shift_initiator_study(X: F64, _: I64) -> Points:
    """Yield the error of records that the initiator of Algorithm 1 reads by subtracting blocks."""
    rng, blocks = np.random.default_rng(0), np.array_split(X, 4)
    r = rng.uniform(-10, 10, size=(4, X.shape[1]))
    first = [block + r[i:].sum(axis=0) for i, block in enumerate(blocks)]
    second = [block + r.sum(axis=0) for block in blocks[1:]]
    yield Point("plain", 0, shift_initiator([*first, *second], r[:-1], blocks[1:], r[-1]).error)
    yield Point("secret", 0, shift_initiator([block + r.sum(axis=0) for block in blocks], r[:-1]).error)


def ica_study(X: F64, _: I64) -> Points:
    """Yield the error of columns of rotated records by independent component analysis, with no record known."""
    yield Point("rotation", 0, ica(_move_records(X)["rotation"], X).error)


def iterate_differencing_study(X: F64, y: I64) -> Points:
    """Yield the share of records that a party's weights, seen round by round, give away, by parties."""
    for parties in (2, 4, 8):
        heard = _overhear(X, y, parties)
        each = [iterate_differencing(told, heard.average, heard.rho, parties) for told in heard.told.values()]
        yield Point("every party's weights in clear", parties, recover_share(np.vstack(each), X))
        mixed = iterate_differencing(heard.average, heard.average, heard.rho, parties)
        yield Point("the secure sum only", parties, recover_share(mixed, X))


def two_party_study(X: F64, y: I64) -> Points:
    """Yield how far off one party's guess of another's weights is in a consensus over rows, by parties."""
    for parties in (2, 3, 4):
        heard = _overhear(X, y, parties)
        own, other = list(heard.told.values())[:2]
        guess = two_party(own, heard.average, parties)
        yield Point("the secure sum only", parties, measure_mistake(guess, other, heard.average))


def _overhear(X: F64, y: I64, parties: int) -> Weights:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    held = {f"p{i + 1}": part_of(X[i::parties], y[i::parties], None, names) for i in range(parties)}
    return overhear(held, C=1.0, rho=100.0, rounds=100)  # rho as in the paper


def vertical_span_study(X: F64, y: I64) -> Points:
    """Yield the error of records that sums of a consensus over columns give, by how many records are known."""
    d = X.shape[1]
    for name, how in _COLUMN_RUNS.items():
        _, sums = listen(deal_columns(X, y, np.array_split(np.arange(d), min(4, d))), C=50.0, **how)
        for known in steps(2 * d)[1:]:
            yield Point(name, known, min(1.0, vertical_span(sums, X, np.arange(known)).error))


def vertical_modes_study(X: F64, y: I64) -> Points:
    """Yield the error of a party's column that ADMM over columns gives, by how many rounds are seen."""
    d = X.shape[1]
    for name, how in _COLUMN_RUNS.items():
        cuts = [np.array([0]), *np.array_split(np.arange(1, d), min(3, d - 1))]
        told, sums = listen(deal_columns(X, y, cuts), C=50.0, **how)
        for rounds in (d, 2 * d + 10, 4 * d, 10 * d):
            seen = slice(min(rounds, sums.shape[1]))
            yield Point(name, rounds, nearest(vertical_modes(told[:, seen], sums[:, seen], d, 0.2), X[:, 0]))


_COLUMN_RUNS: dict[str, dict[str, float | int]] = {
    "ADMM, 300 rounds": {"rho": 0.2, "over_relaxation": 1.9, "max_rounds": 300, "tol": 0.0},
    "rho='auto'": {},
}


def _move_records(X: F64) -> dict[str, F64]:
    """Return the records as P_0 sees them under a common shift, and under a rotation as well."""
    words = _random_words(X.shape[1] ** 2)
    r = np.random.default_rng(1).uniform(-10, 10, X.shape[1])
    return {"secret": X + r, "rotation": X @ rotation_of(words, X.shape[1]) + r}


def _random_words(n: int) -> U64:
    return np.random.default_rng(2**70 + 3).integers(0, 1 << 64, size=n, dtype=np.uint64)
