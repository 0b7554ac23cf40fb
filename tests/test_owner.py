"""Root types a command about somebody else's trace, in whose folder anything may stand where a file is expected."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import sqlite3
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from adminkit import owner
from adminkit.cli.main import main
from adminkit.errors import AdminkitError
from adminkit.feedback import last_sent, prefs
from adminkit.feedback.transport import maildir
from adminkit.trace import connect
from adminkit.trace.lock import only_one
from adminkit.trace.permissions import remedy
from tests.feedback.site import DAY, NOW, ended, folder, synced
from tests.support.builders import HOUR
from tests.support.others import OWNER, READER, as_user

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="as root only: folders of other users")

SECRET = "root:$6$secret\n"
TEXT = "JobID|JobIDRaw|Submit|Cluster|State|Start|End|Partition|Timelimit\n1|1|9|aaic|COMPLETED|10|20|gq|60\n"

#: What root may type about a trace; {db} is the trace, {own} a folder of root's. What they end with is theirs to say.
COMMANDS: dict[str, str] = {
    "report accuracy": "report accuracy --db {db} --output {own}/report.txt",
    "recommend walltime": "recommend walltime --user ada --db {db}",
    "recommend queues": "recommend queues --db {db} --rules {own}/rules.toml",
    "charge close": "charge close 2017-07 --apply --db {db}",
    "trace status": "trace status --db {db}",
    "trace upgrade": "trace upgrade --db {db}",
    "doctor": "doctor --db {db}",
    "import": "import {own}/sacct.txt --db {db}",
    "sync": "sync --since 2025-01-01 --db {db}",
    "feedback preview": "feedback preview --out {own}/letters --db {db}",
    "feedback run": "feedback run --send --db {db}",
    "incentives compute": "incentives compute --points-per-hour 60 --out {folder}/tables --db {db}",
}
#: Every path that a command opens in the folder of a trace, or below it.
PATHS = (
    "trace.db", "trace.db-wal", "trace.db-shm", "trace.db-journal", ".trace.db.lock", ".trace.db.spool",
    ".trace.db-outbox.lock", ".trace.db-outbox.mark", ".trace.db-outbox.mark.new", f".trace.db.{os.getpid()}.new",
    "prefs", "prefs/1001.toml", "tables", "tables/incentives.json", "tables/hints.json",
)  # fmt: skip
KINDS: dict[str, Callable[[Path, Path], object]] = {
    "a link to root's file": lambda path, victims: path.symlink_to(victims / "secret"),
    "a link to nothing yet": lambda path, victims: path.symlink_to(victims / "new"),
    "a link to root's folder": lambda path, victims: path.symlink_to(victims),
    "a pipe": lambda path, victims: os.mkfifo(path),
    "a device": lambda path, victims: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
    "a folder": lambda path, victims: path.mkdir(),
}


@pytest.fixture
def top(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may enter: pytest's own are root's alone. No Slurm, no settings of this host."""
    with tempfile.TemporaryDirectory(prefix="adminkit-") as made:
        place = Path(made)
        place.chmod(0o755)
        (place / "own").mkdir(mode=0o700)
        (place / "own" / "sacct.txt").write_text(TEXT)
        monkeypatch.setenv("PATH", str(place / "own"))
        conf = '[feedback]\nclusters = ["aaic"]\ndomain = "example.org"\nvia = "directory"\n'
        (place / "adminkit.toml").write_text(f'{conf}directory = "{place}/mail"\n')
        monkeypatch.setenv("ADMINKIT_CONFIG", str(place / "adminkit.toml"))
        monkeypatch.setenv("ADMINKIT_ACTS", str(place / "own" / "acts.jsonl"))
        monkeypatch.delenv("ADMINKIT_DB", raising=False)
        monkeypatch.setattr("adminkit.users.name_of", lambda uid: "ada" if uid == 1001 else pwd.getpwuid(uid).pw_name)
        yield place


