"""adminkit my, and recommend without a trace, as a user types them."""

from __future__ import annotations

import json
import os
import pwd
import time
from pathlib import Path
from typing import Any

import pytest

from adminkit import config
from adminkit.cli import my as command
from adminkit.cli.main import main
from adminkit.ingest.sync import sync
from adminkit.ingest.sync_run import Options
from tests.ingest.fake_slurm import FakeSlurm
from tests.support.own_slurm import HOUR, OwnSlurm, queued, run, step

NOW = int(time.time())
ME = pwd.getpwuid(os.geteuid()).pw_name
HOSTILE = ("\x1b]0;owned\x07", "a|b\x1fc\nd", "‮reversed", "x" * 300, "<b>&", "=1+1", "caf\udce9")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "none.toml")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnSlurm:
    """Forty runs of train, an hour of four each; one runs now, two wait."""
    slurm = OwnSlurm(tmp_path / "slurm", monkeypatch)
    ends = {n: NOW - n * 5 * HOUR for n in range(1, 41)}
    slurm.jobs = [run(n, end, elapsed=HOUR + n) for n, end in ends.items()]
    slurm.steps = [
        step(n, "batch", Start=end - HOUR, TotalCPU="02:00:00", TRESUsageInTot="cpu=02:00:00,mem=4G,gres/gpuutil=25")
        for n, end in ends.items()
    ]
    slurm.queue = [
        queued(70),
        queued(71, TimeLimit="2:00:00"),
        queued(72, "PD", Reason="Priority"),
        queued(73, "PD", Reason="QOSMaxGRESPerUser", StartTime=NOW + 600),
        queued(74, "PD", Reason="SomethingNew"),
    ]
    slurm.write()
    return slurm


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_last_jobs_with_what_they_used(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "my", "-n", "3")
    first = found["jobs"]["rows"][0]
    assert [row["job_id"] for row in found["jobs"]["rows"]] == ["1", "2", "3"]
    assert (first["accuracy"], first["cpu"], first["mem_share"]) == pytest.approx((0.25, 0.25, 0.5), abs=0.001)
    assert (first["mem_used"], first["gpu"]) == (4 << 30, pytest.approx(0.25, abs=0.001))
    assert found["jobs"]["meta"]["notes"][0] == "the last 3 of 40 jobs that ended in the last 30 days; -n shows more"


def test_hours_that_were_lost_are_a_note(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the jobs of the period, whether or not they are listed."""
    assert "lost" not in str(shown(capsys, "my")["jobs"]["meta"]["notes"])
    slurm.jobs += [
        run(90, NOW - HOUR, elapsed=4 * HOUR, State="TIMEOUT"),
        run(91, NOW - HOUR, elapsed=HOUR // 2, State="NODE_FAIL"),
        run(92, NOW - HOUR, elapsed=HOUR, State="FAILED"),
        run(93, NOW - HOUR, elapsed=0, State="OUT_OF_MEMORY"),
    ]
    slurm.write()
    note = shown(capsys, "my", "-n", "1", "--fresh")["jobs"]["meta"]["notes"][1]
    assert note == (
        "2 jobs ended at the limit, for lack of memory or because a node failed: 4.5 GPU-hours lost, unless the"
        " program saved its work"
    )


def test_a_job_that_failed_at_once_is_shown_and_one_that_never_began_is_not(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.jobs.append(run(90, NOW, elapsed=0, State="FAILED"))
    slurm.jobs.append(run(91, NOW, elapsed=0, State="CANCELLED by 0", Start="Unknown"))
    slurm.write()
    found = shown(capsys, "my")
    assert [(row["job_id"], row["state"]) for row in found["jobs"]["rows"]][:2] == [
        ("90", "FAILED"),
        ("1", "COMPLETED"),
    ]
    assert found["limits"]["rows"][0]["runs"] == 40


def test_only_names_that_a_limit_is_shown_for_are_looked_up(slurm: OwnSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a moment, and a user may have thousands of open jobs."""
    from adminkit.recommend.advice import Advice, History
    from adminkit.stats.runs import Kind

    asked: list[str | None] = []
    advice = History.advice

    def noted(self: History, kind: Kind) -> Advice:
        asked.append(kind.job_name)
        return advice(self, kind)

    monkeypatch.setattr(History, "advice", noted)
    slurm.queue = [queued(n, ("PD", "R")[n % 2], Name=("train", f"never ended {n}")[n % 2]) for n in range(100)]
    slurm.write()
    assert main(["my"]) == 0
    assert asked == ["train"]


@pytest.mark.parametrize("state", ["PD", "RQ", "RF", "RH", "SE", "RD"])
def test_what_was_requeued_or_is_held_after_a_failure_waits(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str], state: str
) -> None:
    slurm.queue = [queued(70, state, Reason="job_requeued_in_held_state")]
    slurm.write()
    found = shown(capsys, "my")
    assert found["running"]["rows"] == [] and found["waiting"]["rows"][0]["meaning"].startswith(
        "it was requeued and is held"
    )
    (words,) = slurm.asked("squeue")
    assert "-t" not in words, "squeue compares a state with its flags: -t PD leaves out what is held"


