"""All attacks of the package, each as a study: what an attacker finds out about the records at hand, by what it knows.

Every study plays the attack on the view that the protocol gives the attacker, with the rule that stops it and without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tacit.attacks import atom_inversion, bound_moments, gram_studies, margin_tracking, set_lattice
from tacit.attacks.chosen_iterate import chosen_iterate
from tacit.attacks.cluster_difference import cluster_difference, lloyd_sums
from tacit.attacks.coordinator import dealt_rows
from tacit.attacks.elm_inversion import elm_inversion
from tacit.attacks.elm_known_records import elm_known_records
from tacit.attacks.elm_row_space import elm_row_space
from tacit.attacks.few_violators import few_violators
from tacit.attacks.ica import ica
from tacit.attacks.iterate_differencing import Weights, iterate_differencing, overhear, recovered
from tacit.attacks.landmark_exposure import landmark_exposure
from tacit.attacks.shift_column_minimum import shift_column_minimum
from tacit.attacks.shift_initiator import shift_initiator
from tacit.attacks.shift_one_record import shift_one_record
from tacit.attacks.study import ERROR, F64, I64, Point, Points, steps
from tacit.attacks.two_party import mistaken, two_party
from tacit.attacks.vertical_modes import nearest, vertical_modes
from tacit.attacks.vertical_span import dealt, listen, vertical_span
from tacit.attacks.weak_seed import numpy_pad, weak_seed
from tacit.data.part import part_of
from tacit.errors import LocalError, PeerError
from tacit.numeric.landmarks import centres
from tacit.numeric.shift import rotation_of

MANY, FEW = 400, 80  # records of a study: attacks do not get better with more
READ = 1e-6  # how near a record is that was read, and not guessed
SHARE = "share of the records"


@dataclass(frozen=True)
class Attack:
    """An attack: which estimators it is against, what its attacker knows, and what is measured; of an error a small one is a success."""

    name: str
    against: tuple[str, ...]
    shows: str
    knows: str
    measures: str
    study: Callable[[F64, I64], Points]

    def points(self, X: F64, y: I64) -> list[Point]:
        """Play it on standardised records of two classes."""
        rows = np.random.default_rng(0).permutation(len(X))[:MANY]
        spread = X.std(axis=0)
        kept = X[:, spread > 0]
        if kept.shape[1] < 2 or len(rows) < 4 * kept.shape[1]:  # noqa: PLR2004 - one column has nothing to mix
            raise LocalError(
                f"{len(rows)} records of {kept.shape[1]} columns that vary are too few to study {self.name}: bring two columns and four"
                " records for each"
            )
        return list(self.study(((kept - kept.mean(axis=0)) / kept.std(axis=0))[rows], y[rows]))


def _landmark_exposure(X: F64, _: I64) -> Points:
    for least in (1, 5):
        for share in (0.05, 0.1, 0.15, 0.2):
            found = centres(X, max(1, int(share * len(X))), least, 0)[0]
            yield Point(f"min_cluster={least}", share, landmark_exposure(found, X).share)


def _cluster_difference(X: F64, _: I64) -> Points:
    for name, least in (("every sum opened", 0), ("differences below 5 held back", 5)):
        told = lloyd_sums(X, 10, 15, 0, least)
        for rounds in (2, 5, 10, 15):
            yield Point(name, rounds, len(cluster_difference(told[:rounds], X).found) / len(X))


def _few_violators(X: F64, y: I64) -> Points:
    few, sides = X[:FEW, :5], y[:FEW]  # where a round moves single rows
    for least in (1, 5):
        for C in (0.3, 1.0, 3.0):
            alone = few_violators(dealt_rows(few, sides, parties=3), C=C, min_count=least, tol=1e-6)
            candidates = np.array([one.features for one in alone]).reshape(-1, few.shape[1])
            yield Point(f"min_count={least}", C, len(set_lattice.found_rows(candidates, few, within=READ)) / len(few))


def _chosen_iterate(X: F64, y: I64) -> Points:
    radius = float(np.linalg.norm(X, axis=1).max())
    for name, least, witness in (("min_count=1", 1, False), ("min_count=5", 5, False), ("witnessed", 1, True)):
        for seed in range(4):
            yield Point(name, seed, _isolated(X, y, radius, seed, least, witness=witness))


def _isolated(X: F64, y: I64, radius: float, seed: int, least: int, *, witness: bool) -> float:
    """Return how far what the coordinator isolates is from the nearest record, relative to that record's length."""
    try:
        found = chosen_iterate(dealt_rows(X, y, parties=3), radius=radius, min_count=least, seed=seed, witness=witness)
    except PeerError:
        return 1.0
    if found is None:
        return 1.0
    far = np.linalg.norm(X - found.features, axis=1)
    return min(1.0, float(far.min() / np.linalg.norm(X[far.argmin()])))


