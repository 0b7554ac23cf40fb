"""What root takes from adminkit's folder: plain files of the folder's owner that hold known keys and bounded values."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit import journal
from adminkit.economy import points_file
from adminkit.economy.build import as_table, read_tables
from adminkit.errors import AdminkitError
from adminkit.lua.literal import MOST_BYTES
from tests.support.hostile_tables import TABLES
from tests.support.others import OWNER, READER

POINTS: dict[str, Any] = {
    "format": 1, "made_at": 1, "cap": 720, "class_points": {"multi-node": 240},
    "users": {1001: {"points": 360, "class": True}, 1002: {"points": 0, "class": False}},
}  # fmt: skip
HINTS: dict[str, Any] = {
    "format": 1, "made_at": 1, "ratio": 3.0, "floor": 7200, "accounts_off": {"a b"},
    "users": {1001: {"大 \x00\udcff": {"gq": [1800, 3600, 5, 20]}, "": {"": [1, 2, 3, 4]}}},
}  # fmt: skip
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="as root only: files of other users, devices")


def good(**changes: Any) -> str:
    """The text of incentives.json with parts changed, as JSON has them; None takes one out."""
    whole = {**json.loads(points_file.dumped(POINTS)), **changes}
    return json.dumps({key: value for key, value in whole.items() if value is not None})


def hints(**changes: Any) -> str:
    return json.dumps({**json.loads(points_file.dumped(HINTS)), **changes})


def refused(name: str, text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    with pytest.raises(AdminkitError) as caught:
        points_file.parsed(name, data, "it")
    return caught.value.message


SIZED = {**{key: POINTS[key] for key in POINTS if key != "users"}, "size_points": {9: 360, 65: 720}, "users": {}}


@pytest.mark.parametrize(("name", "table"), [("incentives", POINTS), ("incentives", SIZED), ("hints", HINTS)])
def test_what_is_written_is_read_and_becomes_the_same_lua(name: str, table: dict[str, Any]) -> None:
    found = points_file.parsed(name, points_file.dumped(table).encode(), "it")
    assert found == table
    assert as_table(name, found).text == as_table(name, table).text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not valid JSON: line 1"),
        (good()[:-1], "not valid JSON: line 1"),
        (b"\xff", "not UTF-8"),
        ("[]", "it is not an object"),
        ("[" * 100_000, "nested too deep"),
        ('{"a":' * 100_000, "nested too deep"),
        (good(format=2), "of another release"),
        (good(format=True), "of another release"),
        (good(cap=None), "it has no cap"),
        (good(z=1), "a key that adminkit does not write"),
        (good()[:-1] + ', "cap": 1}', "a key appears twice"),
        (good(cap="x"), "cap is not a whole number from 1"),
        (good(cap=True), "cap is not a whole number"),
        (good(cap=0), "cap is not a whole number"),
        (good(cap=2**31), "cap is not a whole number"),
        (good(cap=719.5), "cap is not a whole number"),
        (good().replace("720", "1e999"), "cap is not a whole number"),
        (good().replace("720", "NaN"), "a number is infinite or NaN"),
        (good().replace("720", "-Infinity"), "a number is infinite or NaN"),
        (good().replace("720", "9" * 5000), "not valid JSON"),
        (good(made_at=-1), "made_at is not a whole number"),
        (good(class_points={"root": 1}), "a class that adminkit does not know"),
        (good(class_points={"multi-gpu": 721}), "class_points.multi-gpu is not a whole number from 0 to 720"),
        (good(class_points=[]), "class_points is not an object"),
        (good(size_points={"9": 721}), "size_points.9 is not a whole number from 0 to 720"),
        (good(size_points={"09": 1}), "size_points has a key that is not a number of GPUs"),
        (good(size_points={"\N{ARABIC-INDIC DIGIT NINE}": 1}), "size_points has a key that is not a number"),
        (good(size_points={"9] = 1, [10": 1}), "size_points has a key that is not a number"),
        (good(size_points={str(size): 1 for size in range(2, 20)}), "size_points has more than 16 sizes"),
        (good(size_points=[9]), "size_points is not an object"),
        (good(users=[]), "users is not an object"),
        (good(users={"-1": {}}), "not a uid"),
        (good(users={"01": {}}), "not a uid"),
        (good(users={"\N{ARABIC-INDIC DIGIT ONE}": {}}), "not a uid"),
        (good(users={"root": {}}), "not a uid"),
        (good(users={"4294967295": {}}), "a uid that no user can have"),
        (good(users={"1": {"points": 721, "class": True}}), "users.1.points is not a whole number from 0 to 720"),
        (good(users={"1": {"points": 1, "class": 1}}), "users.1.class is neither true nor false"),
        (good(users={"1": {"points": 1}}), "users.1 has no class"),
        (good(users={"1": {"points": 1, "class": True, "x": {}}}), "users.1 has a key"),
    ],
)
def test_what_adminkit_would_not_write_is_refused_and_not_repeated(text: str | bytes, why: str) -> None:
    assert why in refused("incentives", text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (hints(ratio="3"), "ratio is not a number of at least 1"),
        (hints(ratio=0.5), "ratio is not a number of at least 1"),
        (hints().replace("3.0", "1e999"), "ratio is not a number of at least 1"),
        (hints(floor=-1), "floor is not a whole number"),
        (hints(accounts_off="x"), "accounts_off is not a list"),
        (hints(accounts_off=[1]), "accounts_off has a name that is not text"),
        (hints(users={"1": []}), "users.1 is not an object"),
        (hints(users={"1": {"a": []}}), "users.1 is not an object"),
        (hints(users={"1": {"a": {"gq": {}}}}), "users.1 has a row that is not four numbers"),
        (hints(users={"1": {"a": {"gq": [1, 2, 3]}}}), "users.1 has a row that is not four numbers"),
        (hints(users={"1": {"a": {"gq": [1, 2, 3, -4]}}}), "users.1 is not a whole number"),
        (hints(users={"1": {"a" * 1025: {}}}), "a name that is not text of at most 1024"),
        (hints(users={"1": {"a": {"b" * 1025: [1, 2, 3, 4]}}}), "a name that is not text of at most 1024"),
        (hints(users={"1": {"\ud800": {}}}), "a name that cannot be written as bytes"),
    ],
)
def test_hints_that_adminkit_would_not_write_are_refused(text: str, why: str) -> None:
    assert why in refused("hints", text)


def memory(**changes: Any) -> str:
    """A table of hints with one about memory, changed."""
    whole = {"ratio": 2.0, "floor": 8192, "users": {"1": {"a": {"gq": [1, 2, 3, 4, 5]}}}}
    return hints(memory={key: value for key, value in {**whole, **changes}.items() if value is not None})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (hints(memory=[]), "memory is not an object"),
        (memory(users=None), "memory has no users"),
        (memory(more=1), "memory has a key that adminkit does not write"),
        (memory(ratio=0.5), "memory.ratio is not a number of at least 1"),
        (memory(floor=-1), "memory.floor is not a whole number"),
        (memory(users={"x": {}}), "not a uid"),
        (memory(users={"1": {"a": {"gq": [1, 2, 3, 4]}}}), "memory.users.1 has a row that is not five numbers"),
        (memory(users={"1": {"a": {"gq": [1, 2, 3, 4, 1.5]}}}), "memory.users.1 is not a whole number"),
        (memory(users={"1": {"a" * 1025: {}}}), "a name that is not text of at most 1024"),
    ],
)
def test_hints_about_memory_that_adminkit_would_not_write_are_refused(text: str, why: str) -> None:
    assert why in refused("hints", text)


def test_hints_about_memory_arrive_as_they_were_written() -> None:
    table = points_file.parsed("hints", memory().encode(), "here")
    assert table["memory"] == {"ratio": 2.0, "floor": 8192, "users": {1: {"a": {"gq": [1, 2, 3, 4, 5]}}}}
    assert points_file.parsed("hints", points_file.dumped(table).encode(), "here") == table


def test_hints_may_have_their_least_numbers() -> None:
    table = points_file.parsed("hints", hints(ratio=1, floor=0).encode(), "here")
    assert (table["ratio"], table["floor"]) == (1, 0)


KEYS = st.sampled_from(["format", "cap", "users", "made_at", "1", "points", "x"])
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())


@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_whatever_else_stands_there_is_refused(value: Any) -> None:
    for name in ("incentives", "hints"):
        assert refused(name, json.dumps(value))


def test_a_name_cannot_become_code() -> None:
    hostile = 'x"] = 1 } os.exit(1) --'
    data = hints(users={"1": {hostile: {hostile: [1, 2, 3, 4]}}}).encode()
    text = as_table("hints", points_file.parsed("hints", data, "it")).text
    assert "exit(" not in text


@pytest.mark.parametrize(("what", "text"), TABLES, ids=[case[0] for case in TABLES])
def test_a_program_in_its_place_is_refused_without_a_look_by_lua(tmp_path: Path, what: str, text: str) -> None:
    (tmp_path / "incentives.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(AdminkitError, match=r"incentives\.json(: not valid JSON| is larger)"):
        read_tables(tmp_path)
    (tmp_path / "incentives.json").unlink()
    (tmp_path / "adminkit").mkdir()
    (tmp_path / "adminkit" / "incentives.lua").write_bytes(text.encode("latin-1"))
    with pytest.raises(AdminkitError, match=r"there is no .*incentives\.json"):
        read_tables(tmp_path)


def _link(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def _device(path: Path, secret: Path) -> None:
    os.mknod(path, 0o20666, os.makedev(1, 5))


def _endless(path: Path, secret: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)
    os.chown(path, OWNER, -1)


def _socket(path: Path, secret: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


STRANGE: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "a link to root's file": (_link, "is a symbolic link, not a plain file"),
    "a link to /dev/zero": (lambda path, _: path.symlink_to("/dev/zero"), "is a symbolic link, not a plain file"),
    "a link to nothing": (lambda path, _: path.symlink_to("/nonexistent"), "is a symbolic link, not a plain file"),
    "a pipe": (lambda path, _: os.mkfifo(path), "is a pipe, not a plain file"),
    "a device": (_device, "is a device, not a plain file"),
    "a folder": (lambda path, _: path.mkdir(), "is a folder, not a plain file"),
    "a socket": (_socket, "is a socket, not a plain file"),
    "root's own file by another name": (lambda path, secret: os.link(secret, path), "belongs to uid 0, its folder to"),
    "somebody else's file": (lambda path, _: (path.write_text("{}"), os.chown(path, READER, -1)), "belongs to uid"),
    "a file without end": (_endless, "is larger than"),
}  # fmt: skip


@as_root
@pytest.mark.parametrize("name", ["incentives.json", "hints.json"])
@pytest.mark.parametrize("what", STRANGE)
def test_root_opens_plain_files_of_the_folders_owner_only(
    tmp_path: Path, what: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.close()
    capsys.readouterr()
    folder, secret = tmp_path / "tables", tmp_path / "secret"
    secret.write_text("root:$6$secret")
    secret.chmod(0o600)
    folder.mkdir()
    for other in ("incentives.json", "hints.json"):
        text = good() if other == "incentives.json" else hints()
        (folder / other).write_text(text)
        os.chown(folder / other, OWNER, -1)
    os.chown(folder, OWNER, -1)
    assert len(read_tables(folder)) == 2
    (folder / name).unlink()
    make, why = STRANGE[what]
    make(folder / name, secret)
    signal.alarm(20)
    try:
        with pytest.raises(AdminkitError) as caught:
            read_tables(folder)
    finally:
        signal.alarm(0)
    assert why in caught.value.message
    said = capsys.readouterr().err
    assert said.startswith(f"refused tables: {folder / name} of uid {OWNER}: {why.split(',')[0]}"), (
        "one line says what and whose"
    )
    assert said.count("\n") == 1
    assert "secret" not in caught.value.message.replace(str(tmp_path), "")
    assert secret.read_text() == "root:$6$secret"


@as_root
def test_a_folder_that_is_a_link_is_not_entered(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "incentives.json").write_text(good())
    (tmp_path / "tables").symlink_to(real)
    with pytest.raises(AdminkitError, match="is a symbolic link, not a folder"):
        read_tables(tmp_path / "tables")


def test_nobody_gives_more_points_than_roots_own_policy_does(tmp_path: Path) -> None:
    (tmp_path / "incentives.json").write_text(good())
    assert read_tables(tmp_path, 720)[0].largest == 600
    with pytest.raises(AdminkitError, match=r"its cap, 720 points, is above policy\.toml's, 719"):
        read_tables(tmp_path, 719)


def test_a_file_may_be_as_large_as_said_and_no_larger(tmp_path: Path) -> None:
    text = good()
    (tmp_path / "incentives.json").write_text(text + " " * (MOST_BYTES - len(text)))
    assert read_tables(tmp_path)[0].rows == 2
    (tmp_path / "incentives.json").write_text(text + " " * (MOST_BYTES + 1 - len(text)))
    with pytest.raises(AdminkitError, match="is larger than"):
        read_tables(tmp_path)
