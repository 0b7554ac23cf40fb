"""Nobody writes another row of the accounts: what sync stores is what slurmdbd's own tables say, read by SQL."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from adminkit.job import SERVER_NAME
from adminkit.slurm.process import ask
from adminkit.slurm.seal import draw
from adminkit.slurm.server_job import marked, parse_marked
from tests.cluster.conftest import private_slurm
from tests.cluster.harness import dbd_rows, hostile
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import ADMINKIT, adminkit, one, with_path, wrapper
from tests.cluster.harness.processes import until

Key = TypeVar("Key")

#: Held back in a queue that is shut, or run.
WAIT, RUN = ("-p", "shut"), ("-p", "gq", "--nice=0")
SEED = 20261122


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "trace.db"


@pytest.fixture
def shut(cluster: Cluster) -> Iterator[str]:
    with shut_queue(cluster) as name:
        yield name


@contextlib.contextmanager
def shut_queue(cluster: Cluster) -> Iterator[str]:
    """A queue whose jobs are eligible and stay: an open snapshot has them."""
    cluster.ask("scontrol", "create", "partition=shut", "nodes=ALL", "MaxTime=60", "State=DOWN")
    try:
        yield "shut"
    finally:
        cluster.ask("scancel", "-p", "shut")
        gone = lambda: cluster.run("scontrol", "delete", "partition=shut").code == 0  # noqa: E731
        until("the queue to be empty", gone, 30.0)


def trace_rows(db: Path) -> dict[tuple[int, int], dbd_rows.Row]:
    names = ", ".join(dbd_rows.COLUMNS)
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute(f"SELECT {names} FROM job").fetchall()
    return {row[:2]: dict(zip(dbd_rows.COLUMNS, row, strict=True)) for row in found}


def trace_steps(db: Path) -> dict[tuple[int, int, str], dbd_rows.Row]:
    names = ", ".join(dbd_rows.STEP_COLUMNS)
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute(f"SELECT {names} FROM step").fetchall()
    return {row[:3]: dict(zip(dbd_rows.STEP_COLUMNS, row, strict=True)) for row in found}


def differing(
    ours: Mapping[Key, dbd_rows.Row],
    theirs: Mapping[Key, dbd_rows.Row],
    before: Mapping[Key, dbd_rows.Row] | None = None,
) -> list[str]:
    """What the trace has otherwise than slurmdbd, a sentence each; rows that it lacks do not count.

    `before` is what slurmdbd had before the sync: another file's job that went on meanwhile is told as it was or is.
    """
    found = []
    for key, row in ours.items():
        if key not in theirs:
            found.append(f"{key} is nobody's: {row}")
            continue
        now = theirs[key]
        was = (before or {}).get(key, now)
        found += [
            f"{key} {name}: {value!r}, not {now[name]!r}"
            for name, value in row.items()
            if value not in (was[name], now[name])
        ]
    return found


def test_only_what_slurmdbd_has_or_had_is_no_difference() -> None:
    was, now = {"state": "RUNNING", "user": "news"}, {"state": "FAILED", "user": "news"}
    told = [
        ({"state": "FAILED", "user": "news"}, 0, 0, "as it is"),
        ({"state": "RUNNING", "user": "news"}, 1, 0, "as it was, which counts only for whom that was read"),
        ({"state": "COMPLETED", "user": "news"}, 1, 1, "as it never was"),
        ({"state": "RUNNING", "user": "games"}, 2, 1, "and somebody else's"),
    ]
    for row, alone, with_before, why in told:
        assert len(differing({1: row}, {1: now})) == alone, why
        assert len(differing({1: row}, {1: now}, {1: was})) == with_before, why
    assert len(differing({1: now}, {}, {1: was})) == 1, "what slurmdbd lacks is nobody's, whatever it had"


def held_back(folder: Path, pattern: str) -> tuple[Path, Path]:
    """(a folder for PATH whose sacct waits where its arguments match, the file that lets it go on)."""
    go = folder / "go"
    wait = f"i=0; while [ ! -e {go} ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done"
    return wrapper(folder, "sacct", f'case "$*" in {pattern}) {wait};; esac'), go


def stored(cluster: Cluster, jobs: list[int]) -> None:
    """Wait until slurmdbd has these jobs, by the ids that sbatch printed, as eligible for a while.

    Trap: sacct leaves out of a snapshot what became eligible in the last second of its window.
    """
    eligible = "time_eligible > 0 and time_eligible < unix_timestamp() - 1"
    sql = f"select id_job, id_array_job from alpha_job_table where {eligible}"
    until("slurmdbd to have every job", lambda: set(jobs) <= {int(c) for row in cluster.sql(sql) for c in row}, 60.0)


def requeued(cluster: Cluster) -> int:
    """A job of two runs, both over."""
    job = cluster.submit('test "$SLURM_RESTART_COUNT" || sleep 60', "--requeue", "-t", "5", user="news")
    cluster.wait(job, "RUNNING")
    cluster.ask("scontrol", "requeue", str(job))
    cluster.wait(job, "COMPLETED")
    return job


def test_the_record_in_a_name_becomes_nobodys_row(cluster: Cluster, db: Path) -> None:
    """What any user could do: 149 bytes of name, and `news` had a perfect run of an hour."""
    (text,) = [job.name for job in hostile.hostile(SEED, 1, now=int(time.time()))]
    assert text.startswith(b"x\x1f\n990001\x1f")
    hostile.script(cluster)
    job = cluster.submit("true", "-t", "5", b"--job-name=" + text, user="games")
    comment = cluster.submit("true", "-t", "5", b"--comment=" + text, user="games")
    for each in (job, comment):
        cluster.wait(each, "COMPLETED")
    again = requeued(cluster)
    cluster.settle()
    before = dbd_rows.job_rows(cluster)
    adminkit(cluster, db, "sync", "--since", "1d", "--steps")
    assert differing(trace_rows(db), dbd_rows.job_rows(cluster), before) == []
    assert one(db, "SELECT count(*) FROM job WHERE job_id_raw = ? AND state = 'REQUEUED'", again) == 1
    assert one(db, "SELECT count(*) FROM job WHERE job_id_raw >= ?", hostile.FORGED) == 0
    assert one(db, "SELECT count(*) FROM job WHERE job_id_raw IN (?, ?)", job, comment) == 2, "and it is not lost"


def test_three_hundred_hostile_jobs_are_told_as_slurmdbd_has_them(cluster: Cluster, db: Path, shut: str) -> None:
    """Through an open snapshot while they wait, then through a closed window."""
    there_and_back(cluster, db, shut, list(hostile.hostile(SEED, 300, now=int(time.time()))))


@pytest.mark.soak
def test_ten_thousand_hostile_jobs_are_told_as_slurmdbd_has_them(outside: object, db: Path) -> None:
    with private_slurm(MaxJobCount="40000") as cluster, shut_queue(cluster) as shut:
        for seed in range(10):
            there_and_back(cluster, db, shut, list(hostile.hostile(seed, 1000, now=int(time.time()))))
        assert one(db, "SELECT count(*) FROM job") >= 10_000  # type: ignore[operator]


def there_and_back(cluster: Cluster, db: Path, shut: str, jobs: list[hostile.Job]) -> None:
    with_steps = [job for job in jobs if job.steps][:12]
    running = hostile.submit_all(cluster, with_steps, "-p", "gq")
    waiting = hostile.submit_all(cluster, [job for job in jobs if job not in with_steps], "-p", shut)
    assert len(running) + len(waiting) == len(jobs)
    stored(cluster, waiting)
    adminkit(cluster, db, "sync", "--since", "1h", "--steps")
    ours, theirs = trace_rows(db), dbd_rows.job_rows(cluster)
    assert {key for key in theirs if key[0] in waiting} <= ours.keys(), "an open snapshot has all that wait"
    assert differing({key: row for key, row in ours.items() if key[0] in waiting}, theirs) == []
    cluster.ask("scancel", "-u", "games", "-p", shut)
    for job in running:
        cluster.wait(job)
    cluster.settle(120.0)
    before = dbd_rows.job_rows(cluster)
    adminkit(cluster, db, "sync", "--steps")
    ours, theirs = trace_rows(db), dbd_rows.job_rows(cluster)
    assert {key for key in theirs if key[0] in (*waiting, *running)} <= ours.keys(), "a closed window has all"
    assert differing(ours, theirs, before) == []
    assert differing(trace_steps(db), dbd_rows.step_rows(cluster)) == []
    named = [row for row in trace_steps(db).values() if row["job_id_raw"] in running and row["step"] == "0"]
    assert len(named) == sum(1 + (b"--array=0-1%1" in job.options) for job in with_steps)
    assert one(db, "SELECT count(*) FROM rejected") == 0


def test_who_reads_the_delimiter_while_sacct_runs_forges_nothing(
    cluster: Cluster, db: Path, shut: str, tmp_path: Path
) -> None:
    """Any user sees every argument; the owner of an open job may give it another name while sacct waits."""
    mine = cluster.submit("true", "-p", shut, "-t", "5", user="games")
    other = cluster.submit("true", "-p", shut, "-t", "5", user="news")
    stored(cluster, [mine, other])
    slow, go = held_back(tmp_path, '*" -s PD"*')
    command = [ADMINKIT, "sync", "--since", "1h", "--no-steps", "--db", db]
    with subprocess.Popen(command, env=with_path(cluster, slow), stderr=subprocess.PIPE, text=True) as running:
        words = until("sacct to wait for the snapshot", lambda: _waiting_words(running.pid, b"PD,"), 60.0)
        # Trap: the shell of the wrapper has the arguments of sacct, and its own environment is nobody's to read.
        delimiter = next(word for word in words if word.startswith(b"--delimiter=")).partition(b"=")[2]
        fields = words[words.index(b"-o") + 1].decode().split(",")
        text = b"x" + delimiter + b"\n" + _perfect(delimiter, fields, mine)
        cluster.ask("scontrol", "update", f"JobId={mine}", b"JobName=" + text, user="games")
        until("slurmdbd to have the name", lambda: _name(cluster, mine).startswith("78"), 60.0)
        before = dbd_rows.job_rows(cluster)
        go.touch()
        said = running.communicate()[1]
    assert running.returncode == 0, said
    assert f"refused records: job {mine} of games: columns" in said, "whose it is, and what"
    assert differing(trace_rows(db), dbd_rows.job_rows(cluster), before) == []
    assert one(db, "SELECT count(*) FROM job WHERE job_id_raw >= ?", hostile.FORGED) == 0
    assert one(db, "SELECT count(*) FROM rejected") >= 1, "the attempt is kept"  # type: ignore[operator]
    before = dbd_rows.job_rows(cluster)
    adminkit(cluster, db, "sync", "--no-steps")
    ours = trace_rows(db)
    assert {mine, other} <= {key[0] for key in ours}, "nothing is lost for longer than a run"
    assert differing(ours, dbd_rows.job_rows(cluster), before) == []


def test_who_writes_a_comment_while_sacct_reads_comments_forges_nothing(
    cluster: Cluster, db: Path, tmp_path: Path
) -> None:
    """The owner of an ended run may change its comment, which a site may have chosen for the policy's record."""
    mine = cluster.submit("true", "-t", "5", "--comment=ak1:lim=60,src=e", user="games")
    cluster.wait(mine, "COMPLETED")
    cluster.settle()
    slow, go = held_back(tmp_path, '*Comment,Submit*" -s CD"*')
    env = {**with_path(cluster, slow), "ADMINKIT_SYNC_RECORD": "comment"}
    command = [ADMINKIT, "sync", "--since", "1h", "--no-steps", "--db", db]
    before = dbd_rows.job_rows(cluster)
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as running:
        words = until(
            "sacct to wait for the comments", lambda: _waiting_words(running.pid, b"CD,", b"Comment,Submit"), 60.0
        )
        delimiter = next(word for word in words if word.startswith(b"--delimiter=")).partition(b"=")[2]
        fields = words[words.index(b"-o") + 1].decode().split(",")
        text = b"x" + delimiter + b"\n" + _perfect(delimiter, fields, mine) + delimiter + b"\ny"
        # As a client of one's own can: sacctmgr writes all of it in small letters.
        cluster.sql(f"update alpha_job_table set derived_es = x'{text.hex()}' where id_job = {mine}")
        go.touch()
        said = running.communicate()[1]
    assert running.returncode == 0, said
    assert differing(trace_rows(db), dbd_rows.job_rows(cluster), before) == []
    assert one(db, "SELECT count(*) FROM job WHERE limit_source = 'explicit'") == 0, "what owners write is no proof"


