"""Planning by need on a real Slurm: refused where it is not safe, and where it is, what each danger comes to."""

from __future__ import annotations

import json
import pwd
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy.planning import is_fit
from adminkit.deploy.soft_guard import LEASE
from adminkit.economy.points_file import dumped
from adminkit.economy.tables import lua
from adminkit.lua.literal import module
from adminkit.lua.runtime import load_table
from adminkit.slurm.planning import PARAMETER
from adminkit.slurm.release import parse_release
from adminkit.slurm.reload import touch
from tests.cluster.conftest import SLURM_USER, private_slurm
from tests.cluster.harness.checkpoint import watched as watching
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import HEAD, Ruled, rule, ruling

pytestmark = pytest.mark.cluster

GAMES = pwd.getpwnam("games").pw_uid
SOFT = (
    '[soft_limits]\nenabled = true\nleast = "00:05:00"\ngap = "00:10:00"\nquantile = 50\noutlived = 60\nwide = 0\n'
    "arrays = true\n"
)
NEEDS = {
    "format": 1, "made_at": 1, "quantiles": [50, 75, 90],
    "users": {GAMES: {"train": {"gq": "300-600-900"}}},
}  # fmt: skip
POINTS: dict[str, Any] = {"format": 1, "made_at": 1, "cap": 720, "class_points": {}, "users": {}}
SCHEDULER = f"sched_interval=2,bf_interval=3,bf_max_job_start=1,{PARAMETER}"
#: Seconds of the guard's period.
PERIOD = "5"


@pytest.fixture(scope="module")
def planned() -> Iterator[Ruled]:
    """A cluster on which nothing but its release may stand against soft limits; no guard runs by itself."""
    with private_slurm(SlurmUser=SLURM_USER, EnforcePartLimits="ALL") as cluster:
        conf = cluster.home / "slurm.conf"
        conf.write_text(conf.read_text().replace("DefaultTime=UNLIMITED", "DefaultTime=02:00:00"))
        with ruling(cluster) as ruled:
            yield ruled


@pytest.fixture(scope="module")
def fit(planned: Ruled) -> bool:
    return is_fit(parse_release(release(planned)))


@pytest.fixture
def quiet(planned: Ruled) -> Iterator[Ruled]:
    """With nothing in its queues, before and after, and no reservation."""
    planned.clear()
    yield planned
    planned.clear()
    for name in re.findall(r"ReservationName=(\S+)", planned.cluster.ask("scontrol", "show", "reservation")):
        planned.cluster.run("scontrol", "delete", f"ReservationName={name}")
    until("the queues to be empty", lambda: planned.cluster.ask("squeue", "-h") == "", 90)


@pytest.fixture
def on(quiet: Ruled, fit: bool, tmp_path: Path) -> Ruled:
    """Soft limits in force by the commands themselves, with a lease; for fit releases, as conftest.py has it."""
    assert fit
    parameters(quiet, SCHEDULER)
    if not quiet.text.endswith(SOFT):
        quiet.rules(SOFT)
        tmp_path.chmod(0o755)
        (tmp_path / "incentives.json").write_text(dumped(POINTS))
        (tmp_path / "soft_limits.json").write_text(dumped(NEEDS))
        words = ("--policy", quiet.policy, "--from", tmp_path, "--points-per-hour", "60", "--apply")
        quiet.adminkit("incentives", "install", *words)
    guard(quiet)
    return quiet


def release(ruled: Ruled) -> str:
    return re.search(r"SLURM_VERSION\s*= (\S+)", ruled.cluster.ask("scontrol", "show", "config"))[1]  # type: ignore[index]


def parameters(ruled: Ruled, words: str) -> None:
    """SchedulerParameters of the running slurmctld, by slurm.conf and a reconfigure."""
    conf = ruled.cluster.home / "slurm.conf"
    conf.write_text(re.sub(r"^SchedulerParameters=.*$", f"SchedulerParameters={words}", conf.read_text(), flags=re.M))
    ruled.cluster.ask("scontrol", "reconfigure")
    until(
        "slurmctld to have loaded it",
        lambda: words in ruled.cluster.run("scontrol", "show", "config").out.decode(),
        30,
    )


