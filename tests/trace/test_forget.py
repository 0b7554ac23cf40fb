"""adminkit trace forget: no byte of the name is left, no later row brings it back, and everybody else stays."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import adminkit
from adminkit import actions
from adminkit.cli.main import main
from adminkit.reports.catalogue import SPECS
from adminkit.trace import connect, ledger
from adminkit.trace.actions import record_actions
from adminkit.trace.connect import writer
from adminkit.trace.forget import find, forget
from adminkit.trace.forgotten import Marks, key_path, marks_of
from adminkit.trace.load import JobLoad, StepLoad
from adminkit.trace.person import PREFIX, person_of
from tests.support.builders import HOUR, MONDAY, add_letters, job, ledger_entry, letter, make_trace

NAME, UID = "quentin.v", 54321
HEADER = "JobID|JobIDRaw|Cluster|Submit|Start|End|State|TimelimitRaw|Partition|User|UID|Group|Account|JobName|ReqTRES"


def text(*lines: str) -> str:
    return "\n".join([HEADER, *lines]) + "\n"


def line(number: int, user: str = NAME, uid: int = UID, **cells: str) -> str:
    values = {
        "JobID": str(number), "JobIDRaw": str(number), "Cluster": "aaic", "Submit": str(MONDAY), "Start": str(MONDAY),
        "End": str(MONDAY + HOUR), "State": "COMPLETED", "TimelimitRaw": "120", "Partition": "gq", "User": user,
        "UID": str(uid), "Group": user, "Account": user, "JobName": f"{user}-thesis", "ReqTRES": "cpu=1,node=1",
    }  # fmt: skip
    return "|".join({**values, **cells}[name] for name in HEADER.split("|"))


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of two users, and the name in every table that can have it."""
    (tmp_path / "adminkit.toml").write_text(f'acts = "{tmp_path}/acts.jsonl"\nown = "{tmp_path}/trace/own"\n')
    monkeypatch.setenv("ADMINKIT_CONFIG", str(tmp_path / "adminkit.toml"))
    (tmp_path / "trace").mkdir()
    own = {"user": NAME, "uid": UID, "group": NAME, "account": NAME, "job_name": f"{NAME}-thesis", "program": "x.py"}
    others = {"user": "mei", "uid": 1002, "job_name": "train", "group": "lab"}
    path = make_trace(
        tmp_path / "trace" / "trace.db",
        [
            *(job(n, **own, admin_comment=f"by {NAME}", cancelled_by=UID) for n in range(5)),
            *(job(n, **others, account="vision") for n in range(5, 9)),
            job(9, **{**others, "group": NAME}, account=NAME, cancelled_by=UID),
            job(10, user=None, uid=UID),
        ],
    )  # fmt: skip
    add_letters(path, [letter(UID, user=NAME, address=f"{NAME}@example.org"), letter(1002, user="mei")])
    with writer(path) as db:
        db.execute(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, step_name)"
            " SELECT cluster, job_id_raw, submit_time, '0', source, iif(user = ?, ?, 'train') FROM job",
            (NAME, f"{NAME}.sh"),
        )
        db.execute(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, step_name) VALUES ('aaic', 90, 1, '0', ?)",
            (f"{NAME}.early",),
        )
        db.execute("INSERT INTO job_aside (why, aside_at, cluster, job_id_raw, submit_time, user, job_name)"
                   " VALUES ('unknown', 1, 'aaic', 77, 1, ?, ?)", (NAME, NAME))  # fmt: skip
        db.execute("INSERT INTO step_aside (why, aside_at, cluster, job_id_raw, submit_time, step, step_name)"
                   " VALUES ('unknown', 1, 'aaic', 77, 1, '0', ?)", (NAME,))  # fmt: skip
        db.execute("INSERT INTO rejected VALUES ('x', 1, 'why', CAST(? AS BLOB), 1)", (f"7|{NAME}|?",))
        db.execute("INSERT INTO rejected VALUES ('x', 1, 'why', CAST('7|mei|?' AS BLOB), 1)")
        db.execute("INSERT INTO node_event VALUES ('aaic', 'n1', 5, 9, 'DOWN', ?, ?, ?)", (f"{NAME} did", NAME, UID))
        act = {"at": 5, "who": NAME, "what": "incentives set", "users": [NAME, "mei"], "host": "head"}
        db.execute("INSERT INTO action VALUES (5, 'head', ?, 'incentives set', NULL, ?)", (NAME, json.dumps(act)))
        db.execute("INSERT INTO load VALUES (1, 'import', ?, 'aaic', 1, 1.0, 1, 1, 0, 0, 0)", (f"/home/{NAME}/x.txt",))
        person = person_of(db, "aaic", NAME, now=1, uid=UID)
        person_of(db, "aaic", "mei", now=1, uid=1002)
        ledger.append(db, [ledger_entry("2026-01", person, account=person)])
    (tmp_path / "acts.jsonl").write_text(json.dumps(act) + "\nno act\n")
    (path.parent / "own").mkdir(mode=0o711)
    for uid, user in ((UID, NAME), (1002, "mei")):
        (path.parent / "own" / f"{uid}.json").write_text(json.dumps({"uid": uid, "user": user}))
    (path.parent / "prefs").mkdir(mode=0o1733)
    (path.parent / "prefs" / f"{UID}.toml").write_text(f'address = "{NAME}@example.org"\n')
    return path