@pytest.fixture
def site(top: Path) -> Path:
    """adminkit's folder, with a trace and what else is in such a folder; all of it another user's."""
    home = top / "home"
    home.mkdir()
    ago = NOW - int(time.time()) + HOUR
    synced(home / "trace.db", [ended(number, ago) for number in range(1, 4)], int(time.time()) - DAY)
    with closing(sqlite3.connect(home / "trace.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
    connect.upgrade(home / "trace.db")  # leaves -wal and -shm, as every writer does
    folder(home)
    (home / "tables").mkdir()
    theirs(home)
    return home


def theirs(home: Path) -> None:
    for path in (home, *home.rglob("*")):
        os.chown(path, OWNER, -1, follow_symlinks=False)


@pytest.fixture
def victims(top: Path) -> Path:
    """Root's folder, with a file that nobody else may read."""
    place = top / "victims"
    place.mkdir(mode=0o755)
    (place / "secret").write_text(SECRET)
    (place / "secret").chmod(0o600)
    return place


def facts(place: Path) -> list[tuple[str, int, int, int, int, bytes]]:
    found = []
    for path in sorted(place.iterdir()):
        what = path.lstat()
        found.append((path.name, what.st_mode, what.st_uid, what.st_gid, what.st_mtime_ns, path.read_bytes()))
    return found


class Hangs(BaseException):
    """Trap: a TimeoutError is an OSError, which commands report as any other."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """A hang is an error."""

    def late(number: int, frame: object) -> None:
        raise Hangs("it hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def typed(command: str, home: Path) -> int:
    words = COMMANDS[command].format(db=home / "trace.db", own=home.parent / "own", folder=home).split()
    with within(60):
        return main(words)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_planted_in_the_folder_is_not_followed_by_root(
    command: str, site: Path, victims: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each path once, and each kind somewhere; the next test has them all."""
    kinds = list(KINDS)
    start = list(COMMANDS).index(command)
    planted(command, [(path, kinds[(start + at) % len(kinds)]) for at, path in enumerate(PATHS)], site, victims, capfd)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_that_is_planted_anywhere_is_followed_by_root(
    command: str, kind: str, site: Path, victims: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    planted(command, [(path, kind) for path in PATHS], site, victims, capfd)


def planted(
    command: str, cases: list[tuple[str, str]], site: Path, victims: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = facts(victims)
    for path, kind in cases:
        home = site.with_name("case")
        shutil.copytree(site, home)
        place = home / path
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        KINDS[kind](place, victims)
        theirs(home)
        code = typed(command, home)
        said = capfd.readouterr()
        assert facts(victims) == before, f"{path}: {said}"
        assert code in (0, 1), f"{path}: {said}"
        assert code == 0 or "error: " in said.err or command == "doctor", f"{path}: {said}"
        assert SECRET.strip() not in said.out + said.err
        assert "chown" not in said.out + said.err, f"{path}: a link is given to nobody"
        assert (os.geteuid(), os.getegid()) == (0, 0), "root again"
        for left in home.rglob("*"):
            assert left.lstat().st_uid == OWNER, f"{left} was made by root, {path} being {kind}"
        shutil.rmtree(home)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works_for_root_on_a_trace_of_somebody_else(
    command: str, site: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mail = site.with_name("mail")  # in the first hour of a Monday a digest is due
    mail.mkdir()
    os.chown(mail, OWNER, OWNER)
    code = typed(command, site)
    said = capfd.readouterr()
    no_slurm = command in ("doctor", "sync")
    assert code == (1 if no_slurm else 0), said
    assert {path.lstat().st_uid for path in (site, *site.rglob("*"))} == {OWNER}, "the group still reads it"
    own = site.parent / "own"
    wanted = {"report accuracy": ["report.txt"], "feedback preview": ["letters"], "incentives compute": []}
    for name in wanted.get(command, []):
        assert (own / name).lstat().st_uid == 0, "what root asked for in a folder of root's"
    if command == "incentives compute":
        assert sorted(path.name for path in (site / "tables").iterdir()) == ["hints.json", "incentives.json"]


@pytest.mark.parametrize(
    ("path", "whose", "why"),
    [
        ("root/trace.db", None, "all of it root's"),
        ("theirs/trace.db", OWNER, "the folder"),
        ("theirs/none/none.db", OWNER, "a folder above, where the one below is not there yet"),
        ("theirs/rooted/trace.db", OWNER, "a folder above, whose owner may put another in its place"),
        ("root/theirs.db", READER, "the file alone"),
        ("link/trace.db", OWNER, "a folder reached by a link of root's"),
        ("theirs/out/trace.db", OWNER, "a link of theirs into a folder of root's"),
        ("root/linked.db", OWNER, "a link of root's to a file in their folder"),
    ],
)
def test_whoever_is_behind_a_path_is_found(top: Path, path: str, whose: int | None, why: str) -> None:
    for name in ("root", "theirs", "theirs/rooted"):
        (top / name).mkdir()
    for name in ("root/trace.db", "root/theirs.db", "theirs/trace.db", "theirs/rooted/trace.db"):
        (top / name).touch()
    (top / "link").symlink_to(top / "theirs")
    (top / "theirs" / "out").symlink_to(top / "root")
    (top / "root" / "linked.db").symlink_to(top / "theirs" / "trace.db")
    os.chown(top / "theirs", OWNER, -1)
    os.chown(top / "theirs" / "out", OWNER, -1, follow_symlinks=False)
    os.chown(top / "root" / "theirs.db", READER, -1)
    found = owner.of_somebody_else(top / path)
    assert (None if found is None else found.st_uid) == whose, why


def test_root_acts_as_the_owner_with_the_owners_groups_and_is_root_again(site: Path, top: Path) -> None:
    ids = (os.getresuid(), os.getresgid(), os.getgroups())
    with owner.as_owner(site / "trace.db"):
        assert (os.geteuid(), os.getuid()) == (OWNER, 0)
        assert 0 not in os.getgroups()
        assert owner.of_children() == {"user": OWNER, "group": os.getegid()}
        with pytest.raises(PermissionError):
            (top / "own" / "x").touch()
        with owner.as_owner(top / "own" / "x"):
            assert os.geteuid() == OWNER, "within, nothing changes"
        with owner.as_caller():
            (top / "own" / "x").touch()
            assert owner.of_children() == {}
        assert os.geteuid() == OWNER
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == ids
    with pytest.raises(ZeroDivisionError), owner.as_owner(site / "trace.db"):
        raise ZeroDivisionError
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == ids


def test_programs_that_are_started_meanwhile_have_no_root_in_reserve(site: Path) -> None:
    command = ["grep", "-E", "^(Uid|Gid):", "/proc/self/status"]
    with owner.as_owner(site / "trace.db"):
        done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/bin"}, **owner.of_children())
        gid = os.getegid()
    assert done.stdout.split() == ["Uid:", *[str(OWNER)] * 4, "Gid:", *[str(gid)] * 4]


def test_whoever_is_not_root_stays_who_they_are(site: Path, top: Path) -> None:
    def who() -> tuple[int, object]:
        with owner.as_owner(site / "trace.db"), owner.as_caller():
            return os.geteuid(), owner.of_children()

    assert as_user(READER, 65534, who) == (READER, {})


def test_a_lock_that_is_a_link_says_so(site: Path, victims: Path) -> None:
    lock = site / ".trace.db.lock"
    lock.symlink_to(victims / "secret")
    with (
        pytest.raises(AdminkitError, match="is a symbolic link, not a plain file") as caught,
        only_one(site / "trace.db", "a test"),
    ):
        pass
    assert caught.value.hint.endswith(f"move {lock} away")
    assert (victims / "secret").read_text() == SECRET


def test_only_a_plain_file_is_given_back_to_its_owner(site: Path, victims: Path) -> None:
    wal = site / "trace.db-wal"
    os.chown(wal, READER, -1)
    assert remedy(site / "trace.db", wal) == f"{wal} belongs to nobody: as root, chown -h daemon: {wal}"
    wal.unlink()
    wal.symlink_to(victims / "secret")
    assert (
        remedy(site / "trace.db", wal) == f"{wal} is a symbolic link, not a plain file: look at it, then move it away"
    )


def test_a_choice_is_not_written_through_a_link_of_somebody_elses(site: Path, victims: Path) -> None:
    before = facts(victims)
    shutil.rmtree(site / "prefs")
    (site / "prefs").symlink_to(victims)
    os.chown(site / "prefs", OWNER, -1, follow_symlinks=False)
    with pytest.raises(AdminkitError, match="is a symbolic link of uid"):
        prefs.write(site / "prefs", 0, prefs.Prefs(letters="never"))
    assert facts(victims) == before
    os.chown(site / "prefs", 0, -1, follow_symlinks=False)
    assert prefs.write(site / "prefs", 0, prefs.Prefs()).exists(), "a site's own link"


def test_a_letter_into_a_folder_and_a_mark_follow_no_link(top: Path, victims: Path) -> None:
    (top / "mail" / "tmp").mkdir(parents=True)
    box = maildir.Maildir(top / "mail")
    name = box.send("a@example.org", ["b@example.org"], b"one", "key")
    (top / "mail" / "new" / name).unlink()
    (top / "mail" / "tmp" / name).symlink_to(victims / "secret")
    box.send("a@example.org", ["b@example.org"], b"two", "key")
    assert (top / "mail" / "new" / name).read_bytes().endswith(b"two")
    (top / ".mark.new").symlink_to(victims / "secret")
    last_sent.keep(top / ".mark", 5)
    assert last_sent.is_behind(top / ".mark", 4)
    (top / ".mark").unlink()
    (top / ".mark").symlink_to(victims / "secret")
    assert not last_sent.is_behind(top / ".mark", 4)
    assert (victims / "secret").read_text() == SECRET
