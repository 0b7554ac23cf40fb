"""Two slurmctlds, as on two hosts: the second takes over with files that are the same, old or missing.

Both run here: the second in a host name and an /etc/hosts of its own, at 127.0.0.2, with a folder of its own.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Word
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import MARK
from tests.cluster.harness.processes import ClusterError, until
from tests.cluster.harness.ruled import HEAD, Ruled, at_most, ruling

pytestmark = pytest.mark.cluster


class Pair:
    """The first slurmctld, ruled, and a second one that can take over."""

    def __init__(self, ruled: Ruled) -> None:
        self.ruled = ruled
        self.cluster = ruled.cluster
        self.folder = self.cluster.folder / "second"
        self.push = f"cp -a {{files}} {self.cluster.folder}/{{host}}/"
        self.fetch = f"sh -c 'cd {self.cluster.folder}/{{host}} && sha256sum job_submit.lua adminkit/*.lua'"
        (self.folder / "log").mkdir(parents=True)
        for path in self.cluster.home.glob("*.conf"):
            shutil.copy(path, self.folder)
        conf = self.folder / "slurm.conf"
        text = re.sub(r"(?m)^SlurmctldPidFile=.*", f"SlurmctldPidFile={self.folder}/slurmctld.pid", conf.read_text())
        conf.write_text(re.sub(r"(?m)^SlurmctldLogFile=.*", f"SlurmctldLogFile={self.folder}/log/ctld.log", text))
        here = socket.gethostname().partition(".")[0]
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost {here}\n127.0.0.2 second\n")

    def start_second(self) -> None:
        script = 'mount --bind "$1/hosts" /etc/hosts && hostname second && exec slurmctld -D -f "$1/slurm.conf"'
        command = ["unshare", "--uts", "--mount", "sh", "-c", script, "sh", self.folder]
        env = {**self.cluster.env(), MARK: str(self.cluster.folder), "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.cluster.ledger.start("second-slurmctld", command, env, self.folder / "log" / "out")
        until("the second slurmctld", lambda: b"(backup) at second is UP" in self.ping(), 90)

    def take_over(self) -> None:
        """The first is gone, as with its host; the second answers."""
        self.cluster.stop_ctld()
        self.cluster.ask("scontrol", "takeover")
        until("the second to answer", lambda: self.cluster.run("squeue").code == 0, 90)

    def give_back(self) -> None:
        process = self.cluster.ledger.find("second-slurmctld")
        if process:
            self.cluster.ledger.stop(process)
        if self.cluster.ledger.find(f"{self.cluster.name}-slurmctld") is None:
            self.cluster.start_ctld()

    def ping(self) -> bytes:
        return self.cluster.run("scontrol", "ping").out

    def carry(self, rules: int | str) -> None:
        """Install on this host and, by the command, on the other."""
        self.install(rules, "--push", self.push, "--fetch", self.fetch)

    def install(self, rules: int | str, *words: str, code: int = 0) -> str:
        """`rules`: policy.toml behind its head, or the most hours that gq takes."""
        self.ruled.policy.write_text(HEAD + (rules if isinstance(rules, str) else at_most(rules)))
        policy = ("--policy", self.ruled.policy)
        done = self.adminkit("policy", "install", "--apply", *policy, *words, code=code)
        return done.stdout + done.stderr

    def adminkit(self, *words: Word, code: int | None = 0, fetch: str = "") -> subprocess.CompletedProcess[str]:
        """On the first host. Two hosts have one path each for this folder; here there are two, and it is named."""
        env = {"ADMINKIT_POLICY_FOLDER": str(self.cluster.home), "ADMINKIT_POLICY_FETCH": fetch}
        return self.ruled.adminkit(*words, code=code, env=env)

    def doctor(self, code: int | None = None, fetch: bool = True) -> str:
        words = ("doctor", "--db", self.cluster.folder / "none.db")
        return self.adminkit(*words, code=code, fetch=self.fetch if fetch else "").stdout


@contextmanager
def pairing(**settings: str) -> Iterator[Pair]:
    """A cluster of one node with two controllers, of which the first is at work."""
    with private_slurm(nodes=1, **settings) as cluster:
        conf = cluster.home / "slurm.conf"
        here = socket.gethostname().partition(".")[0]
        text = conf.read_text().replace("NoInAddrAny,NoCtldInAddrAny", "NoCtldInAddrAny")
        text = re.sub(
            r"(?m)^SlurmctldHost=.*", f"SlurmctldHost={here}(127.0.0.1)\nSlurmctldHost=second(127.0.0.2)", text
        )
        more = [] if "NoCtldInAddrAny" in text else ["CommunicationParameters=NoCtldInAddrAny"]
        conf.write_text("\n".join([text, "SlurmctldTimeout=10", *more, ""]))
        with ruling(cluster) as ruled:
            yield Pair(ruled)


@pytest.fixture(scope="module")
def booted(outside: Listing) -> Iterator[Pair]:
    with pairing() as found:
        yield found


@pytest.fixture
def pair(booted: Pair) -> Iterator[Pair]:
    """With the first in charge, the same files on both, and afterwards again."""
    booted.carry(5)
    yield booted
    booted.give_back()


def test_the_second_is_named_and_its_steps_are_printed_without_a_command(pair: Pair) -> None:
    said = pair.install(6)
    home = pair.cluster.home
    assert f"rsync -as {home}/adminkit root@second:{home}/" in said
    assert "second  policy" in said.replace("   ", "  ")
    assert re.search(r"warn +hosts +not compared with those of second", pair.doctor(fetch=False))


def test_the_second_decides_by_its_own_files_old_or_the_same(pair: Pair) -> None:
    assert re.search(r"ok +hosts +the same files on second", pair.doctor())
    pair.install(6)
    assert re.search(r"missing +hosts +second differs: adminkit/policy.good.lua, adminkit/policy.lua", pair.doctor(1))
    pair.start_second()
    pair.take_over()
    assert pair.ruled.most() == 5
    assert "not in use" in pair.adminkit("policy", "status", code=1).stdout
    assert re.search(r"missing +rules +slurmctld uses policy", pair.doctor(1))
    pair.carry(6)
    assert pair.ruled.most() == 6, "the second loaded what was carried, without a restart"
    pair.adminkit("policy", "status", "--fetch", pair.fetch)


def test_with_files_missing_the_second_takes_over_all_the_same(pair: Pair) -> None:
    """Everybody passes, doctor says so; what is carried there is in force."""
    for path in (pair.folder / "adminkit").iterdir():
        path.unlink()
    assert re.search(r"missing +hosts +second .*no such file", pair.doctor(1), re.IGNORECASE)
    pair.start_second()
    pair.take_over()
    assert pair.ruled.most() is None
    assert "runs without adminkit's script" in pair.adminkit("policy", "status", code=1).stdout
    pair.carry(7)
    assert pair.ruled.most() == 7


@pytest.mark.soak
def test_without_job_submit_lua_the_second_does_not_start_so_every_host_is_covered(pair: Pair) -> None:
    (pair.folder / "job_submit.lua").unlink()
    log: Path = pair.folder / "log" / "ctld.log"
    with pytest.raises(ClusterError):
        pair.start_second()
        pair.take_over()
    assert re.search(r"fatal: .*job_submit", log.read_text()), log.read_text()[-2000:]
    pair.give_back()
    pair.carry(5)
    pair.start_second()
