"""send, publish and local: who gets what, as which bits, and what is refused."""

from collections import namedtuple

import numpy as np
import pytest
from language_messages import BOTH, Figure, Name, merged, names

from tacit.arrays import F64, U64
from tacit.choreo import ChoreographyError, Coordinator, Each, Everyone, Fact, Holder, Message, PeerError, Role, State

Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - an untyped tuple subclass on purpose


class Vector(Message, tells=Fact("tests.a_vector", "holders", "aggregate", "all", "a vector")):
    values: F64


class Uneven(
    Message,
    tells=Fact("tests.a_vector_and_its_length", "holders", "aggregate", "all", "a vector and its length"),
    ragged=True,
):
    values: F64


class Bag(Message, tells=Fact("tests.two_vectors", "holders", "aggregate", "all", "two vectors")):
    parts: tuple[F64, ...]


class Halves(Message, tells=Fact("tests.two_halves", "holders", "aggregate", "all", "two halves")):
    halves: tuple[float, float]


class Gathered(State):
    normals: F64


class Held(Message, tells=Fact("tests.planes", "holders", "aggregate", "all", "planes")):
    planes: Gathered


def test_each_party_of_a_role_computes_on_its_own_values(outcomes):
    def text(run):
        x = run.hold(Holder, {"ann": 1.0, "ben": 2.0, "cat": 3.0})
        return run.local(
            Holder, lambda own, shared, *, add: own * shared + add, x, 10.0, add=run.local(Holder, lambda: 0.5)
        )._entries

    assert merged(outcomes(text)) == {"ann": 10.5, "ben": 20.5, "cat": 30.5}


def test_what_each_party_holds_by_itself_is_united(outcomes):
    def text(run):
        x = run.hold(Holder, {"ann": 1.0, "ben": 2.0, "cat": 3.0})
        own = {str(member.party): run.local(member, lambda own: 2 * own, x) for member in run.members(Holder)}
        return run.local(Holder, lambda one, all_of_them: one + all_of_them, x, run.unite(Holder, own))._entries

    assert merged(outcomes(text)) == {"ann": 3.0, "ben": 6.0, "cat": 9.0}


def test_every_source_sends_one_message_to_every_target(outcomes):
    def text(run):
        arrived = run.send(Name, Holder >> Coordinator, names(run))
        return run.local(Coordinator, lambda inbox: tuple((s, m.who) for s, m in inbox.items()), arrived)._entries

    assert merged(outcomes(text)) == {"hub": (("ann", "ann"), ("ben", "ben"), ("cat", "cat"))}


def test_a_message_of_a_single_source_arrives_as_itself(outcomes):
    def text(run):
        arrived = run.send(Name, Coordinator >> Holder, names(run, Coordinator))
        return run.local(Holder, lambda message: message.who, arrived)._entries

    assert merged(outcomes(text)) == {"ann": "hub", "ben": "hub", "cat": "hub"}


def test_sending_from_a_role_to_itself_leaves_oneself_out(outcomes):
    def text(run):
        arrived = run.send(Name, Holder >> Holder, names(run))
        return run.local(Holder, tuple, arrived)._entries

    assert merged(outcomes(text)) == {"ann": ("ben", "cat"), "ben": ("ann", "cat"), "cat": ("ann", "ben")}


def test_where_one_party_has_both_roles_its_own_message_arrives_but_stays_out_of_the_ledger(outcomes):
    def text(run):
        arrived = run.send(Name, Holder >> Coordinator, names(run))
        inbox = run.local(Coordinator, tuple, arrived)._entries
        return {**inbox, run.present[0] + " wrote": [(r.sender, r.receiver) for r in run.ledger]}

    found = merged(outcomes(text, roster=BOTH))
    assert sorted(found.pop("ben")) == ["ann", "ben", "cat"]
    assert found
    assert all(rows == [("ann", "ben"), ("cat", "ben")] for rows in found.values())


def test_a_party_that_sends_to_itself_alone_leaves_no_row(outcomes):
    def text(run):
        (me,) = run.members(Coordinator)
        arrived = run.send(Name, me >> Coordinator, names(run, Coordinator))
        return {"rows": len(run.ledger), **run.local(Coordinator, lambda m: m.who, arrived)._entries}

    assert merged(outcomes(text)) == {"rows": 0, "hub": "hub"}


