"""Entropy: seeds by party, place and run, and pads that are put on once."""

import hashlib
import hmac
import itertools
import threading

import numpy as np
import pytest

from tacit.crypto.pads.entropy import RootEntropy, prf, stream
from tacit.errors import LocalError

ROOTS = {"ann": b"a" * 32, "ben": b"b" * 32}
SEEDS = {"cat": b"c" * 32, "dan": b"d" * 32}


def entropy(run=b"run"):
    return RootEntropy([], run, roots=ROOTS)


def joined(chunks):
    return np.concatenate([chunk.copy() for chunk in chunks])


def test_a_prf_is_hmac_sha_256_of_its_inputs_with_their_lengths():
    message = (2).to_bytes(8, "little") + b"ab" + (0).to_bytes(8, "little")
    assert prf(b"key", b"ab", b"") == hmac.digest(b"key", message, hashlib.sha256)


def test_a_prf_tells_apart_where_one_input_ends_and_the_next_begins():
    cuts = [(b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""), (b"", b"abc")]
    assert len({prf(b"key", *inputs) for inputs in cuts}) == len(cuts)


def test_a_seed_is_32_bytes_and_the_same_each_time():
    assert entropy().seed("ann", "/p") == entropy().seed("ann", "/p")
    assert len(entropy().seed("ann", "/p")) == 32


def test_seeds_differ_by_party_place_and_run():
    cases = itertools.product((b"run", b"other"), ROOTS, ("/p", "/p#1", "/round[1]/p"))
    assert len({entropy(run).seed(party, place) for run, party, place in cases}) == 12


def test_fresh_root_keys_differ_by_party_and_by_object():
    first, second = (RootEntropy(["ann", "ben"], b"run") for _ in range(2))
    assert len({e.seed(p, "/p") for e in (first, second) for p in ("ann", "ben")}) == 4


def test_putting_on_the_same_pad_twice_is_refused_and_names_the_party():
    source = entropy()
    source.pads("ann", SEEDS, b"tag").put_on("cat", 10)
    with pytest.raises(LocalError, match=r"ann would put the same pad on two values.*give each sum its own tag"):
        source.pads("ann", SEEDS, b"tag").put_on("cat", 10)


def test_a_pad_is_spent_when_it_is_put_on_and_not_when_it_is_drawn():
    pads = entropy().pads("ann", SEEDS, b"tag")
    pads.put_on("cat", 10)
    with pytest.raises(LocalError, match="same pad"):
        pads.put_on("cat", 99)


def test_the_same_seed_under_another_name_is_the_same_pad():
    pads = entropy().pads("ann", {"cat": b"s" * 32, "dan": b"s" * 32}, b"tag")
    pads.put_on("cat", 10)
    with pytest.raises(LocalError, match="same pad"):
        pads.put_on("dan", 10)


def test_the_two_ends_of_a_pair_each_put_on_their_pad_once():
    source = entropy()
    ann = joined(source.pads("ann", {"ben": b"s" * 32}, b"tag").put_on("ben", 100))
    ben = joined(source.pads("ben", {"ann": b"s" * 32}, b"tag").put_on("ann", 100))
    assert np.array_equal(ann, ben)


def test_only_one_of_many_threads_gets_to_put_on_a_pad():
    source, granted = entropy(), []
    start = threading.Barrier(8)

    def put_on():
        start.wait()
        try:
            source.pads("ann", SEEDS, b"tag").put_on("cat", 1)
            granted.append(1)
        except LocalError:
            pass

    threads = [threading.Thread(target=put_on) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert granted == [1]


def test_what_is_taken_off_is_what_was_put_on_as_often_as_needed():
    pads = entropy().pads("ann", SEEDS, b"tag")
    on = joined(pads.put_on("cat", 20_000))
    assert np.array_equal(on, joined(pads.take_off("cat", 20_000)))
    assert np.array_equal(on, joined(pads.take_off("cat", 20_000)))


def test_a_pad_is_the_stream_under_the_prf_of_seed_and_tag():
    pads = entropy().pads("ann", SEEDS, b"tag")
    assert np.array_equal(joined(pads.put_on("cat", 50)), joined(stream(prf(SEEDS["cat"], b"pad", b"tag"), 50)))


def test_pads_differ_by_seed_and_by_tag():
    source = entropy()
    firsts = {
        int(joined(source.pads("ann", SEEDS, tag).put_on(name, 1))[0]) for tag in (b"tag", b"other") for name in SEEDS
    }
    assert len(firsts) == 4


def test_words_drawn_counts_every_word_put_on_or_taken_off():
    source = entropy()
    assert source.words_drawn == 0
    pads = source.pads("ann", SEEDS, b"tag")
    pads.put_on("cat", 10)
    pads.put_on("dan", 7)
    pads.take_off("cat", 5)
    assert source.words_drawn == 22


def test_a_refused_pad_is_not_counted():
    pads = entropy().pads("ann", SEEDS, b"tag")
    pads.put_on("cat", 10)
    with pytest.raises(LocalError):
        pads.put_on("cat", 10)
    assert pads.source.words_drawn == 10


def test_the_repr_shows_parties_and_no_key():
    source = entropy()
    pads = source.pads("ann", SEEDS, b"the tag")
    assert repr(source) == "RootEntropy(ann, ben)"
    for secret in ("aaaa", "bbbb", "cccc", "dddd", "the tag", "61616161"):
        assert secret not in repr(source) + repr(pads)


def test_the_register_of_spent_pads_holds_no_key():
    source = entropy()
    source.pads("ann", SEEDS, b"tag").put_on("cat", 1)
    (mark,) = source._spent["ann"]
    key = prf(SEEDS["cat"], b"pad", b"tag")
    assert mark not in (key, SEEDS["cat"], ROOTS["ann"])


def test_a_refused_pad_shows_no_key():
    pads = entropy().pads("ann", SEEDS, b"tag")
    pads.put_on("cat", 1)
    with pytest.raises(LocalError) as caught:
        pads.put_on("cat", 1)
    assert "cccc" not in str(caught.value)


def test_marks_that_were_kept_elsewhere_refuse_the_same_pads_and_say_nothing_of_them():
    source = entropy()
    source.pads("ann", SEEDS, b"tag").put_on("cat", 10)
    marks = source.marks("ann")
    assert len(marks) == 1
    again = RootEntropy([], b"run", roots=ROOTS, spent={"ann": marks})
    again.pads("ann", SEEDS, b"tag").put_on("dan", 10)
    with pytest.raises(LocalError, match="ann would put the same pad on two values"):
        again.pads("ann", SEEDS, b"tag").put_on("cat", 10)
    assert prf(SEEDS["cat"], b"pad", b"tag") not in marks
