"""The hinge in shares, compared with the same iteration in doubles and with LinearSVC; its gates with arithmetic."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.svm import LinearSVC

from tacit import LocalError, PeerError
from tacit.choreo import Coordinator, Holder, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.ring.words import Ring, widen
from tacit.numeric.shares.hinge_plan import G_FACTOR, Z_BITS, plan_hinge, suit_exponent
from tacit.protocols.learners.hinge import OwnRows, SharedTable, open_table, train_hinge
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import Dealing, agree_with_dealer
from tacit.protocols.shares.gates import OpenedBits, Opening
from tacit.protocols.shares.held_rows import multiply_itself, open_held
from tacit.protocols.shares.owned import (
    BatchShare,
    MaskedRows,
    RowsShare,
    Shape,
    forward,
    forward_share,
    keep_rows,
    open_rows,
    prepare,
    transpose_times,
    transposed_share,
)
from tacit.runtimes.apart import in_threads
from tacit.runtimes.together import Together

RNG = np.random.default_rng(11)
DEALER = "dealer"


class Tapped(Together):
    """Keeps what moves, by place and sender."""

    def _exchange(self, place, outbox, wanted, missing):
        self.seen = getattr(self, "seen", defaultdict(dict))
        for (sender, receiver), frames in outbox.items():
            if sender != receiver:
                self.seen[place][sender] = frames  # of the dealer what it sends last, to the last holder
        return super()._exchange(place, outbox, wanted, missing)


def start(holders, *, fixed=False):
    names = (*(f"p{i}" for i in range(holders)), DEALER)
    roots = {p: p.encode().ljust(32, b".") for p in names} if fixed else None
    roster = Roster({Holder: names[:-1], Coordinator: (DEALER,)})
    return Tapped(roster, job=b"hinge", entropy=RootEntropy(names, b"hinge", roots)), names[:-1]


def train(Z, Y, plan, price=None, *, fixed=False):
    """The weights that a training in shares leaves, and its run."""
    run, names = start(len(plan.rows), fixed=fixed)
    cuts = np.cumsum(plan.rows)[:-1]
    prices = [None] * len(names) if price is None else np.split(price, cuts)
    parts = zip(np.split(Z, cuts), np.split(Y, cuts), prices, strict=True)
    with run:
        rows = run.hold(Holder, {p: OwnRows(*part) for p, part in zip(names, parts, strict=True)})
        dealing = agree_with_dealer(run)
        shares = train_hinge(run, dealing, open_table(run, dealing, rows, plan), plan)
    return plan.decode(list(entries_of(shares).values())), run


def train_shared(Z, Y, plan, holders, labeller=0):
    """The weights that a training of rows in shares leaves, where one holder has all labels."""
    run, names = start(holders)
    with run:
        dealing = agree_with_dealer(run)
        shares = run.hold(Holder, split(Z.astype(np.int64).ravel().view(np.uint64), names))
        matrix = open_held(run, dealing, shares, n=len(Z), columns=Z.shape[1])
        gram = multiply_itself(run, dealing, matrix)
        none = np.empty((0, 0), np.int16)
        labels = {p: OwnRows(none, Y if i == labeller else Y[:0]) for i, p in enumerate(names)}
        found = train_hinge(run, dealing, SharedTable(matrix, run.hold(Holder, labels), gram), plan)
    return plan.decode(list(entries_of(found).values())), run


def in_doubles(Z, Y, plan, price=1.0):
    """The same iteration in doubles."""
    z = np.ldexp(Z * np.reshape(price, (-1, 1)), -Z_BITS)
    pull, rho = Y * np.reshape(price, (-1, 1)) / plan.kappas, 2.0**plan.exponent
    S = z.T @ z
    G = G_FACTOR * np.linalg.inv(np.eye(len(S)) + rho * S)
    w = W = H = np.zeros((len(S), Y.shape[1]))
    Sigma = np.zeros(Y.shape)
    for _ in range(plan.iterations):
        s = np.where(Y == 0, 0.0, np.clip(pull + (Y < 0) - (z @ W - Sigma), 0, 1) - (Y < 0))
        h = z.T @ s
        new = w + G @ (rho * (S @ (W - w) - H + 2 * h) - w)
        w, W, H, Sigma = new, 1.5 * new - 0.5 * W, 1.5 * h - 0.5 * H, 1.5 * s - 0.5 * Sigma
    return plan.kappas * w


def objective(Z, Y, C, w, price=1.0):
    z = np.ldexp(Z.astype(np.float64), -Z_BITS)
    errors = np.reshape(price, (-1, 1)) * np.maximum(0.0, 1.0 - Y * (z @ w)) * (Y != 0)
    return 0.5 * (w**2).sum(axis=0) + C * errors.sum(axis=0)


def fixed_point(z):
    return np.rint(np.ldexp(z, Z_BITS)).astype(np.int16)


def table(n, columns, problems=1, noise=0.5):
    """Rows of length 1 with a constant column, and labels of noisy planes."""
    z = RNG.normal(size=(n, columns))
    z[:, 0] = np.sqrt(columns)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    away = 3 * z @ RNG.normal(size=(columns, problems)) + noise * RNG.normal(size=(n, problems))
    return fixed_point(z), np.where(away - np.median(away, axis=0) > 0, 1, -1).astype(np.int8)


def compare(Z, Y, plan, price=1.0, *, off, gap=2e-3):
    """Check weights and objective against doubles, and return the run."""
    w, run = train(Z, Y, plan, None if np.ndim(price) == 0 else price)
    v = in_doubles(Z, Y, plan, price)
    assert np.linalg.norm(w - v) <= off * np.linalg.norm(v) + 2.0**-12 * plan.kappa
    np.testing.assert_allclose(objective(Z, Y, plan.C, w, price), objective(Z, Y, plan.C, v, price), rtol=gap)
    return w, run


@pytest.mark.parametrize(("C", "off"), [(0.1, 1e-3), (1.0, 2e-3), (10.0, 4e-3), (100.0, 1e-2)])
def test_weights_are_those_of_the_same_iteration_in_doubles(C, off):
    Z, Y = table(400, 12)
    compare(Z, Y, plan_hinge((150, 130, 120), 12, 1, C), off=off)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [(80, 80), (0, 160), (159, 1), (1, 0, 159), (60, 2, 0, 1, 97)])
def test_however_the_rows_are_split(rows):
    Z, Y = table(160, 5)
    compare(Z, Y, plan_hinge(rows, 5, 1, 1.0), off=2e-3)


@pytest.mark.parametrize("problems", [3, 17])
def test_several_problems_share_all_rounds(problems):
    Z, Y = table(200, 6, problems)
    plan = plan_hinge((90, 60, 50), 6, problems, 3.0)
    _, run = compare(Z, Y, plan, off=5e-3)
    assert len(openings_of(run)) == 9 * (plan.iterations - 1) + 2 * plan.squares.levels + 7


@pytest.mark.slow
def test_the_objective_comes_near_that_of_a_linear_svm_on_the_pooled_rows():
    Z, Y = table(500, 8)
    w, _ = train(Z, Y, plan_hinge((200, 200, 100), 8, 1, 1.0, iterations=120))
    theirs = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-8, max_iter=10**6)
    theirs.fit(np.ldexp(Z.astype(np.float64), -Z_BITS), Y[:, 0])
    best, ours = objective(Z, Y, 1.0, theirs.coef_.T), objective(Z, Y, 1.0, w)
    assert best <= ours * (1 + 1e-5)
    assert ours <= best * 1.002


def test_parties_on_their_own_find_the_same_words():
    Z, Y = table(90, 4, 2)
    plan = plan_hinge((40, 30, 20), 4, 2, 1.0)
    rows = {
        f"p{i}": OwnRows(*part) for i, part in enumerate(zip(*(np.split(x, [40, 70]) for x in (Z, Y)), strict=True))
    }

    def play(run):
        held = run.hold(Holder, {p: rows[p] for p in run.present if p in rows})
        dealing = agree_with_dealer(run)
        return entries_of(train_hinge(run, dealing, open_table(run, dealing, held, plan), plan))

    names = (*rows, DEALER)
    roster = Roster({Holder: names[:-1], Coordinator: (DEALER,)})
    found = in_threads(
        roster, play, job=b"hinge", entropy=lambda me: RootEntropy([me], b"hinge", {me: me.encode().ljust(32, b".")})
    )
    shares = [found[p][p] for p in rows]
    np.testing.assert_array_equal(plan.decode(shares), train(Z, Y, plan, fixed=True)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("holders", "labeller", "C"), [(2, 1, 1.0), (3, 0, 10.0), (5, 2, 0.1)])
def test_rows_in_shares_are_trained_on_as_rows_of_their_owners(holders, labeller, C):
    Z, Y = table(150, 7, 3)
    rows = tuple(150 * (i == labeller) for i in range(holders))
    plan = plan_hinge(rows, 7, 3, C)
    w, run = train_shared(Z, Y, plan, holders, labeller)
    v = in_doubles(Z, Y, plan)
    assert np.linalg.norm(w - v) <= 5e-3 * np.linalg.norm(v)
    each = Counter(place.split("/")[2] for place in openings_of(run) if "/iterate_once" in place)
    assert set(each.values()) <= {9 * many for many in plan.batches}


@pytest.mark.parametrize("unit", [4.0, 32.0])
def test_weights_far_below_the_largest_are_learnt_in_as_many_iterations(unit):
    Z, Y = table(400, 8)
    weight = np.minimum(np.exp(0.5 * RNG.normal(size=400)), unit)
    price = weight / unit
    length = 2.0 * np.sqrt(np.mean(price**2))  # a bound to a power of two
    exponent = suit_exponent(1.0, 1, length)
    plan = plan_hinge((200, 200), 8, 1, unit, longest=length, reach=1.0, exponent=exponent, iterations=20)
    found = in_doubles(Z, Y, plan, price)
    best = LinearSVC(loss="hinge", C=unit, fit_intercept=False, tol=1e-8, max_iter=10**6)
    best.fit(np.ldexp(Z.astype(np.float64), -Z_BITS), Y[:, 0], sample_weight=price)
    assert objective(Z, Y, unit, found, price) <= 1.02 * objective(Z, Y, unit, best.coef_.T, price)
    plain = in_doubles(Z, Y, plan_hinge((200, 200), 8, 1, unit, iterations=20), price)
    assert unit < 8 or objective(Z, Y, unit, plain, price) > 1.05 * objective(Z, Y, unit, best.coef_.T, price)


def test_one_record_of_32_times_the_weight_leaves_all_others_their_bits():
    Z, Y = table(150, 140)
    price = np.r_[1.0, np.full(149, 1 / 32)]
    length = 2.0 * np.sqrt(np.mean(price**2))
    exponent = suit_exponent(1.0, 1, length)
    plan = plan_hinge((100, 50), 140, 1, 32.0, longest=length, reach=1.0, exponent=exponent, iterations=20)
    w, _ = train(Z, Y, replace(plan, longest=1.0), price)
    v = in_doubles(Z, Y, plan, price)
    assert np.linalg.norm(w - v) <= 0.05 * np.linalg.norm(v)  # of rows that are rounded after they were priced


def degenerate():
    """Tables at the edges, by name."""
    Z, Y = table(120, 4)
    one = np.where(np.arange(120) < 1, 1, -1).astype(np.int8)[:, None]
    noise = RNG.choice(np.array([-1, 1], np.int8), (120, 1))
    apart = np.where(Z[:, 1:2] > 0, 1, -1).astype(np.int8)
    return {
        "equal rows": (np.tile(Z[:1], (120, 1)), Y),
        "one class": (Z, np.ones_like(Y)),
        "one record of a class": (Z, one),
        "equal rows, one record": (np.tile(Z[:1], (120, 1)), one),
        "separable": (Z, apart),
        "noise": (Z, noise),
        "zero rows": (np.zeros_like(Z), Y),
    }


@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("name", degenerate())
def test_degenerate_tables_are_as_in_doubles(name, C):
    Z, Y = degenerate()[name]
    gap = 2e-3 if C < 1 else 0.1  # where all rows are at the edge, 1e-3 of w is that much of C times their errors
    compare(Z, Y, plan_hinge((60, 60), 4, 1, C), off=1e-2, gap=gap)


@pytest.mark.parametrize(("n", "columns", "iterations"), [(2, 1, 20), (2, 1, 1), (3, 2, 2), (1, 1, 3)])
def test_tiny_sizes(n, columns, iterations):
    Z, Y = table(n, columns)
    compare(Z, Y, plan_hinge((n, 0), columns, 1, 1.0, iterations=iterations), off=2e-3)


@pytest.mark.slow
def test_prices_of_rows_and_rows_that_take_no_part():
    Z, Y = table(300, 6, 2)
    price = RNG.choice([1.0, 0.5, 1 / 32, 0.0], 300)
    compare(Z, Y, plan_hinge((100, 200), 6, 2, 5.0), price, off=1e-2)
    left = RNG.random(Y.shape) < 0.3
    Y[left] = 0
    w, _ = compare(Z, Y, plan_hinge((100, 200), 6, 2, 5.0, partial=True, iterations=120), off=1e-2)
    alone = objective(Z[~left[:, 0]], Y[~left[:, 0], :1], 5.0, w[:, :1])
    np.testing.assert_allclose(alone, objective(Z, Y, 5.0, w)[0], rtol=1e-12)


def test_rows_that_the_plan_does_not_fit_are_refused_before_they_are_sent():
    Z, Y = table(20, 3)
    plan = plan_hinge((10, 10), 3, 1, 1.0)
    with pytest.raises(
        LocalError, match=r"a row is 2 long, and 1 is planned for: scale all rows alike, or plan for it"
    ):
        train(2 * Z, Y, plan)
    train(2 * Z, Y, plan_hinge((10, 10), 3, 1, 1.0, longest=2.0))
    with pytest.raises(LocalError, match=r"the plan is for 10 rows in 1 problems: plan for the rows"):
        train(Z[:-1], Y[:-1], plan)
    with pytest.raises(
        LocalError, match=r"rows are \(10, 2\), the plan is for 10 rows of 3 columns: plan for the rows"
    ):
        train(Z[:, :2], Y, plan)
    with pytest.raises(LocalError, match=r"signs are 1 or -1: write labels as such"):
        train(Z, 0 * Y, plan)
    with pytest.raises(LocalError, match=r"signs are 1 or -1, or 0 for no part"):
        train(Z, 2 * Y, plan_hinge((10, 10), 3, 1, 1.0, partial=True))
    with pytest.raises(LocalError, match=r"a price between 0 and 1, of C: divide the weights by the largest"):
        train(Z, Y, plan, np.full(20, 2.0))


# What moves


def kind_of(place):
    return place.rpartition("/")[2].partition("#")[0]


def openings_of(run):
    return [place for place in run.seen if kind_of(place) in {"Opening", "OpenedBits", "MaskedRows"}]


def read_words(kind, frames, k):
    """The words of a message, and how many whole bytes of each are uniform."""
    words = decode_as(kind, frames).words
    return (words, 8) if words.dtype == np.uint64 else (widen(words, k), k // 8)


def bytes_of(words, whole):
    return [(words >> np.uint64(8 * i)) & np.uint64(255) for i in range(whole)]


def test_an_iteration_takes_nine_openings_of_sizes_that_do_not_depend_on_data():
    Z, Y = table(50, 3)
    sizes = []
    for rows, labels in ((Z, Y), (np.tile(Z[:1], (50, 1)), np.ones_like(Y))):
        _, run = train(rows, labels, plan_hinge((30, 10, 10), 3, 1, 1.0, iterations=6), fixed=True)
        places = openings_of(run)
        each = Counter(place.split("/")[3] for place in places if "/round[" in place and "/iterate_once" in place)
        assert list(each.values()) == [9] * 5
        sizes.append([(row.place, row.sender, row.receiver, row.shapes, row.bytes) for row in run.ledger.rows])
    assert sizes[0] == sizes[1]


def test_the_dealer_hears_public_keys_alone_and_deals_the_same_whatever_the_rows_are():
    dealt = []
    for Z, Y in (table(50, 3), table(50, 3)):
        _, run = train(Z, Y, plan_hinge((30, 10, 10), 3, 1, 1.0, iterations=6), fixed=True)
        assert {row.type for row in run.ledger.rows if row.receiver == DEALER != row.sender} == {"PublicKey"}
        dealt.append([(place, sent[DEALER].digest) for place, sent in run.seen.items() if DEALER in sent])
    assert dealt[0] == dealt[1]
    assert len(dealt[0]) > 5 * 6


@pytest.mark.parametrize("holders", [2, 3])
def test_all_that_is_opened_of_equal_rows_of_one_class_looks_uniform(holders):
    Z = np.tile(np.array([4000, -4000, 100, 0], np.int16), (60, 1))
    plan = plan_hinge((60 - holders + 1, *[1] * (holders - 1)), 4, 1, 1.0, iterations=12)
    _, run = train(Z, np.ones((60, 1), np.int8), plan, fixed=True)
    found = defaultdict(list)
    for place, sent in run.seen.items():
        kind = {"Opening": Opening, "MaskedRows": MaskedRows}.get(kind_of(place))
        if kind:
            words, whole = zip(*(read_words(kind, frames, plan.window.k) for frames in sent.values()), strict=True)
            found[kind.__name__] += bytes_of(np.concatenate(words), whole[0])
            if kind is Opening:
                found["sum"] += bytes_of(np.sum(words, axis=0, dtype=np.uint64), whole[0])
        elif kind_of(place) == "OpenedBits":
            found["OpenedBits"] += [decode_as(OpenedBits, frames).bits for frames in sent.values()]
    assert len(found) == 4
    for name, parts in found.items():
        counts = np.bincount(np.concatenate(parts).astype(np.int64), minlength=256)
        assert chisquare(counts).pvalue > 1e-4, name


# Gates


def split(words, names):
    parts = [RNG.integers(0, 2**64, words.shape, dtype=np.uint64) for _ in names[1:]]
    parts.append(words - np.sum(parts, axis=0, dtype=np.uint64))
    return dict(zip(names, parts, strict=True))


def total(at):
    return np.sum(list(entries_of(at).values()), axis=0, dtype=np.uint64)


@pytest.mark.parametrize("holders", [2, 3, 5])
def test_values_of_several_rings_are_cut_each_by_its_own_shift(holders):
    parts = (Part(300, 47, 5), Part(200, 64, 20), Part(100, 48, 0), Part(1, 10, 8))
    x = [RNG.integers(-(2 ** (p.k - 2)) + 1, 2 ** (p.k - 2), p.size) for p in parts]
    beyond = [RNG.integers(0, 2 ** (64 - p.k), p.size, dtype=np.uint64) << (p.top + np.uint64(1)) for p in parts]
    words = np.concatenate(
        [a.view(np.uint64) + (b if p.k < 64 else 0) for a, b, p in zip(x, beyond, parts, strict=True)]
    )
    run, names = start(holders)
    with run:
        found = total(cut_each(run, agree_with_dealer(run), run.hold(Holder, split(words, names)), parts)).view(
            np.int64
        )
    for each, part, start_at in zip(x, parts, np.cumsum([0, 300, 200, 100]), strict=True):
        off = found[start_at : start_at + part.size] - (each >> part.s)
        assert set(off.tolist()) <= ({0, 1} if part.s else {0})
        if part.size > 100:
            assert abs(off.mean() - ((each % 2**part.s) / 2**part.s).mean()) < 0.1
    with pytest.raises(ValueError, match="10 bits cannot lose 9"):
        Part(1, 10, 9)


@pytest.mark.parametrize("k", [48, 54, 64])
@pytest.mark.parametrize("rows", [(7, 9), (0, 40, 3), (5000, 1, 2)])
def test_products_with_an_owners_rows(rows, k):
    n, columns, m, products = sum(rows), 6, 2, 3
    shape, names = Shape(rows, columns, k), tuple(f"p{i}" for i in range(len(rows)))
    Z = RNG.integers(-(2**13), 2**13, (n, columns)).astype(np.int16)
    W = RNG.integers(-(2**20), 2**20, (products, columns, m))
    s = RNG.integers(-(2**11), 2**11, (products, m, n))
    run, _ = start(len(rows))
    modulus = np.uint64(2**k - 1)
    with run:
        dealing: Dealing = agree_with_dealer(run, ring=Ring(1 << k))
        own = run.hold(Holder, dict(zip(names, np.split(Z, np.cumsum(rows)[:-1]), strict=True)))
        batch = prepare(run, dealing, open_rows(run, dealing, own, shape), products=products, m=m)
        for j in range(products):
            W_j, s_j = (run.hold(Holder, split(x[j].ravel().view(np.uint64), names)) for x in (W, s))
            beside = run.hold(Holder, split(np.arange(5, dtype=np.uint64), names))
            ZW, absorbed, opened = forward(run, batch, j, W_j, beside)
            back = transpose_times(run, dealing, batch, j, s_j)
            wide = Z.astype(np.int64)
            ours = (total(ZW) + entries_of(absorbed)[DEALER]) & modulus
            np.testing.assert_array_equal(ours, (wide @ W[j]).T.ravel().view(np.uint64) & modulus)
            np.testing.assert_array_equal(total(back) & modulus, (s[j] @ wide).T.ravel().view(np.uint64) & modulus)
            assert all((words == np.arange(5)).all() for words in entries_of(opened).values())


@pytest.mark.parametrize(("holders", "k", "n"), [(2, 48, 9), (3, 64, 700), (5, 56, 41)])
def test_products_with_rows_in_shares(holders, k, n):
    columns, m, products = 60, 2, 3
    Z = RNG.integers(-(2**13), 2**13, (n, columns))
    W = RNG.integers(-(2**20), 2**20, (products, columns, m))
    s = RNG.integers(-(2**11), 2**11, (products, m, n))
    run, names = start(holders)
    modulus = np.uint64(2**k - 1)
    with run:
        dealing = agree_with_dealer(run, ring=Ring(1 << k))
        hold = lambda x: run.hold(Holder, split(x.ravel().view(np.uint64), names))  # noqa: E731
        matrix = open_held(run, dealing, hold(Z), n=n, columns=columns)
        gram = total(multiply_itself(run, dealing, matrix))
        np.testing.assert_array_equal(unpack([gram], columns).view(np.int64), Z.T @ Z)
        batch = prepare(run, dealing, matrix, products=products, m=m)
        for j in range(products):
            beside = hold(np.arange(5))
            ZW, absorbed, opened = forward(run, batch, j, hold(W[j]), beside)
            back = transpose_times(run, dealing, batch, j, hold(s[j]))
            ours = (total(ZW) + entries_of(absorbed)[DEALER]) & modulus
            np.testing.assert_array_equal(ours, (Z @ W[j]).T.ravel().view(np.uint64) & modulus)
            np.testing.assert_array_equal(total(back) & modulus, (s[j] @ Z).T.ravel().view(np.uint64) & modulus)
            np.testing.assert_array_equal(entries_of(opened)["p0"], np.arange(5))


def test_rows_that_begin_at_any_byte_are_taken():
    small = RNG.integers(-9, 9, (5, 3)).astype(np.int16)
    Z = np.frombuffer(bytes(1) + small.tobytes(), np.int16, offset=1).reshape(5, 3)
    assert not Z.flags.aligned
    one, zeros = np.zeros((1, 3), np.uint64), np.zeros((1, 5), np.uint64)
    held, rows = BatchShare(one, zeros, zeros, one), RowsShare(Z, (), 0)
    found = forward_share(np.ones(3, np.uint64), held, rows, 0, 1)
    np.testing.assert_array_equal(found.view(np.int64), small.sum(axis=1))
    found = transposed_share(np.ones(5, np.uint64), held, rows, 0, 1)
    np.testing.assert_array_equal(found.view(np.int64), small.sum(axis=0))


def test_masked_rows_are_uniform_and_of_few_bytes_and_other_sizes_are_stopped():
    Z, Y = table(3000, 20)
    plan = plan_hinge((1500, 1500), 20, 1, 1.0, iterations=1)
    run = train(Z, Y, plan)[1]
    (frames,) = (sent["p0"] for place, sent in run.seen.items() if place.endswith("/MaskedRows"))
    raw = np.frombuffer(frames.buffers[0], np.uint8)
    assert raw.size == 1500 * 20 * 6
    with pytest.raises(PeerError, match="p1 sent rows of another size than it said: stop and ask p1"):
        keep_rows(Z[:2], {"p1": MaskedRows(raw)}, "p0", ("p0", "p1"), Shape((2, 5), 20, 48))
