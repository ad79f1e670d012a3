"""Both engines of a product: exact on every entry, and whatever is not as it should be is refused in one line."""

from __future__ import annotations

import dataclasses
import math
import re
import secrets
import sys
from functools import cache

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import LocalError, MissingExtraError, PeerError, install_command
from tacit.numeric.ring.words import Ring
from tacit.papers.gram.attacks.bfv_noise import KeyHolder
from tacit.papers.gram.engines import bfv, bfv_scheme, seal_bytes
from tacit.papers.gram.engines.bfv import ERROR, Bfv
from tacit.papers.gram.engines.bfv_layout import N, Terms, best_fold, count_kept, kept, stretches, strips_of
from tacit.papers.gram.engines.bfv_reply import ROOM, read_reply, spectrum, write_reply
from tacit.papers.gram.engines.bfv_scheme import Scheme, read_secret, scheme, try_out
from tacit.papers.gram.engines.bfv_words import HIGH, LOW, limbs_of, pack, packed_size, unpack
from tacit.papers.gram.engines.engines import BOUND, STATISTICAL, Block, Plan, draw_words, make_engine, plan_dense
from tacit.papers.gram.engines.paillier import SecretKey, ciphers_from_bytes
from tacit.papers.gram.engines.paillier_slots import PaillierSlots
from tacit.papers.gram.engines.seal_bytes import Memory

RING = Ring(1 << 48)
SEED = bytes(range(32))


def pads(**given: bytes):
    seeds = {name: secrets.token_bytes(32) for name in ("mask", "noise")} | given
    return RootEntropy(["q"], b"test").pads("q", seeds, b"tag")


@cache
def secret_of(way):
    return way.secret(SEED)


def shares(way, plan, columns, matrices):
    reply, theirs = way.reply(way.upload(secret_of(way), columns), plan, matrices, pads())
    return way.finish(secret_of(way), plan, reply), theirs


def by_columns(A):
    return [np.ascontiguousarray(c) for c in A.T]


def product(way, A, B):
    mine, theirs = shares(way, plan_dense(len(A), len(B), A.shape[1]), by_columns(A), [B])
    return Ring(1 << way.bits).centred(Ring(1 << way.bits).total([mine[0], theirs[0]]))


def drawn_matrices(draw, rows, columns):
    entry = st.integers(-BOUND, BOUND) | st.sampled_from([0, 1, -1, BOUND, -BOUND])
    return np.array(draw(st.lists(entry, min_size=rows * columns, max_size=rows * columns)), np.int64).reshape(
        rows, columns
    )


@pytest.mark.parametrize("name", ["bfv", "paillier"])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_the_shares_add_up_to_the_integer_product(name, data):
    m, others, n = data.draw(st.tuples(st.integers(1, 30), st.integers(1, 4), st.integers(1, 4)))
    A, B = drawn_matrices(data.draw, m, n), drawn_matrices(data.draw, others, n)
    np.testing.assert_array_equal(product(make_engine(name, 4), A, B), A @ B.T)


@pytest.mark.parametrize("name", ["bfv", "paillier"])
def test_the_bytes_of_a_plan_are_those_that_are_sent(name):
    rng, way, plan = np.random.default_rng(0), make_engine(name, 4), plan_dense(40, 3, 2)
    A, B = (rng.integers(-BOUND, BOUND, size=(rows, 2)) for rows in (40, 3))
    upload = way.upload(secret_of(way), by_columns(A))
    reply, _ = way.reply(upload, plan, [B], pads())
    assert way.count_bytes(plan) == upload.size + reply.size


@pytest.mark.parametrize("name", ["bfv", "paillier"])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_product_does_not_wrap(name, sign):
    A, B = np.full((2, 127), BOUND), np.full((3, 127), sign * BOUND)
    assert (product(make_engine(name, 127), A, B) == sign * 127 << 40).all()
    with pytest.raises(LocalError, match="128 products of entries up to 1048576 do not fit into 48 bits"):
        make_engine(name, 128)


