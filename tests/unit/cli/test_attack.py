"""`tacit attack` lists what the package can show against its own methods, and shows it."""

from __future__ import annotations

import pkgutil

import pytest

from tacit import attacks
from tacit.attacks.catalogue import ATTACKS

HELPERS = {"catalogue", "coordinator"}


def test_every_attack_of_the_package_is_in_the_catalogue():
    assert {m.name for m in pkgutil.iter_modules(attacks.__path__)} - HELPERS == set(ATTACKS)


def test_without_a_name_all_are_listed(tacit):
    done = tacit("attack", "--json")
    assert [a["name"] for a in done.json["attacks"]] == list(ATTACKS)
    assert "gram_inversion" in tacit("attack", "--estimator", "GramSVC").out


def test_one_is_run_on_a_file_and_drawn(tacit, tmp_path):
    lines = ["a,b,c,label", *(f"{i % 7},{i % 11},{i * i % 13},{i % 2}" for i in range(60))]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    for form in ("svg", "png"):
        done = tacit("attack", "gram_inversion", "--data", tmp_path / "r.csv", "--plot", tmp_path / f"p.{form}", "--json")
        told = done.json
        assert told["points"][-1]["found"] < 1e-9
        assert told["points"][0]["found"] > 0.9
        assert (tmp_path / f"p.{form}").stat().st_size > 1000


@pytest.mark.parametrize(
    "name", ["landmark_exposure", "few_violators", "shift_one_record", "shift_column_minimum", "shift_initiator", "ica"]
)
def test_what_a_rule_stops_and_what_it_does_not(name):
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - only here

    X, y = load_breast_cancer(return_X_y=True)
    found: dict[str, list[float]] = {}
    for point in ATTACKS[name].points(X[:, :8], y):
        found.setdefault(point.variant, []).append(point.found)
    stopped = {
        "landmark_exposure": lambda: max(found["min_cluster=1"]) > 0 == max(found["min_cluster=5"]),
        "few_violators": lambda: max(found["min_count=1"]) > 0 == max(found["min_count=5"]),
        "shift_one_record": lambda: found["secret"][0] < 1e-9 and found["rotation"][0] > 0.1 and found["rotation"][-1] < 1e-9,
        "shift_column_minimum": lambda: found["secret"][0] < 1e-9 and found["rotation"][0] > 0.1,
        "shift_initiator": lambda: found["plain"][0] < 1e-9 and found["secret"][0] == 1,
        "ica": lambda: found["rotation"][0] < 1,
    }
    assert stopped[name](), found


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nothing"], "unknown attack 'nothing': use one of gram_inversion"),
        (["ica", "--estimator", "GramSVC"], "ica is against ShiftSVC, not 'GramSVC': against that there is gram_inversion, weak_seed"),
        (["ica", "--plot", "p.pdf"], "--plot p.pdf is neither .svg nor .png: name it so"),
        (["--estimator", "SVC"], "no attack is against 'SVC': use one of GramSVC"),
    ],
)
def test_refusals_are_one_line(refused, args, words):
    assert words in refused("attack", *args)