def _weak_seed(X: F64, _: I64) -> Points:
    bound, words = 1 << 40, np.rint(np.ldexp(X[0], 32)).astype(np.int64).view(np.uint64)
    masked = {"32-bit seed": words + numpy_pad(40000, words.size), "256-bit seed": words + _random_words(words.size)}
    for name, vector in masked.items():
        for bits in (12, 14, 16):
            yield Point(name, bits, float(weak_seed(vector, bound=bound, seeds=range(1 << bits)).seed is not None))


def _elm_inversion(X: F64, _: I64) -> Points:
    rng = np.random.default_rng(0)
    for nodes in steps(2 * X.shape[1])[1:]:
        W, b = rng.normal(size=(X.shape[1], nodes)), rng.normal(size=nodes)
        yield Point("weights='master'", nodes, elm_inversion(X @ W + b, W, b, X).error)
        yield Point("weights='private'", nodes, min(1.0, elm_inversion(X @ W + b, rng.normal(size=W.shape), b, X).error))


def _elm_known_records(X: F64, _: I64) -> Points:
    rng, d = np.random.default_rng(0), X.shape[1]
    W, b = rng.normal(size=(d, 2 * d)), rng.normal(size=2 * d)
    for known in steps(2 * d)[1:]:
        yield Point("weights='private'", known, min(1.0, elm_known_records(X @ W + b, X, np.arange(known)).error))


def _elm_row_space(X: F64, _: I64) -> Points:
    rng, few = np.random.default_rng(0), X[:8, :3]
    for nodes in (8, 12, 16, 24):
        W, b = rng.normal(size=(3, nodes)), rng.normal(size=nodes)
        layer = partial(_layer, W, b)
        yield Point("8 rows in a sum", nodes, elm_row_space(layer(few).T @ layer(few), layer, few).share)


def _layer(W: F64, b: F64, x: F64) -> F64:
    return np.asarray(np.tanh(x @ W + b))


def _shift_one_record(X: F64, _: I64) -> Points:
    for name, moved in _moved(X).items():
        for known in (1, *steps(2 * X.shape[1])[1:]):
            yield Point(name, known, shift_one_record(moved, X, np.arange(known), rotated=name == "rotation").error)


def _shift_column_minimum(X: F64, _: I64) -> Points:
    for name, moved in _moved(X).items():
        yield Point(name, 0, shift_column_minimum(moved, X, X.min(axis=0)).error)


def _shift_initiator(X: F64, _: I64) -> Points:
    rng, blocks = np.random.default_rng(0), np.array_split(X, 4)
    r = rng.uniform(-10, 10, size=(4, X.shape[1]))
    first = [block + r[i:].sum(axis=0) for i, block in enumerate(blocks)]
    second = [block + r.sum(axis=0) for block in blocks[1:]]
    yield Point("plain", 0, shift_initiator([*first, *second], r[:-1], blocks[1:], r[-1]).error)
    yield Point("secret", 0, shift_initiator([block + r.sum(axis=0) for block in blocks], r[:-1]).error)


def _ica(X: F64, _: I64) -> Points:
    yield Point("rotation", 0, ica(_moved(X)["rotation"], X).error)


