"""`adminkit trial` on a real slurmctld: both sides whole, hands respected, and A back when nobody looks after it.

Rounds are called with a clock that is ahead, so that a trial's days pass at once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from adminkit.deploy.extend_state import alone_here
from adminkit.deploy.trial import TRIAL, Side
from adminkit.deploy.trial_round import LOCK
from adminkit.deploy.trial_sides import INCLUDED
from adminkit.deploy.trial_state import LEASE
from adminkit.economy.tables import lua
from adminkit.errors import AdminkitError
from adminkit.slurm import switching
from adminkit.slurm.run_time import OPTIONS, PARAMETERS, same
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import at_most
from tests.cluster.harness.trial import FILE, NEEDS, SOFT, A, B, Trying, trying
from tests.support.builders import make_trace

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def booted(outside: Listing) -> Iterator[Trying]:
    with trying() as found:
        yield found


@pytest.fixture(scope="module")
def short(booted: Trying) -> int:
    """A job with a limit of a minute, which passes while the tests before run."""
    job = booted.ruled.run("sbatch", "-p", "gq", "-t", "1", "-o", "/dev/null", "--wrap", "sleep 300", user="games").job
    assert job is not None
    return job


@pytest.fixture
def site(booted: Trying, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trying]:
    """With A in place and no trial, before and after."""
    monkeypatch.setenv("SLURM_CONF", str(booted.cluster.home / "slurm.conf"))
    yield booted
    booted.end()


def test_each_side_is_whole_on_its_days(site: Trying, short: int) -> None:
    assert site.ruled.job(short)["TimeLimit"] == "00:01:00"
    site.start()
    assert site.there() == A, "it has not begun"
    site.to("b")
    site.round()
    assert site.there() == B
    site.round()
    site.to("a")
    site.round()
    assert site.there() == A
    assert [did for did, _ in site.acts()] == ["trial begun", "put", "put"]
    assert [one.side for one in site.whole.trial.placed][-1] == "a"


def test_the_commands_say_what_is_in_place(site: Trying) -> None:
    """As the timers run them, and as an operator asks."""
    assert "there is no trial" in site.ruled.adminkit("trial", "status").stdout
    site.start()
    for words in (("run", "--apply"), ("restore", "--apply"), ("status",), ("run",)):
        said = site.ruled.adminkit("trial", *words, "--format", "json")
        rows = {row["part"]: row["is"] for row in json.loads(said.stdout)["rows"]}
        if words[0] != "restore":
            assert rows["policy"] == rows["PriorityWeightAge"] == rows["gq MaxTime"] == "A", words
    site.ruled.adminkit("trial", "stop", "--apply")
    assert "no trial is running" in site.ruled.adminkit("trial", "stop", "--apply", code=1).stderr
    assert "it ended at" in site.ruled.adminkit("trial", "status").stdout


def test_a_slurmctld_that_starts_anew_has_the_side_that_was_in_place(site: Trying) -> None:
    """It reads the included file; a queue's key that it took from slurm.conf is put again, and the day stays whole."""
    site.start()
    site.to("b")
    site.round()
    site.cluster.restart_ctld()
    assert site.there() == {**B, "MaxTime": A["MaxTime"]}
    site.round()
    assert site.there() == B
    assert site.acts()[-1][0] == "put again" and site.whole.trial.placed[-1].side == "b"
    site.to("a")
    site.cluster.restart_ctld()
    site.round()
    assert site.there() == A


def test_a_queue_that_was_closed_by_hand_stays_closed(site: Trying) -> None:
    """Though slurm.conf, which a reconfigure reads, says that it is up."""
    site.start()
    site.cluster.ask("scontrol", "update", "PartitionName=gq-long", "State=DRAIN")
    site.to("b")
    site.round()
    assert "State=DRAIN" in site.cluster.ask("scontrol", "-o", "show", "partition", "gq-long")
    site.cluster.ask("scontrol", "update", "PartitionName=gq-long", "State=UP")


def test_a_policy_that_was_installed_by_hand_ends_the_trial(site: Trying) -> None:
    """It stays; what is still the trial's is given back."""
    site.start()
    site.to("b")
    site.round()
    site.ruled.text = ""
    site.ruled.rules(at_most(7))
    site.round()
    assert site.there() == {**A, "policy": 7}
    assert site.whole.trial.why == "changed by hand: the policy"
    site.round()
    assert site.there() == {**A, "policy": 7} and site.acts()[-1][0] == "given back"


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_line_of_slurm_conf_that_was_changed_by_hand_ends_it(site: Trying, side: Side) -> None:
    """On either side's days; the line counts from then on."""
    conf = site.cluster.home / "slurm.conf"
    text = conf.read_text()
    site.start()
    site.to(side)
    site.round()
    try:
        conf.write_text(text.replace("PriorityWeightAge=1000", "PriorityWeightAge=777"))
        if side == "a":
            site.cluster.ask("scontrol", "reconfigure")
        site.round()
        assert site.there() == {**A, "PriorityWeightAge": "777"}
        assert site.whole.trial.why.startswith("changed by hand: PriorityWeightAge in slurm.conf")
    finally:
        conf.write_text(text)