def guard(ruled: Ruled, code: int | None = 0) -> dict[str, Any]:
    """A round of the guard, as its timer runs it."""
    said = ruled.adminkit("soft-limits", "guard", "--apply", "--period", PERIOD, "--format", "json", code=code)
    answer: dict[str, Any] = json.loads(said.stdout)
    time.sleep(5.1)  # as long as the script keeps what it read of the lease
    return answer


def did(ruled: Ruled) -> list[tuple[str, int]]:
    """(what, job) of a round."""
    return [(row["did"], int(row["job"])) for row in guard(ruled)["rows"]]


def submit(ruled: Ruled, *options: str, script: str = "sleep 300") -> int:
    said = ruled.run("sbatch", "-J", "train", "-p", "gq", "-o", "/dev/null", *options, "--wrap", script, user="games")
    assert said.job is not None, said
    return said.job


def four_nodes_planned(ruled: Ruled) -> None:
    """For 12 minutes n1 has a job, and one for all four nodes waits for it. A lease may run out while it is planned,
    so there is one from here.
    """
    first = submit(ruled, "-J", "a", "-N1", "-w", "n1", "--exclusive", "-t", "12")
    ruled.cluster.wait(first, "RUNNING")
    wide = submit(ruled, "-J", "b", "-N4", "--exclusive", "-t", "60")
    until("backfill to have planned the wide one", lambda: ruled.job(wide)["StartTime"] != "Unknown", 60)
    guard(ruled)


def limits(ruled: Ruled, job: int) -> tuple[str, str]:
    """(TimeLimit, TimeMin)."""
    words = ruled.job(job)
    return words["TimeLimit"], words["TimeMin"]


def by_hand(ruled: Ruled, typed: bool = False, **changes: Any) -> None:
    """Soft limits as an install would put them, past its refusal, with a lease of a minute: for held jobs only."""
    table = load_table(ruled.inner / "policy.lua")
    table["soft_limits"] = {
        "queues": {"gq": True}, "quantile": 50, "least": 300, "gap": 600, "users_off": {}, "accounts_off": {},
        "classes_off": {}, "preemptible": False, "arrays": False, "variable": "ADMINKIT_PLAN", "typed": typed,
    }  # fmt: skip
    now = int(time.time())
    lease = {
        "format": 1, "generation": "lease", "made_at": now, "valid_until": now + 60, "queues": {"gq": {"most": 259200}},
        "qos_off": {}, "accounts_off": {}, "users_off": {}, **changes,
    }  # fmt: skip
    for name, data in (("policy.lua", table), ("soft_limits.lua", None), ("soft_lease", lease)):
        path = ruled.inner / name
        path.write_text(lua(NEEDS) if data is None else module(data, "made for a test"))
        path.chmod(0o644)
    touch(ruled.folder / "job_submit.lua")


# -- every release


def test_an_install_is_refused_by_name(quiet: Ruled, fit: bool) -> None:
    """Below 25.05.6 and 25.11.1 always; elsewhere where a queue has no DefaultTime, or a maximum would not hold."""
    quiet.policy.write_text(HEAD + SOFT)
    if not fit:
        said = quiet.adminkit("policy", "install", "--apply", "--policy", quiet.policy, code=1)
        assert "soft limits are refused here: release: slurmctld is" in said.stderr
        assert "soft_limits" not in (quiet.inner / "policy.lua").read_text()
        return
    conf = quiet.cluster.home / "slurm.conf"
    before = conf.read_text()
    try:
        conf.write_text(
            before.replace("EnforcePartLimits=ALL", "EnforcePartLimits=ANY") + "PartitionName=open Nodes=ALL\n"
        )
        quiet.cluster.ask("scontrol", "reconfigure")
        until("the queue to be there", lambda: "open" in quiet.cluster.ask("sinfo", "-h", "-o", "%P"), 30)
        said = quiet.adminkit("policy", "install", "--apply", "--policy", quiet.policy, code=1)
        assert "default_time: no DefaultTime in open" in said.stderr
        assert "enforce_part_limits: EnforcePartLimits is ANY" in said.stderr
    finally:
        conf.write_text(before)
        quiet.cluster.restart_ctld()
        quiet.cluster.until_idle()