def _iterate_differencing(X: F64, y: I64) -> Points:
    for parties in (2, 4, 8):
        heard = _overheard(X, y, parties)
        each = np.vstack([iterate_differencing(told, heard.average, heard.rho, parties) for told in heard.told.values()])
        yield Point("every party's weights in clear", parties, recovered(each, X))
        mixed = iterate_differencing(heard.average, heard.average, heard.rho, parties)
        yield Point("the secure sum only", parties, recovered(mixed, X))


def _two_party(X: F64, y: I64) -> Points:
    for parties in (2, 3, 4):
        heard = _overheard(X, y, parties)
        own, other = list(heard.told.values())[:2]
        yield Point("the secure sum only", parties, mistaken(two_party(own, heard.average, parties), other, heard.average))


def _overheard(X: F64, y: I64, parties: int) -> Weights:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    held = {f"p{i + 1}": part_of(X[i::parties], y[i::parties], None, names) for i in range(parties)}
    return overhear(held, C=1.0, rho=100.0, rounds=100)  # rho as in the paper


def _vertical_span(X: F64, y: I64) -> Points:
    d = X.shape[1]
    for name, how in _COLUMN_RUNS.items():
        _, sums = listen(dealt(X, y, np.array_split(np.arange(d), min(4, d))), C=50.0, **how)
        for known in steps(2 * d)[1:]:
            yield Point(name, known, min(1.0, vertical_span(sums, X, np.arange(known)).error))


def _vertical_modes(X: F64, y: I64) -> Points:
    d = X.shape[1]
    for name, how in _COLUMN_RUNS.items():
        told, sums = listen(dealt(X, y, [np.array([0]), *np.array_split(np.arange(1, d), min(3, d - 1))]), C=50.0, **how)
        for rounds in (d, 2 * d + 10, 4 * d, 10 * d):
            seen = slice(min(rounds, sums.shape[1]))
            yield Point(name, rounds, nearest(vertical_modes(told[:, seen], sums[:, seen], d, 0.2), X[:, 0]))


_COLUMN_RUNS: dict[str, dict[str, float | int]] = {
    "ADMM, 300 rounds": {"rho": 0.2, "over_relaxation": 1.9, "max_rounds": 300, "tol": 0.0},
    "rho='auto'": {},
}


def _moved(X: F64) -> dict[str, F64]:
    """As P_0 sees the records under a common shift, and under a rotation as well."""
    words = _random_words(X.shape[1] ** 2)
    r = np.random.default_rng(1).uniform(-10, 10, X.shape[1])
    return {"secret": X + r, "rotation": X @ rotation_of(words, X.shape[1]) + r}


def _random_words(n: int) -> NDArray[np.uint64]:
    return np.random.default_rng(2**70 + 3).integers(0, 1 << 64, size=n, dtype=np.uint64)


