"""adminkit job, and my with a job: one job on one page, from a trace and from the caller's own copy."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit import config
from adminkit.cli.main import main
from adminkit.errors import UsageError
from adminkit.stats.one_job import parse_id
from adminkit.trace.connect import writer
from adminkit.trace.ledger import append
from adminkit.trace.person import person_of
from tests.support.builders import HOUR, MONDAY, add_letters, job, ledger_entry, letter, make_trace
from tests.support.charges import schemes
from tests.support.file_waits import waited
from tests.support.own_slurm import OwnSlurm, queued, run, step

NOW = int(time.time())
NAMES = ("\x1b]0;owned\x07", "a|b\nc", "\u202ereversed", "x" * 300, "<b>&", "'; DROP TABLE job; --")


@pytest.fixture(autouse=True)
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnSlurm:
    """A Slurm without jobs, and no settings of this host."""
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "none.toml")
    return OwnSlurm(tmp_path / "slurm", monkeypatch)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Job 1 was put back once; 10 to 13 are an array; 20 and 21 a het job; 30 waits; 40 is on two clusters."""
    back = {"restarts": 1, "eligible_time": MONDAY + 60}
    jobs = [
        job(1, state="REQUEUED", eligible_time=MONDAY + 30, ckpt_end="more", ckpt_requeues=1, ckpt_heard=1),
        job(1, submit_time=MONDAY + 2 * HOUR, start_time=MONDAY + 3 * HOUR, end_time=MONDAY + 4 * HOUR,
            reason="Dependency", energy=3_600_000, mem=8 << 30, cpu_time=4.0 * HOUR, **back),
        *(job(10 + task, job_id=f"10_{task}", array_job=10, array_task=task) for task in range(4)),
        job(20, job_id="20+0", het_job=20, het_offset=0), job(21, job_id="20+1", het_job=20, het_offset=1),
        job(30, state="PENDING", start_time=None, end_time=None, elapsed=None, nodes=None, cpus=None, gpus=None),
        job(40), job(40, cluster="other"),
    ]  # fmt: skip
    path = make_trace(tmp_path / "t.db", jobs)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, step_name, tasks, nodes, start_time,"
            " end_time, elapsed, cpu_time, mem_used, gpus_used) VALUES"
            " ('aaic', 1, ?, 'batch', 'slurmdbd', 'batch', 1, 1, ?, ?, 3600, 7200, ?, 0.5)",
            (MONDAY + 2 * HOUR, MONDAY + 3 * HOUR, MONDAY + 4 * HOUR, 4 << 30),
        )
    return path


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "-f", "json"]) == 0, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {name: part["rows"] for name, part in found.items()}


def test_a_restarted_job_has_a_row_for_each_run(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "job", "1", "--db", str(trace))
    first, second = found["runs"]
    assert (first["state"], first["checkpoint"], first["continues"]) == ("REQUEUED", "more", 0)
    assert (second["state"], second["continues"], second["reason"]) == ("COMPLETED", 1, "Dependency")
    assert second["meaning"].startswith("it waits for other jobs")
    assert first["held"] == 0, "it was eligible at once"
    use = found["use"][1]
    assert (use["cpu"], use["mem_used"], use["mem_share"], use["gpu"]) == (0.5 * 2 * 4 / 8 / 1, 4 << 30, 0.5, 0.5)
    assert (use["energy"], use["accuracy"]) == (3_600_000, 0.25)
    assert found["use"][0]["energy"] is None, "unknown, not 0"
    assert [(one["step"], one["cpus_busy"], one["gpus_busy"]) for one in found["steps"]] == [("batch", 2.0, 0.5)]