def test_the_script_decides_by_table_and_lease(quiet: Ruled) -> None:
    """Held jobs, on any release: what the script writes, and what it leaves alone."""
    quiet.rules("")
    before = {path.name: path.read_bytes() for path in quiet.inner.iterdir() if path.is_file()}
    try:
        by_hand(quiet)
        job = submit(quiet, "-H", "-t", "60")
        assert limits(quiet, job) == ("01:00:00", "00:05:00")
        assert quiet.job(job)["AdminComment"] == "ak1:lim=3600,src=e,soft=300"
        for options, why in (
            (("-t", "12"), "the gap is not worth it"),
            (("-t", "60", "-J", "other"), "a name without history"),
            ((), "no limit typed"),
            (("-t", "60", "-a", "1-2"), "an array"),
            (("-t", "60", "--export", "ALL,ADMINKIT_PLAN=off"), "switched off"),
            (("-t", "60", "--export", "ALL,ADMINKIT_CKPT=requeue"), "it goes on from a checkpoint"),
        ):
            assert quiet.job(submit(quiet, "-H", *options))["TimeMin"] == "N/A", why
        said = quiet.run("sbatch", "-H", "-p", "gq", "-t", "60", "--time-min=1", "--wrap", "true", user="games")
        assert "--time-min was left out" in said.text and limits(quiet, said.job or 0) == ("01:00:00", "N/A")
        quiet.update(job, "TimeLimit=3")
        assert limits(quiet, job) == ("00:03:00", "N/A")
        by_hand(quiet, typed=True)
        kept = submit(quiet, "-H", "-t", "60", "-J", "other", "--time-min=7")
        assert limits(quiet, kept) == ("01:00:00", "00:07:00")
        assert quiet.job(kept)["AdminComment"] == "ak1:lim=3600,src=e,min=420,keep=420"
        assert limits(quiet, submit(quiet, "-H", "-t", "60", "--time-min=1"))[1] == "00:05:00", "the least"
        quiet.update(kept, "TimeLimit=3")
        assert limits(quiet, kept) == ("00:03:00", "N/A"), "as if it were the policy's own"
        by_hand(quiet, typed=True, valid_until=int(time.time()) - 1)
        late = quiet.run("sbatch", "-H", "-p", "gq", "-t", "60", "--time-min=7", "--wrap", "true", user="games")
        assert "it cannot be used" in late.text and limits(quiet, late.job or 0) == ("01:00:00", "N/A")
        assert quiet.job(submit(quiet, "-H", "-t", "60"))["TimeMin"] == "N/A", "a lease that has run out"
    finally:
        (quiet.folder / LEASE).unlink(missing_ok=True)
        (quiet.inner / "soft_limits.lua").unlink(missing_ok=True)
        (quiet.inner / "policy.lua").write_bytes(before["policy.lua"])
        touch(quiet.folder / "job_submit.lua")
        quiet.text = ""


# -- fit releases


def test_a_typed_time_min_is_kept_where_the_operator_says_so(on: Ruled) -> None:
    """Planned with, the limit kept; taken from those that wait when the parameter goes away."""
    on.rules(SOFT + "typed = true\n")
    four_nodes_planned(on)
    short = submit(on, "-J", "new", "-N1", "-n1", "-w", "n3", "-t", "60", "--time-min=7")
    on.cluster.wait(short, "RUNNING", 60)
    assert limits(on, short) == ("01:00:00", "00:07:00")
    waits = submit(on, "-H", "-J", "new", "-t", "60", "--time-min=7")
    try:
        parameters(on, "sched_interval=2,bf_interval=3")
        assert [(row["did"], int(row["job"])) for row in guard(on, 1)["rows"]] == [("cleared", waits)]
        assert limits(on, waits) == ("01:00:00", "N/A") and limits(on, short)[0] == "01:00:00"
    finally:
        parameters(on, SCHEDULER)


