"""`tacit attack` lists what the package can show against its own methods, and shows it."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

from tacit import attacks
from tacit.attacks.blind_studies import ASKER, BOTH, CHANCE, DEALER, HOLDER, KINDS
from tacit.attacks.catalogue import ATTACKS

OF_OTHERS = {"empty_holders"}  # that use the code of another attack
HELPERS = {
    "blind_studies", "blind_view", "catalogue", "coordinator", "gram_studies", "gram_view", "inversion", "learners",
    "method_studies", "pairwise_rule", "study", "twins",
}  # fmt: skip


def test_every_attack_of_the_package_is_in_the_catalogue():
    assert {m.name for m in pkgutil.iter_modules(attacks.__path__)} - HELPERS == set(ATTACKS) - OF_OTHERS


def test_the_page_on_attacks_names_every_one():
    page = (Path(__file__).parents[3] / "docs" / "attacks.md").read_text(encoding="utf-8")
    assert [name for name in ATTACKS if f"`{name}`" not in page] == []


def test_without_a_name_all_are_listed(tacit):
    done = tacit("attack", "--json")
    assert [a["name"] for a in done.json["attacks"]] == list(ATTACKS)
    assert "gram_inversion" in tacit("attack", "--estimator", "GramSVC").out


def test_one_is_run_on_a_file_and_drawn(tacit, tmp_path):
    lines = ["a,b,c,label", *(f"{i % 7},{i % 11},{i * i % 13},{i % 2}" for i in range(60))]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    for form in ("svg", "png"):
        done = tacit(
            "attack", "gram_inversion", "--data", tmp_path / "r.csv", "--plot", tmp_path / f"p.{form}", "--json"
        )
        told = [point for point in done.json["points"] if not point["variant"].startswith("blind")]
        assert told[-1]["found"] < 1e-7
        assert told[0]["found"] > 0.9
        assert (tmp_path / f"p.{form}").stat().st_size > 1000


@pytest.mark.parametrize(
    "name",
    [
        "bfv_noise", "small_exponent", "gram_inversion", "known_column", "rbf_trilateration", "one_hidden_column",
        "empty_holders", "unit_queries", "far_queries", "landmark_exposure", "few_violators", "chosen_iterate",
        pytest.param("bound_moments", marks=pytest.mark.slow), pytest.param("margin_tracking", marks=pytest.mark.slow),
        "shift_one_record", "shift_column_minimum", "shift_initiator", "ica", "iterate_differencing",
        "two_party", "vertical_span", "vertical_modes", "token_frequency", "elm_leverage",
    ],
)  # fmt: skip
def test_what_a_rule_stops_and_what_it_does_not(name):
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - only here

    X, y = load_breast_cancer(return_X_y=True)
    found: dict[str, list[float]] = {}
    for point in ATTACKS[name].points(X[:, :8], y):
        found.setdefault(point.variant, []).append(point.found)
    blind = {variant: found.pop(variant) for variant in list(found) if variant.startswith("blind")}
    stopped = {
        "bfv_noise": lambda: max(found.pop("all three")) == 0 and all(min(shares) == 1 for shares in found.values()),
        "small_exponent": lambda: (
            found["as printed, 20 bits"] == [1, 0, 0] and min(found["re-randomised, 8 bits"]) == 1
        ),
        "gram_inversion": lambda: all(each[-1] < 1e-6 and each[0] > 0.9 for each in found.values()),
        "known_column": lambda: all(each[-1] < 1e-6 and each[0] > 0.9 for each in found.values()),
        "rbf_trilateration": lambda: all(each[-1] < 1e-6 and each[-2] > 1e-3 for each in found.values()),
        "one_hidden_column": lambda: (
            max(found["1 hidden"]) < 1e-6 and found["2 hidden"][1] > 1e-3 and found["2 hidden"][2] < 1e-6
        ),
        "empty_holders": lambda: found["nothing known"][0] < 1e-6 and min(found["nothing known"][1:]) > 0.1,
        "unit_queries": lambda: all(
            min(each) < 0.05 and each[0] == 1 and min(each[1:3]) > 0.1 for each in found.values()
        ),
        "far_queries": lambda: min(found["answers as they are"]) < 0.05 < min(found["of 3 decimals"]),
        "token_frequency": lambda: sum(found["frequencies and co-occurrence"]) > sum(found["frequencies"]) > 2.0,
        "elm_leverage": lambda: found["H'H as it is"][-1] > 0.65,
        "landmark_exposure": lambda: max(found["min_cluster=1"]) > 0 == max(found["min_cluster=5"]),
        "few_violators": lambda: max(found["min_count=1"]) > 0 == max(found["min_count=5"]),
        "chosen_iterate": lambda: (
            max(found["min_count=1"]) < 1e-6 and min(found["min_count=5"] + found["witnessed"]) > 0.05
        ),
        "bound_moments": lambda: (
            min(found["as many bounds as asked for"]) > 0.4 and max(found["bounds that a holder allows"]) == 0
        ),
        "margin_tracking": lambda: max(found["0.1.0's rule, three runs"]) > 0 == max(found["groups"]),
        "shift_one_record": lambda: (
            found["secret"][0] < 1e-9 and found["rotation"][0] > 0.1 and found["rotation"][-1] < 1e-9
        ),
        "shift_column_minimum": lambda: found["secret"][0] < 1e-9 and found["rotation"][0] > 0.1,
        "shift_initiator": lambda: found["plain"][0] < 1e-9 and found["secret"][0] == 1,
        "ica": lambda: found["rotation"][0] < 1,
        "iterate_differencing": lambda: (
            max(found["every party's weights in clear"]) > 2 * max(found["the secure sum only"])
        ),
        "two_party": lambda: found["the secure sum only"][0] < 1e-9 and min(found["the secure sum only"][1:]) > 0.3,
        "vertical_span": lambda: found["ADMM, 300 rounds"][-1] < 1e-3 < found["ADMM, 300 rounds"][0],
        "vertical_modes": lambda: found["ADMM, 300 rounds"][-1] < 0.01 and min(found["rho='auto'"]) > 0.1,
    }
    assert stopped[name](), found
    assert (name in AGAINST_BLIND) == bool(blind)
    if blind:
        AGAINST_BLIND[name](blind)


def finds_nothing(blind):
    """The dealer and a holder are as far from all records as chance is; both together have them."""
    assert set(blind) == {f"{kind}, {who}" for kind in KINDS for who in (DEALER, HOLDER, CHANCE, BOTH)}
    for kind in KINDS:
        found = {who: blind[f"{kind}, {who}"] for who in (DEALER, HOLDER, CHANCE, BOTH)}
        assert min(found[DEALER] + found[HOLDER]) > min(found[CHANCE]) - 0.15 > 0.5, found
        assert found[BOTH][-1] < 1e-3


def finds_a_record(blind):
    """Answers are answers, however they were computed."""
    assert set(blind) == {ASKER}
    assert min(blind[ASKER]) < 0.1


AGAINST_BLIND = {
    "gram_inversion": finds_nothing,
    "known_column": finds_nothing,
    "rbf_trilateration": finds_nothing,
    "one_hidden_column": finds_nothing,
    "unit_queries": finds_nothing,
    "far_queries": finds_a_record,
}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nothing"], "unknown attack 'nothing': use one of gram_inversion"),
        (
            ["ica", "--estimator", "GramSVC"],
            "ica is against ShiftSVC, not 'GramSVC': against that, use gram_inversion, ",
        ),
        (["ica", "--plot", "p.pdf"], "--plot p.pdf ends in neither .svg nor .png: rename it"),
        (["--estimator", "SVC"], "there is no attack against 'SVC': use one of ConsensusSVC, GramSVC"),
    ],
)
def test_refusals_are_one_line(refused, args, words):
    assert words in refused("attack", *args)
