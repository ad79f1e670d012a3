"""What a protocol has to declare before it can be imported, and what its records never show."""

import dataclasses

import numpy as np
import pytest

from tacit.arrays import F64
from tacit.choreo import ChoreographyError, Coordinator, Everyone, Fact, Holder, Message, State, choreography
from tacit.choreo.fact import declare_facts

SECRET = 31337.25


READING = Fact("tests.one_reading_in_clear", "holders", "aggregate", "all", "one reading in clear")


class Reading(Message, tells=READING):
    values: F64
    note: str


class Stowed(State):
    values: F64
    note: str


def test_a_message_without_tells_does_not_import():
    with pytest.raises(
        ChoreographyError, match=r"message Mute does not say what it tells: write class Mute\(Message, tells=...\)"
    ):

        class Mute(Message):
            x: float


@pytest.mark.parametrize(
    ("tells", "words"),
    [
        ((), "message Mute does not say what it tells"),
        ("prose", r"tells or opens \('prose',\), which are no facts: write Fact"),
        (Fact("tests.blank", "holders", "count", "all", " \n"), "fact 'tests.blank' has no prose: say what is learnt"),
        (Fact("Blank", "holders", "count", "all", "x"), "fact 'Blank' needs a name of two or more words in lower case"),
        (
            Fact("tests.odd", "everybody", "count", "all", "x"),
            "fact 'tests.odd' has 'everybody': use one of holders, holder",
        ),
        (
            Fact("tests.odd", "holders", "gossip", "all", "x"),
            "fact 'tests.odd' has 'gossip': use one of aggregate, count",
        ),
        (Fact("tests.odd", "holders", "count", "some", "x"), "fact 'tests.odd' has 'some': use one of none, all"),
        (
            Fact("tests.the_sum", "holders", "count", "all", "x"),
            "two facts are called 'tests.the_sum', in .* and in .*: rename one",
        ),
    ],
)
def test_a_message_that_tells_no_proper_fact_does_not_import(tells, words):
    declare_facts(Fact("tests.the_sum", "holders", "aggregate", "all", "the sum"), __name__)
    with pytest.raises(ChoreographyError, match=words):

        class Mute(Message, tells=tells):
            x: float


def test_a_message_does_not_inherit_what_another_tells():
    with pytest.raises(ChoreographyError, match="message Derived does not say"):

        class Derived(Reading):
            more: float


def test_a_choreography_without_opens_does_not_import():
    with pytest.raises(TypeError, match="opens"):

        @choreography()
        def train(run):
            return run


def test_a_choreography_that_opens_nothing_does_not_import():
    with pytest.raises(ChoreographyError, match="choreography train must say what it opens"):

        @choreography(opens={})
        def train(run):
            return run


def test_a_choreography_that_opens_to_a_parameter_it_does_not_have_does_not_import():
    with pytest.raises(ChoreographyError, match=r"choreography train must say what it opens.*unknown: \['too'\]"):

        @choreography(opens={"too": Fact("tests.the_sum", "holders", "aggregate", "all", "the sum")})
        def train(run, *, to):
            return run, to


def test_a_choreography_that_opens_blank_does_not_import():
    with pytest.raises(ChoreographyError, match="must say what it opens"):

        @choreography(opens={Holder: ()})
        def train(run):
            return run


@pytest.mark.parametrize("kind", [Reading, Stowed])
def test_the_repr_of_a_record_shows_its_field_names_and_never_a_value(kind):
    record = kind(np.array([SECRET]), "hunter2")
    for text in (repr(record), str(record), f"{record}", repr((record,)), repr({"k": record})):
        assert f"{kind.__name__}(values, note)" in text
        assert "31337" not in text
        assert "hunter2" not in text


@pytest.mark.parametrize("kind", [Reading, Stowed])
def test_records_are_frozen(kind):
    record = kind(np.array([SECRET]), "hunter2")
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.note = "other"