def test_figure_4(on: Ruled) -> None:
    """A runs, B needs every node, H asks for an hour on an idle one: it starts at once and keeps its hour."""
    four_nodes_planned(on)
    stock = submit(on, "-J", "stock", "-N1", "-n1", "-w", "n2", "-t", "60")
    short = submit(on, "-N1", "-n1", "-w", "n3", "-t", "60")
    on.cluster.wait(short, "RUNNING", 60)
    assert limits(on, short) == ("01:00:00", "00:05:00")
    assert on.cluster.states(stock) == ["PENDING"]


def test_nobody_hangs_slurmctld(on: Ruled) -> None:
    """One job runs, one waits, one has --time-min and no limit, by sbatch and by scontrol."""
    submit(on, "-J", "a", "-N4", "--exclusive", "-t", "60")
    submit(on, "-J", "b", "-N4", "--exclusive", "-t", "60")
    typed = submit(on, "-J", "c", "--time-min=1")
    assert on.job(typed)["TimeMin"] == "N/A"
    later = submit(on, "-J", "d")
    for who in ("games", None):
        on.update(later, "TimeMin=1", user=who)
        assert on.job(later)["TimeMin"] == "N/A", who
    time.sleep(8)  # two cycles of backfill
    assert on.alive()


def test_nothing_runs_into_a_reservation(on: Ruled) -> None:
    """None is given before one begins, and those who wait lose theirs when one appears."""
    job = submit(on, "-H", "-t", "60")
    assert limits(on, job)[1] == "00:05:00"
    words = ("Duration=60", "Nodes=n2", "Users=root", "Flags=MAINT,IGNORE_JOBS")
    on.cluster.ask("scontrol", "create", "reservation", "ReservationName=m", "StartTime=now+30minutes", *words)
    assert did(on) == [("cleared", job)]
    assert limits(on, job) == ("01:00:00", "N/A")
    assert limits(on, submit(on, "-H", "-t", "60"))[1] == "N/A"
    assert limits(on, submit(on, "-H", "-t", "20"))[1] == "00:05:00", "it ends before the reservation begins"


def test_what_slurm_lowers_at_a_start_is_raised(on: Ruled) -> None:
    """Array tasks beyond bf_max_job_start; not what is lowered later, nor a heterogeneous job."""
    four_nodes_planned(on)
    array = submit(on, "-N1", "-n1", "-t", "60", "-a", "1-6")
    until("its tasks to run", lambda: len(running(on, array)) == 6, 90)
    cut = {job for job, limit in running(on, array).items() if limit != "1:00:00"}
    print(f"cut by Slurm: {len(cut)} of 6")
    raised = did(on)
    assert {job for what, job in raised} >= cut
    assert set(running(on, array).values()) == {"1:00:00"}
    one = max(running(on, array))  # by the array's own id scontrol would change them all
    on.update(one, "TimeLimit=20", user=None)
    assert did(on) == []
    assert running(on, array)[one] == "20:00"
    het = on.run(
        "sbatch", "-H", "-J", "train", "-p", "gq", "-t", "60", "-n1", ":", "-n1", "-t", "60", "--wrap", "true",
        user="games",
    )  # fmt: skip
    assert limits(on, het.job or 0)[1] == "N/A"


