"""Nobody outside the group is shown facts of another user's job, whatever they ask, though the file is open to all."""

from __future__ import annotations

import io
import os
import pwd
import sqlite3
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.cells import cell_len

from adminkit import installed
from adminkit.cli.main import main
from adminkit.trace import connect, sight
from adminkit.trace.connect import reader, writer
from adminkit.trace.ledger import append
from adminkit.trace.person import person_of
from tests.feedback.site import NOW, ended
from tests.support.builders import HOUR, MONDAY, add_letters, job, ledger_entry, letter, make_trace
from tests.support.others import GROUP, OWNER, READER, as_user

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")

ME = pwd.getpwuid(READER).pw_name
OUTSIDER = pwd.getpwnam("nobody").pw_gid
#: What nobody but bob, the group and the trace's owner may read: his name and account, his jobs' names and numbers.
BOBS = ("bob", "hush", "secret", "7701", "7702", "7703")
POLICY = ("--policy", "{here}/etc/policy.toml")
POINTS = (*POLICY, "--points-per-hour", "60")

#: what is typed, its exit code for an outsider, words of the answer, whether an operator reads something of bob's there
ASKED: list[tuple[tuple[str, ...], int, str, bool]] = [
    (("report", "accuracy"), 0, f"user {ME}", False),
    (("report", "accuracy", "--user", "bob"), 2, "only bob and the operators may see the jobs of bob", True),
    (("report", "accuracy", "--user", ME, "--user", "bob"), 2, "may see the jobs of bob", True),
    (("report", "accuracy", "--account", "hush"), 2, "no such account: hush", True),
    (("report", "accuracy", "-f", "json"), 0, f'"{ME}"', False),
    (("sql", "SELECT job_name FROM main.job", "-f", "json"), 0, '"mine"', True),
    (("report", "parallelism"), 0, f"user {ME}", False),
    (("report", "parallelism", "--user", "bob"), 2, "may see the jobs of bob", True),
    (("report", "restarts", "--by", "user"), 0, "", True),
    (("report", "restarts", "--job", "7702"), 2, "no run of job 7702 in the trace", True),
    (("report", "users"), 0, f"user {ME}", True),
    (("report", "users", "--user", "bob"), 2, "may see the jobs of bob", True),
    (("report", "states", "--by", "user"), 0, f"user {ME}", True),
    (("report", "states", "--by", "account", "-f", "json"), 0, f'"{ME}"', True),
    (("report", "wait", "--by", "user"), 0, f"user {ME}", True),
    (("report", "wait", "--limit", "4h", "--user", "bob"), 2, "may see the jobs of bob", True),
    (("report", "feedback"), 2, "only operators may see", False),
    (
        ("report", "soft-limits", "--by", "user"),
        2,
        "only operators may see how soft limits affected other users",
        False,
    ),
    (("report", "extensions"), 2, "only operators may see whom more time for others delayed", False),
    (("recommend", "walltime", "--user", "bob", "--name", "secret"), 2, "may see the jobs of bob", True),
    (("recommend", "queues"), 2, "only operators may see what queues need", False),
    (("recommend", "walltime", "--name", "mine"), 0, "such runs", False),
    (("my",), 0, "Your last jobs on aaic", False),
    (("my", "-f", "json", "--last", "200", "--days", "3650"), 0, '"job_name": "mine"', False),
    (("job", "7701"), 2, "no job 7701 that you may see", True),
    (("job", "7702", "-f", "json"), 2, "no job 7702 that you may see", True),
    (("job", "1"), 0, "mine", False),
    (("my", "7701"), 2, "no job 7701 that you may see", False),
    (("my", "1"), 0, "mine", False),
    (("user", "bob"), 2, "only bob and the operators may see the jobs of bob", True),
    (("user", ME, "--days", "3650"), 0, f"What {ME} used on aaic", False),
    (("recommend", "walltime", "--name", "mine", "-f", "json"), 0, '"limit"', False),
    (("recommend", "walltime", "--backtest"), 0, f"user {ME}", False),
    (("incentives", "show", *POINTS), 0, f"Incentives of {ME}", True),
    (("incentives", "show", "bob", *POINTS), 2, "may see the jobs of bob", True),
    (("incentives", "compute", *POINTS), 2, "only operators may see", True),
    (("policy", "replay", *POLICY), 0, f"user {ME}", True),
    (("policy", "replay", "--user", "bob", *POLICY), 2, "may see the jobs of bob", True),
    (("charge", "preview"), 2, "only operators may see what everybody is charged", False),
    (("charge", "compare", "actual", "estimate", "--by", "user"), 2, "only operators may see what everybody", True),
    (("charge", "verify"), 2, "only operators may see", False),
    (("charge", "budget", "--no-slurm"), 2, "only operators may see what everybody is charged", False),
    (("charge", "statement"), 0, f"user {ME}", False),
    (("charge", "statement", "--user", "bob"), 2, "may see the jobs of bob", False),
    (("trace", "status"), 0, "aaic", False),
    (("trace", "rejected"), 2, "only operators may see rejected rows", True),
    (("trace", "history"), 2, "only operators may see who did what", False),
    (("feedback", "preview"), 2, "only operators may see everybody's letters", False),
    (("feedback", "status", "--letters", "--all"), 2, "only operators may see everybody's letters", True),
    (("doctor",), 1, "not checked: only operators may see letters", False),
]


