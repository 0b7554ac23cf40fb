"""Who is due a letter, line by line: what ended, whose it is, what they chose, what they had."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Checkpoint, Config, Report
from adminkit.errors import AdminkitError
from adminkit.feedback.letter import JobLetter, OperatorLetter, user_of
from adminkit.feedback.plan import MOST_NOTES, Plan, plan
from adminkit.feedback.planned import due_of
from adminkit.feedback.prefs import Prefs, write
from adminkit.job import Job
from adminkit.trace import outbox
from adminkit.trace.windows import set_fact
from tests.feedback.site import DAY, NOW, SETTINGS, ended, folder, opened, people, settings, synced
from tests.support.builders import HOUR, MONDAY, letter
from tests.support.others import gives_files_away


def planned(
    path: Path,
    jobs: Sequence[Job],
    chosen: Config = SETTINGS,
    at: int = NOW,
    on: int | None = NOW - 30 * DAY,
    **more: Any,
) -> Plan:
    """What is due of these jobs at `at`."""
    trace = path / "t.db"
    if not trace.exists():
        synced(trace, jobs, on)
    place = path / "prefs" if (path / "prefs").exists() else folder(path)
    with opened(trace) as db:
        return plan(db, chosen, more.pop("people", people(chosen)), place, at, UTC, **more)


def ends(found: Plan) -> list[JobLetter]:
    return [one.due for one in found.letters if isinstance(one.due, JobLetter)]


@pytest.mark.parametrize(
    ("changes", "reason", "why"),
    [
        ({}, None, "an hour of ten hours"),
        ({"end_time": NOW - 25 * HOUR}, "nothing", "ended before max_age"),
        ({"end_time": NOW + 60}, "nothing", "ends in the future: its clock is wrong"),
        ({"source": "text"}, "nothing", "imported, or of the demo: slurmdbd never told us"),
        ({"cluster": "other"}, "nothing", "a cluster that is not listed"),
        ({"state": "CANCELLED"}, "state", "cancelled"),
        ({"state": "FAILED"}, "state", "failed"),
        ({"state": "TIMEOUT"}, "lost", "cut off: a GPU-hour is not worth a letter"),
        ({"state": "TIMEOUT", "gpus": 2}, None, "two are"),
        ({"state": "TIMEOUT", "gpus": 0, "cpus": 32}, None, "without GPUs CPUs count"),
        ({"state": "NODE_FAIL", "gpus": 2}, None, "lost its node"),
        ({"state": "OUT_OF_MEMORY", "elapsed": 3 * HOUR}, None, "ran out of memory"),
        ({"state": "OUT_OF_MEMORY", "elapsed": 300, "gpus": 64}, "short", "lost five minutes"),
        ({"state": "TIMEOUT", "gpus": 2, "submitted_by": "srun"}, "interactive", "its user sat before it"),
        ({"state": "TIMEOUT", "gpus": 2, "ckpt_at": NOW - 2 * HOUR, "ckpt_heard": 0}, None, "warned in vain"),
        ({"state": "TIMEOUT", "gpus": 2, "ckpt_at": NOW - 2 * HOUR, "ckpt_heard": 1}, "lost", "it may have saved"),
        ({"state": "TIMEOUT", "gpus": 2, "restarts": 1}, None, "the last piece of a job that was carried on"),
        ({"state": "TIMEOUT", "gpus": 2, "time_limit": None, "limit_kind": "unlimited"}, None, "by the queue's limit"),
        ({"state": "TIMEOUT", "gpus": None, "nodes": None}, "lost", "nor how large it was: one unit"),
        ({"state": "REQUEUED", "gpus": 8}, "state", "put back: it goes on"),
        ({"job_name": "interactive"}, "interactive", "as salloc names it"),
        ({"submitted_by": "salloc"}, "interactive", "by its command line"),
        ({"submitted_by": "srun"}, "interactive", "so is one of srun's own"),
        ({"program": "srun"}, None, "a script that is called so"),
        ({"submitted_by": None}, None, "no command line and no steps: a batch job, for all we know"),
        ({"ckpt_asked": 1}, "checkpoint", "asked for"),
        ({"derived_exit_code": 85}, None, "its owner can set that after its end"),
        ({"restarts": 1}, "checkpoint", "was carried on"),
        ({"exit_code": 85}, "checkpoint", "the exit code of a checkpoint"),
        ({"ckpt_at": NOW - 2 * HOUR, "ckpt_heard": 0}, "checkpoint", "the plugin warned it, whoever listened"),
        ({"elapsed": 300}, "short", "five minutes"),
        ({"time_limit": None, "limit_kind": "unlimited"}, "limit", "there is no limit to lower"),
        ({"time_limit": 2 * HOUR}, "used_fraction", "used half"),
        ({"time_limit": 4 * HOUR}, "unused", "three GPU-hours are not worth a letter"),
        ({"time_limit": 4 * HOUR, "gpus": 2}, None, "six are"),
        ({"time_limit": 4 * HOUR, "gpus": 0, "cpus": 32}, None, "without GPUs CPUs count"),
        ({"time_limit": 2 * HOUR, "limit_original": 10 * HOUR}, None, "lowered later: what was asked for counts"),
        ({"limit_original": 2 * HOUR}, None, "raised later: so much was reserved"),
        ({"het_job": 1, "het_offset": 0}, None, "the leader of a het job speaks for it"),
        ({"het_job": 9, "het_offset": 1}, "nothing", "its other components do not"),
        ({"uid": None}, "unknown", "no uid"),
        ({"user": None}, "unknown", "no name"),
        ({"uid": 1009}, "unknown", "the host knows no such uid"),
        ({"uid": 1002}, "unknown", "the uid is somebody else's by now"),
        ({"uid": 30, "user": "svc"}, "service", "below min_uid"),
    ],
)
def test_of_one_run(tmp_path: Path, changes: dict[str, Any], reason: str | None, why: str) -> None:
    found = planned(tmp_path, [ended(**changes)])
    counted = {name: number for name, number in found.left_out.items() if number}
    assert (len(ends(found)), counted) == (reason is None, {} if reason in (None, "nothing") else {reason: 1}), why


@pytest.mark.parametrize(("code", "left_out"), [(85, False), (99, True)])
def test_the_site_says_with_which_code_a_checkpoint_leaves(tmp_path: Path, code: int, left_out: bool) -> None:
    found = planned(tmp_path, [ended(exit_code=99)], replace(SETTINGS, checkpoint=Checkpoint(code)))
    assert (len(ends(found)), found.left_out.get("checkpoint", 0)) == (int(not left_out), int(left_out))


@pytest.mark.parametrize(
    ("jobs", "due", "why"),
    [
        ([ended(1, ago=HOUR)], 1, "ended after it was switched on"),
        ([ended(1, ago=3 * HOUR)], 0, "before: switching it on writes to nobody about the past"),
    ],
)
def test_nothing_that_ended_before_it_was_switched_on(tmp_path: Path, jobs: list[Job], due: int, why: str) -> None:
    found = planned(tmp_path, jobs, on=NOW - 2 * HOUR)
    assert len(ends(found)) == due, why
    assert found.left_out.get("before", 0) == 1 - due


def test_a_cluster_that_is_not_switched_on_yet_has_nothing_due_but_a_preview_shows_what_would_be(
    tmp_path: Path,
) -> None:
    assert ends(planned(tmp_path, [ended()], on=None)) == []
    shown = planned(tmp_path, [], preview=True)
    assert len(ends(shown)) == 1
    assert "letters are not switched on for aaic" in shown.notes[0]


def test_a_cluster_that_was_never_synced_is_named(tmp_path: Path) -> None:
    found = planned(tmp_path, [ended()], settings(clusters=("alpha",)))
    assert found.letters == ()
    assert "alpha is in [feedback] clusters, but was never synced into this trace" in found.notes


def task(number: int, **changes: Any) -> Job:
    return ended(500 + number, array_job=500, array_task=number, submit_time=NOW - 5 * HOUR, **changes)


@pytest.mark.parametrize(
    ("tasks", "due", "why"),
    [
        ([task(n) for n in range(1, 51)], 1, "fifty tasks are one letter"),
        ([task(1), task(2, state="RUNNING", end_time=None, seen_open=NOW - 60)], 0, "not before the last has ended"),
        (
            [task(1), task(2, state="RUNNING", end_time=None, seen_open=NOW - 40 * DAY)],
            1,
            "a lost one is not waited for",
        ),
        ([task(n, elapsed=1200, time_limit=1 * HOUR) for n in range(1, 11)], 1, "small ones add up"),
        ([task(1), task(2, state="FAILED"), task(3, state="FAILED")], 0, "most failed"),
        ([task(1), *(task(n, state="TIMEOUT", elapsed=10 * HOUR) for n in (2, 3))], 1, "most were cut off"),
        ([task(1), task(2), task(3, ago=30 * HOUR)], 1, "tasks that ended long before belong to it"),
        ([task(1), task(2, source="text")], 1, "an imported row of the same number does not"),
    ],
)
def test_an_array_is_one_letter(tmp_path: Path, tasks: list[Job], due: int, why: str) -> None:
    found = ends(planned(tmp_path, tasks))
    assert len(found) == due, why
    assert all((one.run, one.is_array) == (f"500@{NOW - 5 * HOUR}", True) for one in found)


def test_a_task_that_is_requeued_later_makes_no_second_letter_of_its_array(tmp_path: Path) -> None:
    found = planned(tmp_path, [task(1), task(2)])
    with opened(tmp_path / "t.db") as db:
        outbox.put(db, [one.entry(NOW) for one in found.letters if one.due.kind == "end"])
        names = ", ".join(f'"{name}"' for name in asdict(task(1)))
        again = asdict(ended(502, ago=60, array_job=500, array_task=2, submit_time=NOW - 2 * HOUR))
        db.execute(f"INSERT INTO job ({names}) VALUES ({', '.join('?' * len(again))})", tuple(again.values()))
    later = planned(tmp_path, [], settings(user_pause=0, name_pause=0))
    assert (ends(later), later.left_out) == ([], {"had": 1})


@pytest.mark.parametrize(
    ("jobs", "changes", "due", "why"),
    [
        ([ended(1), ended(2)], {}, ["1"], "one a day, the first of two alike"),
        ([ended(1), ended(2, gpus=8)], {}, ["2"], "of several the one that matters most"),
        ([ended(1), ended(2, user="bob", uid=1002)], {}, ["1", "2"], "each user has a pause of their own"),
        ([ended(1), ended(2)], {"user_pause": 0}, ["1"], "one job name a week"),
        ([ended(1), ended(2, job_name="test")], {"user_pause": 0}, ["1", "2"], "another name"),
        ([ended(1), ended(2)], {"user_pause": 0, "name_pause": 0}, ["1", "2"], "no pauses"),
        ([ended(1)], {"exclude_users": ("a?a", "svc-*")}, [], "an excluded user"),
        ([ended(1)], {"exclude_accounts": ("vision",)}, [], "an excluded account"),
        ([ended(1)], {"quiet_days": ("wed",)}, [], "a quiet weekday"),
        ([ended(1)], {"quiet_days": ("2026-01-07",)}, [], "a quiet date"),
        ([ended(1)], {"quiet_days": ("2026-01-08", "thu")}, ["1"], "tomorrow is one"),
        ([ended(1)], {"holdout": 0.5, "holdout_until": "2026-12-31", "holdout_salt": "b"}, [], "held out"),
        ([ended(1)], {"holdout": 0.5, "holdout_until": "2026-12-31", "holdout_salt": "a"}, ["1"], "not held out"),
        ([ended(1)], {"domain": None}, [], "no address"),
        ([ended(1, state="TIMEOUT")], {"lost_hours": 1.0}, ["1"], "for this site a GPU-hour that was lost is enough"),
        ([ended(1, state="TIMEOUT", gpus=8)], {"lost_hours": 9.0}, [], "for this site it is not"),
        ([ended(1), ended(2, state="TIMEOUT", gpus=16)], {}, ["2"], "what was lost weighs as what was left unused"),
        ([ended(1)], {"max_age": 1800}, [], "too long ago for this site"),
    ],
)
def test_what_the_site_allows(
    tmp_path: Path, jobs: list[Job], changes: dict[str, Any], due: list[str], why: str
) -> None:
    found = planned(tmp_path, jobs, settings(**changes))
    assert sorted(one.run.partition("@")[0] for one in ends(found)) == due, why


@pytest.mark.parametrize(
    ("had_ago", "name", "state", "due", "why"),
    [
        (23 * HOUR, "test", "sent", 0, "a letter yesterday"),
        (25 * HOUR, "test", "sent", 1, "the day before, about something else"),
        (25 * HOUR, "train", "sent", 0, "about the same name"),
        (8 * DAY, "train", "sent", 1, "a week ago"),
        (HOUR, "train", "due", 0, "one that still waits counts"),
        (HOUR, "train", "expired", 1, "one that never went out does not"),
        (HOUR, "train", "refused", 1, "nor one that was refused"),
    ],
)
def test_pauses_count_from_the_letters_before(
    tmp_path: Path, had_ago: int, name: str, state: str, due: int, why: str
) -> None:
    trace = synced(tmp_path / "t.db", [ended(1)])
    at = NOW - had_ago
    with opened(trace) as db:
        row = outbox.Entry(
            cluster="aaic", run="9@1", kind="end", until=at, language="en", address="a@b.c", user="ada", uid=1001,
            job_id_raw=9, submit_time=1, is_array=0, job_name=name, state=state, due_at=at, next_at=at,
        )  # fmt: skip
        outbox.put(db, [row])
    assert len(ends(planned(tmp_path, []))) == due, why


def test_a_user_of_two_clusters_is_one_person(tmp_path: Path) -> None:
    """The same job id on both; one letter a day, about what matters most, and none more the next hour."""
    two = settings(clusters=("aaic", "beta"), digest=False)
    synced(tmp_path / "t.db", [ended(1), ended(1, cluster="beta", gpus=8, job_name="other")])
    with opened(tmp_path / "t.db") as db:
        set_fact(db, "beta", outbox.SWITCHED_ON, "0", 0)
    found = planned(tmp_path, [], two)
    assert [one.cluster for one in ends(found)] == ["beta"]
    with opened(tmp_path / "t.db") as db:
        outbox.put(db, [one.entry(NOW) for one in found.letters])
    later = planned(tmp_path, [], two, at=NOW + HOUR)
    assert later.left_out == {"had": 1, "user_pause": 1}


def test_a_week_of_interactive_runs_alone_is_no_digest(tmp_path: Path) -> None:
    """There would be nothing in it: those are not compared with their limits."""
    week = {"ago": 6 * DAY}
    found = planned(tmp_path, [ended(1, **week, submitted_by="salloc"), ended(2, **week, uid=1002, user="bob")])
    assert [user_of(one.due) for one in found.letters if one.due.kind == "digest"] == ["bob"]


@pytest.mark.parametrize(
    ("share", "runs", "due", "why"),
    [(0.9, 30, 0, "does well already"), (0.9, 3, 1, "three runs say nothing"), (0.4, 30, 1, "does not")],
)
def test_who_does_well_already_gets_no_letter_per_job(
    tmp_path: Path, share: float, runs: int, due: int, why: str
) -> None:
    good = [
        ended(100 + n, ago=3 * DAY + n * HOUR, elapsed=int(share * 100 * HOUR), time_limit=100 * HOUR)
        for n in range(runs)
    ]
    found = planned(tmp_path, [ended(1), *good])
    assert (len(ends(found)), found.left_out.get("well", 0)) == (due, 1 - due), why


@pytest.mark.parametrize(
    ("chosen", "kinds", "why"),
    [
        (Prefs(), ["digest", "end"], "both"),
        (Prefs(letters="week"), ["digest"], "only once a week"),
        (Prefs(letters="never"), [], "none"),
        (Prefs(hints=False), ["digest", "end"], "hints are another matter"),
    ],
)
@gives_files_away
def test_users_choose_how_often(tmp_path: Path, chosen: Prefs, kinds: list[str], why: str) -> None:
    place = folder(tmp_path)
    (place / "1001.toml").write_text("")
    os.chown(write(place, 1001, chosen), 1001, -1)
    found = planned(tmp_path, [ended(1), ended(2, ago=4 * DAY)])
    assert sorted(one.due.kind for one in found.letters if user_of(one.due)) == kinds, why


@gives_files_away
def test_users_choose_language_and_address(tmp_path: Path) -> None:
    os.chown(write(folder(tmp_path), 1001, Prefs(language="ja", address="ada@home.example")), 1001, -1)
    (due,) = ends(planned(tmp_path, [ended()], settings(domains=("example.org", "home.example"))))
    assert (due.language, due.address) == ("ja", "ada@home.example")


@pytest.mark.parametrize("preview", [False, True])
@gives_files_away
def test_a_letter_to_a_stranger_is_not_due_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], preview: bool
) -> None:
    address = f"{'x' * 60}@stranger.example"
    os.chown(write(folder(tmp_path), 1001, Prefs(address=address)), 1001, -1)
    found = planned(tmp_path, [ended(), ended(2, ago=4 * DAY)], preview=preview)
    assert [one.due for one in found.letters if user_of(one.due)] == []
    assert found.left_out["domain"] == 2, "the job's letter and the week's"
    assert f"ada has an address that is not in an allowed domain: {'x' * 59}…" in found.notes
    told = f"refused addresses: {address} of ada: it is not in an allowed domain; no letter is sent there\n"
    assert capsys.readouterr().err == ("" if preview else told * 2)


@pytest.mark.parametrize(
    ("text", "owner", "due", "note", "why"),
    [
        (
            'leters = "never"',
            1001,
            0,
            "did you mean letters?",
            "who may have meant to opt out gets none; the slip is named",
        ),
        ("letters = never", 1001, 0, "not TOML", "the same"),
        ("#" * 5000, 1001, 0, "larger than 4096 bytes", "the same"),
        ('letters = "never"', 1002, 1, "not that user's own file", "somebody else's file says nothing"),
    ],
)
@gives_files_away
def test_a_file_that_is_wrong(tmp_path: Path, text: str, owner: int, due: int, note: str, why: str) -> None:
    file = folder(tmp_path) / "1001.toml"
    file.write_text(text)
    os.chown(file, owner, -1)
    found = planned(tmp_path, [ended()])
    assert len(ends(found)) == due, why
    assert note in " ".join(found.notes)


def test_a_thousand_mistakes_are_not_a_thousand_notes(tmp_path: Path) -> None:
    place = folder(tmp_path)
    for uid in range(2000, 2050):
        (place / f"{uid}.toml").write_text("letters = never")
    jobs = [ended(uid, uid=uid, user=f"u{uid}") for uid in range(2000, 2050)]
    trace = synced(tmp_path / "t.db", jobs)
    everybody = replace(people(), names=lambda uid: f"u{uid}")
    with opened(trace) as db:
        notes = plan(db, SETTINGS, everybody, place, NOW, UTC).notes
    assert len(notes) == MOST_NOTES + 1
    assert notes[-1] == "and 30 more notes"


@pytest.mark.parametrize(
    ("at", "on", "due", "why"),
    [
        (MONDAY + 7 * DAY + 60, MONDAY - DAY, ["2026-W02/1001", "2026-W02"], "from Monday on"),
        (MONDAY + 11 * DAY, MONDAY - DAY, ["2026-W02/1001", "2026-W02"], "all the week after"),
        (MONDAY + 14 * DAY, MONDAY - DAY, ["2026-W03"], "then it is too late; nothing of ada's ended in the next"),
        (MONDAY + 6 * DAY, MONDAY - 8 * DAY, ["2026-W01"], "not before the week is over"),
        (MONDAY + 7 * DAY + 60, MONDAY + DAY, [], "a week that began before it was switched on is nobody's"),
    ],
)
def test_a_digest_of_the_last_whole_week(tmp_path: Path, at: int, on: int, due: list[str], why: str) -> None:
    found = planned(tmp_path, [ended()], settings(quiet_days=()), at, on)
    assert [one.due.run for one in found.letters if one.due.kind != "end"] == due, why


@pytest.mark.parametrize(
    ("changes", "report", "users", "why"),
    [
        ({}, Report(), ["ada"], "it completed"),
        ({"state": "FAILED"}, Report(), [], "what failed counts in no report"),
        ({"state": "FAILED"}, Report(states=("FAILED",)), ["ada"], "unless the site says so"),
        ({}, Report(states=("FAILED",)), [], "which then leaves out the others"),
        ({"elapsed": 90}, Report(), ["ada"], "longer than a minute"),
        ({"elapsed": 90}, Report(min_elapsed=90), [], "not longer than what the site wants"),
        ({"elapsed": 30}, Report(min_elapsed=20), ["ada"], "shorter than usual"),
        ({"ckpt_requeues": 1, "ckpt_heard": 1}, Report(), [], "ended by a checkpoint"),
    ],
)
def test_who_gets_a_digest_is_who_has_runs_that_count_in_a_report(
    tmp_path: Path, changes: dict[str, Any], report: Report, users: list[str], why: str
) -> None:
    chosen = replace(settings(quiet_days=()), report=report)
    found = planned(tmp_path, [ended(1, ago=5 * DAY, **changes)], chosen)
    assert [user_of(one.due) for one in found.letters if one.due.kind == "digest"] == users, why


def test_a_habit_is_of_the_runs_that_count_in_a_report(tmp_path: Path) -> None:
    """Five runs that failed after all of their limit: by them she reserves well, and gets no letter."""
    failed = [ended(n, ago=3 * DAY + n, elapsed=10 * HOUR, state="FAILED") for n in range(10, 15)]
    for states, due in ((("COMPLETED", "TIMEOUT"), 1), (("COMPLETED", "FAILED"), 0)):
        place = tmp_path / str(due)
        place.mkdir()
        chosen = replace(settings(digest=False), report=Report(states=states))
        assert len(ends(planned(place, [ended(), *failed], chosen))) == due


def test_the_day_of_the_digest(tmp_path: Path) -> None:
    chosen = settings(digest_day="thu", quiet_days=())
    early = planned(tmp_path, [ended(ago=3 * DAY)], chosen)
    assert [one.due.kind for one in early.letters if one.due.kind != "end"] == []
    assert {one.due.kind for one in planned(tmp_path, [], chosen, NOW + DAY).letters} == {"digest", "operator"}
    assert planned(tmp_path, [], settings(digest=False), NOW + DAY).letters == ()


def test_more_than_max_letters_sends_nothing_and_tells_the_operators_once(tmp_path: Path) -> None:
    few = settings(max_letters=2, user_pause=0, name_pause=0)
    found = planned(tmp_path, [ended(n) for n in range(1, 5)], few)
    (alarm,) = found.letters
    assert isinstance(alarm.due, OperatorLetter)
    assert (found.flood, alarm.due.address) == (True, "ops@example.org")
    assert "4 letters are due at once, more than max_letters = 2" in alarm.due.notes[0]
    with opened(tmp_path / "t.db") as db:
        outbox.put(db, [alarm.entry(NOW)])
    assert planned(tmp_path, [], few).letters == ()
    shown = planned(tmp_path, [], few, preview=True)
    assert (len(ends(shown)), shown.flood) == (4, True)


def test_a_row_of_the_outbox_is_its_letter_again(tmp_path: Path) -> None:
    found = planned(tmp_path, [ended(), task(1), ended(7, ago=4 * DAY)])
    assert {one.due.kind for one in found.letters} == {"end", "digest", "operator"}
    with opened(tmp_path / "t.db") as db:
        outbox.put(db, [one.entry(NOW) for one in found.letters])
        back = {due_of(one) for one in outbox.open_entries(db, NOW)}
    assert back == {one.due for one in found.letters}


UNKNOWN: dict[str, set[str]] = {
    "end": {"week", "since", "notes"},
    "digest": {"job_id_raw", "submit_time", "is_array", "job_name", "notes"},
    "operator": {"job_id_raw", "submit_time", "is_array", "job_name", "notes", "user", "uid"},
}


def test_a_row_is_null_where_its_kind_of_letter_knows_nothing(tmp_path: Path) -> None:
    found = planned(tmp_path, [ended(), ended(7, ago=4 * DAY)])
    rows = {one.due.kind: one.entry(NOW) for one in found.letters}
    assert rows.keys() == UNKNOWN.keys()
    for kind, row in rows.items():
        empty = {field.name for field in fields(row) if getattr(row, field.name) is None}
        assert empty == UNKNOWN[kind] | {"claimed_at", "sent_at", "said"}, kind


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        *(("end", name) for name in ("user", "uid", "job_id_raw", "submit_time", "is_array")),
        *(("digest", name) for name in ("user", "uid", "week", "since")),
        *(("operator", name) for name in ("week", "since")),
        ("postcard", "week"),
    ],
)
def test_the_outbox_takes_no_row_without_what_its_kind_needs(tmp_path: Path, kind: str, missing: str) -> None:
    """So that no row can keep a run from writing the letters of the others."""
    with opened(synced(tmp_path / "t.db")) as db:
        outbox.put(db, [letter(kind=kind)] if kind in UNKNOWN else [])
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            outbox.put(db, [letter(kind=kind, run="other", **{missing: None})])


def test_an_unsafe_folder_of_choices_stops_everything(tmp_path: Path) -> None:
    folder(tmp_path).chmod(0o777)
    with pytest.raises(AdminkitError, match="mode 0777"):
        planned(tmp_path, [ended()])
