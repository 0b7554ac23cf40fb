"""One way to replace a file: whole at every moment, of the right mode and group, with nothing left behind."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import adminkit
from adminkit.deploy.files import put_file
from adminkit.feedback import last_sent, prefs
from adminkit.feedback.transport.maildir import Maildir
from adminkit.files import ASIDE, folder_to_write, remove_folder, replace_file
from adminkit.render.sink import write_aside
from tests.support.crash import crash_at


def put(path: Path, data: bytes, **rule: int | str) -> None:
    with folder_to_write(path.parent) as folder:
        replace_file(folder, path.name, data, **rule)  # type: ignore[arg-type]


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("wanted", "mask", "expected", "why"),
    [
        (None, 0o022, 0o644, "without a mode open(2) applies the umask"),
        (None, 0o077, 0o600, "whatever it is"),
        (0o640, 0o077, 0o640, "a mode is exact, and no umask takes from it"),
        (0o640, 0o000, 0o640, "or adds to it"),
    ],
)
def test_the_mode_is_the_callers_or_the_umasks(
    tmp_path: Path, wanted: int | None, mask: int, expected: int, why: str
) -> None:
    path = tmp_path / "file"
    with umask(mask):
        replace_file_of(path, wanted)
    assert mode(path) == expected, why
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def replace_file_of(path: Path, wanted: int | None) -> None:
    with folder_to_write(path.parent) as folder:
        replace_file(folder, path.name, b"data", mode=wanted)


def test_the_umask_of_other_threads_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """umask(2) is the process's: to set it, be it for a moment, changes what another thread makes."""

    def refuse(value: int) -> int:
        raise AssertionError("os.umask was called")

    monkeypatch.setattr(os, "umask", refuse)
    write_aside(tmp_path / "report.csv", b"data")
    put(tmp_path / "other", b"data")


def test_the_group_is_there_before_the_data_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group, sizes = (os.getgroups() or [os.getegid()])[-1], []
    real = os.fchmod

    def look(handle: int, bits: int) -> None:
        sizes.append((os.fstat(handle).st_size, os.fstat(handle).st_gid))
        real(handle, bits)

    monkeypatch.setattr(os, "fchmod", look)
    put(tmp_path / "file", b"secret", mode=0o640, group=group)
    assert sizes == [(0, group)]
    assert ((tmp_path / "file").stat().st_gid, mode(tmp_path / "file")) == (group, 0o640)


def test_the_order_is_data_sync_name_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, os.rename

    def synced(handle: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"file of {os.fstat(handle).st_size}"
        steps.append(f"sync {kind}")
        fsync(handle)

    def renamed(*names: str, **folders: int) -> None:
        steps.append("rename")
        rename(*names, **folders)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    put(tmp_path / "file", b"1234")
    assert steps == ["sync file of 4", "rename", "sync folder"]


@pytest.mark.parametrize("kind", ["link", "pipe", "file"])
def test_nothing_that_somebody_put_at_the_name_aside_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * 2 * size)
    victim, aside = tmp_path / "victim", tmp_path / f"{ASIDE}{'0' * 16}"
    victim.write_text("theirs")
    if kind == "link":
        aside.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(aside)
    else:
        aside.write_text("theirs")
    with pytest.raises(FileExistsError):
        put(tmp_path / "file", b"ours")
    assert victim.read_text() == "theirs"
    assert aside.is_symlink() or aside.exists(), "it is not ours to remove"


def test_a_link_at_the_name_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    put(tmp_path / "file", b"ours")
    assert ((tmp_path / "victim").read_text(), (tmp_path / "file").read_text()) == ("theirs", "ours")
    assert not (tmp_path / "file").is_symlink()


def test_an_error_leaves_the_old_file_and_nothing_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "file", b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        put(tmp_path / "file", b"new")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", b"old")]


def test_a_folder_that_may_not_be_listed_is_written_to(tmp_path: Path) -> None:
    """Users' choices are in one of mode 1733. Root may list every folder, so this is of a descriptor with O_PATH."""
    handle = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    try:
        replace_file(handle, "file", b"ours")
    finally:
        os.close(handle)
    assert (tmp_path / "file").read_bytes() == b"ours"


def _letter(folder: Path, text: str) -> None:
    Maildir(folder).send("a@example.org", ["b@example.org"], text.encode(), "one key")


