"""`tacit attack` lists what the package can show against its own methods, and shows it."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

from tacit import attacks
from tacit.attacks.catalogue import OWN, list_attacks

HELPERS = {"catalogue", "learners", "poisoning", "study", "twins"}  # lies read nothing: docs/methods/poisoning.md


def test_every_attack_of_the_core_is_in_the_catalogue():
    assert {m.name for m in pkgutil.iter_modules(attacks.__path__)} - HELPERS == {attack.name for attack in OWN}
    assert {attack.name for attack in OWN} <= set(list_attacks())


def test_the_page_on_attacks_names_every_one_of_the_core():
    page = (Path(__file__).parents[3] / "docs" / "attacks.md").read_text(encoding="utf-8")
    assert [attack.name for attack in OWN if f"`{attack.name}`" not in page] == []


def test_without_a_name_all_are_listed(tacit):
    done = tacit("attack", "--json")
    assert [a["name"] for a in done.json["attacks"]] == list(list_attacks())
    assert "membership_inference" in tacit("attack", "--estimator", "SVC").out
    assert "gram_inversion" in tacit("attack", "--estimator", "GramSVC").out


def test_one_is_run_on_a_file_and_drawn(tacit, tmp_path):
    lines = ["a,b,c,label", *(f"{i % 7},{i % 11},{i * i % 13},{i % 2}" for i in range(60))]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    for form in ("svg", "png"):
        done = tacit(
            "attack", "gram_inversion", "--data", tmp_path / "r.csv", "--plot", tmp_path / f"p.{form}", "--json"
        )
        told = done.json["points"]
        assert told[-1]["found"] < 1e-7
        assert told[0]["found"] > 0.9
        assert (tmp_path / f"p.{form}").stat().st_size > 1000


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nothing"], "unknown attack 'nothing': use one of membership_inference"),
        (["ica", "--estimator", "SVC"], "ica is against ShiftSVC, not 'SVC': against that, use membership_inference, "),
        (["ica", "--plot", "p.pdf"], "--plot p.pdf ends in neither .svg nor .png: rename it"),
        (["--estimator", "LinearSVC"], "there is no attack against 'LinearSVC': use one of ConsensusSVC, "),
    ],
)
def test_refusals_are_one_line(refused, args, words):
    assert words in refused("attack", *args)