def test_the_checkpoint_plugin_sends_nothing_at_the_soft_end(on: Ruled) -> None:
    """slurmctld is stopped before it is asked: whose soft end that is hears nothing, whose end it is when it is back.

    Both have the end in their environment, as Slurm says it, and a signal due a minute after their start.
    """
    watched = watching(on.cluster)
    watched.configure("default=on", "signal=TERM@240")
    try:
        four_nodes_planned(on)
        script, words = "echo end $SLURM_JOB_END_TIME >> {log}\n{train} code=0\n", ("-p", "gq", "-N1", "-n1")
        soft = watched.submit(script, *words, "-J", "train", "-w", "n3", "-t", "60")
        hard = watched.submit(script, *words, "-J", "other", "-w", "n4", "-t", "5")
        watched.until("both to run", lambda: soft.times("start") and hard.times("start"))
        assert (limits(on, soft.id), limits(on, hard.id)) == (("01:00:00", "00:05:00"), ("00:05:00", "N/A"))
        for job in (soft, hard):
            assert 295 < job.times("end")[0] - job.times("start")[0] < 305
        on.cluster.stop_ctld()
        try:
            time.sleep(max(soft.times("start") + hard.times("start")) + 75 - time.time())
            assert soft.times("heard") + hard.times("heard") == []
        finally:
            on.cluster.start_ctld()
        watched.until("the signal", lambda: hard.times("heard"), 40)
        time.sleep(16)  # it asks every 15 s
        assert soft.times("heard") == []
        assert limits(on, soft.id) == ("01:00:00", "00:05:00")
    finally:
        (on.cluster.home / "plugstack.conf").unlink()


def running(ruled: Ruled, array: int) -> dict[int, str]:
    """The limit of each running task."""
    text = ruled.cluster.ask("squeue", "-h", "-j", str(array), "-t", "R", "-O", "JobID:20,TimeLimit:20")
    return {int(job): limit for job, limit in (line.split() for line in text.splitlines())}


def test_the_parameter_goes_away(on: Ruled) -> None:
    """No new ones, none left on those who wait; and it comes back."""
    job = submit(on, "-H", "-t", "60")
    assert limits(on, job)[1] == "00:05:00"
    try:
        parameters(on, "sched_interval=2,bf_interval=3")
        said = on.adminkit("soft-limits", "guard", "--apply", "--period", PERIOD, code=1)
        assert "parameter: the running slurmctld does not name" in said.stdout + said.stderr
        assert limits(on, job) == ("01:00:00", "N/A")
        assert not (on.folder / LEASE).exists()
        time.sleep(5.1)
        assert limits(on, submit(on, "-H", "-t", "60"))[1] == "N/A"
        assert "no lease" in on.adminkit("soft-limits", "status", code=1).stdout
    finally:
        parameters(on, SCHEDULER)
    guard(on)
    assert limits(on, submit(on, "-H", "-t", "60"))[1] == "00:05:00"


def test_nobody_is_left_cut_when_the_parameter_goes_away_under_load(on: Ruled) -> None:
    """Jobs and array tasks that backfill starts all the while; a reconfigure, then slurmctld killed and started."""
    four_nodes_planned(on)
    jobs = [submit(on, "-N1", "-n1", "-t", "60") for _ in range(10)]
    array = submit(on, "-N1", "-n1", "-t", "60", "-a", "1-30")
    until("some to run", lambda: len(everybody(on)) > 4, 120)
    with_it = everybody(on)
    try:
        parameters(on, "sched_interval=2,bf_interval=3")
        until("more to run", lambda: len(everybody(on)) > len(with_it) + 2, 120)
        on.cluster.restart_ctld()
        without = {job: limit for job, limit in everybody(on).items() if job not in with_it}
        guard(on, code=None)
    finally:
        parameters(on, SCHEDULER)
    guard(on, code=None)
    cut = [sum(limit != "1:00:00" for limit in found.values()) for found in (with_it, without)]
    print(
        f"cut: {cut[0]} of {len(with_it)} with the parameter, {cut[1]} of {len(without)} without; jobs {len(jobs) + 30}"
    )
    acts = [json.loads(line) for line in on.acts.read_text().splitlines()]
    print("restored while they waited:", sum(bool(one.get("becomes")) for one in acts if one.get("did") == "cleared"))
    assert array and set(everybody(on).values()) == {"1:00:00"}
    waiting = on.cluster.ask("squeue", "-h", "-n", "train", "-t", "PD", "-O", "TimeLimit:20").split()
    assert set(waiting) <= {"1:00:00"}