def test_a_key_of_a_queue_that_was_set_by_hand_ends_it(site: Trying) -> None:
    site.start()
    site.to("b")
    site.round()
    site.cluster.ask("scontrol", "update", "PartitionName=gq", "MaxTime=2-00:00:00")
    site.round()
    assert site.whole.trial.why == "changed by hand: gq MaxTime is 2-00:00:00"
    assert site.there() == {**A, "MaxTime": "2-00:00:00"}


def test_a_comes_back_where_no_round_runs(site: Trying) -> None:
    """By the other timer, once the lease has run out; not before. The trial goes on where rounds run again."""
    site.start()
    site.to("b")
    site.round()
    site.restore()
    assert site.there() == B
    site.skip += LEASE + 5
    site.restore()
    assert site.there() == A and [one.side for one in site.whole.trial.placed][-2:] == ["b", "a"]
    site.round()
    assert site.there() == B


def test_a_day_that_never_ended_does_not_count(site: Trying) -> None:
    """No timer ran from one B day until another: nobody saw what was in place meanwhile."""
    site.start()
    site.to("b")
    site.round()
    site.to("b", 3)
    site.round()
    assert [one.side for one in site.whole.trial.placed][-3:] == ["b", "", "b"]


def test_a_comes_back_without_slurmctld(site: Trying) -> None:
    """As far as files go; slurmctld reads them when it starts."""
    site.start()
    site.to("b")
    site.round()
    site.cluster.stop_ctld()
    try:
        site.skip += LEASE + 5
        assert not site.restore().ok
    finally:
        site.cluster.start_ctld()
    assert site.there() == A
    site.to("a")
    site.round()
    assert site.there() == A


def test_a_damaged_file_gives_a_back(site: Trying) -> None:
    site.start()
    site.to("b")
    site.round()
    (site.folder / TRIAL).write_text("{")
    site.round()
    assert site.there() == A and not (site.folder / TRIAL).exists()


def test_b_stays_where_it_is_kept(site: Trying) -> None:
    site.start()
    site.to("a")
    site.round()
    site.ruled.adminkit("trial", "stop", "--keep", "b", "--apply")
    assert site.there() == B
    site.round()
    site.restore()
    assert site.there() == B
    site.cluster.ask("scontrol", "update", "PartitionName=gq", "MaxTime=3-00:00:00")


def test_a_guard_that_fires_puts_a_back_and_says_by_which_numbers(site: Trying, short: int, tmp_path: Path) -> None:
    """A job that ended at a maximum that only B has, as slurmdbd has it."""
    site.cluster.wait(short, "TIMEOUT")
    site.start(f'{FILE.replace("1-00:00:00", "00:01:00")}DefaultTime = "00:01:00"\n')
    site.move_here("b")
    site.round()
    assert site.there() == {**B, "MaxTime": "00:01:00"}, "no guard counts what was seen before B was in place"
    sacct = ("sacct", "-n", "-X", "-j", str(short), "-o", "State%20,End%20")
    until("slurmdbd to have its end", lambda: site.cluster.ask(*sacct).split()[:1] == ["TIMEOUT"], 60)
    site.round()
    assert site.there() == A
    why = "guard cut: 1 jobs ended at B's limits; allowed: 0"
    ended = next(why for did, why in site.acts() if did == "trial ended")
    assert ended.startswith(why)
    trace = make_trace(tmp_path / "trace.db")
    for words in (("trial", "status"), ("trial", "result", "--db", trace), ("report", "trial", "--db", trace)):
        assert why in site.ruled.adminkit(*words).stdout, words
    assert [one.cut for one in site.whole.machine.numbers if one.side == "b"] == [1]


@pytest.fixture
def on(site: Trying) -> Trying:
    """For releases on which jobs may have soft limits, as conftest.py has it; B has a table of needs."""
    tables = site.cluster.folder / "tables-b"
    tables.mkdir(exist_ok=True)
    (tables / "soft_limits.lua").write_text(lua(NEEDS))
    return site