def test_what_an_owner_changes_after_the_end_is_told_and_decides_nothing(cluster: Cluster, db: Path) -> None:
    job = cluster.submit("true", "-t", "5", user="games")
    cluster.wait(job, "COMPLETED")
    cluster.settle()
    ended = (
        f"select 1 from {cluster.name}_job_table where id_job = {job} and time_end between 1 and unix_timestamp() - 2"
    )
    until("slurmdbd to have its end", lambda: cluster.sql(ended), 60.0)
    until("the trace to have it", lambda: _synced(cluster, db, job), 60.0)
    change = ("set", f"derivedexitcode={85 << 8}", "comment=x", "where", f"jobid={job}")
    cluster.ask("sacctmgr", "-i", "modify", "job", *change, user="games")
    before = dbd_rows.job_rows(cluster)
    said = adminkit(cluster, db, "sync", "--no-steps")
    assert f"job {job} of games: derived_exit_code was 0 at its end and is 85 now" in said.stderr
    assert "changed 1" in said.stdout
    assert differing(trace_rows(db), dbd_rows.job_rows(cluster), before) == []


def _synced(cluster: Cluster, db: Path, job: int) -> bool:
    """Whether the trace has the end of the job. The window of a sync may end just before it."""
    adminkit(cluster, db, "sync", "--since", "1h", "--no-steps")
    with sqlite3.connect(db) as trace:
        found = trace.execute("SELECT 1 FROM job WHERE job_id_raw = ? AND state = 'COMPLETED'", [job]).fetchone()
    return found is not None


