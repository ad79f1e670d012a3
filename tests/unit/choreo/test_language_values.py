"""`At`: where a value is held, how long it lives, and that nothing in the text can look inside it."""

import dataclasses
import operator

import pytest

from tacit.choreo import (
    At,
    ChoreographyError,
    Coordinator,
    Everyone,
    Fact,
    Holder,
    Message,
    PeerError,
    choreography,
    entries_of,
)


class Figure(Message, tells=Fact("tests.a_figure", "holders", "aggregate", "all", "a figure")):
    x: float


LOOKS = {
    "branch on": [bool, operator.not_],
    "iterate over": [iter, list, tuple, set],
    "take the length of": [len],
    "index": [lambda v: v[0], lambda v: v["ann"]],
    "compare": [lambda v: v == 1.0, lambda v: v != 1.0, lambda v: v == v],  # noqa: PLR0124 - even to itself
    "print": [repr, str, lambda v: f"{v}", "{}".format, lambda v: repr([v])],
}


def one():
    return 1.0


def same(value):
    return value


@pytest.mark.parametrize(("verb", "look"), [(verb, look) for verb, looks in LOOKS.items() for look in looks])
def test_a_value_that_only_some_hold_refuses_to_be_looked_at_and_names_its_owners(outcomes, verb, look):
    for error in outcomes(lambda run: look(run.local(Holder, one))):
        assert isinstance(error, ChoreographyError)
        assert str(error).startswith(f"cannot {verb} a value held only by ann, ben, cat: publish it first")


def test_looking_for_something_in_a_held_value_names_its_owners(together):
    with pytest.raises(ChoreographyError, match="held only by ann, ben, cat"):
        together(lambda run: 1.0 in run.local(Holder, one))


def misused_in_local(run):
    run.local(Coordinator, same, run.local(Holder, one))


def misused_by_name(run):
    run.local(Coordinator, same, value=run.local(Holder, one))


def misused_in_send(run):
    run.send(Figure, Coordinator >> Holder, run.local(Holder, one))


def misused_between_members(run):
    ann, ben, _ = run.members(Holder)
    run.send(Figure, ben >> ann, run.local(ann, one))


def misused_in_gather(run):
    run.gather(Figure, Holder >> Coordinator, run.local(Coordinator, one), at_least=2)


def misused_in_pads(run):
    run.pads(run.local(Everyone, one), run.random(Holder))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (misused_in_local, "step same at coordinator uses a value that hub does not hold (held by ann, ben, cat)"),
        (misused_by_name, "step same at coordinator uses a value that hub does not hold (held by ann, ben, cat)"),
        (misused_in_send, "send Figure from coordinator uses a value that hub does not hold (held by ann, ben, cat)"),
        (misused_between_members, "send Figure from ben uses a value that ben does not hold (held by ann)"),
        (misused_in_gather, "send Figure from holder uses a value that ann, ben, cat does not hold (held by hub)"),
        (misused_in_pads, "pads uses a value that hub does not hold (held by ann, ben, cat)"),
    ],
)
def test_a_value_used_where_it_is_not_held_is_the_same_error_at_every_party_involved_or_not(
    together, apart, text, words
):
    with pytest.raises(ChoreographyError) as in_one_process:
        together(text)
    assert str(in_one_process.value) == words
    for party, error in apart(text).items():
        assert isinstance(error, ChoreographyError), party
        assert str(error) == words


@dataclasses.dataclass
class Box:
    value: At[float]


WRAPS = [
    (lambda v: (v,), "tuple"),
    (lambda v: {"k": v}, "dict"),
    (lambda v: [v], "list"),
    (lambda v: ({"k": [v]},), "tuple"),
    (Box, "Box"),
    (lambda v: {v}, "set"),
]
HIDDEN = pytest.mark.parametrize(("wrap", "kind"), WRAPS, ids=["tuple", "dict", "list", "deeper", "dataclass", "set"])