@pytest.mark.parametrize(
    ("word", "ids", "why"),
    [
        ("10", ["10_0", "10_1", "10_2", "10_3"], "an array's number stands for its tasks"),
        ("10_2", ["10_2"], "a task"),
        ("11", ["10_1"], "the number that slurmctld gave to a task"),
        ("20", ["20+0", "20+1"], "a het job with its components"),
        ("20+1", ["20+1"], "a component"),
    ],
)
def test_which_runs_a_number_names(
    word: str, ids: list[str], why: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [one["job_id"] for one in shown(capsys, "job", word, "--db", str(trace))["runs"]] == ids, why


@pytest.mark.parametrize("word", ["0", "-1", "1_", "1+x", "1_2_3", "1 OR 1=1", "", "9" * 30, "1;x", "\u0661", "*"])
def test_what_is_not_a_number_of_a_job(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="this is not the number of a job"):
        parse_id(word)
    assert main(["job", "--", word]) == 2
    assert "write 4711, 4711_3 or 4711+1" in capsys.readouterr().err


def test_the_last_runs_are_shown_and_the_others_counted(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job", "10", "-n", "2", "--db", str(trace)]) == 0
    out = capsys.readouterr().out
    assert "the last 2 of 4 runs; -n shows more" in out and "10_3" in out and "10_1" not in out


def test_a_number_of_two_clusters_needs_a_cluster(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job", "40", "--db", str(trace)]) == 2
    assert "name one with --cluster: aaic, other" in capsys.readouterr().err
    assert len(shown(capsys, "job", "40", "-M", "other", "--db", str(trace))["runs"]) == 1


def test_why_a_waiting_job_waits_is_slurmctlds_word(
    trace: Path, slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.queue = [queued(30, "PD", Reason="AssocGrpGRESMinutes", StartTime=NOW + 600), queued(31, "PD")]
    slurm.write()
    found = shown(capsys, "job", "30", "--db", str(trace))
    (now,) = found["now"]
    assert (now["job_id"], now["reason"], now["start_time"]) == ("30", "AssocGrpGRESMinutes", NOW + 600)
    assert "budget" in now["meaning"] or "minutes" in now["meaning"]
    assert found["runs"][0]["state"] == "PENDING" and found["use"][0]["accuracy"] is None
    assert slurm.asked("squeue")[0][-1] != "" and "-j" in slurm.asked("squeue")[0]


def test_a_job_that_ended_is_not_asked_of_slurmctld(
    trace: Path, slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(capsys, "job", "1", "--db", str(trace))
    assert slurm.asked("squeue") == []


def test_slurmctld_away_is_a_note(trace: Path, slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    slurm.down = ["squeue"]
    slurm.write()
    assert main(["job", "30", "--db", str(trace)]) == 0
    assert "not known: couldn't run squeue" in capsys.readouterr().out


def test_costs_are_the_ledgers_else_the_schemes(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, "job", "10_1", "--db", str(trace))["cost"] == [], "the site does not charge"
    monkeypatch.setenv("ADMINKIT_CHARGE", str(schemes(tmp_path, digits=2)))
    (cost,) = shown(capsys, "job", "10_1", "--db", str(trace))["cost"]
    assert (cost["kind"], cost["amount"]) == ("estimate", "3600.00")
    submit = job(11).submit_time
    with writer(trace) as db:
        entry = ledger_entry("2026-01", person_of(db, "aaic", "ada", now=MONDAY), job_id_raw=11, submit_time=submit,
                             last_submit=submit, amount="7.25")  # fmt: skip
        append(db, [entry])
    (cost,) = shown(capsys, "job", "10_1", "--db", str(trace))["cost"]
    assert (cost["kind"], cost["month"], cost["amount"], cost["unit"]) == ("charge", "2026-01", "7.25", "points")


def test_its_letters(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = {"job_id_raw": 1, "submit_time": job(1).submit_time}
    add_letters(trace, [letter(run="1@1", **about), letter(run="9@1", job_id_raw=9, submit_time=0)])
    (one,) = shown(capsys, "job", "1", "--db", str(trace))["letters"]
    assert (one["kind"], one["state"], one["sent_at"]) == ("end", "sent", MONDAY)


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_steer_nothing(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_trace(tmp_path / "h.db", [job(1, job_name=name, user=name[:40], account=name[:40], qos=name[:40])])
    assert main(["job", "1", "--db", str(path)]) == 0
    out = capsys.readouterr().out
    assert not {"\x1b", "\x07", "\u202e"} & set(out) and "x" * 41 not in out
    assert shown(capsys, "job", "1", "--db", str(path))["request"][0]["job_name"] == name, "JSON has the name whole"


def test_my_with_a_job_is_the_same_page_from_sacct(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    slurm.jobs = [run(7, NOW - HOUR, elapsed=HOUR)]
    slurm.steps = [step(7, "batch", Start=NOW - 2 * HOUR, TotalCPU="02:00:00", TRESUsageInTot="cpu=02:00:00,mem=4G")]
    slurm.queue = [queued(8, "PD", Reason="Priority"), queued(9, "PD", UserID=os.geteuid() + 1)]
    slurm.write()
    found = shown(capsys, "my", "7")
    assert [one["state"] for one in found["runs"]] == ["COMPLETED"]
    assert found["use"][0]["mem_used"] == 4 << 30 and found["steps"][0]["step"] == "batch"
    assert shown(capsys, "my", "8")["now"][0]["reason"] == "Priority", "sacct does not have it yet"
    assert main(["my", "9"]) == 2, "somebody else's"
    assert "no job 9 that you may see" in capsys.readouterr().err
    assert main(["my", "7", "--watch"]) == 2


def test_the_use_of_gpus_that_the_plugin_left_is_on_the_page(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word = f"gu1:at={MONDAY + 60},to={MONDAY + 3600},node=0,gpus=1,s=3600,busy=900,used=1"
    path = make_trace(tmp_path / "measured.db", [job(7, start_time=MONDAY, gpus=1, admin_comment=word)])
    assert main(["job", "7", "--db", str(path), "--format", "json"]) == 0
    assert '"gpu": 0.25' in capsys.readouterr().out


def test_whether_files_kept_a_run_waiting_is_on_the_page(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_trace(tmp_path / "waited.db", [waited(7, only=90, use=0.2), job(8)])
    found = {}
    for number in ("7", "8"):
        (use,) = shown(capsys, "job", number, "--db", str(path))["use"]
        found[number] = use["file_waits"], use["files"], use["file_system"]
    assert found == {"7": (0.9, "bound", "nfs4-home"), "8": (None, None, None)}