def test_a_wider_ring_takes_more_columns_and_larger_entries():
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-(1 << 24), 1 << 24, (5, 30)) for _ in range(2))
    np.testing.assert_array_equal(product(make_engine("bfv", 30, bits=56, bound=1 << 24), A, B), A @ B.T)
    with pytest.raises(LocalError, match="engine='bfv' computes with 2 to 59 bits, got 60"):
        make_engine("bfv", 1, bits=60)


@pytest.mark.parametrize(
    ("m", "others", "n", "fold"), [(1, 300, 30, 30), (33, 47, 7, 3), (8192, 2, 1, 1), (8200, 2, 2, 1), (4097, 3, 2, 2)]
)
def test_every_layout_of_polynomials_gives_the_same(m, others, n, fold):
    rng = np.random.default_rng(m)
    A, B = rng.integers(-BOUND, BOUND + 1, (m, n)), rng.integers(-BOUND, BOUND + 1, (others, n))
    np.testing.assert_array_equal(product(make_engine("bfv", n, fold=fold), A, B), A @ B.T)


@pytest.mark.parametrize("name", ["bfv", "paillier"])
def test_blocks_use_some_columns_of_one_upload_side_by_side(name):
    rng = np.random.default_rng(1)
    lengths = (40, 40, 5, 40, 9)
    columns = [rng.integers(-BOUND, BOUND, n) for n in lengths]
    plan = Plan(lengths, (Block((0, 3), 7), Block((4,), 2), Block((2,), 1), Block((1,), 3)))
    matrices = [rng.integers(-BOUND, BOUND, (b.rows, len(b.columns))) for b in plan.blocks]
    matrices[2][:] = 0
    mine, theirs = shares(make_engine(name, 2), plan, columns, matrices)
    for block, matrix, a, b in zip(plan.blocks, matrices, mine, theirs, strict=True):
        expected = np.stack([columns[c] for c in block.columns], axis=1) @ matrix.T
        np.testing.assert_array_equal(RING.centred(RING.total([a, b])), expected)


@pytest.mark.parametrize(("lengths", "fold"), [((1,) * 7, 7), ((3, 3), 2), ((40,) * 3, 1), ((90,) * 4, 2)])
def test_the_coefficients_that_are_sent_are_counted_as_they_are(lengths, fold):
    plan = Plan(lengths, (Block(tuple(range(len(lengths))), 60),))
    for row in stretches(plan, fold):
        assert len(kept(row, fold)) == count_kept(row, fold)


def test_rows_of_all_blocks_lie_in_as_few_polynomials_as_hold_them():
    assert len(stretches(plan_dense(1000, 1000, 30), 1)) == 125
    assert len(stretches(Plan((100,) * 3, tuple(Block((f,), 27) for f in range(3))), 1)) == 1
    assert best_fold(1, 500, 30) == 30
    assert best_fold(1000, 1000, 30) == 1
    with pytest.raises(LocalError, match="must use all of them"):
        strips_of(Block((0, 2), 1), (4, 4, 4), 3)


def test_errors_of_fresh_ciphertexts_are_the_centred_binomial_that_the_bound_is_made_for():
    bits = 21
    values = np.arange(-bits, bits + 1)
    expected = np.array([math.comb(2 * bits, bits + v) / 4**bits for v in values])
    assert expected.sum() == pytest.approx(1)
    with Memory() as memory:
        me = KeyHolder(bfv_scheme, memory, np.zeros((1, 12), np.int64))
        errors = np.concatenate(
            [me.error(column, message) for column, message in zip(me.columns(), me.messages, strict=True)]
        )
        counts = np.array([(errors == v).sum() for v in values])
        assert counts.sum() == len(errors) == 12 * N, "whole numbers up to 21"
        likely = expected * len(errors) > 50
        assert ((counts - expected * len(errors)) ** 2 / (expected * len(errors)))[likely].sum() < 80, (
            "chi-squared of about 20 cells"
        )
        large = KeyHolder(bfv_scheme, memory, np.full((N, 2), BOUND - 1))  # of which the scaled plaintext is rounded
        rounded = np.concatenate(
            [large.error(column, message) for column, message in zip(large.columns(), large.messages, strict=True)]
        )
    assert 0 < np.abs(rounded - np.rint(rounded)).max() <= 0.5
    assert bits + 0.5 <= ERROR


