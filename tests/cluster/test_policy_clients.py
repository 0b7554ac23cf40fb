"""Submissions that take another way than a plain sbatch: cron's, and those with options of the checkpoint plugin."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness.checkpoint import watched
from tests.cluster.harness.machine import PREFIX
from tests.cluster.harness.ruled import SHORT_MAX, Ruled, Said, at_most, rule

LONG_RESTARTABLE = rule("long-restartable", "gq-long", restartable_above="3-00:00:00", action="amend")


@pytest.fixture(autouse=True)
def in_force(ruled: Ruled) -> None:
    ruled.rules(at_most(10) + SHORT_MAX + LONG_RESTARTABLE)


# cron's


@pytest.fixture(scope="module")
def crontab(ruled_session: Ruled) -> Path:
    """scrontab's question to slurmctld, as a program: Debian does not package scrontab itself."""
    library = next(Path(PREFIX, "lib").rglob("libslurmfull.so")).parent
    made, source = ruled_session.cluster.work / "crontab", str(Path(__file__).with_name("harness") / "crontab.c")
    command = ["cc", "-o", str(made), source, f"-I{PREFIX}/include", f"-L{library}", "-lslurmfull"]
    subprocess.run([*command, f"-Wl,-rpath,{library}"], check=True, capture_output=True)
    return made


def cron(ruled: Ruled, crontab: Path, queue: str, minutes: int) -> Said:
    return ruled.run(crontab, queue, str(minutes))


def test_a_scrontab_is_held_to_the_rules(ruled: Ruled, crontab: Path) -> None:
    """A job of cron's comes through the script like any other: lowered in gq-short, refused in gq."""
    lowered = cron(ruled, crontab, "gq-short", 120)
    job = ruled.job(lowered.job)
    assert (job["TimeLimit"], job["AdminComment"]) == ("01:00:00", "ak1:lim=7200,src=e,rules=short-max")
    print(lowered)
    assert "CronJob=Yes" in ruled.cluster.ask("scontrol", "-o", "show", "job", str(lowered.job))
    refused = cron(ruled, crontab, "gq", 1200)
    assert not refused.accepted
    assert refused.lines[0].startswith("Jobs in gq may ask for at most 10:00:00; this one asks for 20:00:00.")
    assert ruled.cluster.ask("squeue", "-h", "-a", "-u", "games", "-o", "%P") == "gq-short"
    assert cron(ruled, crontab, "gq", 600).accepted


# with the plugin's options


@pytest.fixture(scope="module")
def plugin(ruled_session: Ruled) -> Iterator[None]:
    """Clients that load the checkpoint plugin."""
    watched(ruled_session.cluster)
    yield
    (ruled_session.cluster.home / "plugstack.conf").write_text("")


@pytest.mark.parametrize(
    ("options", "variable", "limit", "why"),
    [
        ("", None, "3-00:00:00", "nothing says that it can be stopped"),
        ("--ckpt-signal=TERM@60", None, "5-00:00:00", "the option does"),
        ("--ckpt-signal=USR1@120 --ckpt-requeue=3", None, "5-00:00:00", "so do two"),
        ("--ckpt-requeue", None, "5-00:00:00", "an option whose value is left out"),
        ("--ckpt-off", None, "3-00:00:00", "off is not restartable"),
        ("--ckpt-off", "TERM@60", "3-00:00:00", "the option counts before the variable"),
        ("--ckpt-signal=TERM@60", "off", "5-00:00:00", "either way"),
    ],
)
def test_a_batch_job_is_restartable_by_the_plugins_options(
    ruled: Ruled, plugin: None, options: str, variable: str | None, limit: str, why: str
) -> None:
    """sbatch hands them over in the job's environment, where the script finds them."""
    env = {} if variable is None else {"ADMINKIT_CKPT": variable}
    words = ("-H", "-o", "/dev/null", "-p", "gq-long", "-t", "5-0", *options.split(), "--wrap", "true")
    said = ruled.run("sbatch", *words, env=env)
    assert ruled.job(said.job)["TimeLimit"] == limit, why


def test_srun_and_salloc_show_the_options_to_nobody(ruled: Ruled, plugin: None) -> None:
    """So the rule is not applied to them."""
    said = ruled.run("salloc", "--no-shell", "-p", "gq-long", "-t", "4-0", "--ckpt-signal=TERM@60")
    assert ruled.job(said.job)["TimeLimit"] == "4-00:00:00"


@pytest.mark.parametrize("program", ["sbatch", "srun", "salloc"])
def test_what_a_user_reads_leads_to_the_sites_page(ruled: Ruled, program: str) -> None:
    ruled.rules(
        'version = 1\nhelp_url = "https://hpc.example.org/limits"\n' + rule("short", "debug", max_limit="00:30:00")
    )
    command = {"sbatch": ("sbatch", "--wrap", "true"), "srun": ("srun", "true"), "salloc": ("salloc", "true")}[program]
    refused = ruled.run(command[0], "-p", "debug", "-t", "60", *command[1:])
    assert not refused.accepted and "https://hpc.example.org/limits" in refused.text, refused
    let_in = ruled.run(command[0], "-p", "debug", "-t", "1", *command[1:])
    assert let_in.accepted and "example.org" not in let_in.text, "a user who is told nothing is sent nowhere"
