"""`adminkit fit` against what slurmctld then does with the same request."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import re
import shlex
import time
from collections.abc import Iterator
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.fit import ask
from adminkit.jupyter.desk import Desk
from adminkit.policy.user_limits import to_type
from adminkit.slurm.queue_qos import held_gpus
from adminkit.slurm.will_run import user_of
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.login import as_login
from tests.cluster.harness.operator import ADMINKIT
from tests.cluster.harness.processes import until
from tests.cluster.harness.requests import OTHER, USER, compare, printed, wrong
from tests.support.builders import job as past_job
from tests.support.builders import make_trace

HOUR = 3600
#: Requests of the random comparison; test_fit_soak.py has more.
FEW = 20


def fit(cluster: Cluster, *words: str, user: str = USER) -> tuple[dict[str, Any], list[str]]:
    """By the command, in this process, which has $SLURM_CONF of the cluster."""
    ask.forget()
    file = cluster.work / "fit.json"
    assert main(["fit", "--user", user, "-f", "json", "--output", str(file), *words]) == 0
    found = json.loads(file.read_text())
    (row,) = found["rows"]
    return row, found["meta"]["notes"]


def fill(cluster: Cluster, *gpus: int, minutes: int = 30) -> None:
    jobs = [cluster.submit("sleep 900", f"--gres=gpu:{many}", "-t", str(minutes), user=USER) for many in gpus]
    for job in jobs:
        cluster.wait(job, "RUNNING")


def test_a_free_a_half_full_and_a_full_cluster(empty: Cluster) -> None:
    row, _ = fit(empty, "--gpus", "8", "-t", "90")
    assert (row["verdict"], row["request"]) == ("now", "--gpus 8 -c 1 -t 90")
    fill(empty, 8, 8, 6)
    for gpus, expected in ((1, "now"), (2, "now"), (3, "later"), (8, "later"), (9, "never")):
        row, notes = fit(empty, "--gpus", str(gpus), "-t", "90")
        assert row["verdict"] == expected, (gpus, row)
        assert row["disagree"] is None or gpus == 9, row  # which 26.05 would let wait for ever
        if expected == "later":
            assert row["why"] == "busy" and row["method"] == "slurm" and row["error"] <= 60
            assert abs(row["at"] - time.time() - 1800) < 120
            assert "would start now: --gpus 2 -c 1 -t 90" in notes, "the nearest smaller one"
        if expected == "never":
            assert row["why"] == "size"
    fill(empty, 2)
    row, notes = fit(empty, "--gpus", "1")
    assert row["verdict"] == "later" and "nothing smaller or shorter was found that would start now" in notes


def test_a_qos_holds_what_test_only_says_would_start(empty: Cluster) -> None:
    fill_qos = empty.submit("sleep 900", "-q", "capped", "--gres=gpu:3", "-t", "30", user=USER)
    empty.wait(fill_qos, "RUNNING")
    row, notes = fit(empty, "-q", "capped", "--gpus", "2", "-t", "20")
    assert (row["test_only"], row["vectors"], row["limits"]) == ("now", "now", "later"), row
    assert (row["verdict"], row["why"]) == ("later", "qos")
    assert "would start now: --gpus 1 -c 1 -t 20 -q capped" in notes
    blocked = empty.submit("sleep 900", "-q", "capped", "--gres=gpu:2", "-t", "20", user=USER)
    until(
        "the QOS to hold it",
        lambda: "QOSMaxGRESPerUser" in empty.ask("squeue", "-h", "-j", str(blocked), "-o", "%r"),
        30.0,
    )
    assert fit(empty, "-q", "capped", "--gpus", "5")[0]["verdict"] == "never"


def test_drained_and_reserved_nodes(empty: Cluster) -> None:
    empty.ask("scontrol", "update", "NodeName=n1,n2", "State=DRAIN", "Reason=a bad disk")
    empty.ask(
        "scontrol", "create", "reservation", "ReservationName=soon", "Nodes=n3", "StartTime=now+1hours", "Duration=60",
        "Users=root", "Flags=MAINT",
    )  # fmt: skip
    try:
        assert fit(empty, "--gpus", "1", "-t", "30")[0]["verdict"] == "now"
        row, notes = fit(empty, "--gpus", "1", "-t", "90")
        assert (row["verdict"], row["why"]) == ("later", "reserved"), row
        assert any(re.match(r"would start now: --gpus 1 -c 1 -t 5\d$", note) for note in notes), "a shorter one"
        empty.ask("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=too")
        row, _ = fit(empty, "--gpus", "1", "-t", "30")
        assert (row["verdict"], row["why"], row["at"]) == ("later", "drained", None), row
    finally:
        empty.ask("scontrol", "delete", "ReservationName=soon")
        for node in ("n1", "n2", "n3"):
            empty.run("scontrol", "update", f"NodeName={node}", "State=RESUME")


def test_a_waiting_job_of_higher_priority_comes_first(empty: Cluster) -> None:
    fill(empty, 8, 8, 4)
    head = empty.submit("sleep 900", "--gres=gpu:8", "-N", "1", "-t", "60", user=OTHER)
    until(
        "backfill to plan it",
        lambda: "n" in empty.ask("squeue", "-h", "-j", str(head), "-O", "SchedNodes").strip("( ")[:1],
        30.0,
    )
    short, _ = fit(empty, "--gpus", "4", "-t", "20")
    long, _ = fit(empty, "--gpus", "4", "-t", "120")
    assert short["waiting"] == "now" and long["vectors"] == "now"
    planned = empty.ask("squeue", "-h", "-j", str(head), "-O", "SchedNodes").strip()
    assert long["waiting"] == ("later" if planned == "n3" else "now"), planned


def test_what_the_queue_never_starts(empty: Cluster) -> None:
    for words, why in ((("-t", "9000"), "limit"), (("-p", "nosuch"), "queue"), (("--gpus", "h100:1"), "size")):
        row, _ = fit(empty, *words)
        assert (row["verdict"], row["why"]) == ("never", why), row


def test_the_past_names_a_time_where_running_jobs_have_no_limit(empty: Cluster) -> None:
    """By a trace of this cluster. Who can read none is told so, and who reads one that is open to all has their own."""
    now = int(time.time())
    old = [now - (1 + n % 40) * 86_400 for n in range(160)]
    waits = [2 * HOUR + n % 7 for n in range(160)]
    trace = make_trace(
        empty.work / "past.db",
        [
            past_job(n, cluster=empty.name, eligible_time=at, start_time=at + wait, end_time=at + wait + 60, gpus=1)
            for n, (at, wait) in enumerate(zip(old, waits, strict=True))
        ],
    )
    empty.ask("scontrol", "update", "PartitionName=gq", "MaxTime=UNLIMITED")
    try:
        for _ in range(3):
            empty.wait(empty.submit("sleep 900", "--gres=gpu:8", "-t", "UNLIMITED", user=USER), "RUNNING")
        asked = ("--gpus", "1", "-t", "90")
        row, notes = fit(empty, *asked, "--db", str(trace))
        assert (row["verdict"], row["why"], row["method"]) == ("later", "hidden", "history"), row
        assert abs(row["at"] - time.time() - 2 * HOUR) < 120 and row["error"] <= 10, row
        assert any(note.startswith("history: of 160 jobs of gq") for note in notes), notes
        row, notes = fit(empty, "--gpus", "4", "-t", "90", "--db", str(trace))
        assert row["at"] is row["method"] is None and any("history: not known: 0 jobs" in note for note in notes)
        job = empty.submit("sleep 900", "--gres=gpu:1", "-t", "90", user=USER)
        until("it to wait", lambda: empty.ask("squeue", "-h", "-j", str(job), "-o", "%r").strip() != "None", 20.0)
        ask.forget()
        file = empty.work / "why.json"
        words = ("--job", str(job), "--db", str(trace), "-f", "json", "--output", str(file))
        assert main(["fit", *words]) == 0
        (row,) = json.loads(file.read_text())["rows"]
        assert (row["verdict"], row["method"]) == ("later", "history") and abs(row["at"] - time.time() - 2 * HOUR) < 120
        trace.chmod(0o644)
        for words, said in (
            ((), "history: you cannot read a trace here; name one with --db"),
            (("--db", trace), "history: not known: 0 your own jobs of gq"),
        ):
            done = empty.run(
                *as_login(OTHER), ADMINKIT, "fit", *asked, *words, "-f", "json", env={"HOME": "/nonexistent"}
            )
            assert done.code == 0, done.text
            told = json.loads(done.out)
            assert told["rows"][0]["at"] is None
            assert any(note.startswith(said) for note in told["meta"]["notes"]), told["meta"]["notes"]
    finally:
        empty.ask("scontrol", "update", "PartitionName=gq", "MaxTime=3-00:00:00")


def test_who_may_not_ask_as_the_user_gets_node_vectors_alone_and_is_told(empty: Cluster) -> None:
    done = empty.run(*as_login(OTHER), ADMINKIT, "fit", "--user", USER, "-f", "json", env={"HOME": "/nonexistent"})
    found = json.loads(done.out)
    assert found["rows"][0]["verdict"] == "room" and found["rows"][0]["test_only"] == "unknown"
    assert any("only root and games may ask" in note for note in found["meta"]["notes"])


def test_roots_question_is_asked_as_the_user_without_roots_environment(empty: Cluster) -> None:
    """A wrapper in sbatch's place says who runs it and with what."""
    folder = empty.work / "wrapped"
    folder.mkdir(mode=0o755)
    (folder / "sbatch").write_text("#!/bin/sh\nid -u; id -G; env\n\n")
    (folder / "sbatch").chmod(0o755)
    from adminkit.slurm.process import told

    before = dict(os.environ)
    os.environ.update({"PATH": f"{folder}:{before['PATH']}", "A_PASSWORD": "secret", "SBATCH_PARTITION": "debug"})
    try:
        _, said = told(["sbatch"], user_of(USER), 5.0, "x")
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert said.splitlines()[0] == str(pwd.getpwnam(USER).pw_uid)
    assert "0" not in said.splitlines()[1].split()
    assert "secret" not in said and "SBATCH_PARTITION" not in said