@pytest.fixture(scope="module")
def trace() -> Iterator[Path]:
    """Of OWNER and GROUP, and open to all: many runs of bob, some of nobody."""
    with TemporaryDirectory(prefix="adminkit-sight-") as folder:  # pytest closes its own to others, again and again
        yield _made(Path(folder))


def _made(place: Path) -> Path:
    place.chmod(0o711)
    bobs = {"user": "bob", "uid": 1002, "account": "hush", "job_name": "secret", "eligible_time": MONDAY}
    jobs = [ended(number, ago=HOUR * (number - 7699), job_id=str(number), **bobs) for number in (7701, 7702, 7703)]
    jobs += [job(7702, **bobs, state="REQUEUED", elapsed=HOUR, ckpt_at=MONDAY + HOUR, ckpt_heard=1, ckpt_requeues=1)]
    jobs += [
        ended(number, ago=HOUR * number, user=ME, uid=READER, account="open", job_name="mine", elapsed=5000 + number)
        for number in range(1, 13)
    ]
    jobs += [job(30, user=ME, account="open", job_name="imported"), job(31, user=ME, uid=READER, state="REQUEUED")]
    path = make_trace(place / "t.db", jobs, [("aaic", "gq", 0, HOUR, 72 * HOUR)])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, step_name) SELECT cluster, job_id_raw, "
            "submit_time, '0', job_name FROM job"
        )
        db.execute("INSERT INTO rejected VALUES ('sacct', 1, 'no key', x'626f6220736563726574', 0)")
        for table in ("job", "step"):
            db.execute(f"INSERT INTO {table}_aside SELECT 'forged', 0, * FROM {table} WHERE job_id_raw = 7701")
        db.execute("INSERT INTO window VALUES ('aaic', 'job', 0, 9, 0, 9, 1.0, 15, 15, 0, 0, 0)")
    add_letters(path, [letter(run=f"{number}@1", user="bob", uid=1002, job_name="secret") for number in (7701, 7702)])
    (place / "adminkit.toml").write_text('[feedback]\nclusters = ["aaic"]\ndomain = "example.org"\nquiet_days = []\n')
    (place / "adminkit.toml").chmod(0o644)
    for one in (place, path):
        os.chown(one, OWNER, GROUP)
    path.chmod(0o644)
    return path


