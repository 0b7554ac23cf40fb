"""adminkit simulate run and site: a schedule of a trace's jobs, the site that a trace shows, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from adminkit.slurm.site_file import load_site
from tests.simulate.workloads import adminkit, answer, trace

ROW = (
    "scenario model seed jobs not_run killed avebsld mean_bsld mean_wait median_wait p95_wait mean_turnaround makespan"
    " utilization utilization_all"
).split()
T = 1_000_000


def test_a_schedule_has_one_row_and_a_line_for_each_job(tmp_path: Path) -> None:
    """Two jobs of two CPUs on three: the second waits for the first, the third is too large, the fourth never ran."""
    runs = [
        {"AllocCPUS": 2, "Submit": T, "ElapsedRaw": 100},
        {"AllocCPUS": 2, "Submit": T + 10, "ElapsedRaw": 100},
        {"AllocCPUS": 4, "Submit": T + 20},
        {"Submit": T + 30, "Start": T + 40, "ElapsedRaw": 0, "End": T + 40, "State": "CANCELLED by 1"},
        {"AllocCPUS": 1, "Submit": T + 50, "ElapsedRaw": 8000, "State": "TIMEOUT"},
    ]
    db, schedule = trace(tmp_path, runs), tmp_path / "schedule.csv"
    said = answer("simulate", "run", "--model", "fcfs", "--procs", 3, "--db", db, "--schedule", schedule)
    (row,) = said["rows"]
    assert list(row) == ROW
    assert {name: row[name] for name in ROW[:6]} == {
        "scenario": "today", "model": "fcfs", "seed": 0, "jobs": 3, "not_run": 2, "killed": 1,
    }  # fmt: skip
    assert row["mean_wait"] == pytest.approx((0 + 90 + 50) / 3)
    assert row["makespan"] == 100 + 7200
    assert row["utilization_all"] == pytest.approx((200 + 200 + 7200) / (3 * 7300))
    assert list(csv.reader(schedule.open())) == [
        ["job_id_raw", "submit_time", "start_time", "end_time", "nodes"],
        ["1", str(T), str(T), str(T + 100), "1"],
        ["2", str(T + 10), str(T + 100), str(T + 200), "1"],
        ["3", str(T + 20), "", "", ""],
        ["5", str(T + 50), str(T + 100), str(T + 7300), "1"],
    ]
    notes = said["meta"]["notes"]
    assert "not run: 1 job ran for less than a second: 4" in notes
    assert "not run: 1 job can never start on this machine: 3" in notes


@pytest.mark.parametrize(
    ("runs", "words", "error", "hint"),
    [
        ([{}], ["--model", "eazy"], "'eazy' is not one of", "did you mean easy?"),
        ([{}], ["--model", "fcfs", "--depth", "3"], "the fcfs model does not accept"
                                                    " --depth", "only --model conservative does"),
        ([{}], ["--model", "slurm", "--procs", "3"], "the slurm model does not accept"
                                                     " --procs", "its machine is the one of the site"),
        ([{"AllocCPUS": 9}], ["--model", "fcfs", "--procs", "3"], "every job is larger than 3 processors", "--procs"),
        ([{"Start": "Unknown", "State": "PENDING"}], ["--model", "fcfs"], "none of 1 jobs can be simulated: 1 still"
         " waiting", "a trace needs each job's run time and size"),
        ([{"TimelimitRaw": ""}], ["--model", "easy"], "no job of the trace has a time limit", "--model fcfs"),
        ([{}], ["--model", "slurm"], "the trace does not know the site's queues", "adminkit simulate site"),
        ([{"Priority": ""}], ["--model", "fcfs", "--order", "priority"], "no job of the trace has a priority",
         "leave out --order: jobs go by submission then"),
        ([{}], ["--model", "easy", "--priority", "trace"], "the easy model does not accept"
                                                           " --priority", "--order priority"),
        ([{}], ["--model", "fcfs", "--cluster", "beta"], "no such cluster: beta", "known: alpha"),
        ([{}], ["--model", "fcfs", "--site", "nosuch.toml"], "couldn't read nosuch.toml", "--site"),
    ],
)  # fmt: skip
def test_what_cannot_be_simulated_is_one_error_and_one_hint(
    tmp_path: Path, runs: list[dict[str, Any]], words: list[str], error: str, hint: str
) -> None:
    done = adminkit("simulate", "run", "--db", trace(tmp_path, runs), *words)
    lines = done.stderr.splitlines()
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert error in lines[0]
    assert hint in lines[1]
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"]


def test_the_site_that_a_trace_shows_has_what_was_in_use_at_once(tmp_path: Path) -> None:
    gpus = {"AllocTRES": "cpu=4,gres/gpu=2,gres/gpu:a100=2,mem=8G,node=1", "AllocCPUS": 4}
    runs = [
        {**gpus, "NodeList": "n1"},
        {**gpus, "NodeList": "n1", "TimelimitRaw": 600},
        {"NodeList": "n[2-3]", "AllocNodes": 2, "AllocCPUS": 6, "Partition": "short", "TimelimitRaw": 60},
        {"NodeList": "login1", "Partition": "debug"},
    ]
    path = tmp_path / "site.toml"
    done = adminkit("simulate", "site", "--db", trace(tmp_path, runs), "--output", path)
    assert done.returncode == 0, done.stderr
    assert "note: made of 4 runs: correct sizes, limits and [scheduler] before you rely on it" in done.stderr
    site = load_site(path)
    assert {queue.name: queue.max_limit for queue in site.queues} == {"debug": 7200, "gq": 36_000, "short": 3600}
    assert [(node.name, node.cpus, node.gpus, node.queues) for node in site.nodes] == [
        ("login1", 1, {}, {"debug"}),
        ("n1", 8, {"a100": 4}, {"gq"}),
        ("n2", 3, {}, {"short"}),
        ("n3", 3, {}, {"short"}),
    ]


def test_a_trace_without_places_is_one_node(tmp_path: Path) -> None:
    swf = tmp_path / "kth.swf"
    swf.write_text("; UnixStartTime: 1000000\n" + "".join(
        f"{job} {submit} 0 100 {procs} -1 -1 {procs} 200 -1 1 1 1 -1 -1 -1 -1 -1\n"
        for job, submit, procs in ((1, 0, 3), (2, 50, 4), (3, 100, 5))
    ))  # fmt: skip
    db, path = tmp_path / "trace.db", tmp_path / "site.toml"
    assert adminkit("import", swf, "--cluster", "kth", "--db", db).returncode == 0
    assert adminkit("simulate", "site", "--db", db, "--output", path).returncode == 0
    (node,) = load_site(path).nodes
    assert (node.cpus, node.queues) == (9, {"all"}), "the third begins when the first ends"
    (row,) = answer("simulate", "run", "--model", "fcfs", "--db", db)["rows"]
    assert (row["jobs"], row["mean_wait"]) == (3, 0), "without --procs the pool is as large"


def test_the_header_of_a_trace_names_the_size_of_its_machine(tmp_path: Path) -> None:
    swf, db = tmp_path / "kth.swf", tmp_path / "trace.db"
    lines = "".join(f"{job} 0 0 100 3 -1 -1 3 200 -1 1 1 1 -1 -1 -1 -1 -1\n" for job in (1, 2))
    swf.write_text(f"; MaxProcs: 4\n; UnixStartTime: 1000000\n{lines}")
    assert adminkit("import", swf, "--cluster", "kth", "--db", db).returncode == 0
    said = answer("simulate", "run", "--model", "fcfs", "--db", db)
    assert said["rows"][0]["mean_wait"] == 50, "two jobs of three do not fit on four at once"
    assert "4 processors: MaxProcs of the trace's header" in said["meta"]["notes"]
    assert answer("simulate", "run", "--model", "fcfs", "--procs", 6, "--db", db)["rows"][0]["mean_wait"] == 0


SITE = """\
cluster = "alpha"
[[queues]]
name = "gq"
max_limit = 86400
[[nodes]]
name = "n1"
cpus = 2
queues = ["gq"]
[scheduler]
priority_weight_fairshare = 5
"""


def busy(folder: Path, **more: Any) -> Path:
    """Forty jobs of an hour, one every half hour, on a node of two CPUs: each waits a minute."""
    return trace(folder, [{"Submit": T + 1800 * number, "Priority": 40 - number, **more} for number in range(40)])


def test_replay_says_what_answers_are_worth(tmp_path: Path) -> None:
    """Really each waits a minute; the simulated scheduler starts each within seconds."""
    site, db, picture = tmp_path / "site.toml", busy(tmp_path), tmp_path / "waits.png"
    site.write_text(SITE)
    said = answer("simulate", "replay", "--db", db, "--site", site, "--picture", picture)
    assert said["meta"]["answers"][0].startswith("calibration: no basis: the error of the mean wait is -9")
    rows = {(row["part"], row["value"]): row for row in said["rows"]}
    assert set(rows) == {("all", "all"), ("queue", "gq"), ("class", "cpu"), ("size", "1 CPU")}
    assert rows["queue", "gq"]["real_mean_wait"] == 60
    assert rows["queue", "gq"]["verdict"] == "no basis"
    assert any("priorities are the trace's own" in note for note in said["meta"]["notes"]), "the site has fair-share"
    assert picture.read_bytes().startswith(b"\x89PNG")
    computed = answer("simulate", "replay", "--db", db, "--site", site, "--priority", "computed")
    assert "not modelled: fair-share; 100.0 % of the jobs, 100.0 % of the waiting time" in computed["meta"]["notes"]


def test_run_repeats_the_verdict(tmp_path: Path) -> None:
    site, db = tmp_path / "site.toml", busy(tmp_path, Start="Unknown", State="PENDING")
    site.write_text(SITE)
    done = adminkit("simulate", "run", "--db", db, "--site", site)
    assert "none of 40 jobs can be simulated: 40 still waiting" in done.stderr
    said = answer("simulate", "run", "--db", busy(tmp_path), "--site", site)
    assert said["meta"]["answers"][0].startswith("calibration: no basis: ")
    assert list(said["rows"][0]) == ROW


def test_a_schedule_without_a_basis_says_whose_numbers_these_are(tmp_path: Path) -> None:
    site, db = tmp_path / "site.toml", busy(tmp_path)
    site.write_text(SITE)
    verdict, whose = answer("simulate", "run", "--db", db, "--site", site)["meta"]["answers"]
    assert verdict.startswith("calibration: no basis: ")
    assert whose == "the numbers are the simulator's: here they say nothing about what the site would do"
    assert "answers" not in answer("simulate", "run", "--db", db, "--model", "easy")["meta"]


def test_a_site_without_queues_is_said_to_be_that_of_the_file(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text('cluster = "alpha"\n')
    done = adminkit("simulate", "replay", "--db", busy(tmp_path), "--site", site)
    assert done.stderr.splitlines() == [
        "error: the file of --site has no queues",
        "hint: write its [[queues]] and [[nodes]]: docs/site.md",
    ]


def test_a_site_of_another_cluster_is_named(tmp_path: Path) -> None:
    site, db = tmp_path / "site.toml", busy(tmp_path)
    site.write_text(SITE.replace("alpha", "beta"))
    note = "the file of --site describes beta, and the jobs are of alpha"
    assert note in answer("simulate", "run", "--db", db, "--site", site)["meta"]["notes"]
    site.write_text(SITE)
    assert not any("--site" in one for one in answer("simulate", "run", "--db", db, "--site", site)["meta"]["notes"])


def test_jobs_that_never_start_are_named_by_replay_too(tmp_path: Path) -> None:
    site, runs = tmp_path / "site.toml", [{"Submit": T + 1800 * number} for number in range(40)]
    site.write_text(SITE)
    db = trace(tmp_path, [*runs, {"Submit": T, "AllocCPUS": 3}])
    notes = answer("simulate", "replay", "--db", db, "--site", site)["meta"]["notes"]
    assert "not run: 1 job can never start on this machine: 41" in notes


def test_a_machine_that_contradicts_the_trace_is_refused(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text(SITE.replace("cpus = 2", "cpus = 1"))
    done = adminkit("simulate", "replay", "--db", busy(tmp_path, AllocCPUS=2), "--site", site)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: the machine contradicts the trace, most of whose 40 jobs cannot run: 40 can never start on this"
        " machine",
        "hint: correct the --site file: docs/site.md",
    ]


def test_replay_without_starts_is_refused(tmp_path: Path) -> None:
    """An SWF trace without waits has no starts."""
    swf, db, site = tmp_path / "x.swf", tmp_path / "trace.db", tmp_path / "site.toml"
    swf.write_text("".join(f"{job} {job} -1 100 1 -1 -1 1 200 -1 1 1 1 -1 -1 -1 -1 -1\n" for job in range(1, 50)))
    site.write_text(SITE.replace('"gq"', '"all"').replace("max_limit", "is_default = true\nmax_limit"))
    assert adminkit("import", swf, "--cluster", "alpha", "--db", db).returncode == 0
    done = adminkit("simulate", "replay", "--db", db, "--site", site)
    assert done.stderr.splitlines() == [
        "error: the trace has no starts to compare with",
        "hint: adminkit simulate run needs none",
    ]
    said = answer("simulate", "run", "--db", db, "--site", site)
    assert said["meta"]["answers"] == ["calibration: none: the trace has no starts to compare with"]