GRAM = ("GramSVC", "GramSVR")
ATTACKS: dict[str, Attack] = {
    attack.name: attack
    for attack in (
        Attack("gram_inversion", GRAM, "a gram matrix and known records give all others", "known records", ERROR,
               gram_studies.inversion_study),
        Attack("known_column", GRAM, "a gram matrix and known values of one column give all its others", "known values",
               "relative error, up to the sign of what no known value tells", gram_studies.column_study),
        Attack("rbf_trilateration", GRAM, "an RBF kernel matrix and known records give all others", "known records", ERROR,
               gram_studies.trilateration_study),
        Attack("one_hidden_column", GRAM, "a gram matrix and all columns but one give that one", "known records",
               "relative error, up to signs of columns", gram_studies.hidden_study),
        Attack("empty_holders", GRAM, "holders that bring no column hide nobody: the coordinator has the only one", "columns of the others",
               "relative error, up to the sign", gram_studies.empty_study),
        Attack("unit_queries", GRAM, "chosen questions give the model, or its support vectors", "questions", ERROR,
               gram_studies.unit_study),
        Attack("far_queries", GRAM, "answers about far records give an outlying support vector", "depth: gamma times squared distance",
               ERROR, gram_studies.far_study),
        Attack("landmark_exposure", ("PanSVC",), "landmarks of one record are that record", "landmarks, share of the rows",
               "share of the landmarks that are records", _landmark_exposure),
        Attack("cluster_difference", ("PanSVC",), "two sums of a cluster differ by the record that moved", "rounds", SHARE,
               _cluster_difference),
        Attack("few_violators", ("PanSVC",), "two cuts differ by one row, which is there to read", "C of the training", SHARE,
               _few_violators),
        Attack("chosen_iterate", ("PanSVC",), "a coordinator that picks iterates isolates a row", "number of the trial", ERROR,
               _chosen_iterate),
        Attack("set_lattice", ("PanSVC",), "integer combinations of sums are single records", "C of the training", SHARE,
               set_lattice.study),
        Attack("margin_tracking", ("PanSVC",), "losses along lines give margins, and these the records", "columns", SHARE,
               margin_tracking.study),
        Attack("atom_inversion", ("PanSVC",), "a sum of few mapped rows gives the rows back", "features for each column",
               "share of what is found that are records", atom_inversion.study),
        Attack("bound_moments", ("PanSVC",), "many bounds on the loss of a group give its rows", "features of the map",
               "share of the rows of a group", bound_moments.study),
        Attack("weak_seed", ("GramSVC", "PanSVC"), "pads from a 32-bit seed are found by trying", "bits tried", "1 if found", _weak_seed),
        Attack("bfv_noise", GRAM, "the noise of a reply that lacks a protection gives the other side's matrix",
               "rows of the other side in a reply", "share of the entries", gram_studies.noise_study),
        Attack("small_exponent", GRAM, "a power of one's own ciphertext gives away the exponent", "known records", ERROR,
               gram_studies.exponent_study),
        Attack("elm_inversion", ("SecureELMClassifier", "SecureELMRegressor"), "known weights turn the hidden layer back into records",
               "nodes", ERROR, _elm_inversion),
        Attack("elm_known_records", ("SecureELMClassifier", "SecureELMRegressor"), "known records give private weights, and all others",
               "known records", ERROR, _elm_known_records),
        Attack("elm_row_space", ("SecureELMClassifier", "SecureELMRegressor"), "a sum over fewer rows than nodes gives the rows away",
               "nodes", SHARE, _elm_row_space),
        Attack("shift_one_record", ("ShiftSVC",), "one known record gives the shift; a few more the rotation", "known records", ERROR,
               _shift_one_record),
        Attack("shift_column_minimum", ("ShiftSVC",), "known column minima give the shift", "records known", ERROR,
               _shift_column_minimum),
        Attack("shift_initiator", ("ShiftSVC",), "P_0 reads all shifts but one off its two views", "records known", ERROR,
               _shift_initiator),
        Attack("ica", ("ShiftSVC",), "independent columns are found behind a rotation", "records known", ERROR, _ica),
        Attack("iterate_differencing", ("ConsensusSVC",), "weights of two rounds differ by the one record that moved", "parties", SHARE,
               _iterate_differencing),
        Attack("two_party", ("ConsensusSVC",), "of two parties each has the other's weights", "parties", ERROR, _two_party),
        Attack("vertical_span", ("ConsensusSVC",), "the sums span the columns, and known records give all others", "known records", ERROR,
               _vertical_span),
        Attack("vertical_modes", ("ConsensusSVC",), "many rounds of ADMM give a party's column without a known record", "rounds", ERROR,
               _vertical_modes),
        Attack("token_frequency", ("GramSVC",), "public statistics name the columns of method='intersection'", "records of a public sample",
               "share of the ones in their column", gram_studies.token_study),
    )
}  # fmt: skip


def attack_of(name: str, estimator: str | None = None) -> Attack:
    """The attack of that name, if it is against that estimator."""
    if name not in ATTACKS:
        raise LocalError(f"unknown attack '{name}': use one of {', '.join(ATTACKS)}")
    found = ATTACKS[name]
    if estimator is not None and estimator not in found.against:
        fitting = _listed([a.name for a in ATTACKS.values() if estimator in a.against])
        raise LocalError(f"{name} is against {_listed(found.against)}, not '{estimator}': against that there is {fitting}")
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
