"""Every parameter is declared once; a job, a policy and people all go by that record."""

import pytest

from tacit import registry
from tacit.choreo.declaration import Number, plain, suits
from tacit.consortium.jobs.rehearsal import takes
from tacit.protocols import part
from tacit.protocols.parameters import PARAMETERS, fault

PLAYED = {name: each for name, each in registry.PROTOCOLS.items() if each.rehearsal is not None}  # by jobs and steps
KEYWORDS = [(protocol, name) for protocol in PLAYED for name in takes(protocol)]


def test_every_keyword_of_a_protocol_that_is_rehearsed_is_declared_and_its_default_is_within():
    for protocol, name in KEYWORDS:
        known = takes(protocol)[name]
        declared = registry.parameter_of(protocol, name)
        if known.default is not known.empty:
            assert fault(declared, known.annotation, plain(name, known.default)) is None, f"{name} of {protocol}"


def test_nothing_is_declared_that_no_job_can_have():
    own = {each.name for protocol in PLAYED.values() for each in protocol.own}
    assert set(PARAMETERS) == ({name for _, name in KEYWORDS} | {"accept_risk"}) - own
    assert all(name == declared.name and declared.says for name, declared in PARAMETERS.items())


def test_none_is_declared_where_a_signature_takes_it():
    for protocol, name in KEYWORDS:
        written = str(takes(protocol)[name].annotation)
        annotation = str(getattr(part, written, written))  # some have a name there
        if "None" in annotation:
            assert registry.parameter_of(protocol, name).kind.accepts(None), f"{name} of {protocol}"


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


def test_a_hostile_value_of_any_parameter_is_one_short_line():
    for name, declared in registry.known_parameters().items():
        for value in HOSTILE:
            said = fault(declared, "Any", value)
            if said is None:  # an empty list, a short text or a large number suits some
                assert len(repr(value)) < 500, f"{name} takes {repr(value)[:40]}"
                continue
            assert said.startswith((f"parameter {name!r} is ", f"parameter '{name}: ")), name
            assert len(said) < 2000, name
            assert said.isprintable(), name


def test_nesting_of_any_depth_is_refused_without_following_it():
    deep: list = []
    for _ in range(10**5):
        deep = [deep]
    assert "is [[[[...]]]], and it takes none, or a list of 1 to 1000" in fault(PARAMETERS["classes"], "Any", deep)
    while deep:  # so that nothing recurses when it is freed
        deep = deep.pop()


@pytest.mark.parametrize(
    ("name", "annotation", "value", "words"),
    [
        ("problems", "int", "auto", "it takes a whole number"),
        ("problems", "int", 0.5, "it takes a whole number"),
        ("degree", "int", 3.0, "it takes a whole number from 0 to 20"),
        ("C", "float", True, "it takes a number from 1e-09"),
        (
            "class_weight",
            "x",
            {"pairs": [[0, -1.0]]},
            "it takes none, or one of balanced, or a table of at most 1000 entries",
        ),
        ("target_range", "Any", [1.0, -1.0], "two numbers, the lower first"),
        ("tube", "float", None, "this protocol takes float"),
    ],
)
def test_a_value_must_suit_the_declaration_and_the_signature(name, annotation, value, words):
    assert words in fault(PARAMETERS[name], annotation, value)


def test_a_whole_number_is_a_number_and_a_switch_is_none():
    assert suits("float | str", 1)
    assert not suits("int", value=True)
    assert not suits("float", None)
    assert str(Number(0, 1, above=True)) == "a number above 0 up to 1"
