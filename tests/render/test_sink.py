"""Where reports go."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Final

import pytest

from adminkit.errors import AdminkitError, UsageError
from adminkit.render.sink import Way, emit, write_aside
from tests.support.builders import job
from tests.support.others import GROUP, OUTSIDE, OWNER, READER, Refused, as_user, gives_files_away
from tests.support.reports import accuracy_of, some_jobs


def test_stdout_is_data_and_the_header_of_a_csv_is_talk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    emit(accuracy_of(tmp_path, some_jobs()), Way("csv", tz=UTC))
    out, err = capsys.readouterr()
    assert out.startswith("queue,jobs,min")
    assert "left out" in err


def test_an_output_file_is_written_and_stdout_stays_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    emit(accuracy_of(tmp_path, some_jobs()), Way("json", tmp_path / "a.json", tz=UTC))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"wrote {tmp_path / 'a.json'}\n"
    assert json.loads((tmp_path / "a.json").read_text())["meta"]["jobs"] == 43


@pytest.mark.parametrize("name", ["a.png", "a.SVG"])
def test_a_picture_is_written_beside_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    emit(accuracy_of(tmp_path, some_jobs()), Way(picture=tmp_path / name, tz=UTC))
    assert (tmp_path / name).stat().st_size > 1000
    assert "median" in capsys.readouterr().out


def test_a_plot_follows_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    emit(accuracy_of(tmp_path, some_jobs()), Way(plot=True, tz=UTC))
    out = capsys.readouterr().out
    assert out.index("median") < out.index("gq-short: 10 jobs") < out.index("Queue means")


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        (
            {"format": "json", "plot": True},
            "--plot draws in the terminal, but the format is json",
            "leave out --format",
        ),
        ({"picture": Path("a.jpg")}, "no such kind of picture: .jpg", "did you mean .png?"),
        ({"picture": Path("a")}, "a has no suffix, which decides the kind of picture", "let it end in .png or .svg"),
    ],
)
def test_ways_that_cannot_be_meant_are_refused(wanted: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        Way(**wanted)  # type: ignore[arg-type]
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("wanted", [{"format": "html"}, {"picture": Path("a.png")}])
def test_a_missing_extra_is_said_before_the_work(monkeypatch: pytest.MonkeyPatch, wanted: dict[str, object]) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(AdminkitError) as caught:
        Way(**wanted)  # type: ignore[arg-type]
    assert caught.value.hint == "pip install 'adminkit[plots]'"


def test_a_name_that_the_terminal_cannot_show_ends_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    emit(accuracy_of(tmp_path, [job(1, queue="大きい")]), Way(plot=True, tz=UTC))
    out.flush()
    out.buffer.seek(0)
    assert b"\\u5927" in out.buffer.read()


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    target.chmod(0o604)
    write_aside(target, b"new")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o604)
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_has_the_umask_s_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_aside(tmp_path / "out", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_aside(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to(tmp_path: Path) -> None:
    write_aside(Path("/dev/null"), b"x")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("place", "reason"), [("missing/out", "no such file or directory"), ("folder", "is a directory")]
)
def test_what_cannot_be_written_is_said(tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(AdminkitError) as caught:
        write_aside(tmp_path / place, b"x")
    assert caught.value.message == f"couldn't write {tmp_path / place}: {reason}"


def planted_link(path: Path, to: Path) -> None:
    path.symlink_to(to)


def planted_file(path: Path, _: Path) -> None:
    path.touch()
    path.chmod(0o666)


def planted_pipe(path: Path, _: Path) -> None:
    os.mkfifo(path, 0o666)


def planted_folder(path: Path, to: Path) -> None:
    path.symlink_to(to.parent)


#: What stands at a name in a folder like /tmp; in the last row it stands for a folder on the way.
PLANTED: Final = (planted_link, planted_file, planted_pipe, planted_folder)


@gives_files_away
@pytest.mark.parametrize("caller", [0, OWNER])
@pytest.mark.parametrize("what", PLANTED)
def test_what_another_user_put_into_a_folder_open_to_all_is_neither_written_nor_written_to(
    what: Callable[[Path, Path], None], caller: int, open_folder: Path
) -> None:
    """Whatever fs.protected_symlinks says: a report, as root or not, over one's own file or into another's."""
    (shared := open_folder / "shared").mkdir()
    shared.chmod(0o1777)
    (home := open_folder / "home").mkdir()
    (precious := home / "precious").write_text("precious")
    for one in (home, precious):
        os.chown(one, caller, caller)
    place = shared / "r.csv"
    as_user(READER, OUTSIDE, lambda: what(place, precious))
    named = place / "precious" if what is planted_folder else place
    said = as_user(caller, caller, lambda: write_aside(named, b"report"))
    assert isinstance(said, Refused) and f"of uid {READER} in a folder where everybody may write" in said.message
    assert precious.read_text() == "precious"
    assert not place.is_file() or place.read_text() in ("", "precious")


@gives_files_away
def test_ones_own_file_and_link_in_such_a_folder_are_written(open_folder: Path) -> None:
    open_folder.chmod(0o1777)
    (open_folder / "a").mkdir()
    os.chown(open_folder / "a", OWNER, OWNER)

    def act() -> None:
        (open_folder / "link").symlink_to(open_folder / "a" / "there")
        for _ in range(2):
            for name in ("link", "plain"):
                write_aside(open_folder / name, b"report")

    as_user(OWNER, GROUP, act)
    assert (open_folder / "link").is_symlink() and (open_folder / "plain").read_text() == "report"
    assert (open_folder / "a" / "there").read_text() == "report"


def test_a_ring_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(AdminkitError, match="too many levels"):
        write_aside(tmp_path / "a", b"x")
