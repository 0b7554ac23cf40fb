"""The files of a private Slurm, as text. Nothing here touches the machine but `free_ports`."""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

GPUS_PER_NODE = 8
CPUS_PER_NODE = 8

CGROUPS = Path("/sys/fs/cgroup")
V2 = "CgroupPlugin=cgroup/v2\n"

#: Unix users that every Debian and Ubuntu has, with groups of their own; jobs run as them, none is made.
USERS: dict[str, str] = {"games": "physics", "news": "chemistry", "backup": "learning", "www-data": "learning"}
ACCOUNTS: tuple[str, ...] = ("physics", "chemistry", "learning")

#: name, DefaultTime, MaxTime: the queues of the study, one for tests that wait for a limit, one without limits.
PARTITIONS: tuple[tuple[str, str, str], ...] = (
    ("gq", "01:00:00", "3-00:00:00"),
    ("gq-short", "01:00:00", "03:00:00"),
    ("gq-middle", "3-00:00:00", "7-00:00:00"),
    ("gq-long", "3-00:00:00", "14-00:00:00"),
    ("debug", "00:01:00", "00:05:00"),
    ("free", "UNLIMITED", "UNLIMITED"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """One cluster: where its files are, how it is called, what it listens on."""

    folder: Path  # of the whole site: munge, database, slurmdbd, every cluster
    name: str
    host: str
    address: str
    dbd_port: int
    ctld_port: int
    node_ports: tuple[int, ...]
    node_prefix: str = "n"
    gpu_type: str = ""
    proctrack: str = "linuxproc"
    has_v2: bool = False  # cgroups of version 2, for proctrack="cgroup"
    release: tuple[int, int] = (22, 5)
    one_host: bool = True  # else each node is a host of its own name
    settings: Mapping[str, str | None] = field(default_factory=dict)
    lines: tuple[str, ...] = ()  # nodes and queues, instead of the usual ones

    @property
    def home(self) -> Path:
        return self.folder / self.name

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(f"{self.node_prefix}{number}" for number in range(1, len(self.node_ports) + 1))

    def host_of(self, node: str) -> str:
        """The words of slurm.conf that say where a node is."""
        host, address = (self.host, self.address) if self.one_host else (node, node)
        return f"NodeHostname={host} NodeAddr={address}"


def munge_socket(folder: Path) -> Path:
    return folder / "munge" / "socket"


def local_address() -> tuple[str, str, bool]:
    """Short host name, the address its daemons use, and whether they can listen on that one alone.

    Slurm listens on every address or on the one that the host name stands for. Where that is a loopback address (as
    Debian's installer writes it) the daemons listen there only.
    """
    host = socket.gethostname().split(".")[0]
    try:
        address = socket.gethostbyname(host)
    except OSError:
        address = ""
    return (host, address, True) if address.startswith("127.") else (host, "127.0.0.1", False)


#: What this process has taken of the ports. Each is a name among the kernel's abstract sockets, gone with the process.
_taken: list[socket.socket] = []


def free_ports(count: int) -> list[int]:
    """That many free TCP ports below the range the kernel hands out by itself.

    No other process of tests gets them until this one ends, also where nothing listens there yet or for a moment.
    """
    found: list[int] = []
    for port in random.sample(range(18000, 32000), 4000):
        if _free(port) and _take(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free TCP ports between 18000 and 32000")


def _take(port: int) -> bool:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0adminkit-tests-port-{port}")
    except OSError:
        name.close()
        return False
    _taken.append(name)
    return True


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def slurm_conf(plan: Plan, loopback_only: bool) -> str:
    """slurm.conf of `plan`; `plan.settings` overrides a key, None takes it out."""
    home, log = plan.home, plan.home / "log"
    values: dict[str, str | None] = {
        "ClusterName": plan.name,
        "SlurmctldHost": f"{plan.host}({plan.address})",
        "SlurmctldPort": str(plan.ctld_port),
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "CredType": "cred/munge",
        "AuthInfo": f"socket={munge_socket(plan.folder)},cred_expire=5",
        "CommunicationParameters": _listen(loopback_only),
        "StateSaveLocation": f"{home}/state",
        "SlurmctldPidFile": f"{home}/state/slurmctld.pid",
        "SlurmctldLogFile": f"{log}/slurmctld.log",
        "SlurmdSpoolDir": f"{home}/spool/%n",
        "SlurmdPidFile": f"{home}/spool/%n.pid",
        "SlurmdLogFile": f"{log}/slurmd-%n.log",
        "SlurmdParameters": "config_overrides",
        "PlugStackConfig": f"{home}/plugstack.conf",
        "MailProg": "/bin/true",
        "ProctrackType": f"proctrack/{plan.proctrack}",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": f"jobacct_gather/{'cgroup' if plan.has_v2 and plan.proctrack == 'cgroup' else 'linux'}",
        "JobAcctGatherFrequency": "1",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "DefMemPerCPU": "500",
        "GresTypes": "gpu",
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": plan.address,
        "AccountingStoragePort": str(plan.dbd_port),
        "AccountingStoragePass": str(munge_socket(plan.folder)),
        "AccountingStorageTRES": "gres/gpu,gres/gpu:a100",
        "AccountingStorageEnforce": "associations",
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": "1000",
        "PriorityWeightPartition": "1000",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "sched_interval=2,bf_interval=5",
        "KillWait": "3",
        "MinJobAge": "600",
        "MessageTimeout": "30",
        "ReturnToService": "2",
        "PropagateResourceLimits": "NONE",
        "LaunchParameters": None,
        **plan.settings,
    }
    lines = [f"{key}={value}" for key, value in values.items() if value is not None]
    if plan.lines:
        return "\n".join([*lines, *plan.lines]) + "\n"
    gres = f"gpu:{plan.gpu_type}:{GPUS_PER_NODE}" if plan.gpu_type else f"gpu:{GPUS_PER_NODE}"
    lines += [
        f"NodeName={node} {plan.host_of(node)} Port={port} "
        f"CPUs={CPUS_PER_NODE} RealMemory=64000 Gres={gres} State=UNKNOWN"
        for node, port in zip(plan.nodes, plan.node_ports, strict=True)
    ]
    lines += [
        f"PartitionName={name} Nodes=ALL Default={'YES' if name == 'gq' else 'NO'} DefaultTime={default} "
        f"MaxTime={longest} OverTimeLimit=0 State=UP"
        for name, default, longest in PARTITIONS
    ]
    return "\n".join(lines) + "\n"


def gres_conf(plan: Plan) -> str:
    kind = f" Type={plan.gpu_type}" if plan.gpu_type else ""
    return f"NodeName={','.join(plan.nodes)} Name=gpu{kind} File={plan.folder}/dev/gpu[0-{GPUS_PER_NODE - 1}]\n"


def cgroup_conf(plan: Plan) -> str:
    """No cgroups unless asked for.

    Slurm 23.11 and newer take `disabled`. Older ones look at /sys/fs/cgroup whatever the plugins are, and would ask
    systemd for a scope there; told version 1 at a place of ours they leave it alone.
    """
    if plan.proctrack == "cgroup":
        return V2 if plan.has_v2 else f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={CGROUPS}\nCgroupAutomount=no\n"
    if plan.release >= (23, 11):
        return "CgroupPlugin=disabled\n"
    return f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={plan.home}/cgroup\nCgroupAutomount=no\n"


def slurmdbd_conf(
    folder: Path, host: str, address: str, port: int, loopback_only: bool, settings: Mapping[str, str] | None = None
) -> str:
    values: dict[str, str | None] = {
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={munge_socket(folder)}",
        "DbdHost": host,
        "DbdAddr": address,
        "DbdPort": str(port),
        "SlurmUser": "root",
        "CommunicationParameters": _listen(loopback_only),
        "PidFile": f"{folder}/dbd/slurmdbd.pid",
        "LogFile": f"{folder}/dbd/slurmdbd.log",
        "DebugLevel": "info",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": "root",
        "StorageLoc": "slurm_acct_db",
        "MessageTimeout": "30",
        **(settings or {}),
    }
    return "".join(f"{key}={value}\n" for key, value in values.items() if value is not None)


def _listen(loopback_only: bool) -> str | None:
    """Trap: told not to listen everywhere, a daemon listens where the host name points, whatever its own address."""
    return "NoInAddrAny,NoCtldInAddrAny" if loopback_only else None


def munge_command(folder: Path) -> list[str]:
    home = folder / "munge"
    command = ["munged", "-F", f"--socket={munge_socket(folder)}", f"--key-file={home}/key", f"--pid-file={home}/pid"]
    return [*command, f"--log-file={home}/log", f"--seed-file={home}/seed", "--num-threads=4"]


def database_install(folder: Path) -> list[str]:
    """Trap: a MariaDB that starts deletes the temporary tables of every other one that has them in the same folder."""
    command = ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={folder}/db/data", "--skip-test-db"]
    return [*command, f"--tmpdir={folder}/db", "--auth-root-authentication-method=socket", "--skip-name-resolve"]


def database_command(folder: Path, network: bool = False) -> list[str]:
    """MariaDB that hands out text byte for byte, whatever it is; without `network` only its socket reaches it.

    Snapshot isolation, on by default from 11.6 on, is what slurmdbd says it does not support.
    """
    home = folder / "db"
    command = ["mariadbd", "--no-defaults", "--user=root", f"--datadir={home}/data", f"--socket={home}/socket"]
    command += [f"--pid-file={home}/pid", f"--tmpdir={home}", "--skip-log-bin"]
    command += [] if network else ["--skip-networking"]
    command += ["--innodb-lock-wait-timeout=900", "--innodb-buffer-pool-size=256M", "--skip-name-resolve"]
    # 0 is quick, and forgets a second where MariaDB is killed.
    command += [f"--innodb-flush-log-at-trx-commit={2 if network else 0}", "--loose-innodb-snapshot-isolation=OFF"]
    return [*command, "--character-set-server=latin1", "--skip-character-set-client-handshake"]
