"""What slurmdbd cannot say: purged, rebuilt, gone, to come, unreadable."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from adminkit.ingest import audit as module
from adminkit.ingest.audit import audit
from adminkit.ingest.sync_run import Options
from adminkit.slurm import cluster as slurm_cluster
from tests.ingest.audit.trace_to_audit import DAY, HOUR, NOW, ask, counts, forge
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.support.sql import change, read


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