def test_random_requests_do_what_node_vectors_say(empty: Cluster) -> None:
    seen = compare(empty, 20, FEW)
    assert printed(seen) >= 0.9 and not wrong(seen)


PROFILES = """
[small]
name.en = "One"
gpus = "1"
time = "60"
[half]
gpus = "4"
time = "60"
[capped]
gpus = "5"
qos = "capped"
[huge]
gpus = "9"
"""


def test_profiles_are_checked_listed_and_written_for_forms(empty: Cluster) -> None:
    file, out = empty.work / "profiles.toml", empty.work / "profiles.json"
    file.write_text(PROFILES)
    checked = empty.run(ADMINKIT, "profiles", "check", "--profiles", file, "-f", "json")
    assert checked.code == 1 and [row["severity"] for row in json.loads(checked.out)["rows"]] == [
        "ok",
        "ok",
        "ok",
        "error",
    ]
    fill(empty, 8, 8, 6)
    listed = empty.ask(ADMINKIT, "profiles", "list", "--profiles", file, "--user", USER, "--test", "-f", "json")
    rows = {row["profile"]: row for row in json.loads(listed)["rows"]}
    assert [rows[key]["verdict"] for key in ("small", "half", "capped", "huge")] == ["now", "later", "never", "never"]
    assert (rows["half"]["nearest"], rows["half"]["offered"], rows["capped"]["why"]) == ("small", "no", "qos")
    words = (ADMINKIT, "profiles", "list", "--profiles", file, "--out", out)
    empty.ask(*words)
    empty.stop_ctld()
    try:
        first = json.loads(out.read_text())
        assert first["rows"][0]["verdict"] == "room" and out.stat().st_mode & 0o777 == 0o644
        empty.ask(*words)
        away = json.loads(out.read_text())
        assert {row["verdict"] for row in away["rows"]} == {"unknown"} and any(
            "slurm" in note for note in away["meta"]["notes"]
        )
    finally:
        empty.start_ctld()


