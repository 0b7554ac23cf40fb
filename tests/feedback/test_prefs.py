"""What users choose for themselves, in a folder where anybody may put anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.config import Config, Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback import prefs
from adminkit.feedback.prefs import FREQUENCIES, Prefs, check_folder, make_folder, parse, read, text_of, write
from tests.support.others import OWNER, READER, Refused, as_user

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")
ME = os.geteuid()


@pytest.fixture
def folder(open_folder: Path) -> Path:
    assert make_folder(open_folder / "prefs")
    return open_folder / "prefs"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Prefs()),
        ('letters = "week"\nhints = false', Prefs(letters="week", hints=False)),
        ('language = "ja"\naddress = "ada.l+hpc@lab.example.org"', Prefs("each", "ja", "ada.l+hpc@lab.example.org")),
    ],
)
def test_a_file_says_what_was_chosen(text: str, expected: Prefs) -> None:
    assert parse(text.encode()) == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('leters = "never"', "no such choice: leters", "did you mean letters?"),
        ('letters = "nevr"', "no such frequency: nevr", "did you mean never?"),
        ("letters = 3", "no such frequency: 3", "each"),
        ('language = "de"', "no such language: de", "did you mean en?"),
        ('address = "ada"', "this is not an email address", "ada@example.org"),
        ('address = "a@b.c\\nBcc: x@y.z"', "this is not an email address", "ada@example.org"),
        ('address = "a@b.c, x@y.z"', "this is not an email address", "ada@example.org"),
        ('address = "-oQ/tmp@b..c"', "this is not an email address", "ada@example.org"),
        ("hints = 0", "hints is true or false", "hints = false"),
        ("letters", "this is not TOML", "key"),
        ("letters = " + "[" * 4000, "this is not TOML", "key"),
        ("letters = " + "{a=" * 1300, "this is not TOML", "key"),
        ("letters = " + "9" * 1000, "no such frequency", "each"),
        ("letters = " + "9" * 4000, "this is not TOML: a word has more than 1024 characters", "key"),
        ("\xff", "this is not UTF-8", "key"),
        (f'"{"x" * 4000}" = 1', f"no such choice: {'x' * 59}…", "known"),
        (f'"{chr(92)}n{chr(92)}u001b[2J{chr(92)}u202e" = 1', r"no such choice: \n\x1b[2J\u202e", "known"),
        (f'letters = "{"x" * 4000}"', f"no such frequency: {'x' * 59}…", "known"),
        (f'language = "{"x" * 4000}"', f"no such language: {'x' * 59}…", "known"),
        (f'hints = "{"x" * 4000}"', f"hints is true or false, not {'x' * 59}…", "hints = false"),
        (f"{'x' * 3000} = 1\n{'x' * 900}", "this is not TOML: ", "key"),
        (f"a.{'x' * 1000} = 1\n[a.{'x' * 900}]\n[a]", "this is not TOML: Cannot declare ", "key"),
    ],
)
def test_a_slip_is_named(text: str, message: str, hint: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        parse(text.encode("latin-1"))
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert len(caught.value.message) < 130, "the file is not quoted whole"
    assert caught.value.message.isprintable()


def test_a_key_of_many_parts_is_a_slip() -> None:
    with pytest.raises(AdminkitError) as caught:
        parse(("a." * 2000 + "b = 1").encode())
    assert caught.value.message.startswith("this is not TOML: a key has more than 16 parts")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_whatever_a_file_holds_is_choices_or_a_slip(text: bytes) -> None:
    try:
        assert isinstance(parse(text), Prefs)
    except AdminkitError as error:
        assert error.message and error.hint


@settings(deadline=None)
@given(
    st.builds(
        Prefs,
        st.sampled_from(FREQUENCIES),
        st.sampled_from([None, "en", "ja"]),
        st.sampled_from([None, "a@b.c"]),
        st.booleans(),
    )
)
def test_what_is_written_reads_back(chosen: Prefs) -> None:
    assert parse(text_of(chosen).encode()) == chosen


def test_it_is_written_aside_and_renamed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, ME, Prefs(letters="week"))
    assert [entry.name for entry in folder.iterdir()] == [f"{ME}.toml"]
    assert read(folder, ME) == prefs.Read(Prefs(letters="week"))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AdminkitError, match="no space left on device"):
        write(folder, ME, Prefs(letters="never"))
    assert [entry.name for entry in folder.iterdir()] == [f"{ME}.toml"]
    assert read(folder, ME).prefs.letters == "week"


def linked(path: Path) -> None:
    path.symlink_to("/etc/shadow")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def twice(path: Path) -> None:
    path.write_text('letters = "never"')
    os.link(path, path.with_name("other"))


def big(path: Path) -> None:
    path.write_text("#" * 4097)


@pytest.mark.parametrize(
    ("make", "letters", "problem"),
    [
        (linked, "never", "too many levels of symbolic links"),
        (pipe, "never", "not a plain file"),
        (Path.mkdir, "never", "not a plain file"),
        (big, "never", "larger than 4096 bytes"),
        (twice, "each", "not that user's own file"),
    ],
)
def test_what_is_no_plain_small_file_of_ones_own(
    folder: Path, make: Callable[[Path], None], letters: str, problem: str
) -> None:
    make(folder / f"{ME}.toml")
    found = read(folder, ME)
    assert found.prefs.letters == letters
    assert problem in found.problem


@root_only
def test_somebody_elses_file_or_link_says_nothing(folder: Path) -> None:
    as_user(READER, READER, lambda: (folder / f"{OWNER}.toml").write_text('letters = "never"'))
    found = read(folder, OWNER)
    assert (found.prefs, "not that user's own" in found.problem) == (Prefs(), True)
    (folder / f"{OWNER}.toml").unlink()
    as_user(READER, READER, lambda: (folder / f"{OWNER}.toml").symlink_to(folder / f"{READER}.toml"))
    found = read(folder, OWNER)
    assert (found.prefs, "not that user's own" in found.problem) == (Prefs(), True)


@root_only
def test_users_write_their_own_and_can_neither_look_around_nor_touch_others(folder: Path) -> None:
    as_user(READER, READER, lambda: write(folder, READER, Prefs(hints=False)))
    assert read(folder, READER).prefs == Prefs(hints=False)
    with pytest.raises(RuntimeError, match="Permission"):
        as_user(OWNER, OWNER, lambda: list(folder.iterdir()))
    with pytest.raises(RuntimeError, match="Operation not permitted"):
        as_user(OWNER, OWNER, lambda: (folder / f"{READER}.toml").unlink())
    refused = as_user(OWNER, OWNER, lambda: write(folder, READER, Prefs(letters="never")))
    assert isinstance(refused, Refused)
    assert prefs.without_hints(folder) == {READER}


@pytest.mark.parametrize(
    ("mode", "message"),
    [(0o1733, None), (0o700, None), (0o755, "could see"), (0o1777, "could see"), (0o733, "remove each other's")],
)
def test_the_mode_of_the_folder(folder: Path, mode: int, message: str | None) -> None:
    folder.chmod(mode)
    if message is None:
        check_folder(folder)
        return
    with pytest.raises(AdminkitError, match=message):
        check_folder(folder)


@root_only
def test_the_folder_is_ours(folder: Path) -> None:
    os.chown(folder, READER, READER)
    with pytest.raises(AdminkitError, match=f"belongs to uid {READER}"):
        check_folder(folder)
    trace = folder.parent / "t.db"
    trace.touch()
    with pytest.raises(AdminkitError, match=f"belongs to uid {READER}"):
        check_folder(folder, trace)
    os.chown(trace, READER, READER)
    check_folder(folder, trace)  # as root, of a trace that is another's


def test_a_link_is_no_folder_and_a_missing_one_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/tmp")
    with pytest.raises(AdminkitError, match="is not a folder"):
        check_folder(tmp_path / "link")
    check_folder(tmp_path / "none")
    assert (read(tmp_path / "none", 1), prefs.without_hints(tmp_path / "none")) == (prefs.Read(Prefs()), set())


def test_where_the_folder_is() -> None:
    assert prefs.folder_of(Config()) == Path("/var/lib/adminkit/prefs")
    assert prefs.folder_of(Config(db=Path("/srv/t.db"))) == Path("/srv/prefs")
    assert prefs.folder_of(Config(), Path("/x/t.db")) == Path("/x/prefs")
    assert prefs.folder_of(Config(feedback=Feedback(prefs=Path("/shared"))), Path("/x/t.db")) == Path("/shared")