def everybody(ruled: Ruled) -> dict[int, str]:
    """The limit of each running job of the name that has a history."""
    text = ruled.cluster.ask("squeue", "-h", "-n", "train", "-t", "R", "-O", "JobID:20,TimeLimit:20")
    return {int(job): limit for job, limit in (line.split() for line in text.splitlines())}


def test_a_lease_runs_out_by_itself(on: Ruled) -> None:
    """The timer stopped: no new ones after three of its periods."""
    time.sleep(16)
    assert limits(on, submit(on, "-H", "-t", "60"))[1] == "N/A"


def test_maxima_and_limits_on_minutes_hold(on: Ruled) -> None:
    """No job passes its queue's maximum, nor is one planned by need under a QOS that counts minutes."""
    refused = on.run("sbatch", "-J", "train", "-p", "debug", "-t", "60", "--wrap", "true", user="games")
    assert not refused.accepted
    assert limits(on, submit(on, "-H", "-p", "gq,debug", "-t", "5"))[1] == "N/A"
    job = submit(on, "-H", "-t", "60")
    assert not on.update(job, "TimeLimit=30-00:00:00").accepted
    on.cluster.ask("sacctmgr", "-i", "modify", "qos", "normal", "set", "GrpTRESRunMins=cpu=100000")
    try:
        until("slurmctld to know", lambda: "cpu=100000" in on.cluster.ask("scontrol", "show", "assoc_mgr"), 30)
        assert ("cleared", job) in did(on)
        assert limits(on, submit(on, "-H", "-t", "60"))[1] == "N/A"
    finally:
        on.cluster.ask("sacctmgr", "-i", "modify", "qos", "normal", "set", "GrpTRESRunMins=cpu=-1")
    until("slurmctld to know", lambda: "cpu=100000" not in on.cluster.ask("scontrol", "show", "assoc_mgr"), 30)


def test_owners_lower_their_limits_and_requeued_jobs_lose_theirs(on: Ruled) -> None:
    job = submit(on, "-t", "60")
    on.cluster.wait(job, "RUNNING")
    assert limits(on, job) == ("01:00:00", "00:05:00")
    assert on.update(job, "TimeLimit=3").accepted
    assert limits(on, job)[0] == "00:03:00"
    again = submit(on, "-t", "60")
    on.cluster.wait(again, "RUNNING")
    on.cluster.ask("scontrol", "requeuehold", str(again))
    until("it to wait again", lambda: on.job(again)["JobState"] in ("PENDING", "REQUEUE_HOLD"), 60)
    assert ("cleared", again) in did(on)
    assert limits(on, again)[1] == "N/A"


def test_who_moved_while_they_were_off_gets_no_longer_limit_back(on: Ruled) -> None:
    """Its record has the limit of gq; in gq-short, with the record's TimeMin, the guard would give it back."""
    job, stays = submit(on, "-H", "-t", "60"), submit(on, "-H", "-t", "60")
    assert limits(on, job) == ("01:00:00", "00:05:00")
    on.rules('record = "admin_comment"\n' + rule("short-max", "gq-short", max_limit="00:30:00"))
    assert on.update(job, "TimeLimit=20", "TimeMin=5", "Partition=gq-short").accepted
    assert on.update(stays, "TimeLimit=20", "TimeMin=5").accepted
    assert (limits(on, job), limits(on, stays)) == (("00:20:00", "00:05:00"),) * 2
    assert sorted(did(on)) == [("cleared", job), ("cleared", stays)]
    assert limits(on, job) == ("00:20:00", "N/A")
    assert limits(on, stays) == ("01:00:00", "N/A"), "in its own queue it may have it"


def test_each_act_is_recorded(on: Ruled) -> None:
    acts = [json.loads(line) for line in on.acts.read_text().splitlines()]
    mine = [one for one in acts if one["what"] == "soft-limits guard"]
    assert {one["did"] for one in mine} >= {"lease given", "lease withdrawn", "cleared"}
