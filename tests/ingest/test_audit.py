"""`adminkit trace audit`, with a slurmdbd that forgets, contradicts and goes away; tests/cluster has a real one."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit import journal
from adminkit.errors import AdminkitError
from adminkit.ingest import audit as module
from adminkit.ingest.audit import audit
from adminkit.ingest.audited import Audited
from adminkit.ingest.sync import sync
from adminkit.ingest.sync_windows import Options
from adminkit.job import Job, Step
from adminkit.slurm import cluster as slurm_cluster
from adminkit.trace import connect, outbox
from adminkit.trace.audit import aside, restore
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.support.builders import letter

HOUR, DAY = 3600, 86_400
NOW = int(time.time())
ALL = ("confirmed", "contradicted", "unknown", "beyond", "open")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeSlurm, Path]]:
    """A hundred runs over ten days, one of each kind among them, and the trace that sync made of them."""
    folder = tmp_path_factory.mktemp("audit")
    with pytest.MonkeyPatch.context() as patch:
        made = FakeSlurm(folder / "slurm", patch)
        made.fields += ["UID", "Account", "QOS", "MaxRSS", "TotalCPU"]
        made.jobs = [job(n, NOW - 10 * DAY + n * 2 * HOUR, UID="1001", Account="a") for n in range(1, 100)]
        made.jobs += [
            job(200, NOW - 5 * DAY, "REQUEUED", UID="1001"),
            job(200, NOW - 4 * DAY, UID="1001"),
            *(job(300 + n, NOW - 3 * DAY + n, JobID=f"300_{n}", UID="1001") for n in range(3)),
            *(job(310 + n, NOW - 3 * DAY + n, JobID=f"310+{n}", UID="1001") for n in range(2)),
            job(320, NOW - 2 * DAY, "CANCELLED", Start="Unknown", ElapsedRaw="0", AllocTRES="", UID="1001"),
            job(400, UID="1001"),
        ]
        made.write()
        path = folder / "trace.db"
        sync(Options(path, since=NOW - 20 * DAY, steps=False, timeout=5.0), [], lambda _: None)
        yield made, path


@pytest.fixture
def slurm(once: tuple[FakeSlurm, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    made = FakeSlurm(tmp_path / "slurm", monkeypatch)
    made.jobs, made.fields = [dict(one) for one in once[0].jobs], [*once[0].fields]
    return made


@pytest.fixture
def db(once: tuple[FakeSlurm, Path], slurm: FakeSlurm, tmp_path: Path) -> Path:
    path = tmp_path / "trace" / "trace.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(once[1])) as trace, closing(sqlite3.connect(path)) as copy:
        trace.backup(copy)
    return path


@pytest.fixture(autouse=True)
def quiet() -> Any:
    journal.close()
    yield
    journal.close()


def ask(slurm: FakeSlurm, db: Path, *clusters: str, **words: Any) -> Audited:
    slurm.write()
    words = {"steps": False, **words}
    steps = words.pop("steps")
    found = audit(Options(db, steps=steps, steps_pause=0.0, timeout=5.0), clusters, lambda _: None, **words)
    return found[0]


def counts(done: Audited) -> tuple[int, ...]:
    return tuple(done.counts[verdict] for verdict in ALL)


def change(db: Path, *statements: str) -> None:
    with closing(sqlite3.connect(db)) as trace, trace:
        for statement in statements:
            trace.execute(statement)


def read(db: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(sql).fetchall()


FORGED = (
    "INSERT INTO job (cluster, job_id_raw, submit_time, source, job_id, user, uid, state, start_time, end_time,"
    " elapsed, time_limit, limit_kind, limit_source, limit_original, gpus)"
    " VALUES ('{cluster}', {number}, {submit}, 'slurmdbd', '{number}', 'news', 9, 'COMPLETED', {submit}, {end}, 3500,"
    " 3600, 'finite', 'explicit', 3600, 8)"
)


def forge(
    number: int = 990001, submit: int = NOW - 5 * DAY + 77, end: int | None = None, cluster: str = "alpha"
) -> str:
    return FORGED.format(number=number, submit=submit, end=end or submit + 3500, cluster=cluster)


def test_an_honest_trace_is_confirmed_and_only_that_is_written(slurm: FakeSlurm, db: Path) -> None:
    before = read(db, "SELECT * FROM job ORDER BY rowid")
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1)
    assert read(db, "SELECT * FROM job ORDER BY rowid") == before, "a look writes nothing"
    assert read(db, "SELECT count(*) FROM note WHERE key = 'audited'") == [(0,)]
    done = ask(slurm, db, apply=True)
    assert counts(done) == (107, 0, 0, 0, 1)
    assert read(db, "SELECT audited, count(*) FROM job GROUP BY 1") == [(None, 1), ("confirmed", 107)]
    assert read(db, "SELECT value FROM note WHERE key = 'audited'") == [("confirmed 107, open 1",)]
    again = ask(slurm, db, apply=True)
    assert (counts(again), again.before) == ((0, 0, 0, 0, 1), 107), "what was confirmed is not asked for again"
    assert counts(ask(slurm, db, apply=True, again=True)) == (107, 0, 0, 0, 1), "unless it is wanted"


def test_a_row_that_slurmdbd_never_had_is_set_aside_whole(slurm: FakeSlurm, db: Path) -> None:
    change(
        db, forge(),
        "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, cpu_time)"
        f" VALUES ('alpha', 990001, {NOW - 5 * DAY + 77}, 'batch', 'slurmdbd', 28000.5)",
    )  # fmt: skip
    (row,) = read(db, "SELECT * FROM job WHERE job_id_raw = 990001")
    (step,) = read(db, "SELECT * FROM step WHERE job_id_raw = 990001")
    seen = ask(slurm, db)
    assert counts(seen) == (107, 0, 1, 0, 1)
    assert (seen.examples[0].verdict, seen.examples[0].told.user, seen.users) == (
        "unknown",
        "news",
        {"unknown": {"news"}},
    )
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)]
    assert counts(ask(slurm, db, apply=True)) == (107, 0, 1, 0, 1)
    assert read(db, "SELECT count(*) FROM job WHERE job_id_raw = 990001") == [(0,)]
    assert read(db, "SELECT count(*) FROM step") == [(0,)]
    why, _, *kept = read(db, "SELECT * FROM job_aside")[0]
    assert (why, tuple(kept)) == ("unknown", row), "nothing of it is lost"
    assert tuple(read(db, "SELECT * FROM step_aside")[0][2:]) == step
    assert counts(ask(slurm, db, apply=True, again=True)) == (107, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("statement", "differs", "why"),
    [
        ("elapsed = 100, time_limit = 100", ["elapsed", "time_limit"], "a perfect limit"),
        ("uid = 1002", ["uid"], "somebody else's run"),
        ("gpus = 8", ["gpus"], "more weight"),
        ("state = 'TIMEOUT'", ["state"], "another's miss"),
        ("job_name = 'I_waste_everything'", ["job_name"], "words for a letter"),
        ("end_time = end_time - 86400, start_time = start_time - 86400", ["start_time", "end_time"], "another day"),
        ("end_time = CAST(strftime('%s') AS INTEGER) + 2592000", ["end_time"], "a day to come"),
        ("array_job = 5", ["array_job"], "a task of another array"),
        ("limit_kind = 'unlimited', time_limit = NULL", ["time_limit", "limit_kind"], "no limit at all"),
    ],
)
def test_a_row_that_was_written_over_gets_slurmdbds_word_back(
    slurm: FakeSlurm, db: Path, statement: str, differs: Sequence[str], why: str
) -> None:
    (honest,) = read(db, "SELECT * FROM job WHERE job_id_raw = 7")
    change(db, f"UPDATE job SET {statement}, fingerprint = 1 WHERE job_id_raw = 7")
    (forged,) = read(db, "SELECT * FROM job WHERE job_id_raw = 7")
    seen = ask(slurm, db)
    assert counts(seen) == (106, 1, 0, 0, 1), why
    assert list(seen.examples[0].differs) == differs, why
    ask(slurm, db, apply=True)
    (back,) = read(db, "SELECT * FROM job WHERE job_id_raw = 7")
    place = [row[1] for row in read(db, "PRAGMA table_info(job)")].index("audited")
    assert back[:place] + back[place + 1 :] == honest[:place] + honest[place + 1 :], why
    assert back[place] == "confirmed"
    assert read(db, "SELECT why FROM job_aside") == [("contradicted",)]
    assert tuple(read(db, "SELECT * FROM job_aside")[0][2:]) == forged, "nothing of it is lost"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("user = 'renamed', \"group\" = 'x', qos = 'old'", "sacctmgr and the directory may rename these"),
        ("reason = 'Priority', eligible_time = 5, flags = 'x'", "what was seen while it waited"),
        ("admin_comment = 'JS1:x', energy = 5, cpu_time = 4.5", "other tools and the steps write these"),
        ("limit_source = 'explicit', limit_original = 7200", "the policy's record, which squeue showed while it ran"),
    ],
)
def test_what_may_honestly_differ_contradicts_nothing(slurm: FakeSlurm, db: Path, statement: str, why: str) -> None:
    change(db, f"UPDATE job SET {statement} WHERE job_id_raw = 7")
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1), why


def test_a_record_that_slurmdbd_still_has_is_compared(slurm: FakeSlurm, db: Path) -> None:
    slurm.fields += ["AdminComment"]
    slurm.jobs[6]["AdminComment"] = "ak1:lim=259200,src=e"
    change(db, "UPDATE job SET limit_source = 'explicit', limit_original = 600 WHERE job_id_raw = 7")
    assert list(ask(slurm, db).examples[0].differs) == ["limit_original"]


def test_a_run_that_slurmdbd_says_still_runs_is_open_again_and_looked_up(slurm: FakeSlurm, db: Path) -> None:
    change(db, f"UPDATE job SET state = 'COMPLETED', end_time = {NOW - HOUR}, elapsed = 50 WHERE job_id_raw = 400")
    assert counts(ask(slurm, db, apply=True)) == (107, 1, 0, 0, 0)
    assert read(db, "SELECT state, end_time FROM job WHERE job_id_raw = 400") == [("RUNNING", None)]
    slurm.jobs[-1] = job(400, NOW - 60, UID="1001", Submit=slurm.jobs[-1]["Submit"])
    slurm.write()
    sync(Options(db, steps=False, timeout=5.0), [], lambda _: None)
    assert read(db, "SELECT state FROM job WHERE job_id_raw = 400") == [("COMPLETED",)]


def test_steps_that_were_made_up_are_found_by_their_cpu_time(slurm: FakeSlurm, db: Path) -> None:
    one = next(one for one in slurm.jobs if one["JobIDRaw"] == "7")
    batch = {**one, "JobID": "7.batch", "JobIDRaw": "7.batch", "TotalCPU": "00:00:40"}
    slurm.jobs.insert(slurm.jobs.index(one) + 1, batch)
    key = f"'alpha', 7, {one['Submit']}"
    change(
        db,
        *(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, cpu_time)"
            f" VALUES ({key}, '{step}', 'slurmdbd', {cpu})"
            for step, cpu in (("batch", 40), ("0", 9000))
        ),
        "UPDATE job SET cpu_time = 9040 WHERE job_id_raw = 7",
    )
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1), "without steps nobody asks"
    assert list(ask(slurm, db, steps=True).examples[0].differs) == ["cpu_time", "steps"]
    ask(slurm, db, steps=True, apply=True)
    assert read(db, "SELECT cpu_time FROM job WHERE job_id_raw = 7") == [(40.0,)]
    assert read(db, "SELECT step, cpu_time FROM step") == [("batch", 40.0)]
    assert read(db, "SELECT count(*) FROM step_aside") == [(2,)]


def purge(slurm: FakeSlurm, before: int) -> None:
    """As slurmdbd does: by submission, whatever has ended."""
    slurm.jobs = [one for one in slurm.jobs if int(one["Submit"]) > before or one["End"] == "Unknown"]


def test_what_was_purged_is_beyond_and_earns_nothing_more(slurm: FakeSlurm, db: Path) -> None:
    slurm.jobs.append(job(401, Submit=str(NOW - 9 * DAY), Start=str(NOW - 8 * DAY)))  # a long one, which is not purged
    purge(slurm, NOW - 7 * DAY)
    gone = 108 + 1 - len(slurm.jobs)
    change(db, forge(submit=NOW - 8 * DAY), forge(990002))
    done = ask(slurm, db, apply=True)
    assert counts(done) == (107 - gone, 0, 1, gone + 1, 1), "an old forged one too: nobody can say"
    assert read(db, "SELECT count(*) FROM job WHERE audited = 'beyond'") == [(gone + 1,)]
    assert read(db, "SELECT job_id_raw FROM job_aside") == [(990002,)]


def test_a_purge_that_is_under_way_sets_nothing_aside(slurm: FakeSlurm, db: Path) -> None:
    """slurmdbd deletes some rows at a time, in no order: older ones may be there yet while others are gone."""
    slurm.jobs = [one for one in slurm.jobs if int(one["JobIDRaw"]) not in range(10, 30)]
    slurm.purge = "7days"
    assert counts(ask(slurm, db)) == (87, 0, 0, 20, 1)
    slurm.purge = "NONE"
    assert counts(ask(slurm, db))[2] == 20, "without a setting that explains it they are denied"


def test_a_purge_between_the_first_answer_and_the_last_sets_nothing_aside(
    slurm: FakeSlurm, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module._chunk
    cut: list[int] = []

    def chunk(work: Any, since: int, until: int) -> None:
        if not cut:
            cut.append(1)
            purge(slurm, NOW - 7 * DAY)
            slurm.write()
        real(work, since, until)

    monkeypatch.setattr(module, "_chunk", chunk)
    done = ask(slurm, db, apply=True)
    assert done.counts["unknown"] == done.counts["contradicted"] == 0 < done.counts["beyond"]


def test_a_rebuilt_database_with_ids_used_again_sets_nothing_aside(slurm: FakeSlurm, db: Path) -> None:
    """It knows what ran when it was made and since; one of these was submitted long before."""
    long = job(400, NOW - HOUR, UID="1001", Submit=slurm.jobs[-1]["Submit"])
    shell = {**slurm.jobs[98], "QOS": "Unknown", "JobName": "allocation", "UID": "0", "User": "root"}
    slurm.jobs = [long, shell, *(job(n, NOW - HOUR + n, UID="1001") for n in range(1, 20))]
    done = ask(slurm, db, apply=True)
    assert counts(done) == (0, 0, 0, 107, 1), "the one that was open is there"
    assert read(db, "SELECT count(*) FROM job") == [(108,)]


def test_a_cluster_that_is_gone_is_beyond_and_not_asked_for(slurm: FakeSlurm, db: Path) -> None:
    slurm.clusters = ["beta"]
    done = ask(slurm, db, apply=True)
    assert (counts(done), done.known) == ((0, 0, 0, 108, 0), False)
    assert slurm.asked() == []
    slurm.clusters = ["alpha"]
    assert counts(ask(slurm, db, apply=True)) == (107, 0, 0, 0, 1), "it is asked again once it is back"


def test_a_forged_cluster_is_beyond(slurm: FakeSlurm, db: Path) -> None:
    change(db, forge(cluster="gamma"))
    slurm.write()
    found = audit(Options(db, steps=False), [], lambda _: None)
    assert [(one.cluster, counts(one)) for one in found] == [("alpha", (107, 0, 0, 0, 1)), ("gamma", (0, 0, 0, 1, 0))]


@pytest.mark.parametrize("when", ["at once", "in the middle"])
def test_slurmdbd_away_sets_nothing_aside(slurm: FakeSlurm, db: Path, when: str) -> None:
    change(db, forge())
    refused = "sacct: error: Problem talking to the database: Connection refused"
    slurm.rules = [
        {"program": "sacct", "exit": 1, "says": refused, **({} if when == "at once" else {"wider": 4 * HOUR})}
    ]
    with pytest.raises(AdminkitError, match="Connection refused"):
        ask(slurm, db, apply=True)
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)]
    assert read(db, "SELECT count(*) FROM note WHERE key = 'audited'") == [(0,)]
    slurm.rules = []
    assert ask(slurm, db, apply=True).counts["unknown"] == 1


def test_what_was_cut_off_goes_on_where_it_was(slurm: FakeSlurm, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(db, forge(submit=NOW - 9 * DAY))
    real = module._chunk
    many: list[int] = []

    def chunk(work: Any, since: int, until: int) -> None:
        real(work, since, until)
        many.append(until)
        if len(many) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "_chunk", chunk)
    slurm.write()
    options = Options(db, steps=False, budget=20)
    with pytest.raises(KeyboardInterrupt):
        audit(options, [], lambda _: None, apply=True)
    assert 0 < len(read(db, "SELECT 1 FROM job WHERE audited = 'confirmed'")) < 107
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)], "nothing is denied before all answers are in"
    monkeypatch.setattr(module, "_chunk", real)
    (done,) = audit(options, [], lambda _: None, apply=True)
    assert done.counts["unknown"] == 1 and done.before + done.counts["confirmed"] == 107
    assert not list(db.parent.glob(".*audit*"))


def test_clocks_that_were_set_back_change_nothing(slurm: FakeSlurm, db: Path) -> None:
    """sacct is asked in UTC: the hour that occurs twice at the end of summer time is two hours."""
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1)
    for zone in ("Europe/Berlin", "America/New_York"):
        os.environ["TZ"] = zone
        time.tzset()
        try:
            assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1), zone
        finally:
            del os.environ["TZ"]
            time.tzset()


def test_letters_about_it_are_cancelled_and_those_that_left_are_named(slurm: FakeSlurm, db: Path) -> None:
    submit = NOW - 5 * DAY + 77
    change(db, forge(), forge(990002, submit=submit + 1), "UPDATE job SET array_job = 990000 WHERE job_id_raw = 990002")
    with connect.writer(db) as trace:
        outbox.put(trace, [
            letter(9, cluster="alpha", run=f"990001@{submit}", job_id_raw=990001, submit=submit, state="due"),
            letter(9, cluster="alpha", run=f"990000@{submit}", job_id_raw=990000, submit=submit, array=1, state="sent"),
            letter(9, cluster="alpha", run="7@1", job_id_raw=7, submit=1, state="due"),
        ])  # fmt: skip
    seen = ask(slurm, db)
    assert (seen.due, [(one.run, one.user) for one in seen.sent]) == (1, [(f"990000@{submit}", "ada")])
    done = ask(slurm, db, apply=True)
    assert (done.due, len(done.sent)) == (1, 1)
    states = {row[0]: row[1:] for row in read(db, "SELECT run, state, said FROM outbox")}
    assert states[f"990001@{submit}"] == ("expired", "an audit set its run aside")
    assert states[f"990000@{submit}"] == ("sent", None) and states["7@1"] == ("due", None)


def test_what_was_set_aside_can_be_put_back_as_the_operators_word(slurm: FakeSlurm, db: Path) -> None:
    change(db, forge(), "UPDATE job SET gpus = 8 WHERE job_id_raw = 7")
    ask(slurm, db, apply=True)
    with connect.writer(db) as trace:
        found = aside(trace)
        assert sorted((one.job_id_raw, one.why) for one in found) == [(7, "contradicted"), (990001, "unknown")]
        assert restore(trace, found) == 1, "slurmdbd's own row of job 7 stays"
    assert read(db, "SELECT source, audited, gpus FROM job WHERE job_id_raw = 990001") == [("trusted", None, 8)]
    assert read(db, "SELECT gpus FROM job WHERE job_id_raw = 7") == [(1,)]
    assert read(db, "SELECT job_id_raw FROM job_aside") == [(7,)]
    assert counts(ask(slurm, db, again=True)) == (107, 0, 0, 0, 1)


def test_rows_of_files_are_nobodys_to_confirm(slurm: FakeSlurm, db: Path) -> None:
    change(db, forge(), "UPDATE job SET source = 'trusted' WHERE job_id_raw = 990001")
    change(db, forge(990002), "UPDATE job SET source = 'text' WHERE job_id_raw = 990002")
    assert counts(ask(slurm, db)) == (107, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("uid", "level", "private", "refused"),
    [
        (1000, None, "jobs", True),
        (1000, None, None, True),
        (1000, None, "usage", False),
        (1000, "Operator", "jobs", False),
        (0, None, "jobs", False),
    ],
)
def test_whoever_is_shown_own_jobs_only_is_refused(
    slurm: FakeSlurm,
    db: Path,
    monkeypatch: pytest.MonkeyPatch,
    uid: int,
    level: str | None,
    private: str | None,
    refused: bool,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(slurm_cluster, "admin_level", lambda: level)
    listed = None if private is None else frozenset({private})
    said = slurm_cluster.Accounting(None, None, listed, None)
    monkeypatch.setattr(slurm_cluster, "accounting", lambda: said)
    assert slurm_cluster.shows_every_job() is not refused


def test_a_user_without_rights_sets_nothing_aside(slurm: FakeSlurm, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_cluster, "shows_every_job", lambda: False)
    with pytest.raises(AdminkitError, match="slurmdbd shows this user own jobs only"):
        ask(slurm, db, apply=True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("NONE", slurm_cluster.FOR_GOOD),
        ("", None),
        ("12 months", 12 * 28 * DAY),
        ("1 months*", 28 * DAY),
        ("30days", 30 * DAY),
        ("36 hours", 36 * HOUR),
        ("12", 12 * 28 * DAY),
        ("soon", None),
    ],
)
def test_how_long_slurmdbd_keeps_jobs(text: str, seconds: int | None) -> None:
    assert slurm_cluster.parse_purge(text) == seconds


def test_a_table_for_what_is_set_aside_has_every_column(db: Path) -> None:
    for table, record in (("job", Job), ("step", Step)):
        names = [row[1] for row in read(db, f"PRAGMA table_info({table}_aside)")]
        assert names == ["why", "aside_at", *(row[1] for row in read(db, f"PRAGMA table_info({table})"))]
        assert set(names[2:]) == set(record.__dataclass_fields__)


def test_a_run_whose_record_cannot_be_read_is_beyond(slurm: FakeSlurm, db: Path) -> None:
    one = next(one for one in slurm.jobs if one["JobIDRaw"] == "7")
    one["Submit"] = "Unknown"  # stands for whatever makes a record unreadable
    change(db, forge(submit=NOW - 8 * DAY))
    done = ask(slurm, db, apply=True)
    assert done.counts["unknown"] == 1, "the window and the look-up of the other one are whole"
    assert read(db, "SELECT job_id_raw FROM job_aside") == [(990001,)]
    assert read(db, "SELECT audited FROM job WHERE job_id_raw = 7") == [("beyond",)]


def test_a_run_of_which_slurmdbd_has_the_shell_alone_is_beyond(slurm: FakeSlurm, db: Path) -> None:
    """Of 26.05, after its database was made anew: earlier and later runs are there, and so is its key."""
    one = next(one for one in slurm.jobs if one["JobIDRaw"] == "7")
    one |= {"QOS": "Unknown", "JobName": "allocation", "UID": "0", "User": "root", "Account": ""}
    assert counts(ask(slurm, db))[1:4] == (0, 0, 1)


@pytest.mark.parametrize(
    ("ahead", "verdict", "why"),
    [
        (HOUR, "beyond", "the clock of slurmctld may be ahead"),
        (3 * DAY, "unknown", "so far ahead is none"),
    ],
)
def test_an_end_that_is_to_come(slurm: FakeSlurm, db: Path, ahead: int, verdict: str, why: str) -> None:
    slurm.jobs.append(job(402, Submit=str(NOW - DAY), Start=str(NOW - DAY + 5)))  # runs, and was submitted later
    change(db, forge(end=int(time.time()) + ahead))
    assert ask(slurm, db).counts[verdict] == 1, why


@pytest.mark.parametrize(
    ("said", "operator", "verdict", "why"),
    [
        (None, None, "beyond", "nobody says whether it was purged"),
        (None, slurm_cluster.FOR_GOOD, "unknown", "the operator says that nothing is"),
        (None, 30 * DAY, "unknown", "it is younger than what is"),
        (None, DAY, "beyond", "it is older than what is kept"),
        ("NONE", None, "unknown", "slurmdbd says that nothing is"),
        ("NONE", DAY, "beyond", "the shorter of two holds"),
    ],
)
def test_without_a_word_about_purges_nothing_is_denied(
    slurm: FakeSlurm, db: Path, said: str | None, operator: int | None, verdict: str, why: str
) -> None:
    change(db, forge())
    slurm.purge = said
    done = ask(slurm, db, purge=operator)
    assert done.counts[verdict] == 1, why
    assert done.purge_unsaid == (said is None and operator is None)


@pytest.mark.parametrize(
    ("statement", "differs", "why"),
    [
        ("uid = 4242", ["uid"], "somebody else's"),
        ("array_job = 77", ["array_job"], "a task of another's array"),
        ("state = 'PENDING', start_time = NULL, nodes = NULL, cpus = 1", [], "it has begun since"),
        ("queue = 'old', job_name = 'old', time_limit = 5", [], "scontrol may change these"),
    ],
)
def test_an_open_run_is_never_confirmed_and_loses_what_is_not_slurmdbds(
    slurm: FakeSlurm, db: Path, statement: str, differs: Sequence[str], why: str
) -> None:
    record = "limit_source = 'explicit', limit_original = 60"
    change(db, f"UPDATE job SET {statement}, {record} WHERE job_id_raw = 400")
    done = ask(slurm, db, apply=True)
    assert counts(done) == ((107, 1, 0, 0, 0) if differs else (107, 0, 0, 0, 1)), why
    assert [list(one.differs) for one in done.examples if one.verdict == "contradicted"] == (
        [differs] if differs else []
    )
    ((uid, array, source, limit, audited, seen),) = read(
        db,
        "SELECT uid, array_job, limit_source, limit_original, audited, seen_open IS NOT NULL FROM job"
        " WHERE job_id_raw = 400",
    )
    assert (uid, array, audited, seen) == (1001, None, None, 1), why
    assert (source, limit) == (("unknown", None) if differs else ("explicit", 60)), why


def test_steps_that_were_not_asked_for_stay_and_so_does_what_they_say(slurm: FakeSlurm, db: Path) -> None:
    change(
        db,
        "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, cpu_time)"
        " SELECT cluster, job_id_raw, submit_time, 'batch', 'slurmdbd', 40 FROM job WHERE job_id_raw = 7",
        "UPDATE job SET cpu_time = 40, max_rss = 5, disk_read = 6, disk_write = 7, energy = 8, time_limit = 60"
        " WHERE job_id_raw = 7",
    )
    assert counts(ask(slurm, db, apply=True)) == (106, 1, 0, 0, 1)
    what = "SELECT cpu_time, max_rss, disk_read, disk_write, energy, time_limit FROM job WHERE job_id_raw = 7"
    assert read(db, what) == [(40.0, 5, 6, 7, 8, 7200)]
    assert read(db, "SELECT step, cpu_time FROM step") == [("batch", 40.0)]
    assert read(db, "SELECT count(*) FROM step_aside") == [(0,)]


def test_the_letter_of_an_array_is_cancelled_with_its_last_task(slurm: FakeSlurm, db: Path) -> None:
    submit = NOW - 5 * DAY
    change(
        db, forge(), forge(990002), "UPDATE job SET array_job = 300 WHERE job_id_raw = 990001",
        "UPDATE job SET array_job = 777 WHERE job_id_raw = 990002",
    )  # fmt: skip
    with connect.writer(db) as trace:
        outbox.put(trace, [
            letter(9, cluster="alpha", run=f"{n}@{submit}", job_id_raw=n, submit=submit, array=1, state="due")
            for n in (300, 777)
        ])  # fmt: skip
    assert ask(slurm, db).due == 1, "a look says so"
    assert ask(slurm, db, apply=True).due == 1
    assert read(db, "SELECT job_id_raw, state FROM outbox ORDER BY 1") == [(300, "due"), (777, "expired")]


@pytest.mark.parametrize(
    ("statement", "contradicted", "why"),
    [
        ("UPDATE step SET gpus = gpus", 0, "as slurmdbd has it"),
        ("UPDATE step SET gpus = 4 WHERE step = '0'", 1, "it looks as wide as the run"),
        ("UPDATE step SET nodes = 2 WHERE step = '0'", 1, "nodes decide what a bundle is"),
        ("UPDATE step SET tasks = 9 WHERE step = '0'", 1, "and so do tasks"),
        ("UPDATE step SET step = '5' WHERE step = '1'", 1, "one that slurmdbd does not have, and without CPU time"),
        ("DELETE FROM step WHERE step = '1'", 1, "one is missing"),
    ],
)
def test_steps_that_were_written_over_are_slurmdbds_again(
    slurm: FakeSlurm, db: Path, statement: str, contradicted: int, why: str
) -> None:
    slurm.fields += ["NNodes", "NTasks"]
    one = next(one for one in slurm.jobs if one["JobIDRaw"] == "7")
    for step in ("0", "1"):
        cells = {"JobID": f"7.{step}", "JobIDRaw": f"7.{step}", "AllocTRES": "cpu=2,gres/gpu=1", "NTasks": "1"}
        slurm.jobs.insert(slurm.jobs.index(one) + 1, {**one, **cells, "NNodes": "1"})
    slurm.write()
    change(db, "DELETE FROM window")
    sync(Options(db, since=NOW - 20 * DAY, steps=True, steps_pause=0.0, timeout=5.0), [], lambda _: None)
    what = "SELECT step, nodes, tasks, gpus FROM step ORDER BY step"
    honest = read(db, what)
    assert len(honest) == 2
    change(db, statement)
    assert counts(ask(slurm, db, steps=True, apply=True)) == (107 - contradicted, contradicted, 0, 0, 1), why
    assert read(db, what) == honest, why


def test_the_steps_that_a_purge_has_taken_contradict_nothing(slurm: FakeSlurm, db: Path) -> None:
    one = next(one for one in slurm.jobs if one["JobIDRaw"] == "7")
    late = str(int(one["Start"]) + 100)
    steps = [{**one, "JobID": "7.1", "JobIDRaw": "7.1", "Start": late}, {**one, "JobID": "7.0", "JobIDRaw": "7.0"}]
    for step in steps:
        slurm.jobs.insert(slurm.jobs.index(one) + 1, step)
    slurm.write()
    change(db, "DELETE FROM window")
    sync(Options(db, since=NOW - 20 * DAY, steps=True, steps_pause=0.0, timeout=5.0), [], lambda _: None)
    assert read(db, "SELECT count(*) FROM step") == [(2,)]
    for step in reversed(steps):
        slurm.jobs.remove(step)
        assert counts(ask(slurm, db, steps=True)) == (107, 0, 0, 0, 1)