#: Whoever replaces a file: (what is done with a folder and a text, where the text is then).
WRITERS: dict[str, tuple[Callable[[Path, str], object], str]] = {
    "a table of slurmctld's": (lambda at, text: put_file(at / "policy.lua", text), "policy.lua"),
    "a report": (lambda at, text: write_aside(at / "out.csv", text.encode()), "out.csv"),
    "a user's choices": (lambda at, text: prefs.write(at, 7, prefs.Prefs(address=f"{text}@example.org")), "7.toml"),
    "when a letter left": (lambda at, text: last_sent.keep(at / "mark", 1 if text == "old" else 2), "mark"),
    "a letter in a Maildir": (_letter, "new/*"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path: Path, writer: str) -> None:
    write, name = WRITERS[writer]

    def now(folder: Path) -> list[bytes]:
        return [path.read_bytes() for path in folder.glob(name)]

    texts = {}
    for text in ("old", "new"):
        (tmp_path / text).mkdir()
        write(tmp_path / text, text)
        texts[text] = now(tmp_path / text)
    fresh = writer == "a letter in a Maildir"  # one key, one letter: there is no older one
    number, seen = 0, []
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        if not fresh:
            write(folder, "old")
        if not crash_at(number, lambda: write(folder, "new")):  # noqa: B023 - called in this round
            break
        found = now(folder)
        assert found in ([] if fresh else texts["old"], texts["new"]), number
        seen.append(found)
        write(folder, "new")
        assert now(folder) == texts["new"], "the next one goes through, whatever was left"
        number += 1
    assert number >= 5
    assert seen == sorted(seen, key=lambda one: one == texts["new"]), "once it is new, it stays so"
    assert {len(one) for one in seen} <= {0, 1}


#: Modules that open a file in another way than adminkit/files.py does, each with the reason.
OTHERWISE = {
    "deploy/program.py": "adminkit's own modules, as they are installed",
    "files.py": "the one place",
    "ingest/answer.py": "the answer of a program, in a file that this process made",
    "ingest/own_questions.py": "the same",
    "ingest/sources/sacct.py": "the same",
    "ingest/sources/slurmdbd.py": "the same",
    "ingest/sources/slurmdbd_answer.py": "the same",
    "ingest/sources/verify.py": "the same",
    "integrations/datasette_sockets.py": "the kernel's, below /proc",
    "jupyter/activity.py": "the kernel's, below /proc",
    "jupyter/handlers.py": "adminkit's own pages",
    "lua/runtime.py": "adminkit's own modules",
    "simulate/answer.py": "adminkit's own program",
    "slurm/controller.py": "slurm.conf, which is root's or SlurmUser's",
    "slurm/conf_lines.py": "slurm.conf and what it includes, which are root's",
    "slurm/database.py": "writes the answer of a program",
    "slurm/day_jobs.py": "the answer of a program, in a folder of its own",
    "slurm/plugstack.py": "plugstack.conf and plugins, which are root's",
    "slurm/sacct.py": "writes the answer of a program",
    "trace/location.py": "the kernel's, below /proc",
    "doctor/step_cgroups.py": "the kernel's, below /proc",
    "messages.py": "catalogues, which are part of adminkit",
    "usage/http.py": "a service of the site, through the network",
    "actions.py": "replaces the log, whose file is open and was looked at",
}


def test_files_are_opened_and_toml_is_parsed_in_one_place() -> None:
    package = Path(adminkit.__file__).parent
    found, parsers = set(), set()
    for path in sorted(package.rglob("*.py")):
        name, source = str(path.relative_to(package)), path.read_text()
        if not any(word in source for word in ("read_text", "read_bytes", "open", "tomllib")):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                if node.func.attr in ("read_text", "read_bytes") or (
                    node.func.attr == "open" and owner not in ("os", "gzip", "bz2", "lzma", "webbrowser", "adminkit")
                ):
                    found.add(name)
            if isinstance(node, ast.Import) and any(one.name == "tomllib" for one in node.names):
                parsers.add(name)
    assert found - {"__init__.py"} == set(OTHERWISE) - {"files.py"}, "use open_named or read_named, or write why not"
    assert parsers == {"toml.py"}


def _filled(path: Path) -> None:
    (path / "below").mkdir(parents=True)
    os.mkfifo(path / "below/pipe")
    (path / "link").symlink_to(path.parent / "kept")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_filled, "a folder with a pipe and a link in it"),
        (os.mkfifo, "a pipe, which nobody writes to"),
        (lambda path: path.symlink_to(path.parent / "kept"), "a link to a folder"),
        (lambda path: path.symlink_to(path.parent / "nothing"), "a link to nothing"),
        (Path.touch, "a file"),
        (lambda path: None, "nothing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_folder_is_removed_or_what_stands_in_its_place(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    make(path := tmp_path / "folder")
    remove_folder(path)
    assert not os.path.lexists(path), why
    assert (tmp_path / "kept/file").exists(), why


def test_only_what_removes_pipes_too_removes_a_folder() -> None:
    """Of those that others may have put something in place of: an export's folder has a name that nobody can guess."""
    root = Path(adminkit.__file__).parent
    users = [str(path.relative_to(root)) for path in root.rglob("*.py") if "rmtree(" in path.read_text()]
    assert sorted(users) == ["export/folder.py", "files.py"]