def test_records_with_equal_values_are_not_equal_so_that_nobody_compares_arrays_by_accident():
    values = np.array([SECRET])
    assert Reading(values, "a") != Reading(values, "a")


def test_a_message_says_what_it_tells_and_whether_it_may_be_ragged():
    class Uneven(
        Message, tells=Fact("tests.its_own_length", "holders", "aggregate", "all", "its own length"), ragged=True
    ):
        values: F64

    assert (Reading.tells, Reading.ragged) == ((READING,), False)
    assert ([fact.prose for fact in Uneven.tells], Uneven.ragged) == (["its own length"], True)


def twin_here():
    class Twin(State):
        x: float

    return Twin


def twin_there():
    class Twin(State):
        y: str

    return Twin


def test_two_states_of_one_name_do_not_import(monkeypatch):
    monkeypatch.setattr(State, "registry", dict(State.registry))
    first = twin_here()
    with pytest.raises(
        ChoreographyError, match=rf"two states are called Twin, in {__name__} and {__name__}: rename one"
    ):
        twin_there()
    assert State.registry["Twin"] is first


def test_two_states_of_one_name_in_two_modules_do_not_import(monkeypatch):
    monkeypatch.setattr(State, "registry", dict(State.registry))
    first = twin_here()
    with pytest.raises(ChoreographyError, match=rf"in {__name__} and elsewhere: rename one"):
        type(State)("Twin", (State,), {"__module__": "elsewhere", "__qualname__": first.__qualname__})
    assert State.registry["Twin"] is first


def test_a_module_that_is_imported_again_brings_its_states_anew(monkeypatch):
    monkeypatch.setattr(State, "registry", dict(State.registry))
    first, second = twin_here(), twin_here()
    assert first is not second
    assert State.registry["Twin"] is second


def test_opens_is_written_down_once_however_often_its_choreography_is_called(together):
    @choreography(
        opens={
            Coordinator: Fact("tests.the_sum", "holders", "aggregate", "all", "the sum"),
            Everyone: Fact("tests.the_mean", "holders", "aggregate", "all", "the mean"),
        }
    )
    def train(run):
        return run.ledger.opens

    opened = together(lambda run: [train(run) for _ in range(3)][-1])
    assert [(o.protocol, o.role, o.what) for o in opened] == [
        ("train", "coordinator", "the sum"),
        ("train", "everyone", "the mean"),
    ]


@pytest.mark.parametrize(("to", "name"), [(Coordinator, "coordinator"), (Holder, "holder")])
def test_opens_keyed_by_a_parameter_names_the_role_it_is_given(together, to, name):
    @choreography(opens={"to": Fact("tests.the_sum", "holders", "aggregate", "all", "the sum")})
    def add(run, x, to):
        del x, to
        return run.ledger.opens

    assert [o.role for o in together(lambda run: add(run, 1, to))] == [name]
    assert [o.role for o in together(lambda run: add(run, 1, to=to))] == [name]


def test_opens_keyed_by_a_parameter_refuses_what_is_no_role(together):
    @choreography(opens={"to": Fact("tests.the_sum", "holders", "aggregate", "all", "the sum")})
    def add(run, *, to):
        return run, to

    with pytest.raises(
        ChoreographyError, match="parameter to of a choreography is in opens= and so must be given a role"
    ):
        together(lambda run: add(run, to="hub"))


def test_opens_keyed_by_a_parameter_names_the_role_of_its_default(together):
    @choreography(opens={"to": Fact("tests.the_sum", "holders", "aggregate", "all", "the sum")})
    def add(run, *, to=Coordinator):
        del to
        return run.ledger.opens

    assert [o.role for o in together(add)] == ["coordinator"]


def test_a_choreography_keeps_the_name_and_text_of_its_function():
    @choreography(opens={Everyone: Fact("tests.nothing", "nobody", "nothing", "none", "nothing")})
    def train(run):
        """Trains."""
        return run

    assert (train.__name__, train.__doc__) == ("train", "Trains.")