@HIDDEN
@pytest.mark.parametrize("named", [False, True], ids=["by position", "by name"])
def test_a_value_hidden_in_a_container_is_handed_to_no_step(outcomes, wrap, kind, named):
    ran = []

    def look(box):
        ran.append(box)
        return 1.0

    def text(run):
        hidden = wrap(run.local(Holder, one))
        if named:
            run.local(Coordinator, look, box=hidden)
        else:
            run.local(Coordinator, look, hidden)

    for error in outcomes(text):
        assert isinstance(error, ChoreographyError)
        assert (
            str(error) == f"step look at coordinator uses a value hidden in a {kind}: pass it as an argument of its own"
        )
    assert ran == []


def test_the_carried_values_are_not_handed_to_a_step_as_a_whole(outcomes):
    def text(run):
        run.local(Coordinator, lambda s: 1.0 if s else 0.0, run.carry(w=run.local(Holder, one)))

    for error in outcomes(text):
        assert isinstance(error, ChoreographyError)
        assert "hidden in a Carry" in str(error)


@pytest.mark.parametrize(
    "verb",
    [
        lambda run: run.send(Figure, Coordinator >> Holder, Figure(1.0)),
        lambda run: run.publish(Figure, Figure(1.0)),
        lambda run: run.publish_all(Figure, Figure(1.0)),
    ],
    ids=["send", "publish", "publish_all"],
)
def test_a_plain_value_has_no_sender_and_so_cannot_be_sent(together, verb):
    with pytest.raises(ChoreographyError):
        together(verb)


def test_a_value_of_a_finished_round_cannot_be_used(outcomes):
    def text(run):
        for _ in run.rounds(2, run.carry()):
            kept = run.local(Holder, one)
        run.local(Holder, same, kept)

    for error in outcomes(text):
        assert isinstance(error, ChoreographyError)
        assert str(error) == "step same at holder uses a value of /round[1], which is over: carry it"


@pytest.mark.parametrize(
    "use",
    [
        lambda run, kept: run.local(Holder, same, kept),
        lambda run, kept: run.send(Figure, Holder >> Coordinator, kept),
        lambda run, kept: run.publish_all(Figure, kept),
        lambda run, kept: run.gather(Figure, Holder >> Coordinator, kept, at_least=1),
        lambda run, kept: run.pads(kept, run.tag()),
    ],
    ids=["local", "send", "publish_all", "gather", "pads"],
)
def test_a_value_of_the_last_round_cannot_be_used_in_the_next_by_any_verb(outcomes, use):
    def text(run):
        kept = None
        for t in run.rounds(2, run.carry()):
            if t:
                use(run, kept)
            kept = run.local(Holder, lambda: Figure(1.0))

    for error in outcomes(text):
        assert isinstance(error, ChoreographyError)
        assert "uses a value of /round[0], which is over: carry it" in str(error)


def test_a_carried_value_outlives_its_round_and_the_loop(outcomes):
    def text(run):
        s = run.carry(total=run.local(Holder, one))
        for _ in run.rounds(3, s):
            s.total = run.local(Holder, operator.add, s.total, s.total)
        return sorted(set(run.local(Holder, same, s.total)._entries.values()))

    found = [values for values in outcomes(text) if values]
    assert found
    assert all(values == [8.0] for values in found)


def test_a_plain_value_can_be_carried(together):
    def text(run):
        s = run.carry(t=0)
        for _ in run.rounds(4, s):
            s.t = s.t + 1
        return s.t

    assert together(text) == 4


def test_values_carried_in_tuples_dicts_and_dataclasses_live_on(together):
    def text(run):
        s = run.carry(box=({"v": run.local(Holder, one)},))
        for t in run.rounds(2, s):
            if t:
                run.local(Holder, same, s.box[0]["v"])
            s.box = ({"v": run.local(Holder, lambda: 2.0)},)
        return run.local(Holder, same, s.box[0]["v"])._entries["ann"]

    assert together(text) == 2.0


def test_reading_what_is_not_carried_names_what_is(together):
    with pytest.raises(ChoreographyError, match=r"nothing called b is carried \(carried: w, planes\)"):
        together(lambda run: run.carry(w=1, planes=2).b)


