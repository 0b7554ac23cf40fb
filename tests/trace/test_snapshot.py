"""A snapshot: one file, read without locks, written by nobody."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.errors import AdminkitError
from adminkit.trace import connect
from adminkit.trace.snapshot import is_snapshot, publish
from tests.support.builders import job, make_trace
from tests.support.others import READER, gives_files_away


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.db"
    with connect.writer(path):
        pass
    make_rows(path, 1)
    return path


def make_rows(path: Path, *numbers: int) -> None:
    other = make_trace(path.with_name("rows.db"), [job(number) for number in numbers])
    with connect.writer(path) as db:
        db.execute("ATTACH ? AS other", (str(other),))
        db.execute("INSERT INTO job SELECT * FROM other.job")


def runs(path: Path) -> int:
    with connect.reader(path) as db:
        return int(db.execute("SELECT count(*) FROM run").fetchone()[0])


def test_a_snapshot_is_one_file_with_the_traces_mode_and_its_rows(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "s.db"
    assert main(["trace", "snapshot", str(target), "--db", str(trace)]) == 0
    assert [one.name for one in target.parent.iterdir()] == ["s.db"]
    assert target.stat().st_mode & 0o777 == trace.stat().st_mode & 0o777
    assert is_snapshot(target) and not is_snapshot(trace)
    assert runs(target) == 1
    assert [one.name for one in target.parent.iterdir()] == ["s.db"], "reading it leaves nothing"


def test_who_has_the_older_one_open_keeps_it(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "s.db"
    assert main(["trace", "snapshot", str(target), "--db", str(trace)]) == 0
    with connect.reader(target) as db:
        make_rows(trace, 2, 3)
        assert main(["trace", "snapshot", str(target), "--db", str(trace)]) == 0
        assert db.execute("SELECT count(*) FROM job").fetchone() == (1,)
    assert runs(target) == 3


def test_it_can_be_read_on_a_network_file_system_and_the_trace_cannot(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "s.db"
    assert main(["trace", "snapshot", str(target), "--db", str(trace)]) == 0

    def refuse(path: Path) -> None:
        raise AdminkitError(f"{path} is on NFS", "")

    monkeypatch.setattr(connect, "refuse_network_mount", refuse)
    assert runs(target) == 1
    with pytest.raises(AdminkitError, match="NFS"):
        runs(trace)


def test_nobody_writes_a_snapshot(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "s.db"
    assert main(["trace", "snapshot", str(target), "--db", str(trace)]) == 0
    before = target.read_bytes()
    assert main(["trace", "prune", "--older-than", "2020-01-01", "--apply", "--db", str(target)]) == 1
    assert "is a snapshot, which can only be read" in capsys.readouterr().err
    assert target.read_bytes() == before


def test_looking_whether_it_is_one_takes_no_lock_from_this_process(trace: Path) -> None:
    """A file that is opened and closed beside SQLite would: POSIX locks go with any descriptor of the file."""
    with connect.writer(trace) as db:
        db.execute("BEGIN IMMEDIATE")
        before = Path("/proc/locks").read_text()
        assert not is_snapshot(trace)
        inode = f":{trace.stat().st_ino} "
        mine = [line.split(maxsplit=1)[1] for line in before.splitlines() if inode in f"{line} "]
        after = [line.split(maxsplit=1)[1] for line in Path("/proc/locks").read_text().splitlines()]
        assert mine and set(mine) <= set(after)
        db.execute("ROLLBACK")


@pytest.mark.parametrize("what", ["pipe", "folder", "nothing", "text"])
def test_what_is_no_database_is_no_snapshot(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "text":
        path.write_text("SQLite format 3")
    assert not is_snapshot(path)


TAKEN = [
    ("text", lambda path: path.write_text("mine"), "exists and is not a snapshot"),
    ("a link", lambda path: path.symlink_to("elsewhere"), "exists and is not a snapshot"),
    ("a trace", connect.prepare, "exists and is not a snapshot"),
    ("the trace itself", None, "is the trace itself"),
]


@pytest.mark.parametrize(("what", "make", "said"), TAKEN)
def test_nothing_else_is_replaced(
    trace: Path, tmp_path: Path, what: str, make: object, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = trace if make is None else tmp_path / "taken"
    if callable(make):
        make(target)
    before = target.read_bytes() if target.is_file() else b""
    assert main(["trace", "snapshot", str(target), "--db", str(trace)]) != 0, what
    assert said in capsys.readouterr().err
    assert (target.read_bytes() if target.is_file() else b"") == before
    assert not list(tmp_path.glob(".*.part"))


@gives_files_away
def test_what_another_user_put_into_a_folder_open_to_all_is_no_older_snapshot(trace: Path, open_folder: Path) -> None:
    """Root would write as its owner, who could read the whole trace then."""
    open_folder.chmod(0o1777)
    place = open_folder / "s.db"
    with connect.reader(trace):
        publish(trace, place)
        os.chown(place, READER, READER)
        with pytest.raises(AdminkitError, match="where everybody may write"):
            publish(trace, place)
    assert place.stat().st_uid == READER


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir])
def test_without_a_trace_it_says_so_whatever_is_at_the_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None]
) -> None:
    make(target := tmp_path / "out")
    assert main(["trace", "snapshot", str(target), "--db", str(tmp_path / "none.db")]) == 1
    err = capsys.readouterr().err
    assert "error: " in err and "none.db" in err and "hint: " in err