#: (command, what is kept of it, why)
COMMANDS = [
    (("sbatch", "-Ht", "5", "run.sh", "s3cr3t"), ("sbatch", 0, "run.sh", None, None), "a script"),
    (("sbatch", "--export=ALL,T=s3cr3t", "-H", "run.sh"), ("sbatch", 0, "run.sh", None, None), "with a variable"),
    (("sbatch", "--hold", "--wrap", "true s3cr3t"), ("sbatch", 0, "true", None, None), "a line for a script"),
    (("srun", "-n1", "true", "s3cr3t"), ("srun", 0, "true", None, None), "a job of srun's own"),
    (("srun", "-n1", "--export=ADMINKIT_CKPT=USR1@9", "-t5", "./torchrun", "s3cr3t"),
     ("srun", 1, "torchrun", "torchrun", None), "a program with a name, asked to be warned"),
    (("salloc", "-n1", "apptainer", "s3cr3t"), ("salloc", 0, "apptainer", None, "apptainer"), "an allocation"),
]  # fmt: skip


def test_no_command_line_is_kept_but_what_it_says_of_the_program(cluster: Cluster, db: Path) -> None:
    for name in ("run.sh", "torchrun", "bin/apptainer"):
        path = cluster.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    env = {"PATH": f"{cluster.work}/bin:{cluster.env()['PATH']}", "SBATCH_OUTPUT": "/dev/null"}
    for number, (command, _, _) in enumerate(COMMANDS):
        program, *words = command
        done = cluster.run(program, f"-Jcommand{number}", *words, user="news", env=env)
        assert done.code == 0, done.err
    cluster.ask("scancel", "-u", "news", "-t", "PENDING")
    # Trap: a job that never was eligible comes to slurmdbd with its end, and not at once.
    over = "select count(*) from alpha_job_table where job_name like 'command%' and time_end between 1 and "
    over += "unix_timestamp() - 1"
    until("slurmdbd to have every end", lambda: cluster.sql(over) == [(str(len(COMMANDS)),)], 60.0)
    adminkit(cluster, db, "sync", "--since", "1h")
    with closing(sqlite3.connect(db)) as trace:
        columns = "submitted_by, ckpt_asked, program, framework, container"
        for number, (_, kept, why) in enumerate(COMMANDS):
            found = trace.execute(f"SELECT {columns} FROM job WHERE job_name = ?", (f"command{number}",)).fetchall()
            assert found == [kept], why
    stored_bytes = b"".join(path.read_bytes() for path in db.parent.glob("trace.db*") if path.is_file())
    assert b"s3cr3t" not in stored_bytes, "not a word of what follows it"


