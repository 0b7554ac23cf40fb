"""The files of the site, of the one-host cluster's pieces: written once, into the volume that all containers share."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import Final

from tests.cluster.harness import config
from tests.cluster.harness.machine import release

SHARED: Final = Path("/shared")
#: Each container's own: sockets, spool, state, logs, fake GPUs.
SITE: Final = Path("/site")
CONF: Final = Path("/etc/slurm")
TREE: Final = Path("/adminkit")
NAME: Final = "aaic"
NODES: Final = ("n1", "n2", "n3")
#: People who log in, with uids that are the same everywhere -> their account.
PEOPLE: Final = {"aiko": "physics", "ben": "chemistry", "chie": "learning", "dai": "learning"}
FIRST_UID: Final = 2001
#: Who syncs, reports and mails; Slurm's AdminLevel Operator.
OPERATOR: Final = "adminkit"
OPERATOR_UID: Final = 2000
#: Users' choices, which the login node and the admin host share.
PREFS: Final = SHARED / "prefs"
#: /etc/adminkit/adminkit.toml of the admin host and the login node. Jobs last a minute, so that one is worth a letter.
SETTINGS: Final = f"""db = "/var/lib/adminkit/trace.db"

[sync]
since = "1d"

[feedback]
clusters = ["{NAME}"]
domain = "site.test"
host = "mail"
operators = ["root@site.test"]
min_elapsed = 20
quiet_days = []
prefs = "{PREFS}"
"""
_PORTS: Final = {"dbd": 6819, "ctld": 6817, "node": 6818}


def plan() -> config.Plan:
    """The cluster, whose nodes are hosts of their own."""
    return config.Plan(
        folder=SITE, name=NAME, host="slurmctld", address="slurmctld", dbd_port=_PORTS["dbd"], ctld_port=_PORTS["ctld"],
        node_ports=(_PORTS["node"],) * len(NODES), release=release(), one_host=False,
        settings={
            "AccountingStorageHost": "slurmdbd", "PlugStackConfig": str(CONF / "plugstack.conf"),
            "AccountingStoreFlags": "job_comment", "JobSubmitPlugins": "lua", "PriorityMaxAge": "1-00:00:00",
            "SlurmdParameters": "config_overrides", "KillWait": "30", "SlurmdTimeout": "40",
        },
    )  # fmt: skip


def prepare() -> None:
    """Write the site's files and secrets, once: whichever container comes first."""
    with (SHARED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (SHARED / "ready").exists():
            return
        (SHARED / "munge.key").touch(mode=0o600)
        (SHARED / "munge.key").write_bytes(secrets.token_bytes(128))
        password = secrets.token_hex(16)
        (SHARED / "database.sql").touch(mode=0o600)
        (SHARED / "database.sql").write_text(
            "create database slurm_acct_db;\n"
            f"create user 'slurm'@'%' identified by '{password}';\ngrant all on slurm_acct_db.* to 'slurm'@'%';\n"
        )
        (SHARED / "slurmdbd.conf").touch(mode=0o600)
        storage = {"StorageHost": "database", "StorageUser": "slurm", "StoragePass": password}
        text = config.slurmdbd_conf(SITE, "slurmdbd", "slurmdbd", _PORTS["dbd"], False, storage)
        (SHARED / "slurmdbd.conf").write_text(text)
        here = plan()
        files = {
            "slurm.conf": config.slurm_conf(here, False),
            "gres.conf": config.gres_conf(here),
            "cgroup.conf": config.cgroup_conf(here),
            "plugstack.conf": "include plugstack.conf.d/*.conf\n",
        }
        for name, content in files.items():
            (SHARED / name).write_text(content)
        PREFS.mkdir()
        PREFS.chmod(0o1733)
        os.chown(PREFS, OPERATOR_UID, OPERATOR_UID)
        (SHARED / "ready").touch()