def test_soft_limits_that_only_b_has_come_and_go_with_its_days(on: Trying) -> None:
    """Pending jobs lose theirs on the switch back, by the next round of soft limits' own guard."""
    file = FILE.replace("[b.slurm]", 'tables = "tables-b"\n[b.slurm]')
    assert "another [soft_limits]" in on.start(code=1, more=SOFT), "without its tables"
    on.start(file, more=SOFT)
    assert planned(on)[1] == "N/A", "A's days before the trial"
    on.to("b")
    on.round()
    job, limit = planned(on)
    assert limit == "00:05:00"
    on.to("a")
    on.round()
    assert on.there() == A and planned(on)[1] == "N/A"
    assert (on.ruled.job(job)["TimeLimit"], on.ruled.job(job)["TimeMin"]) == ("01:00:00", "N/A")
    on.ruled.clear()


def planned(site: Trying) -> tuple[int, str]:
    """A held job of an hour, submitted after a round of soft limits' guard, and its TimeMin."""
    site.ruled.adminkit("soft-limits", "guard", "--apply", "--period", "5", code=None)
    time.sleep(5.1)  # as long as the script keeps what it read of the lease
    job = site.ruled.sbatch("-J", "train", "-p", "gq", "-t", "60").job
    assert job is not None
    return job, site.ruled.job(job)["TimeMin"]


def test_what_a_trial_could_not_switch_is_refused(site: Trying) -> None:
    """Before anything is written."""
    cases = {
        FILE.replace("PriorityWeightAge", "SelectType"): "takes SelectType at its start only",
        FILE.replace("bf_window", "bf_windows"): "did you mean bf_window",
        FILE.replace("queues.gq", "queues.gqq"): "there is no queue gqq",
        FILE.replace("20000", '"1\\nSlurmUser=root"'): "is not a whole number",
        "version = 1\n[b.slurm]\nPriorityWeightAge = 1000\n": "there is nothing to compare",
        f'version = 1\n[a]\npolicy = "policy-b.toml"\n{FILE[12:]}': "A must be what is in place",
    }
    for text, words in cases.items():
        assert words in site.start(text, code=1), text
    assert not (site.folder / TRIAL).exists()
    conf = site.cluster.home / "slurm.conf"
    text = conf.read_text()
    try:
        conf.write_text(text.replace(f"Include {INCLUDED}", ""))
        assert "does not include" in site.start(code=1)
        conf.write_text(text + "PriorityWeightAge=1000\n")
        assert "after the line that includes" in site.start(code=1)
    finally:
        conf.write_text(text)
    site.start()
    assert "another trial is running" in site.start(code=1)


def test_slurmctld_takes_every_parameter_of_the_table_by_a_reconfigure(site: Trying) -> None:
    """Each by itself in the included file, in another value than it has, read back from slurmctld."""
    values = {"number": "77", "minutes": "3-00:00:00", "seconds": "45", "switch": "YES"}
    lines = {name: values[form] for name, form in PARAMETERS.items()}
    before = switching.holds()
    known = {name: form for name, (form, since) in OPTIONS.items() if since <= before.release}
    options = ",".join(name if form == "flag" else f"{name}=33" for name, form in known.items())
    (site.folder / INCLUDED).write_text(
        "".join(f"{name}={value}\n" for name, value in lines.items()) + f"SchedulerParameters={options}\n"
    )
    switching.reconfigure()
    after = switching.holds()
    for name, value in {**lines, "SchedulerParameters": options}.items():
        assert same(name, switching.parameter(after, name), value), name
        assert not same(name, switching.parameter(before, name), value), name


def test_rounds_that_are_killed_at_random_leave_what_the_next_completes(site: Trying) -> None:
    """On the real slurmctld: rounds from one side to the other, killed within the time that one takes."""
    site.start()
    pick, took, mixed = random.Random(44), 0.0, 0
    sides: list[Side] = ["b", "a"] * 4
    for nth, side in enumerate(sides):
        site.to(side, nth // 2)
        began = time.monotonic()
        if nth == 0:
            site.round()
            took = time.monotonic() - began
            continue
        kill_round(site, pick.uniform(0, took))
        machine = site.whole.machine
        mixed += machine.under_way is not None
        if machine.under_way is None:
            assert site.there() == (A if machine.in_place == "a" else B)
        site.round()
        assert site.there() == (A if side == "a" else B)
    assert mixed, "no kill was in the middle of a switch"


def kill_round(site: Trying, seconds: float) -> None:
    """A round in a process of its own, killed with all that it started."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, none of which the child needs
        child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            site.round()
        finally:
            os._exit(0)
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(child, child)  # whoever of the two is first
    time.sleep(seconds)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # Trap: a program that the round was about to start has the lock too, until it is that program.
    until("the lock of the round to be free", lambda: is_free(site), 30, pause=0.05)


def is_free(site: Trying) -> bool:
    try:
        with alone_here(site.folder, LOCK):
            return True
    except AdminkitError:
        return False
