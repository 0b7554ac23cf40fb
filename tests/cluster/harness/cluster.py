"""A whole Slurm on one host, without systemd, under one private folder.

    cluster = Cluster("/tmp/try")
    cluster.boot()
    job = cluster.submit("sleep 5", "--gres=gpu:2", user="games")
    cluster.wait(job, "COMPLETED")
    cluster.stop()

The folder holds: munge/ (key, socket), db/ (MariaDB and its socket), dbd/ (slurmdbd), one folder per cluster
(slurm.conf, state, spool, logs), dev/ (fake GPUs), work/ (where jobs run) and processes.json. Needs root.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.harness import config, database
from tests.cluster.harness.ending import stop
from tests.cluster.harness.machine import (
    MARK,
    PROCTRACK,
    check_place,
    give,
    has_cgroup_v2,
    make_folders,
    plain_env,
    release,
    tail,
)
from tests.cluster.harness.processes import ClusterError, Ledger, start_time, until

Word = str | bytes | Path

#: What ends a job for good.
FINISHED = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)
DATABASE = "slurm_acct_db"


@dataclass(frozen=True, slots=True)
class Done:
    """What a command said: its exit code and both outputs, as bytes since job names may be any bytes."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode(errors="replace").strip()


class Cluster:
    """One slurmctld with its slurmd, and the munge, MariaDB and slurmdbd that it shares with `another`.

    `settings` are keys of slurm.conf (None takes a key out); with SlurmUser, slurmctld and slurmdbd run as that user.
    A booted folder can be taken up again by `Cluster(folder)` in another process.
    """

    watched = "gq"  # queues that have every node

    def __init__(
        self,
        folder: str | Path,
        name: str = "alpha",
        *,
        nodes: int = 4,
        node_prefix: str = "n",
        gpu_type: str = "",
        proctrack: str = PROCTRACK,
        settings: Mapping[str, str | None] | None = None,
    ) -> None:
        self.folder = Path(folder).resolve()
        self.name = name
        self.home = self.folder / name
        self.work = self.folder / "work"
        self.socket = self.folder / "db" / "socket"
        self.ledger = Ledger(self.folder)
        self._shape = (nodes, node_prefix, gpu_type, proctrack, dict(settings or {}))
        self._slurm_user = (settings or {}).get("SlurmUser") or "root"

    # starting and stopping

    def boot(self, owner: int | None = None) -> None:
        """Start everything and wait until every node is idle.

        With `owner` (a pid) the cluster counts as abandoned, and is cleared away by `clear_abandoned`, once that
        process is dead; without, it stays until `stop`.
        """
        from tests.setup import guard  # it imports this package

        verdict = guard.check()
        if not verdict.allowed:
            raise ClusterError(str(verdict))
        if self.ledger.alive():
            raise ClusterError(f"{self.folder} already runs a cluster; stop it first")
        check_place(self.folder, self.socket)
        try:
            self._make_folders()
            self.ledger.own(owner)
            self._start_munge()
            self._start_database()
            self.start_dbd()
            self._people()
            self._start_nodes()
        except BaseException:
            self.stop()
            raise

    def another(self, name: str = "beta", *, nodes: int = 2, gpu_type: str = "a100") -> Cluster:
        """Boot a second cluster on the same slurmdbd, so that `sacct -M alpha,beta` works; `stop` ends both."""
        shape = self._shape
        second = Cluster(
            self.folder, name, nodes=nodes, node_prefix="m", gpu_type=gpu_type, proctrack=shape[3], settings=shape[4]
        )
        second.ledger = self.ledger
        second._configure()
        second._people()
        second._start_nodes()
        return second

    def stop(self) -> None:
        """End the jobs and every process of the folder, both clusters' included. The files stay."""
        stop(self.folder, self.ledger)

    def stop_dbd(self) -> None:
        process = self.ledger.find("slurmdbd")
        if process:
            self.ledger.stop(process)

    def start_dbd(self) -> None:
        folder = self.folder / "dbd"
        env = {**self.env(), MARK: str(self.folder), "SLURM_CONF": str(folder / "slurm.conf")}
        self.ledger.start("slurmdbd", ["slurmdbd", "-D"], {**env, "MYSQL_UNIX_PORT": str(self.socket)}, folder / "out")
        self._until("slurmdbd", "slurmdbd to answer", lambda: self.run("sacctmgr", "-n", "show", "cluster").code == 0)

    def stop_ctld(self) -> None:
        process = self.ledger.find(f"{self.name}-slurmctld")
        if process:
            self.ledger.stop(process)

    def start_ctld(self, *options: str) -> None:
        """Start slurmctld; `-c` forgets jobs and the job id counter, `-i` goes on over a damaged state."""
        name = f"{self.name}-slurmctld"
        env = {**self.env(), MARK: str(self.folder)}
        self.ledger.start(name, ["slurmctld", "-D", *options], env, self.home / "log" / "slurmctld.out")
        self._until(name, "slurmctld to answer", lambda: b"is UP" in self.run("scontrol", "ping").out)

    def restart_ctld(self, *options: str) -> None:
        self.stop_ctld()
        self.start_ctld(*options)

    # talking to it

    def env(self) -> dict[str, str]:
        """What a program needs in its environment to reach this cluster; nothing of ours leaks into jobs."""
        return {**plain_env(), "SLURM_CONF": str(self.home / "slurm.conf")}

    def run(
        self,
        *command: Word,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        input: bytes | None = None,
        seconds: float = 60.0,
    ) -> Done:
        """Run a command against the cluster, as an existing Unix user or as root, in a folder all may write."""
        ids: dict[str, int | list[int]] = {}
        if user is not None:
            who = pwd.getpwnam(user)
            ids = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        done = subprocess.run(
            [os.fsencode(word) for word in command],
            env={**self.env(), **(env or {})},
            cwd=self.work,
            input=input if input is not None else b"",
            capture_output=True,
            timeout=seconds,
            check=False,
            **ids,  # type: ignore[call-overload]
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def ask(self, *command: Word, user: str | None = None) -> str:
        """`run`, and what it printed; ClusterError when it failed."""
        done = self.run(*command, user=user)
        if done.code:
            raise ClusterError(f"{command}: exit {done.code}: {done.err.decode(errors='replace').strip()}")
        return done.text

    def submit(self, script: str, *options: Word, user: str | None = None) -> int:
        """sbatch a shell script; its output goes to /dev/null unless `options` say otherwise. The (first) job id."""
        answer = self.ask("sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", script, user=user)
        return int(answer.partition(";")[0])

    def states(self, job: int) -> list[str]:
        """The states slurmctld gives for a job, one per array task or het component; empty when it forgot it."""
        done = self.run("squeue", "-h", "-a", "-t", "all", "-r", "-j", str(job), "-o", "%T")
        return done.text.split() if done.code == 0 else []

    def wait(self, job: int, state: str | Iterable[str] = FINISHED, seconds: float = 120.0) -> list[str]:
        """Wait until every part of `job` is in `state` (a name, or several of which any will do)."""
        wanted = {state} if isinstance(state, str) else set(state)

        def ready() -> list[str] | None:
            states = self.states(job)
            return states if states and set(states) <= wanted else None

        try:
            answer: list[str] = until(f"job {job} to be {'|'.join(sorted(wanted))}", ready, seconds, pause=0.3)
        except ClusterError as error:
            raise ClusterError(f"{error}; it is {self.states(job)}\n{self.tail('slurmctld.log')}") from None
        return answer

    def fail_node(self, node: str) -> None:
        """Let a node be DOWN: its jobs end as NODE_FAIL or are requeued."""
        self.ask("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")

    def resume_node(self, node: str) -> None:
        """Take a node back into service; it may have come back by itself."""

        def back() -> bool:
            state = self.ask("sinfo", "-h", "-n", node, "-p", "gq", "-o", "%T")
            if "down" in state or "drain" in state:
                self.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
                return False
            return True

        until(f"{node} to return", back, 90.0)

    def backlog(self) -> int:
        """How many records slurmctld still holds for slurmdbd."""
        found = re.search(r"DBD Agent queue size:\s*(\d+)", self.ask("sdiag"))
        return int(found.group(1)) if found else 0

    def settle(self, seconds: float = 120.0) -> None:
        """Wait until slurmdbd has stored what slurmctld knows.

        An empty queue is not enough: what slurmdbd was sent last is seen in its tables up to a second later, and
        slurmctld sends a run's queue, limit and name in rounds of 5 s, often after its end.
        """
        quiet = 0

        def stored() -> bool:
            nonlocal quiet
            quiet = quiet + 1 if self.backlog() == 0 and not self._unfinished_rows() else 0
            return quiet > 4

        until("slurmdbd to have stored everything", stored, seconds, pause=0.4)

    def _unfinished_rows(self) -> set[str]:
        """Jobs that ended for slurmctld, whose row in slurmdbd's table has no end yet or no queue."""
        ended = {line.split()[0] for line in self._every_job() if line.split()[1] in FINISHED}
        lacking = f"select id_job from {self.name}_job_table where time_end = 0 or `partition` = ''"
        return ended & {row[0] for row in self.sql(lacking)}

    def _every_job(self) -> list[str]:
        return self.ask("squeue", "-h", "-a", "-t", "all", "-r", "-o", "%A %T").splitlines()

    def sql(self, statement: str) -> list[tuple[str, ...]]:
        """Run SQL on the accounting database; rows of text, tabs and newlines escaped as mysql -B does."""
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "-N", "-B", "-e", statement]
        if self._has_database():
            command.append(DATABASE)
        return [tuple(line.split("\t")) for line in self.ask(*command).splitlines()]

    def rebuild_accounting(self) -> None:
        """Lose the whole accounting database and begin a new one, whose row numbers start at 1 again.

        Every cluster of the folder is put back with its accounts and users, and its slurmctld restarted. The jobs of
        before are gone, but for some that slurmctld still remembers: it may send those again, under a new number.
        """
        clusters = [self.beside(conf.parent.name) for conf in sorted(self.folder.glob("*/slurm.conf"))]
        for cluster in clusters:
            cluster.stop_ctld()
        self.stop_dbd()
        self.sql(f"drop database {DATABASE}")
        self.sql_create()
        self.start_dbd()
        for cluster in clusters:
            cluster._people()
            # Trap: slurmdbd of 24.11 and newer draws a cluster's id by lot; slurmctld refuses to start with another.
            (cluster.home / "state" / "clustername").unlink(missing_ok=True)
            cluster.start_ctld()
            cluster.until_idle()

    def sql_create(self) -> None:
        self.ask("mariadb", "--no-defaults", f"--socket={self.socket}", "-e", f"create database {DATABASE}")

    def beside(self, name: str) -> Cluster:
        """The cluster of that name in the same folder."""
        if name == self.name:
            return self
        other = Cluster(self.folder, name)
        other.ledger = self.ledger
        return other

    def tail(self, log: str, lines: int = 15) -> str:
        """The last lines of one of its logs."""
        return tail(self.home / "log" / log, lines)

    # the steps of booting

    def _make_folders(self) -> None:
        make_folders(self.folder)
        host, address, loopback_only = config.local_address()
        dbd_conf = self.folder / "dbd" / "slurmdbd.conf"
        port = config.free_ports(1)[0]
        users = {"SlurmUser": self._slurm_user, "StorageUser": self._slurm_user}
        dbd_conf.write_text(config.slurmdbd_conf(self.folder, host, address, port, loopback_only, users))
        dbd_conf.chmod(0o600)
        give(self._slurm_user, dbd_conf.parent, dbd_conf)
        # Its data is MariaDB's alone; its socket is for whoever comes that far.
        os.chown(self.socket.parent, 0, pwd.getpwnam(self._slurm_user).pw_gid)
        self.socket.parent.chmod(0o710)
        self._configure()

    def _configure(self) -> None:
        """Write the cluster's own files."""
        nodes, prefix, gpu_type, proctrack, settings = self._shape
        host, address, loopback_only = config.local_address()
        dbd = (self.folder / "dbd" / "slurmdbd.conf").read_text()
        ports = config.free_ports(nodes + 1)
        plan = config.Plan(
            folder=self.folder,
            name=self.name,
            host=host,
            address=address,
            dbd_port=int(dbd.partition("DbdPort=")[2].split()[0]),
            ctld_port=ports[0],
            node_ports=tuple(ports[1:]),
            node_prefix=prefix,
            gpu_type=gpu_type,
            proctrack=proctrack,
            has_v2=has_cgroup_v2(),
            release=release(),
            settings=settings,
        )
        for child in ("state", "spool", "log"):
            (self.home / child).mkdir(parents=True)
        for node in plan.nodes:
            (self.home / "spool" / node).mkdir()
        files = {
            "slurm.conf": config.slurm_conf(plan, loopback_only),
            "gres.conf": config.gres_conf(plan),
            "cgroup.conf": config.cgroup_conf(plan),
            "plugstack.conf": "",
        }
        for file, text in files.items():
            (self.home / file).write_text(text)
            (self.home / file).chmod(0o644)
        self.home.chmod(0o755)
        give(self._slurm_user, self.home / "state", self.home / "log")

    def _start_munge(self) -> None:
        folder = self.folder / "munge"
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        env = {**plain_env(), MARK: str(self.folder)}
        self.ledger.start("munged", config.munge_command(self.folder), env, folder / "out")

    def _start_database(self) -> None:
        database.install(self.folder)
        env = {**plain_env(), MARK: str(self.folder)}
        self.ledger.start("mariadbd", config.database_command(self.folder), env, self.folder / "db" / "out")
        ping = ["mariadb-admin", "--no-defaults", f"--socket={self.socket}", "ping"]
        self._until("mariadbd", "MariaDB to answer", lambda: self.run(*ping).code == 0)
        self.sql_create()
        if self._slurm_user != "root":
            who = f"{self._slurm_user}@localhost"
            self.sql(f"create user {who} identified via unix_socket; grant all on {DATABASE}.* to {who}")

    def _people(self) -> None:
        """Tell slurmdbd of the cluster, its accounts and its users."""
        self._manage("add", "cluster", self.name)
        self._manage("add", "account", ",".join(config.ACCOUNTS), f"cluster={self.name}")
        for account in config.ACCOUNTS:
            users = ",".join(user for user, home in config.USERS.items() if home == account)
            self._manage("add", "user", users, f"account={account}", f"cluster={self.name}")
        self._manage("add", "user", "backup", "account=physics", f"cluster={self.name}")

    def _manage(self, *words: str) -> None:
        done = self.run("sacctmgr", "-i", *words)
        if done.code and b"othing new added" not in done.out + done.err:
            raise ClusterError(f"sacctmgr {' '.join(words)}: {(done.out + done.err).decode(errors='replace').strip()}")

    def _start_nodes(self) -> None:
        self.start_ctld("-i")
        for node in sorted(child.name for child in (self.home / "spool").iterdir() if child.is_dir()):
            self.start_node(node)
        self.until_idle()

    def start_node(self, node: str) -> None:
        """Start the slurmd of a node; with cgroups of version 2 in a scope of its own, where it may make others."""
        env, log = {**self.env(), MARK: str(self.folder)}, self.home / "log" / f"slurmd-{node}.out"
        delegated = config.V2 in (self.home / "cgroup.conf").read_text()
        scope = ["systemd-run", "-q", "--scope", "-p", "Delegate=yes"] if delegated else []
        self.ledger.start(f"{self.name}-slurmd-{node}", [*scope, "slurmd", "-D", "-N", node], env, log)

    def until_idle(self) -> None:
        def idle() -> bool:
            states = self.run("sinfo", "-h", "-N", "-p", self.watched, "-o", "%t").text.split()
            return bool(states) and set(states) == {"idle"}

        try:
            until("every node to be idle", idle, 120.0)
        except ClusterError as error:
            nodes = self.run("sinfo", "-N", "-l", "-p", self.watched).text
            logs = "\n".join(tail(log, 5) for log in sorted((self.home / "log").glob("slurmd-*.out")))
            raise ClusterError(f"{error}\n{nodes}\n{logs}\n{self.tail('slurmctld.log')}") from None

    def _until(self, name: str, what: str, ready: Callable[[], object], seconds: float = 90.0) -> None:
        """Wait for a daemon to answer, and give up as soon as it is dead."""
        process = self.ledger.find(name)

        def answer() -> bool:
            if process is None or start_time(process.pid) != process.started:
                raise ClusterError(f"{name} ended")
            return bool(ready())

        try:
            until(what, answer, seconds)
        except ClusterError as error:
            logs = {"slurmdbd": self.folder / "dbd" / "out", "mariadbd": self.folder / "db" / "out"}
            raise ClusterError(f"{error}\n{tail(logs.get(name, self.home / 'log' / 'slurmctld.out'))}") from None

    def _has_database(self) -> bool:
        return (self.folder / "db" / "data" / DATABASE).is_dir()