def test_assigning_what_is_not_carried_says_where_to_name_it(together):
    with pytest.raises(ChoreographyError, match=r"b is not carried: name it in run.carry\(...\)"):
        together(lambda run: setattr(run.carry(w=1), "b", 2))


def test_a_value_whose_round_is_over_cannot_be_carried_after_all(together):
    def text(run):
        s, old = run.carry(w=0), None
        for t in run.rounds(2, s):
            if t:
                s.w = old
            old = run.local(Holder, one)
        run.local(Holder, same, s.w)

    with pytest.raises(ChoreographyError, match=r"^a value of /round\[0\], which is over, cannot be kept: carry it$"):
        together(text)


def test_a_value_whose_round_is_over_cannot_leave_its_choreography_as_a_result(together):
    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def train(run):
        for _ in run.rounds(2, run.carry()):
            last = run.local(Holder, one)
        return last

    with pytest.raises(
        ChoreographyError, match=r"^a value of /train/round\[1\], which is over, cannot be kept: carry it$"
    ):
        together(train)


@pytest.mark.parametrize("wrap", [lambda v: (v,), lambda v: {"k": [v]}, Box], ids=["tuple", "dict", "dataclass"])
def test_a_value_whose_round_is_over_cannot_leave_its_choreography_inside_a_result(together, wrap):
    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def train(run):
        for _ in run.rounds(2, run.carry()):
            last = run.local(Holder, one)
        return wrap(last)

    with pytest.raises(
        ChoreographyError, match=r"^a value of /train/round\[1\], which is over, cannot be kept: carry it$"
    ):
        together(train)


def leaving(how):
    """A loop left in its second round; what was carried, what was computed there and what an earlier round computed."""

    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def train(run, out):
        s = run.carry(w=run.local(Holder, one), v=run.local(Holder, one))
        out.append(s)
        for t in run.rounds(5, s):
            s.w = run.local(Holder, operator.add, 2.0, float(t))
            out.append(run.local(Holder, one))
            if t == 1 and how == "return":
                return s.w
            if t == 1 and how == "break":
                break
            if t == 1 and how == "error":
                raise ZeroDivisionError
        # the loop is over and the choreography is not
        assert set(entries_of(run.local(Holder, operator.add, s.w, s.v)).values()) <= {4.0}
        assert run.place == "/train/add()"
        for left in out[1:]:
            with pytest.raises(
                ChoreographyError, match=r"uses a value of /train/round\[[01]\], which is over: carry it"
            ):
                run.local(Holder, same, left)
        return s.w

    return train


@pytest.mark.parametrize("how", ["return", "break"])
def test_leaving_a_loop_keeps_exactly_the_carried_values(outcomes, how):
    def text(run):
        out = []
        result = leaving(how)(run, out)
        found = dict(entries_of(run.local(Holder, same, result)))
        assert run.place == "/same()"
        for left in (*out[1:], out[0].v):  # v was carried in the choreography, but not returned from it
            with pytest.raises(
                ChoreographyError, match=r"uses a value of /train(/round\[[01]\])?, which is over: carry it"
            ):
                run.local(Holder, same, left)
        return found

    found = outcomes(text)
    assert not [f for f in found if isinstance(f, Exception)]
    assert {p: v for f in found for p, v in f.items()} == {"ann": 3.0, "ben": 3.0, "cat": 3.0}


def test_leaving_a_loop_by_an_error_closes_its_round_too(outcomes):
    def text(run):
        out = []
        with pytest.raises(ZeroDivisionError):
            leaving("error")(run, out)
        with pytest.raises(ChoreographyError, match=r"uses a value of /train/round\[1\], which is over"):
            run.local(Holder, same, out[-1])
        run.local(Holder, one)
        return run.place

    assert set(outcomes(text)) == {"/one()"}