def test_members_pass_a_value_along_in_public_order(outcomes):
    def text(run):
        first, *others = run.members(Holder)
        passed, last = run.local(first, Name, run.who(first)), first
        for holder in others:
            passed = run.local(
                holder, lambda m, me: Name(m.who + me), run.send(Name, last >> holder, passed), run.who(holder)
            )
            last = holder
        return run.local(last, lambda m: m.who, passed)._entries

    assert merged(outcomes(text)) == {"cat": "annbencat"}


def test_a_step_can_send_another_message_to_each_receiver(outcomes):
    def text(run):
        mail = run.local(Coordinator, lambda: Each({p: Name(f"for {p}") for p in ("ann", "ben", "cat")}))
        return run.local(Holder, lambda m: m.who, run.send(Name, Coordinator >> Holder, mail))._entries

    assert merged(outcomes(text)) == {p: f"for {p}" for p in ("ann", "ben", "cat")}


def test_a_receiver_forgotten_in_each_is_named(together):
    def text(run):
        run.send(
            Name, Coordinator >> Holder, run.local(Coordinator, lambda: Each({"ann": Name("x"), "cat": Name("x")}))
        )

    with pytest.raises(ChoreographyError, match="hub should send Name to ben, its step gave NoneType"):
        together(text)


def test_a_step_that_gives_another_type_than_the_text_says_is_named_with_both_types(together):
    def text(run):
        run.send(Figure, Holder >> Coordinator, names(run))

    with pytest.raises(ChoreographyError, match="ann should send Figure to hub, its step gave Name"):
        together(text)


def by_send(run, kind, step):
    run.send(kind, Coordinator >> Holder, run.local(Coordinator, step))


def by_each(run, kind, step):
    run.send(kind, Coordinator >> Holder, run.local(Coordinator, lambda: Each({p: step() for p in run.roster[Holder]})))


def by_publish(run, kind, step):
    run.publish(kind, run.local(Coordinator, step))


def by_gather(run, kind, step):
    run.gather(kind, Coordinator >> Coordinator, run.local(Coordinator, step), at_least=1)


@pytest.mark.parametrize("verb", [by_send, by_each, by_publish, by_gather])
def test_a_field_of_another_type_is_the_senders_own_error_before_anything_is_sent(together, apart, verb):
    def text(run):
        verb(run, Figure, lambda: Figure("hunter2"))

    words = "field x of the Figure that hub sends is not of its declared type"
    with pytest.raises(ChoreographyError, match=rf"^{words}$"):
        together(text)
    found = apart(text, patience=1.0)
    assert isinstance(found["hub"], ChoreographyError)
    assert str(found["hub"]) == words
    if verb is not by_gather:  # where the others have nothing to wait for
        for party in ("ann", "ben", "cat"):
            assert isinstance(found[party], PeerError)
            assert str(found[party]) == "hub stopped at /Figure (ChoreographyError): see its own log"


def test_a_field_of_another_type_inside_a_state_is_the_senders_own_error_too(together):
    def text(run):
        by_send(run, Held, lambda: Held(Gathered("hunter2")))

    with pytest.raises(ChoreographyError, match="that hub sends is not of its declared type"):
        together(text)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: [1.0], "a list"),
        (lambda: {1.0}, "a set"),
        (object, "a object"),
        (lambda: (1.0, {"k": [1.0]}), "a list"),
        (lambda: np.array([object()]), "an array of object"),
        (lambda: np.array(["text"]), "an array of <U4"),
        (lambda: np.array([1j]), "an array of complex128"),
        (lambda: (np.zeros(2, dtype=[("a", "<f8")]),), "an array of [('a', '<f8')]"),
        (lambda: lambda: 1.0, "a function"),
    ],
)
def test_a_step_that_gives_what_has_no_wire_form_is_refused(outcomes, make, kind):
    def step():
        return make()

    def text(run):
        run.local(Everyone, step)

    for error in outcomes(text):
        assert isinstance(error, ChoreographyError)
        assert str(error).startswith(f"step step gave {kind}, which has no wire form (")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gathered([1.0, 2.0]),
        lambda: np.complex128(1j),
        lambda: {frozenset({1}): 1.0},
        lambda: np.ma.masked_array([1.0, 31337.0], mask=[False, True]),
    ],
    ids=[
        "a state with a list",
        "a complex scalar",
        "a key without wire form",
        "a masked array, whose mask the wire would drop",
    ],
)
def test_a_step_that_hides_what_has_no_wire_form_is_refused(together, make):
    def text(run):
        run.local(Holder, make)

    with pytest.raises(ChoreographyError, match="no wire form"):
        together(text)


