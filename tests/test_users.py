"""Who a user is, by the sources that nsswitch.conf names: known, unknown, and a source that does not answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from adminkit.trace.connect import reader
from adminkit.users import in_slurmdbd, name_of, shown, uid_of
from tests.support.builders import job, make_trace
from tests.support.others import as_user, gives_files_away

NAMELESS: Final = 54_321
#: With the sources of $1 in a mount namespace of its own.
WITH_SOURCES: Final = (
    'printf "passwd: %s\\ngroup: files\\n" "$1" >"$2"; mount --bind "$2" /etc/nsswitch.conf; shift 2; exec "$@"'
)
ASK: Final = """
import json, sys
from adminkit.users import NamesAway, name_of, uid_of
def answer(ask, who):
    try:
        return ask(who)
    except NamesAway as error:
        return error.message
print(json.dumps([answer(uid_of if isinstance(who, str) else name_of, who) for who in json.loads(sys.argv[1])]))
"""
COMMAND: Final = "import sys; from adminkit.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_users_of_this_host_are_known() -> None:
    assert (uid_of("root"), name_of(0), shown(0)) == (0, "root", "root")


@pytest.mark.parametrize("uid", [3_999_999_999, -5, 1 << 40])
def test_a_number_that_nobody_has_is_nobody(uid: int) -> None:
    assert (name_of(uid), shown(uid)) == (None, str(uid))


@pytest.mark.parametrize("name", ["", "no.such-user", "a\0b", "x" * 70_000, "\ud800", "user@EXAMPLE.ORG"])
def test_a_name_that_nobody_has_is_nobody(name: str) -> None:
    assert uid_of(name) is None


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a source `away`, which does not answer."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("not run: this user may make no mount namespace")
    if (cc := shutil.which("cc")) is None or not Path("/etc/nsswitch.conf").exists():
        pytest.skip("not run: no C compiler, or no nsswitch.conf")
    folder = tmp_path_factory.mktemp("away")
    folder.chmod(0o755)
    source = Path(__file__).with_name("support") / "nss_away.c"
    subprocess.run(
        [cc, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", folder / "libnss_away.so.2", source], check=True
    )
    return folder


def run(away: Path, sources: str, program: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "-m", "sh", "-ec", WITH_SOURCES, "sh", sources, str(away / "nsswitch.conf")]
    whole = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(away), "COLUMNS": "100", **env}
    return subprocess.run(
        [*command, sys.executable, "-c", program, *words], env=whole, capture_output=True, text=True, check=False
    )


ROOT: Final = ["root", 0]
NOBODY: Final = ["no.such-user", NAMELESS]
SOURCES: Final = [
    ("files", ROOT, [0, "root"], "a local user"),
    ("files", NOBODY, [None, None], "no source has it"),
    ("files away", ROOT, [0, "root"], "a local user is known whatever other sources do"),
    ("files away", NOBODY, ["user no.such-user", "uid 54321"], "nobody knows while a source is away"),
    ("files no_such_source", NOBODY, [None, None], "a source that is not installed has nobody"),
    ("away files", NOBODY, [None, None], "the C library tells what the last source says, and no more"),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "who", "expected", "why"), SOURCES, ids=[case[-1] for case in SOURCES])
def test_who_is_not_known_is_no_nobody(
    away: Path, sources: str, who: list[object], expected: list[object], why: str
) -> None:
    done = run(away, sources, ASK, json.dumps(who))
    assert done.returncode == 0, done.stderr
    whole = [
        f"couldn't look up {one}: a source of users in /etc/nsswitch.conf is not responding"
        if isinstance(one, str) and " " in one
        else one
        for one in expected
    ]
    assert json.loads(done.stdout) == whole, why


@pytest.fixture
def trace() -> Iterator[Path]:
    """Open to all: jobs of a user who has lost the name, and one of the user whose name is that number."""
    jobs = [job(1, user="alice", uid=NAMELESS), job(2, user=None, uid=NAMELESS), job(3, user=str(NAMELESS), uid=None)]
    with TemporaryDirectory(prefix="adminkit-users-") as folder:
        path = make_trace(Path(folder) / "trace.db", jobs)
        Path(folder).chmod(0o755)
        path.chmod(0o644)
        yield path


def numbers(trace: Path) -> list[int]:
    with reader(trace) as db:
        return [number for (number,) in db.execute("SELECT job_id_raw FROM job ORDER BY 1")]


#: The host's name, what slurmdbd may call that user, why
RECORDED = [
    ("ada", ("ada",), "nothing to lower"),
    ("Ada.L", ("Ada.L", "ada.l"), "unless it has PreserveCaseUser"),
    ("ADA@LAB.EXAMPLE", ("ADA@LAB.EXAMPLE", "ada@lab.example"), "the realm too"),
    ("\xc9lodie", ("\xc9lodie",), "slurmdbd's tolower() leaves bytes beyond ASCII"),
    ("\u0130da", ("\u0130da",), "and whatever the locale would make of it"),
    ("A\udce9", ("A\udce9", "a\udce9"), "a byte that is no UTF-8 stays that byte"),
]


@pytest.mark.parametrize(("host", "recorded", "why"), RECORDED, ids=[ascii(case[0]) for case in RECORDED])
def test_what_slurmdbd_calls_a_user(host: str, recorded: tuple[str, ...], why: str) -> None:
    assert in_slurmdbd(host) == recorded, why


@gives_files_away
def test_a_user_without_a_name_is_shown_no_jobs_of_the_user_who_is_named_by_that_number(trace: Path) -> None:
    assert numbers(trace) == [1, 2, 3]
    assert as_user(NAMELESS, NAMELESS, lambda: numbers(trace)) == [1, 2]


@gives_files_away
@pytest.mark.parametrize(
    ("host", "expected", "why"),
    [
        ("alice", [None, "alice"], "as slurmdbd has it"),
        ("Alice", [None, "Alice"], "slurmdbd keeps names in lower case"),
        ("Bob", [None, "alice"], "the user has another name now"),
    ],
)
def test_a_users_own_runs_have_the_name_that_the_host_has(
    trace: Path, monkeypatch: pytest.MonkeyPatch, host: str, expected: list[str | None], why: str
) -> None:
    monkeypatch.setattr("adminkit.trace.sight.name_of", {NAMELESS: host}.get)

    def look() -> list[str | None]:
        with reader(trace) as db:
            return [user for (user,) in db.execute("SELECT user FROM job ORDER BY user")]

    assert as_user(NAMELESS, NAMELESS, look) == expected, why


COMMANDS: Final = [
    ("files", 0, "", "who has left is forgotten by the name"),
    ("files away", 1, "couldn't look up user alice", "runs that have only a uid would stay"),
]


@pytest.mark.parametrize(("sources", "code", "said", "why"), COMMANDS, ids=[case[-1] for case in COMMANDS])
def test_nobody_is_forgotten_by_half(away: Path, trace: Path, sources: str, code: int, said: str, why: str) -> None:
    words = ("trace", "forget", "alice", "--apply", "--db", str(trace))
    done = run(away, sources, COMMAND, *words, ADMINKIT_CONFIG="", ADMINKIT_ACTS=str(trace.with_name("acts")))
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    with reader(trace) as db:
        (left,) = db.execute("SELECT count(*) FROM job WHERE user = 'alice'").fetchone()
    assert bool(left) == bool(code), why