def test_squeue_is_asked_by_a_clusters_name_only_for_another_one(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    """squeue -M asks slurmdbd, which may be away."""
    slurm.clusters = ["alpha", "beta"]
    slurm.write()
    assert main(["my"]) == 0 and main(["my", "-M", "beta"]) == 0
    assert [("-M" in words) for words in slurm.asked("squeue")] == [False, True]


@pytest.mark.parametrize("name", ["alhpa", "alpha,beta", "all", "\x1b[31m"])
def test_a_cluster_that_slurmdbd_does_not_know_is_refused(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["my", "-M", name]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "no such cluster: " in said.err and "\x1b" not in said.err


def test_what_runs_and_what_waits(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "my")
    warnings = {row["job_id"]: row["warning"] for row in found["running"]["rows"]}
    assert warnings == {"70": "may be cut off: runs of this name need up to 01:06:14", "71": None}
    said = {row["job_id"]: (row["reason"], row["meaning"]) for row in found["waiting"]["rows"]}
    assert said["72"][1].startswith("jobs with higher priority are ahead of this job")
    assert said["73"][1].startswith("a user of its QOS may have no more GPUs")
    assert said["74"] == ("SomethingNew", "SomethingNew")


def test_the_limit_of_a_name_is_that_of_recommend(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    (limit,) = shown(capsys, "my")["limits"]["rows"]
    assert main(["recommend", "walltime", "--name", "train", "-f", "json"]) == 0
    (advice,) = json.loads(capsys.readouterr().out)["rows"]
    assert (limit["limit"], limit["risk"], limit["line"]) == (advice["limit"], advice["risk"], advice["line"])
    assert limit["line"] == "#SBATCH --time=03:00:00"


#: Ways to ask for a limit.
WAYS = ((), ("--name", "train"), ("--name", "never seen"), ("-p", "gq", "--gpus", "1"), ("--backtest",))


def test_recommend_says_the_same_of_ones_own_copy_as_of_the_sites_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        run(
            n,
            NOW - n * 3 * HOUR,
            elapsed=HOUR * (1 + n % 3),
            limit=HOUR * (3 + n % 4),
            JobName=["train", "eval"][n % 2],
        )
        for n in range(1, 60)
    ]
    others = [{**one, "JobID": f"{1000 + n}", "JobIDRaw": f"{1000 + n}", "User": "bob", "UID": "4711",
               "ElapsedRaw": "9000"} for n, one in enumerate(runs)]  # fmt: skip
    texts = [{field: str(cell) for field, cell in one.items()} for one in (*runs, *others)]
    site = FakeSlurm(tmp_path / "site", monkeypatch)
    site.jobs, site.fields = texts, [*texts[0]]
    site.write()
    sync(Options(tmp_path / "site.db", since=NOW - 80 * 86_400, steps=False), [], print)
    capsys.readouterr()
    of_site = [
        shown(capsys, "recommend", "walltime", "--user", ME, "--db", str(tmp_path / "site.db"), *way)["rows"]
        for way in WAYS
    ]
    own = OwnSlurm(tmp_path / "own", monkeypatch)
    own.jobs = runs
    own.write()
    of_copy = [shown(capsys, "recommend", "walltime", *([*way, "--user", ME] if way else []))["rows"] for way in WAYS]
    assert [way for way, one, other in zip(WAYS, of_site, of_copy, strict=True) if one != other] == []


def test_a_copy_is_asked_for_once_a_day_and_again_with_fresh(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, asked in (((), 1), ((), 1), (("--fresh",), 2)):
        assert main(["recommend", "walltime", *options]) == 0
        assert len(slurm.asked("sacct")) == asked
    said = capsys.readouterr()
    assert "database  sacct at " in said.out and said.err == ""


def test_who_has_no_jobs_gets_a_sentence(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    slurm.jobs, slurm.queue = [], []
    slurm.write()
    assert main(["my"]) == 0
    said = capsys.readouterr()
    assert "none of your jobs ended in the last 30 days on alpha" in said.out and said.err == ""
    assert "none of your jobs is running" in said.out and "none of your jobs is waiting" in said.out
    assert main(["recommend", "walltime"]) == 0
    assert "nothing is recommended: no such run is known to have ended" in capsys.readouterr().out


def test_hostile_names_are_escaped_in_the_table_and_whole_in_json(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.jobs = [run(n, NOW - n * HOUR, JobName=name) for n, name in enumerate(HOSTILE, 1)]
    slurm.queue = [queued(90 + n, Name=name, state="PD") for n, name in enumerate(HOSTILE[:2])]
    slurm.write()
    assert main(["my"]) == 0
    written = capsys.readouterr().out
    assert not {c for c in written if c in "\x07\x1b\x1f‮"}
    assert r"\x1b]0;owned\x07" in written and r"a|b\x1fc\nd" in written and max(map(len, written.splitlines())) < 400
    found = shown(capsys, "my")
    names = [row["job_name"] for row in found["jobs"]["rows"]]
    assert names[:6] == list(HOSTILE[:6]) and names[6] == "caf�"
    assert [row["job_name"] for row in found["waiting"]["rows"]] == list(HOSTILE[:2])


@pytest.mark.parametrize(
    ("down", "refused"),
    [
        (["sacct"], (["recommend", "walltime"],)),
        (["sacct", "scontrol", "sacctmgr", "squeue"], (["my"], ["recommend", "walltime"])),
    ],
)
def test_slurmdbd_away_leaves_what_slurmctld_has_and_an_older_copy(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str], down: list[str], refused: tuple[list[str], ...]
) -> None:
    slurm.down = down
    slurm.write()
    for words in refused:
        assert main(words) == 1
        said = capsys.readouterr()
        assert said.out == "" and said.err.startswith("error: ") and "hint: check that slurmdbd is running" in said.err
    if down == ["sacct"]:
        found = shown(capsys, "my")
        assert [len(found[name]["rows"]) for name in ("jobs", "limits")] == [0, 0]
        assert found["jobs"]["meta"]["notes"][0].startswith("not known: couldn't run sacct: ")
        assert found["running"]["rows"] and found["waiting"]["rows"], "slurmctld knows what runs and waits"
    slurm.down = []
    slurm.write()
    assert main(["my"]) == 0
    capsys.readouterr()
    slurm.down = down
    slurm.write()
    assert main(["my", "--fresh"]) == 0
    said = capsys.readouterr()
    assert "this shows what sacct said 00:00:0" in said.err and "Your last jobs on alpha" in said.out


def test_slurmctld_away_leaves_the_jobs_that_ended(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    slurm.down, slurm.says = ["squeue"], "Unable to contact slurm controller (connect failure)"
    slurm.write()
    found = shown(capsys, "my")
    assert len(found["jobs"]["rows"]) == 20
    assert found["waiting"]["meta"]["notes"] == [
        "not known: couldn't run squeue: Unable to contact slurm controller (connect failure)"
    ]


def test_the_jobs_of_others_are_not_asked_for(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "walltime", "--user", "somebody"]) == 2
    assert "your own jobs only" in capsys.readouterr().err
    assert slurm.asked("sacct") == []


def test_a_trace_that_is_named_is_read_and_sacct_is_not_asked(
    slurm: OwnSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recommend", "walltime", "--db", str(tmp_path / "none.db")]) == 1
    assert "no trace database at" in capsys.readouterr().err
    assert slurm.asked("sacct") == []


def test_watch_asks_squeue_at_its_pace_and_sacct_once_and_an_interrupt_ends_it(
    slurm: OwnSlurm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "sleep", sleep)
    assert main(["my", "--watch"]) == 0
    assert pauses == [30] * 4 and len(slurm.asked("squeue")) == 4
    whole, steps = slurm.asked("sacct")
    assert "-X" in whole and len(steps[steps.index("-j") + 1].split(",")) == 40
    drawn = capsys.readouterr().out
    places = [
        drawn.index(title) for title in ("every 30 s", "Waiting jobs", "Running jobs", "A limit for", "Your last")
    ]
    assert places == sorted(places), "what changes is above what a small terminal cuts off"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--watch", "--every", "29"], "--every"),
        (["--watch", "--every", "100000000000"], "--every"),
        (["--watch", "--format", "json"], "--watch draws in the terminal"),
        (["--watch", "--everything"], "--watch draws in the terminal"),
        (["--last", "201"], "--last"),
        (["--dyas", "3"], "--days"),
    ],
)
def test_what_cannot_be_is_refused(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["my", *options]) == 2
    assert said in capsys.readouterr().err and slurm.asked("squeue") == []


def test_colours_are_for_terminals(slurm: OwnSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    from adminkit.render.sections import as_text
    from adminkit.reports.my import tint

    sections: dict[str, Any] = {}
    monkeypatch.setattr("adminkit.render.sections.emit", lambda made, *_: sections.update(made))
    assert main(["my"]) == 0
    plain = as_text(sections, None, None, colour=False, tint=tint)
    painted = as_text(sections, None, None, colour=True, tint=tint)
    assert "\x1b" not in plain and "\x1b[32mCOMPLETED\x1b[0m" in painted and "\x1b[31m" in painted


def test_everything_names_each_place_and_what_may_be_read(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["my"]) == 0
    capsys.readouterr()
    found = shown(capsys, "my", "--everything")
    places = {row["place"]: row for row in found["places"]["rows"]}
    assert places[str(slurm.copy)]["readable"] == "yes" and places[str(slurm.copy)]["rows"] == 40
    assert {"/etc/slurm/adminkit/incentives.lua", "/var/log/adminkit/acts.jsonl"} <= set(places)
    assert any(place.endswith(f"{os.geteuid()}.toml") for place in places)


@pytest.mark.parametrize(("options", "said"), [((), True), (("--days", "5"), False)])
def test_days_that_slurmdbd_does_not_answer_for_are_said_each_time(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: bool
) -> None:
    slurm.most_days = 8
    slurm.write()
    assert main(["my"]) == 0
    capsys.readouterr()
    assert main(["my", *options]) == 0
    captured = capsys.readouterr()
    assert ("slurmdbd answers for 7 days, not for 30" in captured.err) is said
    assert ("ended in the last 7 days" if said else "ended in the last 5 days") in captured.out


def test_a_copy_that_my_made_serves_recommend_which_asks_for_the_queues_once(slurm: OwnSlurm) -> None:
    assert main(["my"]) == 0
    assert not any("partition" in words for words in slurm.asked("scontrol"))
    for _ in range(2):
        assert main(["recommend", "walltime", "-p", "gq"]) == 0
    assert sum("partition" in words for words in slurm.asked("scontrol")) == 1
    assert len(slurm.asked("sacct")) == 2, "the runs, and the steps that my shows"