@pytest.mark.parametrize(
    "make", [lambda: 1, lambda: None, lambda: "s", lambda: b"b", lambda: np.float32(1), lambda: (1, {"k": np.ones(2)})]
)
def test_a_step_may_return_any_wire_form_value(together, make):
    together(lambda run: run.local(Holder, make)._entries["ann"])


def written_into(array):
    array[0] = 7.0
    return 0.0


def received_array(run):
    return run.local(
        Coordinator,
        lambda m: m.values,
        run.send(Vector, Coordinator >> Coordinator, run.local(Coordinator, lambda: Vector(np.zeros(2)))),
    )


def arrived_array(run):
    arrived = run.send(Vector, Holder >> Coordinator, run.local(Holder, lambda: Vector(np.zeros(2))))
    return run.local(Coordinator, lambda inbox: inbox["ann"].values, arrived)


def computed_array(run):
    return run.local(Coordinator, lambda: np.zeros(2))


def published_array(run):
    return run.publish(Vector, run.local(Coordinator, lambda: Vector(np.zeros(2)))).values


@pytest.mark.parametrize("source", [received_array, arrived_array, computed_array, published_array])
def test_a_step_cannot_write_into_an_array_it_was_given(together, source):
    with pytest.raises(ValueError, match="read-only"):
        together(lambda run: run.local(Coordinator, written_into, source(run)))


@pytest.mark.parametrize(
    ("make", "take"),
    [
        (lambda: (np.zeros(2),), lambda v: v[0]),
        (lambda: {"k": np.zeros(2)}, lambda v: v["k"]),
        (lambda: Gathered(np.zeros(2)), lambda v: v.normals),
    ],
    ids=["tuple", "dict", "state"],
)
def test_a_step_cannot_write_into_an_array_inside_a_value_it_was_given(together, make, take):
    def text(run):
        run.local(Holder, lambda v: written_into(take(v)), run.local(Holder, make))

    with pytest.raises(ValueError, match="read-only"):
        together(text)


def test_what_was_sent_stays_as_it_was_sent(together):
    def text(run):
        mine = run.local(Holder, lambda: (np.zeros(2),))
        arrived = run.send(Vector, Holder >> Coordinator, run.local(Holder, lambda v: Vector(v[0]), mine))
        try:
            run.local(Holder, lambda v: written_into(v[0]), mine)
        except ValueError:
            return 0.0
        return run.local(Coordinator, lambda inbox: inbox["ann"].values[0], arrived)._entries["hub"]

    assert together(text) == 0.0


def test_everyone_learns_what_is_published_as_a_plain_value(outcomes):
    def text(run):
        figure = run.publish(Figure, run.local(Coordinator, lambda: Figure(2.5)))
        return "small" if figure.x < 3 else "large"

    assert set(outcomes(text)) == {"small"}


def test_publish_needs_one_author(outcomes):
    for error in outcomes(lambda run: run.publish(Name, names(run))):
        assert isinstance(error, ChoreographyError)
        assert str(error) == "publish needs one author, Name has ann, ben, cat: use publish_all"


def test_publish_all_gives_one_from_each_in_public_order(outcomes):
    for found in outcomes(lambda run: {a: m.who for a, m in run.publish_all(Name, names(run)).items()}):
        assert list(found.items()) == [("ann", "ann"), ("ben", "ben"), ("cat", "cat")]


def test_the_author_reads_back_its_own_bytes(outcomes):
    def text(run):
        message = run.publish(Halves, run.local(Coordinator, lambda: Halves(Pair(np.float64(1.5), 2))))
        return type(message.halves), [type(h) for h in message.halves]

    for found in outcomes(text):
        assert found == (tuple, [float, int])


def test_publish_tells_everyone_the_same_and_so_refuses_each(outcomes):
    def text(run):
        return run.publish(Name, run.local(Coordinator, lambda: Each({p: Name(p) for p in run.roster.parties}))).who

    found = outcomes(text)
    assert all(isinstance(f, (ChoreographyError, PeerError)) for f in found)
    assert any(isinstance(f, ChoreographyError) for f in found)


def test_the_transcript_is_equal_at_all_parties_and_grows_with_every_publication(apart, together):
    def text(run):
        heads = [dict(run.transcript)]
        run.publish(Figure, run.local(Coordinator, lambda: Figure(1.0)))
        heads.append(dict(run.transcript))
        run.publish_all(Name, names(run))
        heads.append(dict(run.transcript))
        run.send(Name, Holder >> Coordinator, names(run))
        heads.append(dict(run.transcript))
        return [next(iter(h.values())) for h in heads if len(set(h.values())) == 1]

    at_each = list(apart(text).values())
    assert all(heads == at_each[0] for heads in at_each)
    start, published, all_published, sent = at_each[0]
    assert len({start, published, all_published}) == 3
    assert sent == all_published
    assert together(text) == at_each[0]


