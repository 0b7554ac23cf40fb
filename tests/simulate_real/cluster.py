"""A private Slurm of a workload's shape, with its accounting: without slurmdbd no priority has an age."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.harness import config
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.ending import TEMPORARY, clear_abandoned
from tests.cluster.harness.machine import release
from tests.simulate_real.shape import Shape, conf_lines, conf_settings, gres_lines


class Shaped(Cluster):
    """`boot` and `stop` as any cluster's."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        super().__init__(folder)
        self.shape = shape
        self.watched = ",".join(queue.name for queue in shape.queues)

    def _configure(self) -> None:
        host, address, loopback_only = config.local_address()
        dbd = (self.folder / "dbd" / "slurmdbd.conf").read_text()
        names = self.shape.node_names
        ports = config.free_ports(len(names) + 1)
        where = f"NodeHostname={host} NodeAddr={address}"
        plan = config.Plan(
            folder=self.folder,
            name=self.name,
            host=host,
            address=address,
            dbd_port=int(dbd.partition("DbdPort=")[2].split()[0]),
            ctld_port=ports[0],
            node_ports=(),
            release=release(),
            settings=conf_settings(self.shape),
            lines=tuple(
                conf_lines(
                    self.shape, {name: f"{where} Port={port}" for name, port in zip(names, ports[1:], strict=True)}
                )
            ),
        )
        for child in ("state", "log", *(f"spool/{name}" for name in names)):
            (self.home / child).mkdir(parents=True)
        files = {
            "slurm.conf": config.slurm_conf(plan, loopback_only),
            "gres.conf": gres_lines(self.shape, f"{self.folder}/dev"),
            "cgroup.conf": config.cgroup_conf(plan),
            "plugstack.conf": "",
        }
        for file, text in files.items():
            (self.home / file).write_text(text)
            (self.home / file).chmod(0o644)
        self.home.chmod(0o755)


@contextmanager
def shaped(shape: Shape) -> Iterator[Shaped]:
    """A booted cluster in a folder of its own, stopped and removed at the end."""
    clear_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    cluster = Shaped(folder, shape)
    try:
        cluster.boot(owner=os.getpid())
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder)