@pytest.mark.parametrize("how", ["return", "break"])
def test_what_a_left_round_did_not_carry_cannot_be_returned(together, how):
    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def train(run):
        for _ in run.rounds(5, run.carry()):
            last = run.local(Holder, one)
            if how == "return":
                return last
            break
        return last

    with pytest.raises(
        ChoreographyError, match=r"^a value of /train/round\[0\], which is over, cannot be kept: carry it$"
    ):
        together(train)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_round_left_by_break_is_over_even_if_what_was_carried_cannot_be(together):
    def text(run):
        s, old = run.carry(w=0), None
        for t in run.rounds(3, s):
            if t:
                s.w, kept = old, run.local(Holder, one)
                break
            old = run.local(Holder, one)
        run.local(Holder, same, kept)

    with pytest.raises(ChoreographyError, match=r"which is over"):
        together(text)


def test_a_value_of_an_inner_loop_that_was_left_early_does_not_outlive_the_outer_round(together):
    def text(run):
        kept = None
        for t in run.rounds(2, run.carry()):
            if t:
                run.local(Holder, same, kept)
            for _ in run.rounds(3, run.carry()):
                kept = run.local(Holder, one)
                break

    with pytest.raises(ChoreographyError, match="which is over: carry it"):
        together(text)


def test_a_value_of_a_round_left_by_break_cannot_be_used_after_the_loop(together):
    def text(run):
        for _ in run.rounds(3, run.carry()):
            kept = run.local(Holder, one)
            break
        run.local(Holder, same, kept)

    with pytest.raises(ChoreographyError, match="which is over: carry it"):
        together(text)


def test_a_result_is_lifted_out_of_its_choreography(together):
    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def inner(run):
        return run.local(Holder, one), {"k": run.local(Coordinator, one)}

    def text(run):
        at_holders, rest = inner(run)
        run.local(Holder, same, at_holders)
        return run.local(Coordinator, same, rest["k"])._entries

    assert together(text) == {"hub": 1.0}


def test_a_result_returned_from_within_a_round_is_lifted_too(together):
    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def inner(run):
        s = run.carry(w=run.local(Holder, one))
        for _ in run.rounds(5, s):
            return s.w
        return None

    assert together(lambda run: run.local(Holder, same, inner(run))._entries["cat"]) == 1.0


def test_what_a_choreography_does_not_return_is_over_with_it(outcomes):
    leaked = []

    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def inner(run):
        leaked.append(run.local(Holder, one))

    def text(run):
        inner(run)
        run.local(Holder, same, leaked[-1])

    for error in outcomes(text):
        assert isinstance(error, (ChoreographyError, PeerError))
        assert str(error) == "step same at holder uses a value of /inner, which is over: carry it"


def test_a_result_lifted_into_a_round_ends_with_the_round(together):
    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def inner(run):
        return run.local(Holder, one)

    def text(run):
        for _ in run.rounds(1, run.carry()):
            kept = inner(run)
        run.local(Holder, same, kept)

    with pytest.raises(ChoreographyError, match=r"a value of /round\[0\], which is over"):
        together(text)


def test_a_note_takes_published_values_only(outcomes):
    for error in outcomes(lambda run: run.note(gap=run.local(Holder, one))):
        assert isinstance(error, ChoreographyError)
        assert str(error) == "note takes published values only, and keeps the name 'place' for itself"


def test_a_note_cannot_change_its_place(together):
    with pytest.raises(ChoreographyError, match="keeps the name 'place' for itself"):
        together(lambda run: run.note(place="/elsewhere"))


def test_a_note_finds_a_held_value_inside_a_tuple(together):
    with pytest.raises(ChoreographyError, match="published values only"):
        together(lambda run: run.note(gaps=(run.local(Holder, one),)))


def test_notes_become_the_history_with_their_place(outcomes):
    def text(run):
        for t in run.rounds(2, run.carry()):
            run.note(gap=1.0 / (t + 1))
        return run.history

    for history in outcomes(text):
        assert history == [{"place": "/round[0]", "gap": 1.0}, {"place": "/round[1]", "gap": 0.5}]


def test_a_party_holds_only_its_own_entry_on_its_own_host(apart):
    held = apart(lambda run: dict(run.who(Everyone)._entries))
    assert held == {p: {p: p} for p in ("ann", "ben", "cat", "hub")}
