"""Tables are put in place whole: what a reader, a crash, a second writer or a damaged file may meet."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from adminkit.deploy import files
from adminkit.deploy.bundle import read_bundle, tables_only, write_bundle
from adminkit.deploy.files import checksums, differing, generation_of, put_back, put_table, table_path
from adminkit.deploy.rehearse import check_table
from adminkit.errors import AdminkitError
from adminkit.lua.literal import module
from adminkit.slurm.reload import touch
from tests.support.crash import crash_at

DAMAGED = "return {"


def table(generation: str, made_at: int = 1) -> str:
    """A whole policy that differs by its generation."""
    rule = {"name": generation, "check": "max_limit", "value": 3600, "action": "reject", "when": {}, "text": {}}
    content = {"cluster": "alpha", "fail": "open", "record": "none", "languages": ["en"], "exempt": {0}, "menu": [60]}
    more = {"routing": {"action": "off", "order": []}, "queues": {}, "rules": [rule] * 20, "texts": {"en": {}}}
    return module({"format": 1, "generation": generation, "made_at": made_at, **content, **more}, "a test")


def kept(folder: Path, name: str = "policy") -> tuple[str | None, str | None, str | None]:
    """The generations of the table, its good copy and its previous one; "damaged" for what Lua would not take."""
    found: list[str | None] = []
    for kind in ("", "good", "previous"):
        text = files.read_text(table_path(folder, name, kind))
        whole = text is None or files.usable(name, text, check_table)
        found.append((generation_of(text) if whole else "damaged") if text is not None else None)
    return found[0], found[1], found[2]


def place(folder: Path, text: str, name: str = "policy") -> files.Put:
    return put_table(folder, name, text, check_table)


def test_the_first_one_has_a_good_copy_and_nothing_to_go_back_to(tmp_path: Path) -> None:
    done = place(tmp_path, table("one"))
    assert done == files.Put("policy", "one", None, True)
    assert kept(tmp_path) == ("one", "one", None)
    with pytest.raises(AdminkitError, match=r"has no policy\.previous\.lua to roll back to"):
        put_back(tmp_path, "policy", check_table)


def test_the_second_one_keeps_the_first_and_rollback_swaps_them(tmp_path: Path) -> None:
    place(tmp_path, table("one"))
    assert place(tmp_path, table("two")) == files.Put("policy", "two", "one", True)
    assert kept(tmp_path) == ("two", "two", "one")
    assert put_back(tmp_path, "policy", check_table) == files.Put("policy", "one", "two", True)
    assert kept(tmp_path) == ("one", "one", "two")
    put_back(tmp_path, "policy", check_table)
    assert kept(tmp_path) == ("two", "two", "one")


def test_the_same_content_made_again_leaves_what_rollback_would_bring_back(tmp_path: Path) -> None:
    place(tmp_path, table("one"))
    place(tmp_path, table("two"))
    before = table_path(tmp_path, "policy").stat()
    assert not place(tmp_path, table("two", made_at=99)).changed
    assert kept(tmp_path) == ("two", "two", "one")
    assert table_path(tmp_path, "policy").stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (DAMAGED, "not Lua"),
        ("return 5", "no table"),
        ("return {format = 2, generation = 'x'}", "another format"),
        ("return {format = 1}", "no generation"),
        ("return {format = 1, generation = os.time()}", "code that needs more than an empty environment"),
        ("\x1bLua", "bytecode"),
        (f"return {{{'1,' * 300_000} format = 1, generation = 'x'}}", "more constants than Lua 5.1 has room for"),
        ("", "nothing"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_what_lua_would_not_take_changes_nothing(tmp_path: Path, text: str, why: str) -> None:
    place(tmp_path, table("one"))
    before = checksums(tmp_path)
    if why.startswith("more constants"):
        text = "return {format = 1, generation = 'x', " + ",".join(f"a{n}={n}.5" for n in range(140_000)) + "}"
    with pytest.raises(AdminkitError, match=r"policy\.lua "):
        place(tmp_path, text)
    assert checksums(tmp_path) == before, why
    assert kept(tmp_path) == ("one", "one", None)


@pytest.mark.parametrize(
    ("damage", "then", "why"),
    [
        (("",), ("two", "two", "one"), "the good copy of the damaged one is what rollback brings back"),
        (("good",), ("two", "two", "one"), "a damaged good copy is written again"),
        (("", "good"), ("two", "two", "zero"), "with both gone, the previous one stays what it was"),
        (("previous",), ("two", "two", "one"), "a damaged previous one is written again"),
    ],
)
def test_damaged_files_are_mended_by_the_next_install(
    tmp_path: Path, damage: tuple[str, ...], then: tuple[str, str, str], why: str
) -> None:
    place(tmp_path, table("zero"))
    place(tmp_path, table("one"))
    for kind in damage:
        table_path(tmp_path, "policy", kind).write_text(DAMAGED)
    place(tmp_path, table("two"))
    assert kept(tmp_path) == then, why


@pytest.mark.parametrize("kind", ["", "good"])
@pytest.mark.parametrize("how", [Path.unlink, lambda path: path.write_text(DAMAGED)], ids=["missing", "damaged"])
def test_the_same_table_again_mends_what_is_missing_or_damaged(
    tmp_path: Path, kind: str, how: Callable[[Path], object]
) -> None:
    place(tmp_path, table("one"))
    place(tmp_path, table("two"))
    how(table_path(tmp_path, "policy", kind))
    assert not place(tmp_path, table("two")).changed
    assert kept(tmp_path) == ("two", "two", "one")


def test_a_damaged_previous_one_is_not_gone_back_to(tmp_path: Path) -> None:
    place(tmp_path, table("one"))
    place(tmp_path, table("two"))
    table_path(tmp_path, "policy", "previous").write_text(DAMAGED)
    with pytest.raises(AdminkitError, match="does not load"):
        put_back(tmp_path, "policy", check_table)
    assert kept(tmp_path) == ("two", "two", "damaged")


def test_modes_and_group_are_those_of_slurmctld(tmp_path: Path) -> None:
    group = 12 if os.geteuid() == 0 else os.getegid()
    put_table(tmp_path, "policy", table("one"), check_table, group)
    put_table(tmp_path, "policy", table("two"), check_table, group)
    inner = tmp_path / "adminkit"
    assert (stat.S_IMODE(inner.stat().st_mode), inner.stat().st_gid) == (0o750, group)
    (inner / "policy.lua").chmod(0o644)
    put_table(tmp_path, "policy", table("two"), check_table, group)
    for path in inner.iterdir():
        found = path.stat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (0o640, os.geteuid(), group), path


def test_two_at_once_the_second_says_so(tmp_path: Path) -> None:
    place(tmp_path, table("one"))
    handle = os.open(tmp_path / "adminkit", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(AdminkitError, match="somebody else is changing"):
            place(tmp_path, table("two"))
    finally:
        os.close(handle)
    assert kept(tmp_path) == ("one", "one", None)


def test_a_crash_at_any_step_of_an_install_leaves_whole_files_and_the_next_one_completes_it(tmp_path: Path) -> None:
    number, reached = 0, set()
    while True:
        folder = started(tmp_path, number)
        if not crash_at(number, lambda: place(folder, table("three"))):  # noqa: B023 - called in this round
            break
        found = kept(folder)
        reached.add(found)
        assert not {"damaged", None} & set(found)
        assert "two" in found, "what counted until then is never lost"
        assert place(folder, table("three")).generation == "three"
        assert kept(folder) == ("three", "three", "two"), found
        assert not list((folder / "adminkit").glob(".*"))
        number += 1
    assert number > 15
    assert len(reached) == 4


def test_a_rollback_behind_an_install_that_crashed_goes_back_by_one(tmp_path: Path) -> None:
    for number in range(1, 100):
        folder = started(tmp_path, number)
        place(folder, table("three"))
        crashed = crash_at(number, lambda: place(folder, table("four")))  # noqa: B023
        put_back(folder, "policy", check_table)
        current, good, previous = kept(folder)
        assert current == good
        assert (current, previous) in (("two", "three"), ("three", "four")), number
        if not crashed:
            return
    raise AssertionError("it never came to its end")


def test_a_rollback_behind_one_that_crashed_goes_on_with_it(tmp_path: Path) -> None:
    number, reached = 0, set()
    while True:
        folder, other, third = (started(tmp_path / name, number) for name in ("again", "install", "both"))
        crashed = [crash_at(number, lambda: put_back(at, "policy", check_table)) for at in (folder, other, third)]  # noqa: B023
        if not any(crashed):
            break
        found = kept(folder)
        reached.add(found)
        assert set(found) == {"one", "two"}, "neither is lost"
        put_back(folder, "policy", check_table)
        assert kept(folder) == ("one", "one", "two"), found
        place(other, table("one"))
        assert kept(other) == ("one", "one", "two"), found
        place(third, table("three"))
        put_back(third, "policy", check_table)
        assert kept(third)[2] == "three", "an install in between is what is gone back from"
        assert not [left for at in (folder, other, third) for left in (at / "adminkit").glob(".*")]
        put_back(folder, "policy", check_table)
        assert kept(folder) == ("two", "two", "one"), "a rollback of one that came to its end swaps"
        number += 1
    assert number > 15
    assert len(reached) == 4


def started(top: Path, number: int) -> Path:
    folder = top / str(number)
    folder.mkdir(parents=True)
    place(folder, table("one"))
    place(folder, table("two"))
    return folder


def test_what_a_reader_sees_meanwhile_is_always_whole(tmp_path: Path) -> None:
    """Another process rewrites the table as fast as it can; every read finds one of the two, entire."""
    texts = [table("a" * 12), table("b" * 12)]
    place(tmp_path, texts[0])
    child = os.fork()
    if child == 0:
        try:
            for turn in range(40):
                files.put_file(table_path(tmp_path, "policy"), texts[turn % 2])
        finally:
            os._exit(0)
    reads = 0
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert table_path(tmp_path, "policy").read_text() in texts
        reads += 1
    assert reads > 0


def test_a_full_disk_or_a_missing_right_is_said_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, table("one"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(AdminkitError, match=r"couldn't write .*: no space left on device"):
            place(tmp_path, table("two"))
    assert kept(tmp_path) == ("one", "one", None)
    with pytest.raises(AdminkitError, match="is not a folder"):
        place(tmp_path / "nosuch", table("two"))


def test_hosts_are_compared_by_what_slurmctld_would_read(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "job_submit.lua").write_text("-- entry\n")
        place(folder, table("one"))
    place(one, table("two"))
    place(one, table("one"))
    assert differing(checksums(one), checksums(other)) == [], "a previous one may differ"
    place(one, table("two"))
    assert differing(checksums(one), checksums(other)) == ["adminkit/policy.good.lua", "adminkit/policy.lua"]
    place(other, table("two"))
    (other / "adminkit" / "extra.lua").write_text("")
    assert differing(checksums(one), checksums(other)) == ["adminkit/extra.lua"]


@pytest.mark.parametrize(
    ("text", "generation"),
    [
        (table("3f2a9c01d2e4"), "3f2a9c01d2e4"),
        ('return {\n  generation = "abc",\n}', "abc"),
        ("return {}", None),
        ('return {\n  texts = { generation = "no" },\n}', None),
    ],
)
def test_a_generation_is_read_without_lua(text: str, generation: str | None) -> None:
    assert generation_of(text) == generation


#: Whoever owns the folder of slurm.conf may put anything there.
PLANTED: dict[str, tuple[str, Callable[[Path, Path], object], str]] = {
    "a link as the folder": (
        "adminkit",
        lambda path, other: path.symlink_to(other),
        "is a symbolic link, not a folder",
    ),
    "a pipe as the folder": ("adminkit", lambda path, other: os.mkfifo(path), "couldn't use .*not a directory"),
    "a link as the table": (
        "adminkit/policy.lua",
        lambda path, other: path.symlink_to(other / "x"),
        "is a symbolic link",
    ),
    "a pipe as the table": ("adminkit/policy.lua", lambda path, other: os.mkfifo(path), "is a pipe"),
    "a folder as the table": ("adminkit/policy.lua", lambda path, other: path.mkdir(), "is a folder"),
    "a link as its good copy": (
        "adminkit/policy.good.lua",
        lambda path, other: path.symlink_to(other / "x"),
        "a symbolic link",
    ),
    "a pipe as the previous one": ("adminkit/policy.previous.lua", lambda path, other: os.mkfifo(path), "is a pipe"),
    "a link as the aim": ("adminkit/.back-policy", lambda path, other: path.symlink_to(other / "x"), ""),
    "a link left aside": ("adminkit/.aside-policy.lua-x", lambda path, other: path.symlink_to(other / "x"), ""),
}


def untouched(folder: Path) -> object:
    """What is there, but for when it was last read: this reads it."""

    def facts(path: Path) -> tuple[int, ...]:
        of = path.lstat()
        return of.st_ino, of.st_mode, of.st_uid, of.st_gid, of.st_size, of.st_mtime_ns, of.st_ctime_ns

    return [(path.name, facts(path), path.read_text()) for path in folder.iterdir()], facts(folder)


@pytest.mark.parametrize("what", PLANTED)
def test_nothing_that_is_planted_is_followed_and_nothing_hangs(tmp_path: Path, what: str) -> None:
    name, make, why = PLANTED[what]
    folder, other = tmp_path / "slurm", tmp_path / "other"
    for made in (folder, other):
        made.mkdir(mode=0o755)
    (other / "x").write_text("root's own")
    before = untouched(other)
    place(folder, table("one"))
    place(folder, table("two"))
    path = folder / name
    if path.is_dir():
        path.rename(folder / "away")
    else:
        path.unlink(missing_ok=True)
    make(path, other)
    signal.alarm(20)
    try:
        if why:
            with pytest.raises(AdminkitError, match=why):
                place(folder, table("three"))
            with pytest.raises(AdminkitError, match=why):
                put_back(folder, "policy", check_table)
        else:
            place(folder, table("three"))
            put_back(folder, "policy", check_table)
            assert kept(folder)[0] == "two"
    finally:
        signal.alarm(0)
    assert untouched(other) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="as root only: files of two users")
def test_root_takes_built_rules_from_roots_own_folder_only(tmp_path: Path) -> None:
    write_bundle(tmp_path / "out", tables_only({"policy": table("one")}))
    assert set(read_bundle(tmp_path / "out").tables) == {"policy"}
    os.chown(tmp_path / "out", 2, -1)
    with pytest.raises(AdminkitError, match="may have been written by uid 2"):
        read_bundle(tmp_path / "out")


@pytest.mark.skipif(os.geteuid() != 0, reason="as root only: links of two users")
def test_a_script_that_is_somebody_elses_link_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    os.utime(tmp_path / "target", (5, 5))
    entry = tmp_path / "job_submit.lua"
    entry.symlink_to(tmp_path / "target")
    os.chown(entry, 2, -1, follow_symlinks=False)
    with pytest.raises(AdminkitError, match="is a symbolic link that belongs to uid 2"):
        touch(entry)
    assert (tmp_path / "target").stat().st_mtime == 5
    os.chown(entry, 0, -1, follow_symlinks=False)
    assert touch(entry) > 5, "a site's own link"
