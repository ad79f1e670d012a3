"""Facts: what is learnt, as data with stable identifiers that ledgers write and read."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import tacit.papers.sums.ring_sum  # no job asks for a sum on rings, so that no registry names it
import tacit.protocols.template
import tacit.registry  # these know all facts
import tacit.study.study
from tacit.choreo import Coordinator, Everyone, Fact, Holder, Ledger, Message, Opened, Roster, Row, choreography
from tacit.choreo.fact import (
    GRANULARITIES,
    KINDS,
    declare_facts,
    fact_called,
    known_facts,
    read_names,
    write_names,
)
from tacit.choreo.ledger import find_left_out, read_opened, read_template
from tacit.errors import ChoreographyError, LocalError
from tacit.protocols import facts
from tacit.registry import execute_together

PACKAGE = Path(tacit.__file__).parent
SUM = Fact("tests.sum", "holders", "aggregate", "all", "the sum: over all")
MEAN = Fact("tests.mean", "holders", "aggregate", "column", "the mean")


def written_facts():
    """The identifier of every fact that is written down in the package, as often as it is."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in PACKAGE.rglob("*.py"))
    calls = (
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Fact"
    )
    return Counter(call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant))


def test_every_identifier_of_the_package_is_written_down_once():
    assert [name for name, times in written_facts().items() if times > 1] == []


def test_every_fact_of_a_protocol_is_known_by_name_once_the_registry_is_there():
    list(tacit.registry.PROTOCOLS.values())  # which loads those that entry points name
    known = {fact.identifier for fact in known_facts("tacit")}
    unknown = set(written_facts()) - known
    assert unknown <= {"audit.unconfirmed"}  # which the comparison of audits declares


def test_a_study_of_the_core_can_reveal_fifteen_facts_and_all_facts_of_the_core_stand_in_one_place():
    core = [name for name in vars(facts) if name.isupper() and vars(facts)[name].identifier.startswith("core.")]
    assert len(core) == 15
    elsewhere = [fact for fact in known_facts("tacit") if fact.identifier.startswith("core.")]
    assert {fact.identifier for fact in elsewhere} == {vars(facts)[name].identifier for name in core}


def test_no_two_facts_of_the_package_say_the_same():
    prose = Counter(fact.prose for fact in known_facts("tacit"))
    assert [text for text, times in prose.items() if times > 1] == []


def test_nothing_is_of_nobody_and_of_no_record():
    assert {(f.subject, f.granularity) for f in known_facts("tacit") if f.kind == "nothing"} == {("nobody", "none")}
    assert not [f.identifier for f in known_facts("tacit") if f.granularity == "none" and f.kind != "nothing"]


@pytest.mark.parametrize("word", ["tests.sum", "aggregate", "aggregate:all"])
def test_a_policy_means_a_fact_by_its_identifier_its_kind_or_kind_and_granularity(word):
    assert SUM.is_called(word)
    assert not Fact("tests.label", "holders", "label", "record", "a label").is_called(word)


def test_no_identifier_can_be_taken_for_a_kind():
    assert not {fact.identifier for fact in known_facts("tacit")} & {*KINDS, *GRANULARITIES}


def test_names_are_read_back_and_an_unknown_one_is_shown_as_it_is():
    some = known_facts("tacit")[:3]
    assert read_names(write_names(some)) == some
    assert fact_called("later.fact") == Fact("later.fact", "unknown", "unknown", "unknown", "later.fact")


def test_a_row_is_read_back_from_the_values_that_a_journal_keeps():
    some = known_facts("tacit")[:2]
    row = Row("/a/M", "ann", "hub", "holder", "coordinator", "M", some, ((2, 3),), 80, "ab")
    assert write_names(some) in row.plain()
    assert Row.from_plain(row.plain()) == row


def test_a_template_is_read_back_line_by_line():
    some = known_facts("tacit")[:2]
    ledger = Ledger(
        [Row("/a/M", "ann", "hub", "holder", "coordinator", "M", some, (), 8)], [Opened("a", "everyone", some[:1])]
    )
    opened, message = read_template(ledger.template())
    assert (opened.opens, opened.where, opened.reader, opened.facts) == (True, "a", "everyone", some[:1])
    assert (message.opens, message.where, message.reader, message.facts) == (False, "/a/M", "coordinator", some)
    assert read_opened(ledger.template()) == ledger.opens


@pytest.mark.parametrize("text", ["\n", "prose", "opens a: everyone", "a: b: c: d"])
def test_a_text_that_is_no_template_is_refused_in_one_line(text):
    with pytest.raises(
        LocalError, match=r"^line 1 of a disclosure is not 'place: roles: facts': take what tacit submit writes$"
    ):
        read_template(text)


def test_prose_is_for_people_and_stands_nowhere_in_a_template():
    ledger = Ledger(opens=[Opened("a", "everyone", (SUM, MEAN))])
    assert ledger.template() == "opens a: everyone: tests.sum, tests.mean\n"
    assert ledger.opens[0].what == "the sum: over all; the mean"


def test_a_choreography_whose_opens_leaves_out_what_a_role_received_is_found():
    own = Fact("test.own_count", "holder", "count", "party", "how many records the sender has")

    class Told(Message, tells=own):
        count: int

    def tell_everyone(run, data):
        return run.publish(Told, run.local(Coordinator, Told, data))

    roster = Roster({Holder: ("a", "b"), Coordinator: ("site",)})
    for opens, left in (({Everyone: own}, 0), ({Holder: own}, 1), ({Coordinator: own}, 1)):
        play = choreography(opens=opens)(tell_everyone)
        template = execute_together(roster, play, {"data": (Coordinator, {"site": 3})}, {}).ledger.template()
        found = find_left_out(template)
        assert len(found) == left
        assert all("/Told tells everyone: test.own_count" in each for each in found)


def test_a_fact_of_no_known_kind_cannot_be_declared():
    for words in (("holder", "vague", "party"), ("vague", "count", "party"), ("holder", "count", "vague")):
        with pytest.raises(ChoreographyError, match="has 'vague': use one of"):
            declare_facts(Fact("test.vague", *words, "something"), __name__)
