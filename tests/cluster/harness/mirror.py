"""A second database server with a copy of a cluster's accounting: to be killed, reached over TLS, or read as a replica,
while the cluster's own server and slurmdbd notice nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from tests.cluster.harness import config, database
from tests.cluster.harness.cluster import DATABASE, Cluster
from tests.cluster.harness.machine import MARK, plain_env
from tests.cluster.harness.processes import ClusterError, Process, start_time, until

READER: Final = "adminkit_reader"
PASSWORD: Final = "only for this test"


class Mirror:
    """One server in a folder of its own below the cluster's, which ends it with its other processes."""

    def __init__(self, cluster: Cluster, name: str = "mirror") -> None:
        self.cluster, self.name = cluster, name
        self.folder = cluster.folder / name
        self.socket = self.folder / "db" / "socket"
        [self.port] = config.free_ports(1)
        self.tls = False
        self.more: list[str] = []  # options of the server
        self.process: Process | None = None
        (self.folder / "db").mkdir(parents=True)
        database.install(self.folder)

    def start(self) -> None:
        """Start it, or start it again after a kill, and wait until it answers."""
        command = [*config.database_command(self.folder, network=True), "--bind-address=127.0.0.1"]
        command += [f"--port={self.port}", "--innodb-buffer-pool-size=64M"]
        if self.tls:
            command += [f"--ssl-{what}={self.folder}/{what}.pem" for what in ("ca", "cert", "key")]
        command += self.more
        env = {**plain_env(), MARK: str(self.cluster.folder)}
        self.process = self.cluster.ledger.start(self.name, command, env, self.folder / "db" / "out")
        until(f"{self.name} to answer", self._answers, 90.0)

    def copy(self) -> None:
        """Take over the cluster's accounting as it is now, and let READER read it."""
        dump = ["mariadb-dump", "--no-defaults", f"--socket={self.cluster.socket}", "--single-transaction", DATABASE]
        self.sql(f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}")
        with subprocess.Popen(dump, env=plain_env(), stdout=subprocess.PIPE) as source:
            done = subprocess.run([*self._client(), DATABASE], env=plain_env(), stdin=source.stdout, check=False)
        if done.returncode or source.returncode:
            raise ClusterError(f"couldn't copy the accounting to {self.name}")
        for host in ("localhost", "127.0.0.1"):
            self.sql(f"CREATE OR REPLACE USER {READER}@{host} IDENTIFIED BY '{PASSWORD}'")
            self.sql(f"GRANT SELECT ON {DATABASE}.* TO {READER}@{host}")

    def sql(self, statement: str, *options: str) -> list[list[str]]:
        command = [*self._client(), *options, "-N", "-B", "-e", statement]
        done = subprocess.run(command, env=plain_env(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClusterError(f"{statement}: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def until_dead(self) -> None:
        """Wait until it has ended, after it was killed."""
        until(f"{self.name} to end", self.dead, 30.0)

    def dead(self) -> bool:
        return self.process is None or start_time(self.process.pid) != self.process.started

    def stop(self) -> None:
        if self.process:
            self.cluster.ledger.stop(self.process)

    def certify(self) -> Path:
        """Make a certificate for 127.0.0.1, which the server shows when it is started next; its CA's file."""
        subject = "subjectAltName=IP:127.0.0.1,DNS:localhost"
        ca, cert, key = (self.folder / f"{what}.pem" for what in ("ca", "cert", "key"))
        request, extra = self.folder / "request.pem", self.folder / "extra.cnf"
        make_ca(ca)
        extra.write_text(f"{subject}\n")
        _openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", "/CN=localhost")
        _openssl(
            *("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca.with_suffix(".key"), "-CAcreateserial"),
            *("-days", "30", "-extfile", extra, "-out", cert),
        )
        self.tls = True
        return ca

    def _client(self) -> list[str]:
        return ["mariadb", "--no-defaults", f"--socket={self.socket}"]

    def _answers(self) -> bool:
        ping = ["mariadb-admin", "--no-defaults", f"--socket={self.socket}", "ping"]
        if self.dead():
            raise ClusterError(f"{self.name} ended: see {self.folder}/db/out")
        return subprocess.run(ping, env=plain_env(), capture_output=True, check=False).returncode == 0


def make_ca(path: Path) -> None:
    """A certificate authority of its own in `path`, its key beside it."""
    made = ("-days", "30", "-keyout", path.with_suffix(".key"), "-out", path, "-subj", f"/CN={path.stem} of a test")
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", *made)


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


#: A client in front of the real one. When it has passed on AFTER bytes of the FROM-th answer with records, it kills
#: KILL (-9), or says so by making the file PAUSE and waits until that is gone.
WRAPPER: Final = """#!/usr/bin/env python3
import os, signal, subprocess, sys, tempfile, time
from pathlib import Path
sql = sys.stdin.buffer.read()
if b"IFNULL(CONCAT(" not in sql:
    sys.exit(subprocess.run([{real!r}, *sys.argv[1:]], input=sql).returncode)
count = Path({folder!r}) / "answers"
number = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (number + 1))
left = int(os.environ["AFTER"]) if number == int(os.environ.get("FROM", "0")) else 1 << 60
with tempfile.TemporaryFile() as typed:
    typed.write(sql)
    typed.seek(0)
    client = subprocess.Popen([{real!r}, *sys.argv[1:]], stdin=typed, stdout=subprocess.PIPE)
while part := os.read(client.stdout.fileno(), min(65536, max(left, 1))):
    os.write(1, part)
    left -= len(part)
    if left <= 0:
        left = 1 << 60
        if "KILL" in os.environ:
            os.kill(int(os.environ["KILL"]), signal.SIGKILL)
        else:
            pause = Path(os.environ["PAUSE"])
            pause.touch()
            while pause.exists():
                time.sleep(0.05)
sys.exit(client.wait())
"""


def wrap_client(folder: Path, real: str) -> Path:
    """A folder for PATH with that client."""
    folder.mkdir()
    for name in ("mariadb", "mysql"):
        (folder / name).write_text(WRAPPER.format(real=real, folder=str(folder)))
        (folder / name).chmod(0o755)
    return folder
