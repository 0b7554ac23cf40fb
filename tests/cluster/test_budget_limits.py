"""Budgets that a real slurmctld holds: set, in force, explained, kept in step, taken away."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.months import preceding
from adminkit.trace.connect import writer
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.login import as_login
from tests.cluster.harness.operator import ADMINKIT, accounted, adminkit, wrapper
from tests.cluster.harness.processes import until
from tests.support.builders import make_trace
from tests.support.charges import add_jobs, ran


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Cluster]:
    """A cluster that holds accounts to their minutes, and forgets none."""
    settings = {
        "AccountingStorageEnforce": "associations,limits,qos,safe",
        "PriorityType": "priority/multifactor",
        "PriorityDecayHalfLife": "0",
        "PriorityUsageResetPeriod": "NONE",  # Slurm reads no file with that half-life that leaves it out
        "SchedulerParameters": "sched_interval=1,batch_sched_delay=0,bf_interval=2",
    }
    with private_slurm(nodes=1, **settings) as booted:
        first = booted.submit("sleep 2", "-c", "4", "--gres=gpu:4", "-t", "1", "-p", "gq", user="games")
        booted.ask("sacctmgr", "-i", "add", "qos", "gold", "set", "Flags=NoDecay")
        booted.ask("sacctmgr", "-i", "modify", "user", "games", "set", "qos+=gold")
        booted.wait(first)
        accounted(booted, first, "COMPLETED")
        yield booted


def budget(cluster: Cluster, db: Path, file: Path, *words: str, code: int = 0) -> dict[str, Any]:
    done = adminkit(cluster, db, "charge", "budget", "--schemes", str(file), *words, "-f", "json", code=code)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def charges(folder: Path, tres: str, amount: float, since: str = "") -> Path:
    month = since or datetime.now(UTC).strftime("%Y-%m")
    file = folder / "charge.toml"
    file.write_text(
        f'version = 1\nscheme = "s"\nclusters = ["alpha"]\n[schemes.s]\nformula = "{tres} * 2"\nunit = "points"\n'
        f'digits = 6\n[[budgets]]\naccount = "physics"\namount = {amount}\nfrom = "{month}"\n'
    )
    return file


def ran_in(db: Path, month: str, number: int, hours: float) -> None:
    """A job of one CPU in the trace, as it comes from a slurmdbd that was told late."""
    with writer(db) as trace:
        done = ran(number, f"{month}-10T10:00", int(hours * 3600), cluster="alpha", account="physics", cpus=1, nodes=1)
        add_jobs(trace, [done])


def killed(folder: Path, *, late: bool) -> dict[str, str]:
    """An environment in which adminkit is killed by its first `sacctmgr modify`, before or after what that does."""
    does = 'PATH=${PATH#*:} sacctmgr "$@"; ' if late else ""
    folder.mkdir()
    first = wrapper(folder, "sacctmgr", f'case "$*" in *modify*) {does}kill -9 $PPID; exit 1;; esac')
    return {"PATH": f"{first}:{ADMINKIT.parent}:{os.environ['PATH']}", "PYTHONHASHSEED": "0"}


def limit(cluster: Cluster) -> str:
    """GrpTRESMins of the account itself, as slurmdbd has it."""
    said = cluster.ask("sacctmgr", "-nP", "show", "assoc", "account=physics", "format=user,grptresmins")
    return next(line.removeprefix("|") for line in said.splitlines() if line.startswith("|"))


def reason(cluster: Cluster, job: int) -> str:
    return cluster.ask("squeue", "-h", "-j", str(job), "-o", "%r").strip()


def mine(cluster: Cluster, *words: str) -> dict[str, Any]:
    """What the user games is shown on a login node."""
    home = cluster.work / "home-games"
    home.mkdir(mode=0o700, exist_ok=True)
    shutil.chown(home, "games")
    env = {"HOME": str(home), "XDG_CACHE_HOME": "", "ADMINKIT_DB": "", "ADMINKIT_CONFIG": ""}
    done = cluster.run(*as_login("games"), str(ADMINKIT), *words, "-f", "json", env=env)
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.mark.parametrize(
    ("tres", "name", "words", "waits"),
    [
        ("cpu_hours", "cpu", ("-c", "4"), "AssocGrpCPUMinutesLimit"),
        ("gpu_hours", "gres/gpu", ("--gres=gpu:4",), "AssocGrpGRESMinutes"),
    ],
)
def test_a_job_beyond_the_budget_waits_and_is_told_why(
    site: Cluster, tmp_path: Path, tres: str, name: str, words: tuple[str, ...], waits: str
) -> None:
    db, acts = tmp_path / "trace.db", {"ADMINKIT_ACTS": str(tmp_path / "acts.jsonl")}
    adminkit(site, db, "sync", "--since", "1d")
    file = charges(tmp_path, tres, 2.0)  # an hour of the TRES: 60 minutes
    shown = budget(site, db, file, "--enforce")
    (row,) = shown["rows"]
    assert (row["tres"], row["limit"], row["does"]) == (name, None, "sets the limit")
    assert 0 <= row["new_limit"] - row["used"] <= 60 and limit(site) == "", "nothing was changed"

    done = adminkit(site, db, "charge", "budget", "--schemes", str(file), "--apply", "-f", "json", env=acts)
    assert json.loads(done.stdout)["rows"][0]["does"] == "set the limit"
    assert limit(site) == f"{name}={row['new_limit']}"
    assert json.loads((tmp_path / "acts.jsonl").read_text().splitlines()[-1])["what"] == "charge budget set"
    until("slurmctld to have it", lambda: budget(site, db, file, "--enforce")["rows"][0]["limit"], 30.0)

    fits, beyond = (site.submit("true", *words, "-t", limit, "-p", "gq", user="games") for limit in ("10", "30"))
    site.wait(fits)  # 40 minutes; the other asks for 120
    until("it to wait for its budget", lambda: waits in reason(site, beyond) or None, 60.0)

    now = mine(site, "my", str(beyond))["now"]["rows"][0]
    assert now["reason"].startswith(waits) and "has used all its" in now["meaning"]
    why = adminkit(site, db, "fit", "--job", str(beyond)).stdout
    assert "minutes" in why and waits in why, why
    page = json.loads(adminkit(site, db, "job", str(beyond), "-f", "json").stdout)
    assert page["now"]["rows"][0]["reason"].startswith(waits)

    adminkit(site, db, "charge", "budget", "--schemes", str(file), "--revoke", "--apply", env=acts)
    assert limit(site) == ""
    site.wait(beyond)
    assert json.loads((tmp_path / "acts.jsonl").read_text().splitlines()[-1])["what"] == "charge budget revoked"


def test_a_limit_that_an_administrator_set_stays(site: Cluster, tmp_path: Path) -> None:
    db = tmp_path / "trace.db"
    site.ask("sacctmgr", "-i", "modify", "account", "physics", "set", "GrpTRESMins=cpu=77")
    try:
        make_trace(db)
        file = charges(tmp_path, "cpu_hours", 2.0)
        row = until(
            "slurmctld to have it", lambda: next(
                (one for one in budget(site, db, file, "--apply")["rows"] if one["limit"] == 77), None
            ), 30.0,
        )  # fmt: skip
        assert row["does"] == "nothing: it has a limit that adminkit did not set: 77 cpu minutes"
        assert limit(site) == "cpu=77"
    finally:
        site.ask("sacctmgr", "-i", "modify", "account", "physics", "set", "GrpTRESMins=cpu=-1")


def test_budgets_at_a_qos_keep_their_usage(site: Cluster, tmp_path: Path) -> None:
    db = tmp_path / "trace.db"
    acts = {"ADMINKIT_ACTS": str(tmp_path / "acts.jsonl")}
    make_trace(db)
    file = charges(tmp_path, "cpu_hours", 2.0)
    file.write_text(file.read_text() + 'qos = "gold"\n')
    (row,) = budget(site, db, file, "--apply")["rows"]
    assert (row["held_at"], row["returns"]) == ("QOS gold", 0)
    said = site.ask("sacctmgr", "-nP", "show", "qos", "gold", "format=grptresmins").strip()
    assert said == f"cpu={row['new_limit']}"
    beyond = site.submit("true", "-c", "4", "-t", "60", "-q", "gold", "-p", "gq", user="games")
    until("it to wait for its budget", lambda: "QOSGrpCPUMinutesLimit" in reason(site, beyond) or None, 60.0)
    assert "QOSGrpCPUMinutesLimit" in adminkit(site, db, "fit", "--job", str(beyond)).stdout
    assert mine(site, "my", str(beyond))["now"]["rows"][0]["reason"].startswith("QOSGrpCPUMinutesLimit")
    adminkit(site, db, "charge", "budget", "--schemes", str(file), "--revoke", "--apply", env=acts)
    assert site.ask("sacctmgr", "-nP", "show", "qos", "gold", "format=grptresmins").strip() == ""
    site.wait(beyond)


def test_a_half_life_of_0_needs_a_reset_period_or_no_program_of_slurm_reads_its_settings(
    site: Cluster, tmp_path: Path
) -> None:
    """So a slurmctld that runs never forgets usage by mistake, and a limit is refused where none can."""
    make_trace(db := tmp_path / "trace.db")
    lines = (site.home / "slurm.conf").read_text().splitlines()
    conf = tmp_path / "slurm.conf"
    conf.write_text("\n".join(line for line in lines if not line.startswith("PriorityUsageResetPeriod")) + "\n")
    env = {"SLURM_CONF": str(conf)}
    said = site.run("sinfo", env=env)
    assert said.code and b"You have to either have PriorityDecayHalfLife != 0" in said.err
    words = ("charge", "budget", "--schemes", str(charges(tmp_path, "cpu_hours", 2.0)), "--apply")
    done = adminkit(site, db, *words, env=env, code=None)
    assert "PriorityUsageResetPeriod" in done.stdout + done.stderr, done
    assert limit(site) == ""


def test_each_close_keeps_the_limit_in_step_whatever_ends_it(site: Cluster, tmp_path: Path) -> None:
    """Months that are over, whose rows come late. A close that was cut short stands, and the next command sets it."""
    db = tmp_path / "trace.db"
    acts = {"ADMINKIT_ACTS": str(tmp_path / "acts.jsonl")}
    fourth, third, second, first = months_before(4)
    file = charges(tmp_path, "cpu_hours", 40.0, fourth)  # 20 CPU-hours

    def close(month: str, env: dict[str, str], code: int = 0) -> str:
        words = ("charge", "close", month, "--schemes", str(file), "--incomplete", "--apply")
        done = adminkit(site, db, *words, env={**acts, **env}, code=code)
        return done.stdout + done.stderr

    def held() -> int:
        return int(limit(site).removeprefix("cpu="))

    def set_again() -> None:
        row = until(
            "slurmctld to have it", lambda: next(
                (one for one in budget(site, db, file, "--enforce")["rows"] if one["limit"] is not None), None
            ), 30.0,
        )  # fmt: skip
        assert row["does"] == "sets the limit", row
        adminkit(site, db, "charge", "budget", "--schemes", str(file), "--apply", env=acts)

    adminkit(site, db, "sync", "--since", "1d")
    ran_in(db, fourth, 900_001, 3)
    adminkit(site, db, "charge", "budget", "--schemes", str(file), "--apply", env=acts)
    whole = held()  # charging begins with the first month that is closed
    assert "budgets in Slurm are in step: 1" in close(fourth, {})
    start = held()
    assert start == whole - 180
    ran_in(db, fourth, 900_002, 2)  # late: its month is closed
    assert "budgets in Slurm are in step: 1" in close(third, {})
    assert held() == start - 120

    ran_in(db, second, 900_004, 1)
    close(second, killed(tmp_path / "before", late=False), code=-9)
    assert held() == start - 120
    assert f"{second} is closed already" in close(second, {})
    set_again()
    assert held() == start - 180
    ran_in(db, first, 900_005, 1)
    adminkit(
        site, db, "charge", "budget", "--schemes", str(file), "--apply", code=-9,
        env={**acts, **killed(tmp_path / "after", late=True)},
    )  # fmt: skip
    assert held() == start - 240
    until("slurmctld to have it", lambda: budget(site, db, file, "--enforce")["rows"][0]["limit"] == held(), 30.0)
    set_again()

    ran_in(db, first, 900_006, 1)
    site.stop_dbd()
    try:
        said = close(first, {})
    finally:
        site.start_dbd()
    assert f"{first} is closed" in said and "the limit of account physics was not changed" in said
    assert held() == start - 240
    set_again()
    assert held() == start - 300

    file.write_text(file.read_text().partition("[[budgets]]")[0])  # nobody has a budget any more
    row = budget(site, db, file, "--revoke", "--apply")["rows"][0]
    assert (row["account"], row["budget"], row["does"]) == ("physics", None, "took the limit away")
    assert limit(site) == ""
    done = [json.loads(line) for line in (tmp_path / "acts.jsonl").read_text().splitlines()]
    changes = [one["minutes"] - start for one in done if one["what"] == "charge budget set"]
    assert changes == [180, 0, -120, -180, -240, -300], "each is recorded once, also after a kill"


def months_before(count: int) -> list[str]:
    """The last months that are over, the first first."""
    found = [preceding(datetime.now(UTC).strftime("%Y-%m"))]
    while len(found) < count:
        found.insert(0, preceding(found[0]))
    return found