def largest_noise():
    product = 1 << (HIGH + LOW - STATISTICAL)  # the largest noise of (1) that is not refused, times N
    fresh = ERROR * (2 * N + 1) + 1  # e u + e_0 + e_1 s of a fresh encryption, u and s of -1, 0, 1
    return (1 << (HIGH + LOW)) + product // N + fresh


@pytest.mark.parametrize("bits", [2, 48, 49, 59])
def test_whatever_the_flood_covers_decrypts_with_room_to_spare(bits):
    assert largest_noise() << 12 < math.prod(scheme(bits).primes) // (2 << bits), "twelve bits"


@cache
def ternary_key():
    with Memory() as memory:
        return read_secret(scheme(48), memory, scheme(48).secret(SEED))


def times_key(c, key):
    """Return c s modulo X^N + 1, of integers below 2^180, by one product of long integers."""
    slot = 200
    whole, both = gmpy2.pack([gmpy2.mpz(int(x)) for x in c], slot), []
    for sign in (1, -1):
        found = gmpy2.unpack(whole * gmpy2.pack([gmpy2.mpz(int(x == sign)) for x in key], slot), slot)
        both.append(np.array([*map(int, found), *[0] * (2 * N - len(found))], object))
    long = both[0] - both[1]
    return long[:N] - long[N:]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("bits", [2, 48, 54, 55, 59])
