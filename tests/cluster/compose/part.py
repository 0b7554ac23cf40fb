"""`python3 -m tests.cluster.compose.part ROLE`: what a container of the site does.

A daemon that ends is started again, as systemd would, but not while there is /site/hold/NAME.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cluster.compose import feed, site
from tests.cluster.compose.site import CONF, SHARED, SITE, TREE
from tests.cluster.harness import config
from tests.cluster.harness.config import ACCOUNTS, GPUS_PER_NODE
from tests.cluster.harness.machine import fake_gpu
from tests.cluster.harness.processes import until

ADMINKIT = TREE / ".venv/bin/adminkit"
#: What systemd's timers do on a host: seconds between two runs, and the words, as the operator or as root.
TIMERS = (
    (60, True, ("sync",)),
    (120, True, ("feedback", "run", "--send")),
    (300, True, ("incentives", "compute", "--out", "/var/lib/adminkit/tables")),
    (300, False, ("incentives", "install", "--from", "/var/lib/adminkit/tables", "--apply")),
)
#: Timers run and jobs go in; else the site stands still until somebody does something.
LIVELY = os.environ.get("SITE_MODE", "day") == "day"


def main(role: str) -> None:
    """Everything that all containers have, then the role's own; does not return."""
    for folder in (
        SITE / "munge",
        SITE / "dev",
        SITE / "dbd",
        SITE / "run",
        SITE / "hold",
        *(SITE / site.NAME / child for child in ("state", "log")),
    ):
        folder.mkdir(parents=True, exist_ok=True)
    site.prepare()
    Path("/usr/local/bin/adminkit").unlink(missing_ok=True)
    Path("/usr/local/bin/adminkit").symlink_to(ADMINKIT)
    _people()
    shutil.copy(SHARED / "munge.key", SITE / "munge/key")
    CONF.mkdir(exist_ok=True)
    for name in ("slurm.conf", "gres.conf", "cgroup.conf", "plugstack.conf"):
        shutil.copy(SHARED / name, CONF / name)
    shutil.copytree(TREE / "etc/plugstack.conf.d", CONF / "plugstack.conf.d", dirs_exist_ok=True)
    subprocess.run(["make", "-s", "-C", str(TREE / "spank"), "install"], check=True)
    _beside("munged", config.munge_command(SITE))
    until("munged", config.munge_socket(SITE).exists, 20)
    ROLES[role]()


def database() -> None:
    command = config.database_command(SITE, network=True)
    if not (SITE / "db/data").exists():
        (SITE / "db").mkdir(exist_ok=True)
        subprocess.run(config.database_install(SITE), check=True, stdout=subprocess.DEVNULL)
        command.append(f"--init-file={SHARED}/database.sql")
    _keep("mariadbd", command)


def slurmdbd() -> None:
    conf = CONF / "slurmdbd.conf"
    shutil.copy(SHARED / "slurmdbd.conf", conf)
    conf.chmod(0o600)
    _keep("slurmdbd", ["slurmdbd", "-D"])


def slurmctld() -> None:
    """slurmctld with the shipped policy, and what the admin host does."""
    _answers("sacctmgr", "-n", "show", "cluster")
    _accounts()
    shutil.copy(TREE / "etc/policy.toml", _settings())
    # slurmctld does not start without the script, and a policy is compiled for a slurmctld that answers.
    shutil.copy(TREE / "job_submit/job_submit.lua", CONF / "job_submit.lua")
    for name in site.NODES:
        until(f"{name} to have an address", lambda name=name: _address(name), 60, pause=1)
    controller = _beside("slurmctld", ["slurmctld", "-D", "-i"])
    _answers("scontrol", "ping")
    _adminkit("policy", "install", "--apply")
    for seconds, as_operator, words in TIMERS if LIVELY else ():
        threading.Thread(target=_timer, args=(seconds, as_operator, words), daemon=True).start()
    controller.join()


def node() -> None:
    for number in range(GPUS_PER_NODE):
        fake_gpu(SITE / f"dev/gpu{number}")
    name = os.uname().nodename
    (SITE / site.NAME / "spool" / name).mkdir(parents=True, exist_ok=True)
    _answers("scontrol", "ping")
    _keep("slurmd", ["slurmd", "-D", "-N", name])