@pytest.fixture
def here(trace: Path, open_install: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The site's settings, no Slurm, and a clock at which the jobs are new."""
    monkeypatch.setenv("ADMINKIT_CONFIG", str(trace.with_name("adminkit.toml")))
    monkeypatch.setattr("time.time", lambda: float(NOW))
    cell_len("\u3042")  # rich reads its table at the first such character
    yield


def filled(words: tuple[str, ...]) -> list[str]:
    return [word.format(here=installed.CHECKOUT) for word in words]


def told(words: tuple[str, ...], trace: Path) -> tuple[int, str]:
    """The exit code of a command, and all that it says."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            code = main([*filled(words), "--db", str(trace)])
        except SystemExit as error:
            code = int(error.code or 0)
    return code, out.getvalue() + err.getvalue()


@pytest.mark.parametrize(("words", "code", "says", "named"), ASKED, ids=[" ".join(one[0][:4]) for one in ASKED])
def test_an_outsider_is_shown_their_own_and_operators_everybodys(
    trace: Path, here: None, words: tuple[str, ...], code: int, says: str, named: bool
) -> None:
    _, everything = told(words, trace)  # as root; it loads what another user may not read of this Python, too
    found = as_user(READER, OUTSIDER, lambda: told(words, trace))
    assert found[0] == code, found
    assert says in found[1]
    typed = set(" ".join(words).split())
    assert [fact for fact in BOBS if fact in found[1] and fact not in typed] == []
    theirs = as_user(OWNER, OWNER, lambda: told(words, trace))
    grouped = as_user(READER, GROUP, lambda: told(words, trace))
    for seen in (everything, theirs[1], grouped[1]):
        assert "may see the jobs of bob" not in seen and "only operators" not in seen.replace("operators' ", "")
        assert not named or any(fact in seen for fact in (*BOBS, "16 counted")), seen


def test_of_everybodys_outcomes_one_number_reaches_an_outsider_and_it_is_bounded(trace: Path, here: None) -> None:
    """The control reads the runs of all users, past the views: what comes out of it is the risk to aim at."""
    from adminkit.recommend.control import control
    from adminkit.recommend.predict import Rule
    from adminkit.stats.runs import latest, runs

    def outsider() -> tuple[str, str, str]:
        with reader(trace) as db:
            everybodys = list(latest(db, "aaic", checkpoint_code=85))
            seen = {run.kind.user for run in runs(db, [], [], checkpoint_code=85)}
            risk = control([everybodys], Rule(risk=0.1)).risk("aaic", ME)
        return str(sorted({str(run.kind.user) for run in everybodys})), str(sorted(map(str, seen))), str(risk)

    everybodys, seen, risk = as_user(READER, OUTSIDER, outsider)
    assert everybodys == str(sorted(["bob", ME])), "it is the site's for an outsider too"
    assert seen == str([ME])
    assert 0.1 * 0.05 <= float(risk) <= 0.1 * 4


def test_every_table_is_narrowed_or_tells_nothing_of_a_job(trace: Path) -> None:
    """Whoever adds a table says which. What is known of GPUs, window, queue, node, node_event, fact, action and load
    are of the site.
    """
    with writer(trace) as db:
        bob = person_of(db, "alpha", "bob", now=0, uid=7701)
        append(db, [ledger_entry("2026-01", bob, job_id_raw=7701)])

    def look() -> dict[str, int]:
        with reader(trace) as db:
            schema = db.execute("SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")
            names = [name for (name,) in schema]
            return {
                name: sum(any(fact in str(row) for fact in BOBS) for row in db.execute(f"SELECT * FROM {name}"))
                for name in names
            }

    everything = as_user(READER, GROUP, look)
    of_jobs = {"job", "run", "step", "job_aside", "step_aside", "trace", "rejected"}
    narrowed = of_jobs | {"outbox", "person", "ledger"}
    assert {name for name, rows in everything.items() if rows} == narrowed
    assert set(everything) == narrowed | {
        "window",
        "month_file",
        "gpu_untracked",
        "gpu_untyped",
        "gpu_words",
        "queue",
        "node",
        "node_event",
        "fact",
        "action",
        "load",
        "forgotten",
        "ledger_scheme",
        "power_curve",
        "_sqlite_migrations",
    }
    assert set(as_user(READER, OUTSIDER, look).values()) == {0}


def test_an_outsiders_own_rows_are_there_with_and_without_a_uid(trace: Path) -> None:
    def look() -> list[int]:
        with reader(trace) as db:
            return [db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("job", "step", "main.job")]

    assert as_user(READER, OUTSIDER, look) == [14, 14, 18]
    assert as_user(READER, GROUP, look) == [18, 18, 18]


def test_an_outsider_can_write_nothing(trace: Path) -> None:
    def act() -> None:
        with reader(trace) as db:
            db.execute("CREATE TEMP TABLE mine (x)")

    with pytest.raises(RuntimeError, match="readonly"):
        as_user(READER, OUTSIDER, act)


def test_a_user_without_a_name_sees_what_has_their_number(trace: Path) -> None:
    def look() -> int:
        with reader(trace) as db:
            return int(db.execute("SELECT count(*) FROM job").fetchone()[0])

    assert as_user(1002, OUTSIDER, look) == 4
    assert as_user(3_999_999, OUTSIDER, look) == 0


def test_a_name_that_is_sql_is_a_name(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "name_of", lambda uid: "x' OR '1' = '1")
    monkeypatch.setattr(connect, "sees_others", lambda path: False)
    monkeypatch.setattr(os, "geteuid", lambda: 3_999_999)
    with reader(trace) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (0,)


def test_policy_try_reads_no_trace(trace: Path, here: None) -> None:
    """It decides on what is typed, by the policy and by what Slurm tells everybody."""
    code, said = told_of(("policy", "try", "--user", "bob", "-t", "60", "-p", "gq", *POLICY))
    assert (code, "hush" in said, "secret" in said) == (0, False, False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connect, "_open", None)
        assert told_of(("policy", "try", "--user", "bob", "-t", "60", "-p", "gq", *POLICY)) == (code, said)


def told_of(words: tuple[str, ...]) -> tuple[int, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()):
        return main(filled(words)), out.getvalue()