def files_with(folder: Path, *words: str) -> list[str]:
    return [
        f"{word} in {one}"
        for one in folder.rglob("*")
        if one.is_file()
        for word in words
        if word.encode() in one.read_bytes()
    ]


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def test_a_preview_changes_nothing_and_counts(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_with(trace.parent, NAME)
    assert main(["trace", "forget", NAME, "--db", str(trace), "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "applied": False, "person": None, "mentioned": {}, "gone": False,
        "rows": {"job": 6, "step": 6, "job_aside": 1, "step_aside": 1, "outbox": 1, "rejected": 1, "node_event": 1,
                 "action": 1, "load": 1, "person": 1},
    }  # fmt: skip
    assert files_with(trace.parent, NAME) == before and rows(trace, "SELECT * FROM forgotten") == []


def test_nothing_of_the_name_is_left(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted = rows(trace, "SELECT count(*), sum(elapsed), sum(gpus) FROM job")
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply"]) == 0
    assert "still a word" not in capsys.readouterr().out
    assert files_with(tmp_path, NAME, str(UID)) == []
    assert [one.name for one in (trace.parent / "own").iterdir()] == ["1002.json"]
    assert rows(trace, "SELECT count(*), sum(elapsed), sum(gpus) FROM job") == counted, "what ran has run"
    (person,) = {user for (user,) in rows(trace, "SELECT user FROM job") if user != "mei"}
    assert rows(trace, "SELECT DISTINCT person, account FROM ledger") == [(person, person)], "the id that bills have"
    assert rows(trace, "SELECT account FROM job WHERE job_id_raw = 9") == [(person,)], "an account of that name"
    assert rows(trace, "SELECT user, job_name, account, cancelled_by FROM job WHERE job_id_raw = 8") == [
        ("mei", "train", "vision", None)
    ]
    assert rows(trace, "SELECT user FROM outbox") == rows(trace, "SELECT user FROM person") == [("mei",)]
    assert rows(trace, "SELECT count(*) FROM rejected") == [(1,)], "that of somebody else stays"
    assert [what for (what,) in rows(trace, "SELECT what FROM action ORDER BY at")] == [
        "incentives set",
        "trace forget",
    ]
    log = (tmp_path / "acts.jsonl").read_text()
    assert person in log and "mei" in log and "no act\n" in log


def test_no_import_brings_it_back(trace: Path, tmp_path: Path) -> None:
    """The same runs, later ones, what cannot be read, and the name in columns of others."""
    source = tmp_path / "sacct.txt"
    step = line(0, **{"JobID": "0.0", "JobIDRaw": "0.0", "JobName": f"{NAME}.sh"})
    source.write_text(
        text(
            line(0), step, line(20), line(21, user="mei", uid=1002, Account=NAME, Group=NAME),
            line(22, State=f"CANCELLED by {UID}", user="mei", uid=1002), line(23, Submit="never"),
            line(24, user="mei", uid=1002, JobName="mine"), line(25, user="", uid=UID, Account="", Group=""),
        )
    )  # fmt: skip
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply"]) == 0
    for _ in range(2):
        assert main(["import", str(source), "--db", str(trace), "--max-rejected", "1"]) == 0
    source.unlink()
    with writer(trace) as db:
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert files_with(trace.parent, NAME, str(UID)) == []
    found = dict(rows(trace, "SELECT job_id_raw, user FROM job WHERE job_id_raw BETWEEN 20 AND 25"))
    person = found[20]
    assert str(person).startswith(PREFIX)
    assert found == {20: person, 21: "mei", 22: "mei", 24: "mei", 25: None}
    assert rows(trace, 'SELECT account, "group" FROM job WHERE job_id_raw = 21') == [(person, None)]
    assert rows(trace, "SELECT job_name, account FROM job WHERE job_id_raw = 24") == [("mine", "mei")]


def test_a_step_that_comes_before_its_run_waits_for_its_name(trace: Path) -> None:
    """As slurmdbd may show it: whose it is, is not known yet."""
    key = ("cluster", "job_id_raw", "submit_time")
    steps = [("aaic", number, 1, "0", f"{user}.sh") for number, user in ((30, NAME), (31, "mei"))]
    runs = [("aaic", number, 1, user) for number, user in ((30, NAME), (31, "mei"))]
    with writer(trace) as db:
        forget(db, trace, find(db, NAME), 1, lambda _: None)
        for known, expected in (([], [None, None]), (runs, [None, "mei.sh"])):
            JobLoad(db, (*key, "user"), "text").put(known)
            StepLoad(db, (*key, "step", "step_name"), "text").put(steps)
            found = db.execute("SELECT step_name FROM step WHERE job_id_raw IN (30, 31) ORDER BY job_id_raw")
            assert [name for (name,) in found] == expected


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_no_export_of_an_older_day_brings_it_back(kind: str, trace: Path, tmp_path: Path) -> None:
    assert main(["export", str(tmp_path / "x"), "--to", kind, "--db", str(trace)]) == 0
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply"]) == 0
    before = rows(trace, "SELECT user, account, job_name, elapsed FROM job ORDER BY job_id_raw")
    assert main(["import", str(tmp_path / "x"), "--db", str(trace)]) == 0
    with writer(trace) as db:
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert files_with(trace.parent, NAME, str(UID)) == []
    assert rows(trace, "SELECT user, account, job_name, elapsed FROM job ORDER BY job_id_raw") == before


def test_every_report_and_export_knows_an_id_alone(trace: Path, tmp_path: Path) -> None:
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply"]) == 0
    opened = adminkit.open(trace)
    for spec in SPECS:
        assert NAME not in opened.report(spec.name).to_csv(), spec.name
    for kind in ("csv", "jsonl", "swf"):
        target = tmp_path / "out" / (f"{kind}.swf" if kind == "swf" else kind)
        target.parent.mkdir(exist_ok=True)
        cluster = ["--cluster", "aaic"] if kind == "swf" else []
        assert main(["export", str(target), "--to", kind, "--db", str(trace), *cluster]) == 0
    assert files_with(tmp_path / "out", NAME, str(UID)) == []


def test_what_killed_runs_left_beside_the_trace_goes(trace: Path) -> None:
    """Answers of slurmdbd that a sync was killed over, an audit's, and a trace that was being built."""
    spool, audit = (trace.with_name(f".{trace.name}{end}") for end in (".spool", ".audit.999999999"))
    built = trace.with_name(f".{trace.name}.999999999.new")
    for folder in (spool, audit):
        folder.mkdir()
        (folder / "answer").write_text(f"7|{NAME}|")
    built.write_text(NAME)
    mine = trace.with_name("notes-of-the-operator")
    mine.write_text("kept")
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply"]) == 0
    assert not spool.exists() and not audit.exists() and not built.exists() and mine.read_text() == "kept"
    assert files_with(trace.parent, NAME) == []


def test_a_snapshot_is_made_again(trace: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert main(["trace", "snapshot", str(copy), "--db", str(trace)]) == 0
    assert files_with(tmp_path, NAME)
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply", "--snapshot", str(copy)]) == 0
    assert files_with(tmp_path, NAME, str(UID)) == []
    assert rows(copy, "SELECT count(*) FROM job") == [(11,)]


def test_a_kill_on_the_way_is_made_good_by_the_same_command(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever batch it dies in, the id is the same one and nothing is left of the name."""
    monkeypatch.setattr("adminkit.trace.run_batches.BATCH", 2)
    people = set()
    for last in (2, 4):
        with writer(trace) as db, pytest.raises(KeyboardInterrupt):

            def die(done: int, last: int = last) -> None:
                if done >= last:
                    raise KeyboardInterrupt

            forget(db, trace, find(db, NAME), 1, die)
        people |= {user for (user,) in rows(trace, f"SELECT user FROM job WHERE user GLOB '{PREFIX}*'")}
        with writer(trace) as db:
            db.execute("DROP TABLE IF EXISTS temp.run_batch")
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply"]) == 0
    people |= {user for (user,) in rows(trace, f"SELECT user FROM job WHERE user GLOB '{PREFIX}*'")}
    assert len(people) == 1 and files_with(trace.parent, NAME, str(UID)) == []


@pytest.mark.parametrize(
    ("name", "rest", "why"),
    [
        ("ada", {"adam", "ada-2", "ada.b"}, "a name is a whole word"),
        ("a.c", {"abc"}, "a dot is a dot"),
        ("%", {"x"}, "and no pattern"),
        ("'; DROP TABLE job; --", {"x"}, "nor SQL"),
        ("person", {"x"}, "nor what ids begin with"),
    ],
)
def test_others_keep_their_names(tmp_path: Path, name: str, rest: set[str], why: str) -> None:
    path = make_trace(tmp_path / "t.db", [job(n, user=user) for n, user in enumerate([name, *sorted(rest)])])
    assert main(["trace", "forget", name, "--db", str(path), "--apply"]) == 0
    users = {user for (user,) in rows(path, "SELECT user FROM job")}
    assert rest <= users and name not in users, why


def test_a_uid_may_be_somebody_elses_by_now(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", [job(1, user="ada", uid=1001), job(2, user="new", uid=1001)])
    assert main(["trace", "forget", "ada", "--db", str(path), "--apply"]) == 0
    assert rows(path, "SELECT user, uid FROM job WHERE job_id_raw = 2") == [("new", 1001)]


@contextmanager
def read_meanwhile(trace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another program is in the middle of reading the trace, and nobody waits for it for long."""
    monkeypatch.setattr(connect, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(trace, isolation_level=None)) as reading:
        reading.execute("PRAGMA journal_mode = WAL")
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM job").fetchone()
        yield


def test_where_the_file_is_read_it_is_not_said_to_be_forgotten_and_the_same_command_ends_it(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["trace", "forget", NAME, "--db", str(trace), "--apply"]
    with read_meanwhile(trace, monkeypatch):
        assert main(words) == 1
        assert NAME.encode() in trace.read_bytes(), "the reader still sees it"
    out, err = capsys.readouterr()
    assert "still in the file" in out and "forgotten, now" not in out
    assert "another program is reading it" in err and "run the same command again" in err
    assert main(words) == 0
    assert "forgotten, now" in capsys.readouterr().out
    assert NAME.encode() not in trace.read_bytes()


def test_where_the_file_is_read_pruning_says_so(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["trace", "prune", "--older-than", "2030-01-01", "--db", str(trace), "--apply"]
    monkeypatch.setattr("adminkit.cli.trace_prune.LEAST_AGE", -(1 << 40))
    with read_meanwhile(trace, monkeypatch):
        assert main(words) == 1
    assert "another program is reading it" in capsys.readouterr().err
    assert main(words) == 0


def test_a_name_in_a_sentence_of_an_act_goes_from_the_log_and_from_the_trace(trace: Path, tmp_path: Path) -> None:
    log = tmp_path / "acts.jsonl"
    said = actions.act("elastic", None, None, {}, did="refused", why=f"the rules refuse it:\n{NAME} may have 2 GPUs.")
    actions.append(log, said)
    with writer(trace) as db:
        record_actions(db, [said])
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply"]) == 0
    assert files_with(tmp_path, NAME) == []
    (kept,) = [one for one in actions.read(log) if one["what"] == "elastic"]
    assert kept["why"].endswith(" may have 2 GPUs."), kept


@pytest.mark.parametrize("name", ["what", "at", "who", "hosts", "release"])
def test_a_user_called_like_a_key_of_acts_leaves_the_keys(trace: Path, tmp_path: Path, name: str) -> None:
    log = tmp_path / "acts.jsonl"
    actions.append(log, actions.act("policy install", "g2", "g1", {"head": "in use"}, user=name))
    with writer(trace) as db:
        db.execute("UPDATE job SET user = ? WHERE user = ?", (name, NAME))
    assert main(["trace", "forget", name, "--db", str(trace), "--apply"]) == 0
    (act,) = [one for one in actions.read(log) if one["what"] == "policy install"]
    assert {"at", "who", "hosts", "release"} <= set(act) and act["user"].startswith(PREFIX)


def test_of_nobody_it_says_so(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "forget", "nobody-here", "--db", str(trace), "--apply"]) == 2
    assert "the trace has no data for nobody-here" in capsys.readouterr().err
    assert not key_path(trace).exists()


def test_without_the_key_nothing_is_loaded(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Or every forgotten user would be back."""
    (tmp_path / "sacct.txt").write_text(text(line(20)))
    assert main(["trace", "forget", NAME, "--db", str(trace), "--apply"]) == 0
    assert key_path(trace).stat().st_mode & 0o777 == 0o600
    key_path(trace).rename(tmp_path / "away")
    assert main(["import", str(tmp_path / "sacct.txt"), "--db", str(trace)]) == 1
    assert "the key of the forgotten users is missing" in capsys.readouterr().err
    assert rows(trace, "SELECT count(*) FROM job WHERE job_id_raw = 20") == [(0,)]
    (tmp_path / "away").rename(key_path(trace))
    assert main(["import", str(tmp_path / "sacct.txt"), "--db", str(trace)]) == 0


def test_sql_and_python_make_the_same_mark(trace: Path) -> None:
    with writer(trace) as db:
        forget(db, trace, find(db, NAME), 1, lambda _: None)
        marks = marks_of(db)
        assert marks and marks.person(NAME) and not marks.person("mei")
        assert db.execute("SELECT mark('name', ?), mark('uid', ?)", (NAME, UID)).fetchone() == (
            marks.mark("name", NAME),
            marks.mark("uid", str(UID)),
        )


@pytest.mark.parametrize(
    ("value", "expected", "why"),
    [
        (NAME, "person:1", "a text"),
        ({"users": [NAME, "mei"]}, {"users": ["person:1", "mei"]}, "in a list"),
        ({NAME: 1, "what": {NAME: NAME}}, {NAME: 1, "what": {NAME: "person:1"}}, "keys are adminkit's own words"),
        (f"{NAME} and mei", "person:1 and mei", "in a sentence"),
        (f"x{NAME}, {NAME}x, {NAME}.x, {NAME}-2", f"x{NAME}, {NAME}x, {NAME}.x, {NAME}-2", "names that have it within"),
        (
            f"the rules refuse it: '{NAME}'s jobs of {NAME}.",
            "the rules refuse it: 'person:1's jobs of person:1.",
            "between quotes, and before a full stop",
        ),
        (
            f"couldn't read /home/{NAME}/p.toml:\n{NAME}=1",
            "couldn't read /home/person:1/p.toml:\nperson:1=1",
            "in a path, and behind a line break",
        ),
        (
            {"what": f"{NAME} guard", "did": NAME, "why": NAME},
            {"what": f"{NAME} guard", "did": NAME, "why": "person:1"},
            "words of adminkit's own that are somebody's name",
        ),
        ({"at": 5, "ok": None}, {"at": 5, "ok": None}, "no text"),
    ],
)
def test_acts_without_names(value: object, expected: object, why: str) -> None:
    bare = Marks(bytes(32), {})
    marks = Marks(bytes(32), {bare.mark("name", NAME) or "": "person:1"})
    assert marks.without_names(value) == expected, why