def mail() -> None:
    """Takes every letter, into the maildir /shared/mail."""
    words = "-m aiosmtpd -n -l 0.0.0.0:25 -c aiosmtpd.handlers.Mailbox /shared/mail".split()
    _keep("mail", [str(TREE / ".venv/bin/python"), *words])


def login() -> None:
    """Where people log in; jobs of all kinds go in all day."""
    _settings()
    _answers("scontrol", "ping")
    if LIVELY:
        feed.forever(list(site.PEOPLE))
    threading.Event().wait()


ROLES: dict[str, Callable[[], None]] = {
    "database": database, "slurmdbd": slurmdbd, "slurmctld": slurmctld, "node": node, "mail": mail, "login": login,
}  # fmt: skip


def _keep(name: str, command: Sequence[str]) -> None:
    """Run a daemon for ever, its pid in /site/run/NAME; what it says besides its log goes beside that."""
    said = (SITE / "run" / f"{name}.out").open("ab")
    while True:
        until(f"{name} to be wanted", lambda: not (SITE / "hold" / name).exists(), 1e9, pause=0.3)
        daemon = subprocess.Popen(command, stdout=said, stderr=said)
        (SITE / "run" / name).write_text(f"{daemon.pid}\n")
        print(f"{name} ended with {daemon.wait()}", file=sys.stderr, flush=True)
        (SITE / "run" / name).unlink()
        command = [word for word in command if not word.startswith("--init-file=")]
        time.sleep(1)


def _beside(name: str, command: Sequence[str]) -> threading.Thread:
    thread = threading.Thread(target=_keep, args=(name, command), daemon=True)
    thread.start()
    return thread


def _people() -> None:
    users = {site.OPERATOR: site.OPERATOR_UID, **{name: site.FIRST_UID + at for at, name in enumerate(site.PEOPLE)}}
    for name, uid in users.items():
        subprocess.run(
            ["useradd", "-u", str(uid), "-m", "-s", "/bin/bash", name], check=False, stderr=subprocess.DEVNULL
        )
    folder = Path("/var/lib/adminkit")
    folder.mkdir(mode=0o750, exist_ok=True)
    os.chown(folder, site.OPERATOR_UID, site.OPERATOR_UID)
    log = Path("/var/log/adminkit")  # root's, whose acts the operator reads
    log.mkdir(exist_ok=True)
    os.chown(log, 0, site.OPERATOR_UID)
    log.chmod(0o2750)


def _settings() -> Path:
    """Make the folder of adminkit's settings."""
    folder = Path("/etc/adminkit")
    folder.mkdir(exist_ok=True)
    (folder / "adminkit.toml").write_text(site.SETTINGS)
    return folder


def _accounts() -> None:
    add = ["sacctmgr", "-i", "add"]
    commands = [["cluster", site.NAME], ["account", ",".join(ACCOUNTS), f"cluster={site.NAME}"]]
    commands += [["user", name, f"account={account}"] for name, account in site.PEOPLE.items()]
    commands.append(["user", site.OPERATOR, f"account={ACCOUNTS[0]}", "adminlevel=Operator"])
    for words in commands:
        subprocess.run([*add, *words], check=False, stdout=subprocess.DEVNULL)


def _address(name: str) -> str:
    try:
        return socket.gethostbyname(name)
    except OSError:
        return ""


def _answers(*command: str) -> None:
    def answered() -> bool:
        done = subprocess.run(command, capture_output=True, check=False)
        return done.returncode == 0 and b"DOWN" not in done.stdout

    until(f"{' '.join(command)} to answer", answered, 120, pause=1)


def _timer(seconds: int, as_operator: bool, words: tuple[str, ...]) -> None:
    while True:
        _adminkit(*words, as_operator=as_operator)
        time.sleep(seconds)


def _adminkit(*words: str, as_operator: bool = False) -> None:
    user = ["runuser", "-u", site.OPERATOR, "--"] if as_operator else []
    subprocess.run([*user, str(ADMINKIT), *words], check=False)


if __name__ == "__main__":
    main(sys.argv[1])
