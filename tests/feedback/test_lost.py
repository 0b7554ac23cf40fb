"""Letters about lost work: golden files in two languages, what is said of each kind of end, names that attack."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import pytest
from rich.cells import cell_len

from adminkit.config import Config, Feedback
from adminkit.feedback.letter import Due, Letter
from adminkit.job import Job, Step
from adminkit.messages import LANGUAGES
from tests.feedback.letters import DAY, GIB, NEXT_MONDAY, QUEUES, due, run, write
from tests.feedback.test_letters import HOSTILE, tags
from tests.support.builders import HOUR, MONDAY, make_trace

DAN: Final[dict[str, Any]] = {"user": "dan", "uid": 1004, "queue": "gq"}
END: Final = NEXT_MONDAY - 6 * HOUR
LONG: Final = ("aaic", "gq-long", 0, None, 14 * DAY)
#: node, queues, bytes, GPUs
NODES: Final = [("gpu1", "gq,gq-long", 384 * GIB, "p100:8"), ("big1", "gq-long", 1024 * GIB, "p100:8")]


def lost(number: int = 1, state: str = "TIMEOUT", elapsed: int = 72 * HOUR, **changes: Any) -> Job:
    """A run of dan's that was ended six hours before next Monday."""
    given = {**DAN, "state": state, "job_name": "train", "mem": 48 * GIB, "node_list": "gpu1", **changes}
    return run(number, given.pop("end", END), elapsed, **given)


def done(number: int, elapsed: int = 3 * HOUR, **changes: Any) -> Job:
    """An earlier run of his that completed."""
    return lost(number, "COMPLETED", elapsed, **{"end": END - (100 - number) * 12 * HOUR, **changes})


def step(one: Job, **changes: Any) -> Step:
    return Step(
        one.cluster, one.job_id_raw, one.submit_time or 0, "batch", one.source, tasks=1, start_time=one.start_time,
        end_time=one.end_time, elapsed=one.elapsed, **changes,
    )  # fmt: skip


def task(number: int, state: str, elapsed: int, **changes: Any) -> Job:
    given = {"array_job": 700, "array_task": number, "job_id": f"700_{number}", "submit_time": MONDAY}
    return lost(700 + number, state, elapsed, **{**given, "time_limit": 24 * HOUR, **changes})


def about(one: Job, language: str = "en") -> Due:
    key = {"job_id_raw": one.job_id_raw, "submit_time": one.submit_time, "is_array": False}
    if one.array_job is not None:
        key |= {"job_id_raw": one.array_job, "is_array": True}
    return due("end", language, until=one.end_time, user=one.user, uid=one.uid, job_name=one.job_name, **key)