def test_cut_to_the_bits_that_it_needs_a_reply_with_the_largest_noise_decrypts(bits, sign):
    rng, s, key = np.random.default_rng(bits), scheme(bits), ternary_key()
    Q, t = math.prod(s.primes), 1 << bits
    message = np.array([0, 1, t // 2, t - 1] * (N // 4), object)
    c1 = sum(rng.integers(0, 1 << 60, N).astype(object) << 60 * i for i in range(3)) % Q
    c0 = ((2 * message * Q + t) // (2 * t) + sign * largest_noise() - times_key(c1, key)) % Q
    words = np.array([[c % q for q in s.primes] for c in (c0, c1)], np.uint64)
    sent = np.sort(rng.choice(N, 5000, replace=False))
    reply = write_reply(s.arithmetic.fractions(words), sent, bits)
    assert reply.size * 8 == 64 * -(-5000 * (bits + 2) // 64) + N * (bits + 10)
    found, used = read_reply(reply, sent, bits, spectrum(key))
    np.testing.assert_array_equal(found[sent], message[sent].astype(np.uint64))
    assert 0.25 < used < 0.6, "a quarter by the one polynomial, five standard deviations by the other"
    assert ROOM == 0.75


@pytest.mark.parametrize("width", [1, 7, 32, 50, 58, 60, 63, 64])
def test_words_are_packed_bit_by_bit(width):
    words = np.random.default_rng(width).integers(0, 1 << 64, 101, np.uint64) >> np.uint64(64 - width)
    packed = np.frombuffer(pack(words, width), np.uint8)
    np.testing.assert_array_equal(unpack(packed, width, 101), words)
    assert packed.size == packed_size(101, width)
    assert int.from_bytes(packed.tobytes(), "little") == sum(int(w) << width * i for i, w in enumerate(words))


@pytest.mark.parametrize(("bound", "count"), [(1 << 20, N + 3), (1 << 28, 70), (1, 5)])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_multiples_of_the_largest_words_add_up_without_wrapping(bound, count, sign):
    s, rng = scheme(48), np.random.default_rng(0)
    words = np.array([[[q - 1] * N, [q - 2] * N] for q in s.primes], np.uint64).transpose(1, 0, 2)
    shifts = rng.integers(0, N, (1, count))
    found = words.copy()
    asked = Terms(np.zeros((1, count), np.int64), shifts, np.full((1, count), sign * bound))
    s.arithmetic.add_multiples(found, limbs_of(words)[None], [asked], bound)
    before = np.array([count - 2 * (shifts > k).sum() for k in range(0, N, 997)])  # less those that went around
    for i, q in enumerate(s.primes):
        for polynomial, value in ((0, q - 1), (1, q - 2)):
            expected = [value * (1 + sign * bound * int(times)) % q for times in before]
            assert found[polynomial, i, ::997].tolist() == expected


def test_transforms_and_multiples_give_the_same_reply(monkeypatch):
    rng, way = np.random.default_rng(5), make_engine("bfv", 7, bits=59, bound=1 << 27, fold=3)
    A, B = rng.integers(0, 1 << 59, (90, 7)), rng.integers(-(1 << 27), (1 << 27) + 1, (40, 7))
    upload, plan = way.upload(secret_of(way), by_columns(A)), plan_dense(90, 40, 7)
    expected = (np.array(A, object) @ np.array(B, object).T % (1 << 59)).astype(np.uint64)
    for few in (0, N):
        monkeypatch.setattr(bfv, "SPARSE", few)
        reply, theirs = way.reply(upload, plan, [B], pads())
        mine = way.finish(secret_of(way), plan, reply)
        np.testing.assert_array_equal(Ring(1 << 59).total([mine[0], theirs[0]]), expected)


def test_the_flood_covers_the_noise_of_every_reply_that_is_allowed():
    assert HIGH + LOW == 106
    worst = Plan((1,) * 127, (Block(tuple(range(127)), N),))
    assert N * ERROR * BOUND * 127 * N < 1 << 106 - 40
    Bfv(127)._check_flood(worst, stretches(worst, 1))
    with pytest.raises(LocalError, match="too many for one flood to cover: multiply in several parts"):
        Bfv(127, bits=59, bound=1 << 40)._check_flood(worst, stretches(worst, 1))


@pytest.mark.parametrize("name", ["bfv", "paillier"])
def test_columns_that_are_shares_are_multiplied_modulo_the_ring(name):
    rng = np.random.default_rng(4)
    A, B = rng.integers(0, 1 << 58, (3, 30)), rng.integers(-(1 << 26), 1 << 26, (5, 30))
    A[0], A[1] = 0, (1 << 58) - 1
    way = make_engine(name, 31, bits=58, bound=1 << 26, fold=6, uploads=1 << 58)
    mine, theirs = shares(way, plan_dense(3, 5, 30), by_columns(A), [B])
    expected = np.array(A, object) @ np.array(B, object).T % (1 << 58)
    np.testing.assert_array_equal(Ring(1 << 58).total([mine[0], theirs[0]]), expected.astype(np.uint64))


@pytest.mark.parametrize("drop", range(9))
def test_integer_shares_are_cut_to_the_product_without_its_last_bytes_or_one_more(drop):
    rng = np.random.default_rng(drop)
    A, B = rng.integers(-(1 << 60), 1 << 60, (20, 3)), rng.integers(-(1 << 40), 1 << 40, (2, 3))
    A[0] = 0
    way = PaillierSlots(3, 1 << 40, 59, drop=drop, uploads=1 << 60)
    mine, theirs = shares(way, plan_dense(20, 2, 3), by_columns(A), [B])
    found = Ring(1 << 59).total([mine[0], theirs[0]]).astype(object)
    more = (found - np.array(A, object) @ np.array(B, object).T // (1 << 8 * drop)) % (1 << 59)
    assert set(more.ravel()) <= ({0, 1} if drop else {0})
    assert not more[0].any(), "0 stays 0"
    if drop in (1, 2, 3):
        assert set(more.ravel()) == {0, 1}


@pytest.mark.parametrize(("drop", "bits", "uploads"), [(0, 48, None), (6, 59, 1 << 60), (30, 59, None)])
def test_masks_are_40_bits_longer_than_products_and_cover_the_ring_above_what_is_cut(drop, bits, uploads):
    way, A, B = (
        PaillierSlots(2, 1 << 20, bits, drop=drop, uploads=uploads),
        np.array([[5, -7]]),
        np.array([[1 << 20, 3]]),
    )
    given = {name: bytes([i]) * 32 for i, name in enumerate(("mask", "noise"))}
    reply, _ = way.reply(way.upload(secret_of(way), by_columns(A)), plan_dense(1, 1, 2), [B], pads(**given))
    key = SecretKey.from_bytes(secret_of(way), 2048)
    (opened,) = (int(key.decrypt(c)) for c in ciphers_from_bytes(reply.tobytes(), key.public))
    u = way._masks(draw_words(pads(**given), "mask", way.slots * -(-way.slot // 8)))[0, 0].tobytes()
    assert opened % (1 << 8 * way.slot) == int(A[0] @ B[0]) + way.offset + int.from_bytes(u, "little")
    length = 8 * way.slot - 1  # of u, which is uniform
    assert length >= (2 * (1 << 20) * (uploads or 1 << 20)).bit_length() + 40
    assert length >= bits + 8 * drop
    assert way.slots * way.slot * 8 < 2047


@pytest.mark.parametrize("name", ["bfv", "paillier"])
def test_the_same_matrix_twice_gives_other_bytes_and_other_shares(name):
    way, plan, A = make_engine(name, 2), plan_dense(3, 3, 2), np.arange(6).reshape(3, 2)
    uploads = [way.upload(secret_of(way), by_columns(A)) for _ in range(2)]
    replies = [way.reply(uploads[0], plan, [A], pads()) for _ in range(2)]
    assert (uploads[0] != uploads[1]).mean() > 0.2
    assert (replies[0][0] != replies[1][0]).mean() > 0.5
    assert (replies[0][1][0] != replies[1][1][0]).all()


@pytest.mark.parametrize("name", ["bfv", "paillier"])
def test_a_reply_under_the_same_mask_has_noise_of_its_own(name):
    way, plan, A = make_engine(name, 2), plan_dense(3, 3, 2), np.arange(6).reshape(3, 2)
    upload, mask = way.upload(secret_of(way), by_columns(A)), secrets.token_bytes(32)
    one, two = (way.reply(upload, plan, [A], pads(mask=mask)) for _ in range(2))
    np.testing.assert_array_equal(one[1][0], two[1][0])
    assert (one[0] != two[0]).mean() > 0.5


@pytest.mark.parametrize("name", ["bfv", "paillier"])
def test_what_is_not_as_the_plan_says_is_refused(name):
    way, plan, A = make_engine(name, 2), plan_dense(3, 3, 2), np.arange(6).reshape(3, 2)
    upload = way.upload(secret_of(way), by_columns(A))
    with pytest.raises(PeerError, match=r"the upload of a product has .* truncated, or of another plan"):
        way.reply(upload[:-1], plan, [A], pads())
    with pytest.raises(
        LocalError, match=r"arrays of shape \[\(2, 2\)\] where the plan of the product says \[\(3, 2\)\]"
    ):
        way.reply(upload, plan, [A[:2]], pads())
    with pytest.raises(LocalError, match="an entry is 1048577 in fixed point, over the bound of 1048576"):
        way.reply(upload, plan, [A + BOUND - 4], pads())
    reply, _ = way.reply(upload, plan, [A], pads())
    with pytest.raises(PeerError, match=r"the reply of a product has .* truncated, or of another plan"):
        way.finish(secret_of(way), plan, reply[:-8])
    with pytest.raises(PeerError, match="under this key: it was made for another, or altered"):
        way.finish(way.secret(bytes(32)), plan, reply)
    with pytest.raises(PeerError, match=r"(not one of these parameters|not one under this key|not a Paillier key)"):
        way.reply(np.full_like(upload, 255), plan, [A], pads())


def test_a_key_of_another_size_is_refused():
    small, large = PaillierSlots(2), PaillierSlots(2, key_bits=3072)
    A = np.arange(6).reshape(3, 2)
    upload = small.upload(secret_of(small), by_columns(A))
    with pytest.raises(PeerError, match="truncated, or of another plan"):
        large.reply(upload, plan_dense(3, 3, 2), [A], pads())
    padded = np.concatenate([upload, np.zeros(384 * 3 + 2 * 768 - upload.size, np.uint8)])
    with pytest.raises(PeerError, match=r"(not a Paillier key of 3072 bits|not one under this key)"):
        large.reply(padded, plan_dense(3, 3, 2), [A], pads())
    with pytest.raises(LocalError, match="a Paillier key has 2048 or 3072 bits, got 1024"):
        make_engine("paillier", 2, key_bits=1024)


def test_a_larger_key_gives_the_same_product():
    A, B = np.arange(-6, 6).reshape(6, 2), np.arange(4).reshape(2, 2)
    np.testing.assert_array_equal(product(make_engine("paillier", 2, key_bits=3072), A, B), A @ B.T)


def test_a_plan_of_nothing_or_of_unequal_columns_is_refused():
    with pytest.raises(LocalError, match="a product of nothing"):
        Plan((3, 0), (Block((0,), 1),))
    with pytest.raises(LocalError, match="different columns of one length"):
        Plan((3, 4), (Block((0, 1), 1),))
    with pytest.raises(LocalError, match="unknown engine 'ckks' of a product: use one of bfv, paillier"):
        make_engine("ckks", 1)


@pytest.mark.parametrize(("name", "module", "library"), [("bfv", "bfv", "tenseal"), ("paillier", "paillier", "gmpy2")])
def test_without_the_library_one_line_names_the_extra(name, module, library, monkeypatch):
    for loaded in [
        m for m in sys.modules if m.split(".")[0] == library or m.startswith(f"tacit.papers.gram.engines.{module}")
    ]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        MissingExtraError, match=rf"engine='{name}' needs the extra 'he': {re.escape(install_command('he'))}"
    ):
        make_engine(name, 1)


def test_a_library_that_writes_another_form_is_refused_before_it_is_used(monkeypatch):
    monkeypatch.setattr(seal_bytes, "VERSION", (9, 9))
    with pytest.raises(LocalError, match=re.escape(f"in a form that tacit does not know: {install_command('he')}")):
        try_out(Scheme(48))


def test_a_ciphertext_of_another_form_is_not_taken_apart():
    kind = seal_bytes.form((1, 2, 3, 4), 1, N)
    body = kind.body(bytes(kind.nbytes))
    assert kind.content(body) == bytes(kind.nbytes)
    for other in (body[:-1], body[:40] + b"\7" + body[41:], body + b"\0"):
        with pytest.raises(LocalError, match="writes a ciphertext in a form"):
            kind.content(other)


def test_nothing_secret_is_shown():
    assert "seed" not in repr(make_engine("bfv", 2))
    sizes = {"terms": 2, "bound": BOUND, "bits": 48, "key_bits": 2048, "drop": 0, "uploads": None}
    assert dataclasses.asdict(make_engine("paillier", 2)) == sizes


def test_a_pad_is_put_on_once():
    own = pads()
    draw_words(own, "mask", 3)
    with pytest.raises(LocalError, match="the same pad on two values"):
        draw_words(own, "mask", 3)