def test_no_comment_is_another_s_server(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question of the hub that looks for a submission: the mark of `news`, in lines of a comment of `games`."""
    monkeypatch.setenv("SLURM_CONF", str(cluster.home / "slurm.conf"))
    marks, mark = draw(), "jupyterhub:0123456789abcdef"
    mine = cluster.submit("true", "-H", "-J", SERVER_NAME, f"--comment=our {mark}", user="news")
    lines = [f"{mine}|news|{mark}", marks.delimiter.join((str(mine), str(int(time.time())), "news", mark))]
    forged = [cluster.submit("true", "-H", "-J", SERVER_NAME, f"--comment=x\n{line}\n", user="games") for line in lines]
    try:
        said = ask(marked(marks), seal=marks.seal)
        assert all(line in said for line in lines), "squeue prints the comments as they are"
        assert parse_marked(said, {mark}, marks) == {("news", mark): [str(mine)]}
    finally:
        cluster.ask("scancel", *map(str, (mine, *forged)))


def _waiting_words(parent: int, states: bytes, fields: bytes = b"") -> list[bytes] | None:
    """The arguments of that process's sacct that asks for jobs in these states, as every user sees them."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            ours = entry.name.isdigit() and f"PPid:\t{parent}\n" in (entry / "status").read_text()
            words = (entry / "cmdline").read_bytes().split(b"\0") if ours else []
            asked = b"-s" in words and words[words.index(b"-s") + 1].startswith(states)
            if asked and fields in b" ".join(words):
                return words
    return None


def _perfect(delimiter: bytes, fields: list[str], number: int) -> bytes:
    now = int(time.time())
    cells = {
        "JobID": str(hostile.FORGED + number), "JobIDRaw": str(hostile.FORGED + number), "Cluster": "alpha",
        "User": "news", "State": "RUNNING", "Submit": str(now - 60), "JobName": "f",
    }  # fmt: skip
    return delimiter.join(cells.get(name.partition("%")[0], "").encode() for name in fields)[: hostile.NAME - 20]


def _name(cluster: Cluster, job: int) -> str:
    return cluster.sql(f"select hex(job_name) from alpha_job_table where id_job = {job}")[0][0]
