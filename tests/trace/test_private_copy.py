"""The copy of one's own jobs: whose it is, and what is not taken for one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.trace import private_copy
from adminkit.trace.location import data_home
from adminkit.trace.schema import SCHEMA_VERSION


@pytest.fixture
def copy(tmp_path: Path) -> bytes:
    with private_copy.changed(tmp_path / "new.db", None):
        pass
    return (tmp_path / "new.db").read_bytes()


def test_it_is_its_owners_alone_whatever_the_umask(tmp_path: Path, copy: bytes) -> None:
    before = os.umask(0)
    try:
        path = private_copy.keep(tmp_path / "cache" / "adminkit", copy)
    finally:
        os.umask(before)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert private_copy.read(path.parent) == copy


def test_a_folder_that_others_may_enter_is_closed(tmp_path: Path, copy: bytes) -> None:
    folder = tmp_path / "adminkit"
    folder.mkdir(0o755)
    private_copy.keep(folder, copy)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["folder is a link", "file is a link", "file is a pipe", "file is a folder"])
def test_what_is_no_file_of_ones_own_is_refused(tmp_path: Path, copy: bytes, kind: str) -> None:
    folder, elsewhere = tmp_path / "adminkit", tmp_path / "elsewhere"
    private_copy.keep(elsewhere, copy)
    if kind == "folder is a link":
        folder.symlink_to(elsewhere)
    else:
        folder.mkdir(0o700)
        file = folder / private_copy.NAME
        {"link": lambda: file.symlink_to(elsewhere / private_copy.NAME), "pipe": lambda: os.mkfifo(file)}.get(
            kind.rpartition(" ")[2], file.mkdir
        )()
    with pytest.raises(AdminkitError):
        private_copy.read(folder)


def test_nothing_is_written_through_a_link_to_the_folder(tmp_path: Path, copy: bytes) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "adminkit").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AdminkitError):
        private_copy.keep(tmp_path / "adminkit", copy)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_root_leaves_nothing_in_the_folder_of_somebody_else(tmp_path: Path, copy: bytes) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(AdminkitError, match="uid 65534"):
        private_copy.keep(tmp_path / "cache" / "adminkit", copy)
    assert list(tmp_path.glob("cache/*")) == []


def _rotten(copy: bytes) -> bytes:
    """Its schema is whole, no other page is."""
    with private_copy.opened(copy) as db:
        pages = [row[0] for row in db.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'index'")]
    spoilt = bytearray(copy)
    for page in pages:
        spoilt[(page - 1) * 4096 : page * 4096] = b"U" * 4096
    return bytes(spoilt)


def test_a_file_in_the_place_of_the_folder_is_named_with_what_a_user_can_do(tmp_path: Path, copy: bytes) -> None:
    (tmp_path / "adminkit").write_text("")
    for use in (
        lambda: private_copy.read(tmp_path / "adminkit"),
        lambda: private_copy.keep(tmp_path / "adminkit", copy),
    ):
        with pytest.raises(AdminkitError, match="not a directory") as error:
            use()
        assert error.value.hint == "choose another path: XDG_CACHE_HOME"


def test_who_has_no_home_is_told_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)  # in no passwd
    for where in (private_copy.cache_home, data_home):
        with pytest.raises(AdminkitError, match="no home folder") as error:
            where({})
        assert "HOME" in error.value.hint


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0", b"x" * 10_000, b"half", b"page", b"rotten"])
def test_what_is_no_copy_of_this_release_counts_for_none(tmp_path: Path, copy: bytes, data: bytes) -> None:
    folder = tmp_path / "adminkit"
    whole = {b"half": copy[: len(copy) // 2], b"page": copy[:-4096], b"rotten": _rotten(copy)}
    private_copy.keep(folder, whole.get(data, data))
    assert private_copy.read(folder) is None


def test_its_schema_is_that_of_a_trace(tmp_path: Path, copy: bytes) -> None:
    from contextlib import closing
    from sqlite3 import connect

    from adminkit.trace.connect import create

    create(tmp_path / "trace.db")
    listed = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE '%_sqlite%' ORDER BY type, name"
    with closing(connect(tmp_path / "trace.db")) as trace, private_copy.opened(copy) as ours:
        assert trace.execute(listed).fetchall() == ours.execute(listed).fetchall()
        assert ours.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


def test_readers_change_nothing(copy: bytes) -> None:
    with private_copy.opened(copy) as db, pytest.raises(Exception, match="is a view"):
        db.execute("DELETE FROM job")


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_CACHE_HOME": "/scratch/c", "HOME": "/home/a"}, "/scratch/c/adminkit"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.cache/adminkit"),
        ({"HOME": "/home/a"}, "/home/a/.cache/adminkit"),
    ],
)
def test_where_it_is(environ: dict[str, str], folder: str) -> None:
    assert str(private_copy.cache_home(environ)) == folder