def test_why_a_job_waits_and_the_change_that_starts_it(empty: Cluster) -> None:
    empty.ask(
        "scontrol", "create", "reservation", "ReservationName=soon", "Nodes=ALL", "StartTime=now+1hours", "Duration=60",
        "Users=root", "Flags=MAINT,IGNORE_JOBS",
    )  # fmt: skip
    try:
        job = empty.submit("sleep 900", "--gres=gpu:2", "-t", "90", user=USER)
        until("it to wait", lambda: empty.states(job) == ["PENDING"], 20.0)
        file = empty.work / "why.json"
        assert main(["fit", "--job", str(job), "-f", "json", "--output", str(file)]) == 0
        found = json.loads(file.read_text())
        assert (found["rows"][0]["verdict"], found["rows"][0]["why"]) == ("later", "reserved"), found
        note = next(note for note in found["meta"]["notes"] if note.startswith("its owner may shorten it: "))
        empty.ask(*note.partition(": ")[2].split(), user=USER)
        empty.wait(job, "RUNNING", seconds=30)
    finally:
        empty.ask("scontrol", "delete", "ReservationName=soon")


@pytest.fixture(scope="module")
def shared(outside: Listing) -> Iterator[Cluster]:
    """One where fair share weighs the most, and what was used counts after a second."""
    more = {"PriorityWeightFairshare": "100000", "PriorityDecayHalfLife": "1-0", "PriorityCalcPeriod": "1"}
    with private_slurm(
        nodes=1, SchedulerParameters="sched_interval=1,batch_sched_delay=0,bf_interval=2", **more
    ) as one:
        yield one


