"""Every parameter is declared once; a job, a policy and people all go by that record."""

import pytest

from tacit import registry
from tacit.choreo.declaration import Number, suits
from tacit.consortium.jobs.job import Protection, plain
from tacit.consortium.jobs.rehearsal import takes
from tacit.protocols import part
from tacit.protocols.parameters import PARAMETERS, fault

KEYWORDS = [(protocol, name) for protocol in registry.job_protocols() for name in takes(protocol)]


@pytest.mark.parametrize(("protocol", "name"), KEYWORDS)
def test_every_keyword_of_a_protocol_that_a_job_may_name_is_declared_and_its_default_is_within(protocol, name):
    known = takes(protocol)[name]
    declared = registry.parameter_of(protocol, name)
    if known.default is not known.empty:
        assert fault(declared, known.annotation, plain(name, known.default)) is None


def test_nothing_is_declared_that_no_job_can_have():
    own = {each.name for protocol in registry.job_protocols().values() for each in protocol.parameters}
    assert set(PARAMETERS) == ({name for _, name in KEYWORDS} | set(Protection.__struct_fields__)) - own
    assert all(name == declared.name and declared.says for name, declared in PARAMETERS.items())


@pytest.mark.parametrize(("protocol", "name"), KEYWORDS)
def test_none_is_declared_where_a_signature_takes_it_and_nowhere_else(protocol, name):
    written = str(takes(protocol)[name].annotation)
    annotation = str(getattr(part, written, written))  # some have a name there
    if annotation != "Any":
        assert registry.parameter_of(protocol, name).kind.accepts(None) == ("None" in annotation)


HOSTILE = [
    {"pairs": 5},
    {"pairs": [5]},
    {"pairs": [[1, 2, 3]]},
    {"pairs": [[[], 1.0]]},
    {"other": []},
    {},
    [],
    [[]],
    [{}],
    "x" * 10**6,
    "x",
    "\x1b[2K",
    float("nan"),
    float("inf"),
    -float("inf"),
    10**400,
    -(10**400),
    1e308,
    [1] * 10**6,
    [{"pairs": [["C", 1.0]]}] * 10**6,
    [{"pairs": [["C", float("nan")]]}],
    [{"pairs": [["C", 1.0], ["C", 2.0]]}],
    [{"pairs": [["seed", 1]]}],
    object(),
]


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_hostile_value_of_any_parameter_is_one_short_line(name):
    for value in HOSTILE:
        said = fault(PARAMETERS[name], "Any", value)
        assert said.startswith(f"parameter {name!r} is ")
        assert len(said) < 700
        assert said.isprintable()


def test_nesting_of_any_depth_is_refused_without_following_it():
    deep: list = []
    for _ in range(10**5):
        deep = [deep]
    assert "is [[[[...]]]], and it takes a list of 1 to 1000" in fault(PARAMETERS["candidates"], "Any", deep)
    while deep:  # so that nothing recurses when it is freed
        deep = deep.pop()


@pytest.mark.parametrize(
    ("name", "annotation", "value", "words"),
    [
        ("landmarks", "int", "auto", "this protocol takes int"),
        ("landmarks", "int", 0.5, "this protocol takes int"),
        ("min_count", "int", "auto", "this protocol takes int"),
        ("degree", "int", 3.0, "it takes a whole number from 0 to 20"),
        ("C", "float", True, "it takes a number from 1e-09"),
        (
            "class_weight",
            "x",
            {"pairs": [[0, -1.0]]},
            "it takes none, or one of balanced, or a table of at most 1000 entries",
        ),
        ("landmark_range", "Any", [1.0, -1.0], "two numbers, the lower first"),
        ("factor", "int", 1, "it takes one of 0, or a whole number from 2 to 100"),
    ],
)
def test_a_value_must_suit_the_declaration_and_the_signature(name, annotation, value, words):
    assert words in fault(PARAMETERS[name], annotation, value)


def test_a_whole_number_is_a_number_and_a_switch_is_none():
    assert suits("float | str", 1)
    assert not suits("int", value=True)
    assert not suits("float", None)
    assert str(Number(0, 1, above=True)) == "a number above 0 up to 1"