def test_the_transcript_depends_on_what_was_published_and_at_which_place(together):
    def told(x, name):
        def text(run):
            with run.within(name):
                run.publish(Figure, run.hold(Coordinator, {"hub": Figure(x)}))
            return run.transcript["ann"]

        return together(text)

    assert told(1.0, "here") == told(1.0, "here")
    assert len({told(1.0, "here"), told(2.0, "here"), told(1.0, "there")}) == 3


def test_tags_are_equal_at_all_parties_and_differ_by_place_and_by_what_was_published(apart):
    def text(run):
        first, second = run.tag(), run.tag()
        run.publish(Figure, run.local(Coordinator, lambda: Figure(1.0)))
        third = run.tag()
        return tuple(t._entries[run.me] for t in (first, second, third))

    found = set(apart(text).values())
    assert len(found) == 1
    assert len(set(found.pop())) == 3


def test_seeds_differ_by_party_and_by_place(together):
    def text(run):
        return [seed for _ in range(2) for seed in run.random(Everyone)._entries.values()]

    seeds = together(text)
    assert len(set(seeds)) == 8
    assert {len(s) for s in seeds} == {32}


def test_senders_that_disagree_on_a_shape_are_named_with_their_shapes(together, apart):
    def text(run):
        x = run.hold(Holder, {p: np.zeros(2 if p == "ben" else 3) for p in ("ann", "ben", "cat")})
        run.send(Vector, Holder >> Coordinator, run.local(Holder, Vector, x))

    words = r"the senders of Vector at /Vector disagree on its shape: ann \(\(3,\),\), ben \(\(2,\),\), cat \(\(3,\),\)"
    with pytest.raises(PeerError, match=words):
        together(text)
    error = apart(text)["hub"]
    assert isinstance(error, PeerError)
    assert "ann ((3,),), ben ((2,),)" in str(error)


def test_authors_that_disagree_on_a_shape_are_an_error_at_everyone(outcomes):
    def text(run):
        x = run.hold(Holder, {"ann": np.zeros(3), "ben": np.zeros((3, 1)), "cat": np.zeros(3)})
        run.publish_all(Vector, run.local(Holder, Vector, x))

    for error in outcomes(text):
        assert isinstance(error, PeerError)
        assert "ann ((3,),), ben ((3, 1),)" in str(error)


def test_a_ragged_message_may_have_another_shape_from_each(outcomes):
    def text(run):
        x = run.hold(Holder, {"ann": np.zeros(1), "ben": np.zeros(2), "cat": np.zeros(3)})
        arrived = run.send(Uneven, Holder >> Coordinator, run.local(Holder, Uneven, x))
        return run.local(Coordinator, lambda inbox: tuple(len(m.values) for m in inbox.values()), arrived)._entries

    assert merged(outcomes(text)) == {"hub": (1, 2, 3)}


def test_arrays_inside_a_field_have_to_agree_on_their_shape_too(together):
    def text(run):
        x = run.hold(Holder, {"ann": np.zeros(1), "ben": np.zeros(2), "cat": np.zeros(3)})
        run.send(Bag, Holder >> Coordinator, run.local(Holder, lambda v: Bag((v, v)), x))

    with pytest.raises(PeerError, match="disagree on its shape"):
        together(text)


def test_words_of_the_ring_arrive_to_the_bit(outcomes):
    class Words(Message, tells=Fact("tests.words", "holders", "aggregate", "all", "words")):
        words: U64

    def text(run):
        sent = run.local(Holder, lambda: Words(np.array([0, 1, (1 << 64) - 1, 1 << 63], dtype=np.uint64)))
        arrived = run.send(Words, Holder >> Coordinator, sent)
        return run.local(Coordinator, lambda inbox: tuple(int(w) for w in inbox["cat"].words), arrived)._entries

    assert merged(outcomes(text)) == {"hub": (0, 1, (1 << 64) - 1, 1 << 63)}


def test_a_role_nobody_takes_is_refused_with_the_roles_there_are(together):
    with pytest.raises(
        ChoreographyError, match=r"nobody takes the role judge in this run \(roles: holder, coordinator\)"
    ):
        together(lambda run: run.local(Role("judge"), lambda: 1.0))
