"""What somebody puts under another user's name is taken away by the folder's owner, and nothing else is."""

from __future__ import annotations

import io
import os
import pwd
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from adminkit import journal
from adminkit.cli.main import main
from adminkit.feedback.prefs import Prefs, make_folder, read, without_hints, write
from adminkit.feedback.sweep import ASIDE, sweep
from tests.feedback.site import synced
from tests.support.others import GROUP, OWNER, READER, Refused, as_user

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")

VICTIM = pwd.getpwnam("games").pw_uid


@pytest.fixture
def folder() -> Iterator[Path]:
    """OWNER's, as adminkit's is. Not below pytest's own folder, which each pytest of this host closes to others."""
    with TemporaryDirectory(prefix="adminkit-sweep-") as place:
        Path(place).chmod(0o711)
        make_folder(Path(place) / "prefs")
        os.chown(Path(place) / "prefs", OWNER, OWNER)
        yield Path(place) / "prefs"


def swept(folder: Path, uid: int = OWNER) -> tuple[int, list[tuple[str, str, int, str]]]:
    """How many went by that user's hand, and what the journal was told: (kind, what, whose, why)."""

    def act() -> Any:
        said: list[Any] = []
        journal.refused = lambda kind, what, whose, why: said.append((kind, str(what), whose, why))
        return sweep(folder), said

    number, said = as_user(uid, uid, act)
    return int(number), list(said)


def empty(path: Path) -> None:
    path.touch()


def link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def dangling(path: Path) -> None:
    path.symlink_to("/nowhere")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def full(path: Path) -> None:
    path.mkdir()
    (path / "inside").touch()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (empty, f"a file that is not uid {VICTIM}'s; removed"),
        (link, f"a link that is not uid {VICTIM}'s; removed"),
        (dangling, f"a link that is not uid {VICTIM}'s; removed"),
        (pipe, f"a pipe that is not uid {VICTIM}'s; removed"),
        (Path.mkdir, f"a folder that is not uid {VICTIM}'s; removed"),
        (full, f"a folder that is not uid {VICTIM}'s; moved to .away-"),
    ],
)
def test_a_squatted_name_is_freed_for_its_user(folder: Path, make: Callable[[Path], None], why: str) -> None:
    theirs = folder / f"{VICTIM}.toml"
    as_user(READER, READER, lambda: make(theirs))
    refused = as_user(VICTIM, VICTIM, lambda: write(folder, VICTIM, Prefs(letters="never")))
    assert isinstance(refused, Refused) and "somebody else's file has that name" in refused.hint
    number, said = swept(folder)
    assert (number, [one[:3] for one in said]) == (1, [("choices", str(theirs), READER)])
    assert said[0][3].startswith(why)
    as_user(VICTIM, VICTIM, lambda: write(folder, VICTIM, Prefs(letters="never")))
    assert read(folder, VICTIM).prefs.letters == "never"
    assert swept(folder) == (0, []), "what is the user's own stays, and nothing is said of it again"
    assert Path("/etc/passwd").exists()


def test_a_second_name_of_a_users_own_file_goes(folder: Path) -> None:
    as_user(VICTIM, VICTIM, lambda: write(folder, VICTIM, Prefs(letters="never")))
    os.link(folder / f"{VICTIM}.toml", folder / "other")
    assert swept(folder)[1] == [("choices", str(folder / f"{VICTIM}.toml"), VICTIM, "it has a second name; removed")]
    assert (folder / "other").exists()


@pytest.mark.parametrize(
    ("name", "make", "why"),
    [
        (f"{READER}.toml", empty, "a user's own file"),
        (f"{READER}.toml", pipe, "a user's own slip, which silences letters"),
        (f"{READER}.toml", dangling, "the same"),
        ("notes.toml", empty, "no user's name"),
        (f"0{VICTIM}.toml", empty, "not a name that is read"),
        (f".{VICTIM}.0123", empty, "what a user writes aside"),
    ],
)
def test_what_harms_nobody_stays(folder: Path, name: str, make: Callable[[Path], None], why: str) -> None:
    as_user(READER, READER, lambda: make(folder / name))
    assert swept(folder) == (0, []), why
    assert os.path.lexists(folder / name)


@pytest.mark.parametrize("uid", [VICTIM, 0])
def test_only_the_folders_owner_takes_anything_away(folder: Path, uid: int) -> None:
    as_user(READER, READER, lambda: empty(folder / f"{VICTIM}.toml"))
    assert swept(folder, uid) == (0, [])
    assert (folder / f"{VICTIM}.toml").exists()


def test_a_missing_folder_and_a_link_to_one(folder: Path) -> None:
    assert swept(folder.parent / "none") == (0, [])
    (folder.parent / "link").symlink_to(folder)
    refused = as_user(OWNER, OWNER, lambda: sweep(folder.parent / "link"))
    assert isinstance(refused, Refused)


