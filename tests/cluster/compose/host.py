"""The site from outside: start it, run commands in its containers, cut and kill its parts, end it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.cluster.compose import site
from tests.cluster.harness.cluster import DATABASE, Cluster, Done, Word
from tests.cluster.harness.processes import ClusterError, until
from tests.matrix import engine
from tests.matrix.rows import Row

FILE: Final = Path(__file__).with_name("compose.yml")
PARTS: Final = ("database", "slurmdbd", "slurmctld", *site.NODES, "mail", "login")
ADMINKIT: Final = site.TREE / ".venv/bin/adminkit"
#: What is ready when the site is: every node takes jobs.
_READY: Final = "sinfo -h -N -p gq -o %t | grep -cE '^(idle|mix|alloc)$'"
#: A node without power: slurmd, steps and whatever users run.
_POWER: Final = """cd /proc
for pid in [0-9]*; do
    case $(cat $pid/comm) in
    slurmd|slurmstepd*) kill -9 $pid ;;
    *) [ "$(stat -c %u $pid)" = 0 ] || kill -9 $pid ;;
    esac
done 2>/dev/null
true"""


class Site(Cluster):
    """A site in containers named PROJECT-PART. Slurm is asked from its login node, as on the one-host cluster."""

    def __init__(self, row: Row, project: str = "") -> None:
        super().__init__(site.SITE, site.NAME, nodes=len(site.NODES))
        self.row = row
        self.project = project or f"adminkit-{row.name}"

    def up(self, *, lively: bool = True, zone: str = "UTC") -> None:
        """Build what is missing, start every container, wait until the nodes are idle."""
        engine.needed(self.row, site=True)
        engine.image(self.row)
        engine.build(self.row)
        self._compose("up", "-d", MODE="day" if lively else "still", ZONE=zone)
        until("three nodes to be idle", lambda: self._idle() == str(len(site.NODES)), 240, pause=2)
        policy = ("test", "-s", "/etc/slurm/adminkit/policy.lua")
        until("the policy to be installed", lambda: self.run(*policy, part="slurmctld").code == 0, 120, pause=2)

    def down(self) -> None:
        """End every container; network and volumes go with them. Images and build/ stay for the next time."""
        self._compose("down", "-v")
        # Older podman-composes leave the network.
        for network in (f"{self.project}_default", f"{self.project}-default"):
            subprocess.run([engine.ENGINE, "network", "rm", network], capture_output=True, check=False)

    def left(self) -> list[str]:
        """Containers, networks and volumes of the site that are still there."""
        found = []
        for words in (("ps", "-a", "--format", "{{.Names}}"), *((w, "ls", "-q") for w in ("network", "volume"))):
            said = subprocess.run([engine.ENGINE, *words], capture_output=True, text=True, check=False).stdout
            found += [name for name in said.split() if name.startswith((f"{self.project}-", f"{self.project}_"))]
        return found

    def container(self, part: str) -> str:
        return f"{self.project}-{part}"

    # inside

    def run(
        self,
        *command: Word,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        input: bytes | None = None,
        seconds: float = 60.0,
        part: str = "login",
    ) -> Done:
        """Run a command in a container, as root or a user of the site."""
        words: list[Word] = [engine.ENGINE, "exec", "-i", "-w", f"/home/{user}" if user else "/", "-u", user or "root"]
        for name, value in (env or {}).items():
            words += ["-e", f"{name}={value}"]
        whole = [os.fsencode(word) for word in (*words, self.container(part), *command)]
        done = subprocess.run(whole, input=input or b"", capture_output=True, timeout=seconds, check=False)
        return Done(done.returncode, done.stdout, done.stderr)

    def shell(self, part: str, script: str) -> str:
        """What root's shell says in a container; ClusterError when it failed."""
        done = self.run("sh", "-ec", script, part=part)
        if done.code:
            raise ClusterError(f"{part}: {script}: exit {done.code}: {done.err.decode(errors='replace').strip()}")
        return done.text

    def sql(self, statement: str) -> list[tuple[str, ...]]:
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "-N", "-B", DATABASE]
        done = self.run(*command, input=statement.encode(), part="database")
        if done.code:
            raise ClusterError(f"SQL: {done.err.decode(errors='replace').strip()}")
        return [tuple(line.split("\t")) for line in done.text.splitlines()]

    # faults

    def kill(self, part: str, daemon: str, signal: str = "KILL") -> None:
        """Send a daemon a signal; one that ends is started again a moment later."""
        self.shell(part, f"kill -{signal} $(cat /site/run/{daemon})")

    def hold(self, part: str, daemon: str, signal: str = "KILL") -> None:
        """End a daemon, which stays away until `release`."""
        self.shell(part, f"touch /site/hold/{daemon}; kill -{signal} $(cat /site/run/{daemon})")
        until(f"{daemon} to be gone", lambda: self.run("test", "-e", f"/site/run/{daemon}", part=part).code, 30)

    def release(self, part: str, daemon: str) -> None:
        self.shell(part, f"rm -f /site/hold/{daemon}")
        until(f"{daemon} to be started", lambda: not self.run("test", "-e", f"/site/run/{daemon}", part=part).code, 30)

    def unplug(self, part: str) -> None:
        """Its network is cut off; whoever asks waits in vain."""
        self._net(part, "link", "set", "eth0", "down")

    def plug(self, part: str) -> None:
        self._net(part, "link", "set", "eth0", "up")

    def block(self, part: str, other: str) -> None:
        """Nothing goes from one container to another, in either direction."""
        self._net(part, "route", "add", "unreachable", self.address(other))

    def unblock(self, part: str, other: str) -> None:
        self._net(part, "route", "del", "unreachable", self.address(other))

    def address(self, part: str) -> str:
        return self.shell(part, "hostname -i").split()[0]

    def lose(self, node: str) -> None:
        """A node without network and without power; its slurmd comes back with `find`."""
        self.unplug(node)
        self.shell(node, f"touch /site/hold/slurmd; {_POWER}")

    def find(self, node: str) -> None:
        self.plug(node)
        self.release(node, "slurmd")

    def heal(self) -> None:
        """Let everything start again that is held; a cut network stays cut."""
        for part in PARTS:
            self.run("sh", "-c", "rm -f /site/hold/*", part=part)

    def _net(self, part: str, *words: str) -> None:
        asked = [engine.ENGINE, "inspect", "-f", "{{.State.Pid}}", self.container(part)]
        pid = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        done = subprocess.run(["nsenter", "-t", pid, "-n", "ip", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClusterError(f"{part}: ip {' '.join(words)}: {done.stderr.strip()}")

    def _idle(self) -> str:
        return self.run("sh", "-c", _READY).text

    def _compose(self, *words: str, **more: str) -> None:
        engine.needed(site=True)
        env = {**os.environ, "RELEASE": self.row.name, "SITE": self.project}
        env |= {"IMAGE": engine.name_of(self.row), "TREE": str(engine.folder_of(self.row))}
        command = [str(engine.composer()), "-f", str(FILE), "-p", self.project, *words]
        done = subprocess.run(command, env={**env, **more}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClusterError(f"podman-compose {words[0]}: {(done.stderr + done.stdout).strip()[-800:]}")