def put(path: Path, jobs: Sequence[Job], steps: Sequence[Step] = (), queues: Sequence[Any] = (*QUEUES, LONG)) -> Path:
    """A trace of these, with nodes."""
    make_trace(path, jobs, queues)
    with closing(sqlite3.connect(path)) as db, db:
        for one in steps:
            row = {name: value for name, value in asdict(one).items() if name != "fingerprint"}
            db.execute(f"INSERT INTO step ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
        for name, inside, mem, gpus in NODES:
            db.execute(
                "INSERT INTO node (cluster, node, since, present, cpus, mem, gpus, gpu_types, features, queues)"
                " VALUES ('aaic', ?, 0, 1, 64, ?, 8, ?, '', ?)",
                (name, mem, gpus, inside),
            )
    return path


def text(letter: Letter) -> str:
    """Its text in one line."""
    return " ".join(letter.text.split())


TIMED: Final = lost(1, gpus=4)
HUNGRY: Final = lost(2, "OUT_OF_MEMORY", 9 * HOUR, max_rss=40 * GIB, energy=4_320_000, cpu_time=50_000.0)
BROKEN: Final = lost(3, "NODE_FAIL", 14 * HOUR, node_list="gpu7", gpus=8, max_rss=3 * GIB)
ARRAY: Final = [
    *(task(n, "COMPLETED", HOUR + n * 600) for n in range(1, 6)),
    *(task(n, "TIMEOUT", 24 * HOUR) for n in range(6, 10)),
    task(10, "OUT_OF_MEMORY", 2 * HOUR),
    task(11, "NODE_FAIL", 5 * HOUR),
]
#: name -> (the run, the jobs of the trace besides, their steps)
CASES: Final[dict[str, tuple[Job, Sequence[Job], Sequence[Step]]]] = {
    "timeout": (
        TIMED,
        [
            *(
                lost(n, "COMPLETED", 80 * HOUR + n * 600, time_limit=5 * DAY, queue="gq-long", end=END - (70 - n) * DAY)
                for n in range(20, 40)
            ),
            lost(50, "COMPLETED", HOUR, job_name="other", ckpt_at=END - 3 * DAY, ckpt_heard=1, end=END - 2 * DAY),
        ],
        [],
    ),
    "memory": (
        HUNGRY,
        [done(n, mem=128 * GIB) for n in range(20, 24)],
        [
            step(HUNGRY, max_rss=40 * GIB, mem_used=41 * GIB, gpus_used=0.5),
            step(done(20), max_rss=60 * GIB, mem_used=66 * GIB),
        ],
    ),
    "node": (
        BROKEN,
        [
            lost(40, "NODE_FAIL", HOUR, node_list="gpu7", user="eve", uid=1003, end=END - 5 * DAY),
            replace(BROKEN, state="RUNNING", submit_time=END + 60, start_time=END + 600, end_time=None, elapsed=None),
        ],
        [step(BROKEN, max_rss=3 * GIB)],
    ),
    "array": (ARRAY[0], ARRAY[1:], []),
}  # fmt: skip


def letters(path: Path, name: str, *languages: str) -> list[Letter]:
    one, others, steps = CASES[name]
    trace = put(path, [one, *others], steps)
    return write(trace, *(about(one, language) for language in languages))


@pytest.mark.parametrize("name", CASES)
def test_a_letter_about_lost_work_reads_as_it_did(
    tmp_path: Path, golden: Callable[[str, str], None], name: str
) -> None:
    for language, letter in zip(LANGUAGES, letters(tmp_path / "t.db", name, *LANGUAGES), strict=True):
        golden(f"letters/lost-{name}-{language}.txt", f"Subject: {letter.subject}\n\n{letter.text}")
        golden(f"letters/lost-{name}-{language}.html", letter.html)
        assert max(cell_len(line) for line in letter.text.splitlines()) <= 80
        for line in re.findall(r"^ {4}(?=#SBATCH|sbatch)(.*?)(?: \.\.\.)?$", letter.text, re.MULTILINE):
            assert line in letter.html, "both parts have the same lines to paste"


#: what the run was, other runs, queues, what is said, what is not, why
SAID: Final[list[tuple[Job, list[Job], Sequence[Any], tuple[str, ...], tuple[str, ...], str]]] = [
    (
        lost(elapsed=6 * HOUR, time_limit=6 * HOUR), [], QUEUES,
        ("#SBATCH --time=12:00:00", "It is not known how much more time it"
                                    " needs", "6 h of run time is lost: 6 GPU-hours"),
        ("ADMINKIT_CKPT", "too short for", "--partition"), "no history: the next of the menu; no plugin, none offered",
    ),
    (
        lost(elapsed=6 * HOUR, time_limit=6 * HOUR),
        [done(n, 9 * HOUR + n * 60, time_limit=12 * HOUR) for n in range(20, 60)], QUEUES,
        ("#SBATCH --time=12:00:00", "Had the limit been worked out"), ("is not known",), "the safe limit and its risk",
    ),
    (
        lost(elapsed=72 * HOUR), [done(n) for n in range(20, 60)], QUEUES,
        ("hardly ever need more than 6 h. Did it hang?",), ("--time",), "it hung: the others take three hours",
    ),
    (
        lost(elapsed=60 * HOUR, time_limit=60 * HOUR), [], QUEUES,
        ("#SBATCH --time=3-00:00:00",), ("allows",), "up to the queue's maximum",
    ),
    (
        lost(), [], [("aaic", "gq", 0, HOUR, 50 * HOUR)],
        ("The queue gq allows no more than 50 h", "Split the work"), ("--time", "ADMINKIT"), "the maximum was lowered",
    ),
    (
        lost(), [], (*QUEUES, LONG),
        ("--partition=gq-long", "ask your administrators", "#SBATCH --time=5-00:00:00"), ("Your program then",),
        "a queue that the user never had",
    ),
    (
        lost(), [done(9, queue="gq-long")], (*QUEUES, LONG),
        ("--partition=gq-long",), ("ask your administrators",), "one that the user had",
    ),
    (
        lost(), [], (*QUEUES, ("aaic", "$(reboot)", 0, None, 14 * DAY)),
        ("allows no more than 72 h",), ("reboot",), "a queue whose name is no word for a shell",
    ),
    (
        lost(), [], (*QUEUES, ("aaic", "cpu", 0, None, 14 * DAY)),
        ("allows no more than 72 h",), ("cpu ",), "a queue of which nobody knows whether it has GPUs",
    ),
    (
        lost(time_limit=None, limit_kind="partition", elapsed=20 * HOUR), [], [],
        ("reached its time limit. Unless", "#SBATCH --time=1-00:00:00"), ("None",), "an unknown limit",
    ),
    (
        lost(ckpt_at=END - 300, ckpt_heard=2), [], QUEUES,
        ("caught the checkpoint plugin's signal 5 min before the end", "is not lost", "code 85"),
        ("of run time is lost", "ADMINKIT_CKPT"), "it was warned in time: what it lost is not known",
    ),
    (
        lost(ckpt_at=END - 300, ckpt_heard=0), [], QUEUES,
        ("none that catches the signal", "has to catch the signal", "72 h of run time is lost"), ("ADMINKIT_CKPT",),
        "warned in vain",
    ),
    (
        lost(state="OUT_OF_MEMORY", elapsed=5 * HOUR), [], QUEUES,
        ("It had 48 GiB of memory. Nobody knows", "#SBATCH --mem=96G", "twice as much"),
        ("at least", " 0 ", "energy", "electricity", "GPU busy"), "no use is known",
    ),
    (
        lost(state="OUT_OF_MEMORY", mem=None), [], QUEUES,
        ("How much it had is not known either",), ("--mem=", "0 B"), "neither is what it had",
    ),
    (
        lost(state="OUT_OF_MEMORY", mem=None, req_mem=10 * GIB), [], QUEUES,
        ("#SBATCH --mem=20G",), (), "what it asked for",
    ),
    (
        lost(state="OUT_OF_MEMORY", mem=300 * GIB), [], QUEUES,
        ("#SBATCH --mem=384G", "all that a node of the queue gq has"), (), "no more than a node has",
    ),
    (
        lost(state="OUT_OF_MEMORY", mem=384 * GIB), [], QUEUES,
        ("No node of the queue gq has more",), ("#SBATCH",), "it had all of a node",
    ),
    (
        lost(state="OUT_OF_MEMORY", mem=96 * GIB, nodes=2, gpus=16), [], QUEUES,
        ("It had 48 GiB of memory on each of its 2 nodes", "#SBATCH --mem=96G"), (), "--mem is per node",
    ),
    (
        lost(state="OUT_OF_MEMORY", mem=700 * 2**20), [done(9, mem=900 * 2**20)], QUEUES,
        ("#SBATCH --mem=900M", "an earlier run with this name was given this much and completed"),
        ("runs with this name",),
        "below a GiB",
    ),
    (
        lost(state="OUT_OF_MEMORY"), [done(9, mem=100 * GIB, max_rss=60 * GIB)], QUEUES,
        ("#SBATCH --mem=100G",), (), "its steps say nothing of MaxRSS: what it had was enough",
    ),
    (
        lost(state="NODE_FAIL", node_list="gpu[1-2]", nodes=2), [], QUEUES,
        ("because one of its nodes failed", "did not requeue it", "sbatch --requeue ..."), ("--exclude", "gpu1"),
        "nobody knows which of two nodes failed",
    ),
    (
        lost(state="NODE_FAIL", node_list=None), [], QUEUES, ("because one of its nodes failed",), ("None",), "unknown",
    ),
    (
        lost(state="NODE_FAIL"), [lost(50, "NODE_FAIL", end=END - 31 * DAY)], QUEUES,
        ("its node gpu1 failed",), ("--exclude",), "it failed before, but long ago",
    ),
    (
        lost(state="NODE_FAIL"), [lost(50, "NODE_FAIL", end=END - 60)], QUEUES,
        ("its node gpu1 failed",), ("--exclude",), "two jobs of one failure",
    ),
    (
        lost(state="NODE_FAIL"), [lost(50, "NODE_FAIL", end=END - DAY)], QUEUES,
        ("gpu1 failed 2 times within 30 days", "sbatch --exclude=gpu1 ..."), (), "it failed again",
    ),
    (
        lost(state="NODE_FAIL"), [lost(1, "COMPLETED", 3600, submit_time=END + 5, end=END + 2 * HOUR)], QUEUES,
        ("it has completed since",), ("--requeue",), "put back, and done",
    ),
    (
        lost(state="NODE_FAIL"), [lost(1, "FAILED", 3600, submit_time=END + 5, end=END + 2 * HOUR)], QUEUES,
        ("it ended again without completing",), ("--requeue",), "put back, and failed",
    ),
    (
        lost(state="NODE_FAIL"), [lost(1, "PENDING", submit_time=END + 5, start_time=None, end_time=None)], QUEUES,
        ("it is waiting to start",), ("--requeue",), "put back",
    ),
    (
        lost(state="NODE_FAIL"), [lost(1, submit_time=END + 3 * DAY, end=END + 4 * DAY)], QUEUES,
        ("did not requeue it",), (), "a later job of the same number",
    ),
    (
        lost(queue=None, gpus=None, nodes=None, cpus=None, job_name=None), [], QUEUES,
        ("Your job - (1, queue -)", "of run time is lost."), ("None", "-hours"), "nothing is known of it",
    ),
    (lost(elapsed=0), [], QUEUES, ("reached its time limit of 72 h",), ("None",), "no time at all"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "others", "queues", "says", "not_said", "why"), SAID, ids=[row[-1] for row in SAID])
def test_what_was_lost_decides_what_is_said(
    tmp_path: Path, one: Job, others: list[Job], queues: Sequence[Any], says: tuple[str, ...],
    not_said: tuple[str, ...], why: str,
) -> None:  # fmt: skip
    trace = put(tmp_path / "t.db", [one, *others], queues=queues)
    english, japanese = write(trace, about(one), about(one, "ja"))
    said = f"{english.subject} {text(english)}"
    assert [word for word in says if word not in said] == [], said
    assert [word for word in not_said if word in said] == [], said
    pasted = [re.findall(r"(?:#SBATCH|sbatch|ADMINKIT).*", one.text) for one in (english, japanese)]
    assert pasted[0] == pasted[1], "both languages have the same lines"
    assert re.search("[ぁ-ん]", japanese.subject) and "None" not in japanese.text


def test_a_hostile_name_is_harmless_in_every_letter(tmp_path: Path) -> None:
    trace = put(tmp_path / "t.db", [TIMED, HUNGRY, BROKEN, *ARRAY])
    for name in HOSTILE:
        with closing(sqlite3.connect(trace)) as db, db:
            db.execute("UPDATE job SET job_name = ?, queue = ?, node_list = ?", (name, name, name))
        for letter in write(trace, *(about(one, "en") for one in (TIMED, HUNGRY, BROKEN, ARRAY[0]))):
            for part in (letter.subject, letter.text, letter.html):
                bad = [c for c in part if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"]
                assert (bad, len(part) < 20_000) == ([], True)
            assert {tag for tag, _ in tags(letter)} <= {
                "html", "head", "meta", "title", "style", "body", "table", "tr", "td", "p", "pre", "b", "br"
            }  # fmt: skip
            pasted = [line.strip() for line in letter.text.splitlines() if re.match(" +(#SBATCH|sbatch)", line)]
            assert all(re.fullmatch(r"(#SBATCH|sbatch)( --\w+(=[\w.,:-]+)?)+( \.\.\.)?", line) for line in pasted) or (
                "#SBATCH" in name
            )


#: tasks, settings, whether the letter is about what was lost, why
ARRAYS: Final[list[tuple[list[Job], float, bool, str]]] = [
    ([*(task(n, "COMPLETED", HOUR) for n in range(30)), task(40, "TIMEOUT", 24 * HOUR)], 2, False, "one that hung"),
    ([task(1, "COMPLETED", 20 * HOUR), task(2, "TIMEOUT", 24 * HOUR)], 2, True, "24 hours lost, four left unused"),
    ([task(1, "COMPLETED", 20 * HOUR), task(2, "TIMEOUT", 24 * HOUR)], 30, False, "not enough for this site"),
    ([task(1, "FAILED", HOUR), task(2, "TIMEOUT", 24 * HOUR)], 2, True, "most did not complete"),
]


@pytest.mark.parametrize(("tasks", "hours", "is_about_loss", "why"), ARRAYS, ids=[row[-1] for row in ARRAYS])
def test_the_letter_about_an_array_is_about_what_weighs_more(
    tmp_path: Path, tasks: list[Job], hours: float, is_about_loss: bool, why: str
) -> None:
    config = Config(feedback=Feedback(lost_hours=hours))
    (letter,) = write(put(tmp_path / "t.db", tasks), replace(about(tasks[0]), until=END), settings=config)
    assert ("of run time is lost" in text(letter)) == is_about_loss, why


def test_tasks_that_slurm_put_back_are_not_to_be_submitted_again(tmp_path: Path) -> None:
    again = task(2, "COMPLETED", HOUR, submit_time=END + 60, end=END + 3 * HOUR)
    tasks = [task(1, "NODE_FAIL", 20 * HOUR), task(2, "NODE_FAIL", 20 * HOUR), task(4, "NODE_FAIL", 20 * HOUR), again]
    (letter,) = write(put(tmp_path / "t.db", tasks), replace(about(tasks[0]), until=END + DAY))
    assert "sbatch --array=1,4 --requeue" in letter.text
    assert "3 lost their node" in letter.subject


def test_a_site_replaces_the_letter_about_lost_work(tmp_path: Path) -> None:
    (tmp_path / "lost.txt.j2").write_text("Subject: {{ lost.outcome }}\n\n{{ lost.reserved | hours }}\n")
    trace = put(tmp_path / "t.db", [TIMED])
    (letter,) = write(trace, about(TIMED), settings=Config(feedback=Feedback(templates=tmp_path)))
    assert (letter.subject, letter.text) == ("timeout", "288 GPU-hours\n")
    assert "288\u00a0GPU-hours" in letter.html


@pytest.mark.parametrize(
    ("jobs", "says", "why"),
    [
        (
            [TIMED, HUNGRY, lost(4, elapsed=8 * HOUR, gpus=0, cpus=2)],
            "2 reached their limit, 1 ran out of memory. Unless your programs saved their work, that is a loss of"
            " 297 GPU-hours and 16 CPU-hours.",
            "all of them together",
        ),
        ([lost(ckpt_at=END - 300, ckpt_heard=1), done(9)], "", "it was warned in time: what it lost is not known"),
        ([done(n, end=END) for n in range(3)], "", "nothing was lost"),
        ([lost(elapsed=0), done(9, end=END)], "", "no time is no loss"),
        ([replace(TIMED, submitted_by="srun"), done(9, end=END)], "", "its user sat before it"),
        ([replace(TIMED, source="text"), done(9, end=END)], "", "a source that counts for no one"),
    ],
)
def test_a_digest_says_what_the_week_lost(tmp_path: Path, jobs: list[Job], says: str, why: str) -> None:
    trace = put(tmp_path / "t.db", jobs)
    english, japanese = write(trace, *(due("digest", one, user="dan", uid=1004) for one in LANGUAGES))
    assert says in text(english), why
    assert ("that is a loss of" in text(english)) == bool(says) == ("失われた" in text(japanese)), why