def test_fair_share_is_why_a_job_waits(shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The account of one user has used GPUs, the other has not; both have a job that waits."""
    monkeypatch.setenv("SLURM_CONF", str(shared.home / "slurm.conf"))
    shared.ask("scontrol", "update", "PartitionName=gq", "MaxTime=UNLIMITED")
    fill(shared, 5)
    until(
        "slurmctld to reckon", lambda: factor_of(shared) < 1.0, 200.0, pause=2.0
    )  # every PriorityCalcPeriod, a minute
    older = shared.submit("sleep 900", "--gres=gpu:2", "-t", "90", "--begin=now+1hour", user=USER)
    head = shared.submit("sleep 900", "--gres=gpu:8", "-t", "60", user=OTHER)
    shared.ask("scontrol", "update", f"JobId={older}", "StartTime=now")
    until(
        "backfill to look at both", lambda: ready(shared, head, "Resources") and ready(shared, older, "Priority"), 60.0
    )
    ask.forget()
    file = shared.work / "why.json"
    assert main(["fit", "--job", str(older), "-f", "json", "--output", str(file)]) == 0
    found = json.loads(file.read_text())
    (row,) = found["rows"]
    assert (row["verdict"], row["why"]) == ("later", "fair_share"), found
    said = (
        f"fair share {factor_of(shared):.2f}: 1 job of 1 account is ahead of it only because of that job's fair share"
    )
    assert row["text"] == said and said in found["meta"]["notes"], found
    assert asyncio.run(behind_on(shared, older)) == said
    assert main(["fit", "--job", str(head), "-f", "json", "--output", str(file)]) == 0
    found = json.loads(file.read_text())
    assert found["rows"][0]["why"] == "busy" and not any("fair share" in note for note in found["meta"]["notes"]), found


async def behind_on(cluster: Cluster, job: int) -> str:
    """What the page of a hub says of it."""
    desk = Desk(str(cluster.work / "profiles.toml"))
    for _ in range(600):
        if found := await desk.behind(str(job)):
            return found.text
        await asyncio.sleep(0.1)
    raise AssertionError("the hub says nothing of fair share")


def factor_of(cluster: Cluster) -> float:
    """USER's, as sshare has it, to be compared with sprio's."""
    return float(cluster.ask("sshare", "-h", "-P", "-u", USER, "-o", "FairShare").split()[-1])


def ready(cluster: Cluster, job: int, reason: str) -> bool:
    return cluster.ask("squeue", "-h", "-j", str(job), "-o", "%r").strip() == reason


def test_a_user_holds_so_many_gpus_of_a_queue_once_the_lines_of_policy_install_are_typed(empty: Cluster) -> None:
    """By the QOS of the queue; the jobs of another user start."""
    wanted = {"gq": 4}
    lines = to_type(wanted, held_gpus())
    try:
        for line in lines:
            program, *words = shlex.split(line)
            empty.ask(program, *(["-i"] if program == "sacctmgr" else []), *words)
        until("slurmctld to have the QOS", lambda: to_type(wanted, held_gpus()) == [] or None, 30.0)
        assert len(lines) == 2 and held_gpus().problems == ()
        first, second = (empty.submit("sleep 900", "--gres=gpu:4", "-t", "30", user=USER) for _ in range(2))
        other = empty.submit("sleep 900", "--gres=gpu:4", "-t", "30", user=OTHER)
        empty.wait(first, "RUNNING")
        empty.wait(other, "RUNNING")
        why = lambda: empty.ask("squeue", "-h", "-j", str(second), "-o", "%r").strip()  # noqa: E731
        until("the second job to be held", lambda: why() == "QOSMaxGRESPerUser" or None, 30.0)
        row, _ = fit(empty, "--gpus", "1", "-t", "30")
        assert (row["verdict"], row["why"]) == ("later", "qos"), row
    finally:
        empty.ask("scontrol", "update", "PartitionName=gq", "QOS=")
        empty.run("sacctmgr", "-i", "delete", "qos", "gq-users")