@pytest.mark.parametrize("meanwhile", [None, "a newer file"])
def test_a_file_that_its_user_puts_there_between_look_and_removal_is_not_lost(
    folder: Path, meanwhile: str | None
) -> None:
    """By the owner's hand, who may not link a file of somebody else's where fs.protected_hardlinks is 1."""
    theirs = folder / f"{VICTIM}.toml"
    as_user(READER, READER, lambda: empty(theirs))
    for name, text in (("first", "week"), ("second", "never")):
        (folder / name).write_text(f'letters = "{text}"')
        os.chown(folder / name, VICTIM, VICTIM)

    def act() -> Any:
        rename, said, tries = os.rename, list[str](), list[str]()
        journal.refused = lambda kind, what, whose, why: said.append(why)

        def late(source: str, target: str, **where: int) -> None:
            if not tries:
                rename(folder / "first", theirs)
            tries.append(target)
            rename(source, target, **where)
            if len(tries) == 1 and meanwhile:
                rename(folder / "second", theirs)

        os.rename = late  # type: ignore[assignment]
        return sweep(folder), said

    assert as_user(OWNER, OWNER, act) == (0, [])
    assert read(folder, VICTIM).prefs.letters == ("never" if meanwhile else "week")
    assert not [entry for entry in folder.iterdir() if ASIDE.fullmatch(entry.name)]


def test_who_takes_away_a_second_name_between_look_and_removal_stops_nobody(folder: Path) -> None:
    """Their own file, of one name again, goes back; the names behind it are looked at all the same."""
    mine, other = folder / f"{VICTIM}.toml", folder / f"{READER + 1}.toml"
    as_user(VICTIM, VICTIM, lambda: write(folder, VICTIM, Prefs(letters="never")))
    os.link(mine, folder / "second")
    as_user(READER, READER, lambda: empty(other))

    def act() -> Any:
        rename = os.rename
        journal.refused = lambda *said: None

        def late(*names: str, **where: Any) -> None:
            rename(*names, **where)
            (folder / "second").unlink(missing_ok=True)

        os.rename = late  # type: ignore[assignment]
        return sweep(folder)

    assert as_user(OWNER, OWNER, act) == 1
    assert read(folder, VICTIM).prefs.letters == "never" and not other.exists()


def test_what_a_killed_sweep_left_aside_goes(folder: Path) -> None:
    left = folder / ".away-0123456789abcdef"
    as_user(READER, READER, lambda: empty(left))
    as_user(OWNER, OWNER, lambda: full(folder / ".away-fedcba9876543210"))
    assert swept(folder) == (0, [])
    assert not left.exists()


def test_of_a_name_that_cannot_be_looked_at_the_others_are_no_poorer(folder: Path) -> None:
    names = [folder / f"{uid}.toml" for uid in (3001, 3002)]
    as_user(READER, READER, lambda: [empty(name) for name in names])

    def act() -> Any:
        unlink, said, tries = os.unlink, list[str](), list[str]()
        journal.refused = lambda kind, what, whose, why: said.append(why)

        def first_fails(name: str, **where: Any) -> None:
            tries.append(name)
            if len(tries) == 1:
                raise OSError(5, "Input/output error")
            unlink(name, **where)

        os.unlink = first_fails  # type: ignore[assignment]
        return sweep(folder), len(said)

    assert as_user(OWNER, OWNER, act) == (2, 2)
    assert not any(name.exists() for name in names)


def site(place: Path) -> Path:
    """Settings of a site whose folder of choices is there."""
    settings = place / "adminkit.toml"
    settings.write_text(
        f'[feedback]\nclusters = ["aaic"]\nprefs = "{place}/prefs"\nvia = "directory"\ndirectory = "{place}/mail"\n'
    )
    settings.chmod(0o644)
    return settings


def told(words: list[str], settings: Path) -> tuple[int, list[str]]:
    """A command's exit code and what it said, in a process of that user."""
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()):
        patch.setenv("ADMINKIT_CONFIG", str(settings))
        code = main(words)
    return code, said.getvalue().splitlines()


@pytest.mark.parametrize("command", [("feedback", "run", "--send"), ("feedback", "preview")])
def test_a_run_frees_names_and_names_the_squatter_and_a_preview_changes_nothing(
    folder: Path, open_install: Path, command: tuple[str, ...]
) -> None:
    ours = folder.parent / "ours"
    ours.mkdir()
    told([*command, "--db", str(synced(ours / "t.db"))], site(ours))  # loads all: other users may not read this Python
    trace, settings = synced(folder.parent / "t.db"), site(folder.parent)
    for path in (folder.parent, trace):
        os.chown(path, OWNER, GROUP)
    names = [folder / f"{uid}.toml" for uid in range(3001, 3016)]
    as_user(READER, READER, lambda: [empty(name) for name in names])
    code, said = as_user(OWNER, GROUP, lambda: told([*command, "--db", str(trace)], settings))
    assert code == 0, said
    said = [line for line in said if line.startswith("refused")]
    if command[1] == "preview":
        assert said == [] and names[0].exists()
        return
    assert said[0] == f"refused choices: {names[0]} of uid {READER}: a file that is not uid 3001's; removed"
    assert (len(said), said[-1]) == (11, "refused choices: and 5 more like these")
    assert not any(name.exists() for name in names)


def test_hints_are_computed_from_what_is_left(folder: Path) -> None:
    as_user(READER, READER, lambda: empty(folder / f"{VICTIM}.toml"))
    swept(folder)
    as_user(VICTIM, VICTIM, lambda: write(folder, VICTIM, Prefs(hints=False)))
    assert as_user(OWNER, OWNER, lambda: without_hints(folder)) == {VICTIM}
