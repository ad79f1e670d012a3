"""The audit: every alteration is found, and where parties differ it shows who says what."""

import json
import os
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.choreo.fact import fact_called, read_names
from tacit.choreo.ledger import Row
from tacit.consortium.audit.chain import Begin, Reading, canonical, write_audit
from tacit.consortium.audit.comparison import STOPPED, UNCONFIRMED, compare, signer
from tacit.errors import LocalError
from tacit.protocols.sums.secure_sum import Masked

PARTIES = ("north", "south", "hub")
PRIVATE = {p: Ed25519PrivateKey.from_private_bytes(p.encode().ljust(32, b".")) for p in PARTIES}
KEYS = {p: [key.public_key().public_bytes_raw()] for p, key in PRIVATE.items()}
ABOUT = {"job": "j" * 64}


def message(t, sender, receiver, kind, role="holder", size=80):
    row = Row(
        f"/train/round[{t}]/{kind}",
        sender,
        receiver,
        "holder",
        role,
        kind,
        (fact_called(f"a {kind}"),),
        ((size // 8,),),
        size,
    )
    return row, f"digest {t}" if role == "everyone" else None


def run(rounds=3):
    """Every message of a run, with the digest of a published one."""
    out = []
    for t in range(rounds):
        out += [message(t, p, "hub", "Masked", "coordinator") for p in ("north", "south")]
        out += [message(t, "hub", p, "Iterate", "everyone") for p in ("north", "south")]
    return out


def view(party, messages):
    """The rows as one party can write them: blank where it saw nothing."""
    mine = [party in (row.sender, row.receiver) for row, _ in messages]
    blank = [replace(row, shapes=None, bytes=None) for row, _ in messages]
    return [entry(*m) if seen else canonical(b) for seen, m, b in zip(mine, messages, blank, strict=True)]


def entry(row, digest):
    """A row of a message that the party saw."""
    return canonical(replace(row, digest=digest))


def written(folder, party, rows, name=None, about=ABOUT, signer=None):
    path = folder / (name or f"{party}.jsonl")
    write_audit(path, Begin("run-7", party, about), rows, (signer or PRIVATE[party]).sign)
    return path


def verify(path, keys):
    """What is wrong with one file, whoever it claims to be of."""
    return compare([path], dict.fromkeys(PARTIES, keys))


@pytest.fixture
def files(tmp_path):
    return {p: written(tmp_path, p, view(p, run())) for p in PARTIES}


def lines(path):
    return path.read_text().splitlines(keepends=True)


def told(differences):
    """As a person reads them, each on one line."""
    texts = [str(d) for d in differences]
    assert not any("\n" in text for text in texts)
    return texts


# One file


def test_whole_files_of_one_run_have_no_differences(files):
    assert all(verify(path, KEYS[p]) == [] for p, path in files.items())
    assert compare(list(files.values()), KEYS) == []


def test_the_file_is_json_lines_with_an_opening_rows_and_a_signature(files):
    kinds = [json.loads(line)["line"] for line in lines(files["north"])]
    assert kinds == ["opening", *["row"] * 12, "signature"]


@pytest.mark.parametrize("i", range(14))
def test_every_line_altered_removed_doubled_or_moved_is_found(files, i):
    path = files["north"]
    whole = lines(path)
    altered = whole[i].replace("a", "b", 1) if "line" in whole[i] else ""
    moved = whole[:i] + whole[i + 1 : i + 2] + whole[i : i + 1] + whole[i + 2 :] if i < 13 else whole[-1:] + whole[:-1]
    for changed in (
        [*whole[:i], altered, *whole[i + 1 :]],
        whole[:i] + whole[i + 1 :],
        [*whole[: i + 1], *whole[i:]],
        moved,
    ):
        path.write_text("".join(changed))
        assert told(verify(path, KEYS["north"])), (i, changed)
        assert compare(list(files.values()), KEYS)


@pytest.mark.parametrize(
    "field",
    ["place", "sender", "receiver", "sender_role", "receiver_role", "type", "tells", "shapes", "bytes", "digest"],
)
def test_every_field_of_a_row_is_under_the_chain(files, field):
    whole = lines(files["north"])
    line = json.loads(whole[5])
    line["row"][field] = [[7]] if field == "shapes" else 7 if field == "bytes" else "other"
    files["north"].write_text("".join([*whole[:5], json.dumps(line) + "\n", *whole[6:]]))
    assert told(verify(files["north"], KEYS["north"])) == [
        f"{files['north']}: row 5 does not follow from the one before: it was altered or moved, or one was removed"
    ]


def test_a_key_that_was_replaced_has_still_signed_what_it_signed(files, tmp_path):
    new = Ed25519PrivateKey.generate()
    keys = {**KEYS, "north": [*KEYS["north"], new.public_key().public_bytes_raw()]}
    assert compare(list(files.values()), keys) == []
    assert signer(Reading.of(files["north"]), keys["north"]) == KEYS["north"][0]
    later = written(tmp_path, "north", view("north", run()), "later.jsonl", signer=new)
    assert signer(Reading.of(later), keys["north"]) == keys["north"][1]
    assert signer(Reading.of(later), KEYS["north"]) is None


def test_a_file_cut_at_any_byte_is_found(files):
    whole = files["north"].read_bytes()
    for end in range(0, len(whole) - 1, 37):
        files["north"].write_bytes(whole[:end])
        assert told(verify(files["north"], KEYS["north"])), end


def test_a_file_cut_after_a_row_is_said_to_have_no_signature(files):
    files["north"].write_text("".join(lines(files["north"])[:6]))
    (text,) = told(verify(files["north"], KEYS["north"]))
    assert text.endswith("ends after row 5 without a signature: it was cut short, or the run is not over")


@pytest.mark.parametrize("i", range(12))
def test_a_row_rewritten_with_all_hashes_behind_it_but_an_old_signature_is_found(files, tmp_path, i):
    """What someone can do who has the file and not the key."""
    messages = run()
    messages[i] = (replace(messages[i][0], tells=(fact_called("nothing.at_all"),)), messages[i][1])
    forged = written(tmp_path, "north", view("north", messages), "forged.jsonl")
    forged.write_text("".join(lines(forged)[:-1] + lines(files["north"])[-1:]))
    (text,) = told(verify(forged, KEYS["north"]))
    assert text.endswith(
        "its signature is for 12 other rows than the 12 of the file: they were rewritten after it was signed"
    )


def test_another_key_or_another_partys_signature_is_found(files, tmp_path):
    assert told(verify(files["north"], KEYS["south"])) == [
        f"{files['north']}: its signature is not by the key of north"
    ]
    assert told(verify(files["north"], [b"no key"])) == [f"{files['north']}: its signature is not by the key of north"]
    forged = written(tmp_path, "north", view("north", run()), "forged.jsonl", signer=PRIVATE["hub"])
    assert told(compare([forged, files["south"]], KEYS)) == [f"{forged}: its signature is not by the key of north"]


def test_files_that_are_none_are_one_line_each(tmp_path):
    for name, content in [
        ("empty", b""),
        ("binary", os.urandom(5000)),
        ("json", b"{}\n[]\n"),
        ("deep", b"[" * 100_000),
        ("long", b"x" * (3 << 20)),
    ]:
        (tmp_path / name).write_bytes(content)
        assert len(told(verify(tmp_path / name, KEYS["north"]))) == 1
    assert told(verify(tmp_path / "none", KEYS["north"])) == [
        f"{tmp_path / 'none'}: cannot be read (No such file or directory)"
    ]


# Several files: a party that alters its rows and signs them again


def against(files, party, rows):
    files[party].unlink()
    written(files[party].parent, party, rows)
    assert verify(files[party], KEYS[party]) == []
    return told(compare(list(files.values()), KEYS))


@pytest.mark.parametrize("i", range(12))
def test_a_row_left_out_by_a_party_is_found_where_it_was(files, i):
    rows = view("south", run())
    *_, text = against(files, "south", rows[:i] + rows[i + 1 :])
    assert f"row {i + 1}" in text
    assert "from here on the parties tell of different runs: north and hub say" in text


@pytest.mark.parametrize("i", range(11))
def test_rows_a_party_put_in_another_order_are_found(files, i):
    rows = view("south", run())
    found = against(files, "south", [*rows[:i], rows[i + 1], rows[i], *rows[i + 2 :]])
    assert found[-1].startswith(f"row {i + 1}: from here on")


def test_a_party_that_stops_early_is_named(files):
    (text,) = against(files, "hub", view("hub", run())[:10])
    assert (
        text == "row 11: from here on the parties tell of different runs: "
        "north and south say place /train/round[2]/Iterate, sender hub, receiver north; hub says nothing more"
    )


@pytest.mark.parametrize("field", ["place", "sender", "receiver", "sender_role", "receiver_role", "type", "tells"])
def test_what_all_walk_must_be_the_same_and_only_what_differs_is_shown(files, field):
    messages, written = run(), dict(zip(Row.__slots__, run()[4][0].plain(), strict=True))
    messages[4] = (
        replace(messages[4][0], **{field: read_names("something else") if field == "tells" else "something else"}),
        None,
    )
    assert against(files, "hub", [*view("hub", run())[:4], entry(*messages[4]), *view("hub", run())[5:]]) == [
        (
            "row 5: from here on the parties tell of different runs: "
            f"north and south say {field} {written[field]}; hub says {field} something else"
        )
    ]


def test_facts_that_differ_are_shown_by_name_and_in_prose_and_those_of_another_version_by_name(files):
    messages = run()
    messages[4] = (replace(messages[4][0], tells=(UNCONFIRMED,)), None)
    (text,) = against(files, "hub", [*view("hub", run())[:4], entry(*messages[4]), *view("hub", run())[5:]])
    assert text.endswith(
        "hub says tells audit.unconfirmed (left or arrived before the run stopped; its exchange was not over)"
    )
    assert "north and south say tells a Masked; " in text


def test_an_audit_names_facts_and_keeps_no_prose():
    row = replace(run()[0][0], tells=Masked.tells)
    assert json.loads(canonical(row))["tells"] == "sums.masked"
    assert Masked.tells[0].prose.encode() not in canonical(row)


def test_sizes_that_sender_and_receiver_saw_differently_are_found_once_for_each_pair(files):
    bigger = [(replace(row, bytes=96, shapes=((12,),)), d) if row.sender == "north" else (row, d) for row, d in run()]
    assert against(files, "hub", view("hub", bigger)) == [
        (
            "row 1, /train/round[0]/Masked, north > hub: it was seen differently: "
            "north says shapes ((10,),), bytes 80; hub says shapes ((12,),), bytes 96"
        )
    ]


def test_an_author_that_told_two_parties_different_things_is_found_without_its_own_file(files):
    other = [(row, "other digest" if row.receiver == "south" and d and "[1]" in row.place else d) for row, d in run()]
    files["south"].unlink()
    written(files["south"].parent, "south", view("south", other))
    says = "north says digest digest 1; south says digest other digest"
    found = told(compare([files["north"], files["south"]], KEYS))
    assert found == [f"/train/round[1]/Iterate: hub published different things: {says}"]
    assert told(compare(list(files.values()), KEYS))[0].endswith(
        "north and hub to north and hub to south say digest digest 1; south says digest other digest"
    )


def test_a_message_that_one_end_left_blank_is_no_difference(files):
    """In a gather a message may stay away."""
    rows = view("hub", run())
    rows[0] = view("south", run())[0]
    assert against(files, "hub", rows) == []


@pytest.mark.parametrize("rows", [0, 5, 12])
def test_a_file_of_an_attempt_that_stopped_may_end_early_and_must_agree_until_there(tmp_path, files, rows):
    about = {**ABOUT, "attempt": "1", **STOPPED}
    files["hub"] = written(tmp_path, "hub", view("hub", run())[:rows], "stopped.jsonl", about=about)
    assert compare(list(files.values()), KEYS) == []


def test_what_a_stopped_attempt_sent_last_is_in_its_file_and_other_rows_must_agree(tmp_path, files):
    about, rows = {**ABOUT, "attempt": "1", **STOPPED}, view("hub", run())
    last = canonical(replace(run()[8][0], tells=(UNCONFIRMED,)))
    files["hub"] = written(tmp_path, "hub", [*rows[:8], last], "stopped.jsonl", about=about)
    assert compare(list(files.values()), KEYS) == []
    files["hub"] = written(tmp_path, "hub", [*rows[:3], rows[4]], "lying.jsonl", about=about)
    assert told(compare(list(files.values()), KEYS))[-1].startswith("row 4: from here on")


def test_files_of_different_jobs_unknown_parties_and_two_of_one_are_found(files, tmp_path):
    other = written(tmp_path, "south", view("south", run()), "other.jsonl", about={"job": "another"})
    assert told(compare([files["north"], other], KEYS))[0].startswith(
        "opening: the files are not of one job: north says {'job'"
    )
    assert told(compare([files["north"], other, files["south"]], KEYS))[0].endswith("is a second file of south")
    assert told(compare([files["north"]], {})) == [
        f"{files['north']}: claims to be of north, of which no key was given"
    ]


def test_texts_of_another_party_cannot_break_the_line_or_drive_the_terminal(files):
    evil = (replace(run()[0][0], place="/p\n\x1b[2J" + "x" * 5000), None)
    (text,) = against(files, "hub", [entry(*evil), *view("hub", run())[1:]])
    assert "\x1b" not in text
    assert len(text) < 500


# Writing, and going on after a crash


def test_a_replay_leaves_the_signed_file_as_it_is_also_under_a_new_key(tmp_path, files):
    before = files["north"].read_bytes()
    for key in (PRIVATE["north"], Ed25519PrivateKey.generate()):
        assert written(tmp_path, "north", view("north", run()), signer=key).read_bytes() == before


def test_what_a_crash_left_of_a_file_is_replaced_by_the_whole(tmp_path, files):
    whole, path = files["north"].read_bytes(), tmp_path / "torn.jsonl"
    start = len(lines(files["north"])[0])
    for end in range(start, len(whole), 101):
        path.write_bytes(whole[:end])
        written(tmp_path, "north", view("north", run()), "torn.jsonl")
        assert path.read_bytes() == whole


@pytest.mark.parametrize(("rounds", "row"), [(2, 9), (4, 13)], ids=["shorter", "longer"])
def test_a_replay_that_comes_out_differently_is_refused(files, tmp_path, rounds, row):
    rows, before = view("north", run()), files["north"].read_bytes()
    other = f"row {row} of the audit .* differs from the one written before: a replay must repeat the same run"
    with pytest.raises(LocalError, match=other):
        written(tmp_path, "north", view("north", run(rounds)))
    with pytest.raises(LocalError, match="row 2 of the audit"):
        written(tmp_path, "north", [rows[0], *rows[2:]])
    assert files["north"].read_bytes() == before


def test_a_file_of_something_else_or_altered_after_signing_is_left_alone(files, tmp_path):
    (tmp_path / "notes").write_text("my notes\n")
    files["hub"].write_text("".join(lines(files["hub"])[:3] + lines(files["hub"])[4:]))
    for path, party, words in [
        (tmp_path / "notes", "hub", "is not of this run"),
        (files["south"], "hub", "is not of this run"),
        (files["hub"], "hub", "altered after it was signed"),
    ]:
        before = path.read_bytes()
        with pytest.raises(LocalError, match=words):
            written(path.parent, party, view(party, run()), path.name)
        assert path.read_bytes() == before


def test_a_full_disk_leaves_no_half_of_a_file(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LocalError, match=r"the audit cannot be written .*No space left on device; free some space"):
            written(tmp_path, "north", view("north", run()))
    assert list(tmp_path.iterdir()) == []


def full(_handle):
    raise OSError(28, "No space left on device")
