"""A cluster that stages training data: jobs that say what they find, and the caches of its nodes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.cluster.harness.checkpoint import build_spank
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import accounted
from tests.cluster.harness.processes import until
from tests.support.data_sets import DataSet

#: What a job runs: where its data is, and each shard's name, SHA-256 and kind.
LOOK = r"""
echo "data $ADMINKIT_DATA"
for one in "$ADMINKIT_DATA"/*.tar; do
    sum=$( (sha256sum < "$one") 2> /dev/null | cut -c1-64)
    echo "shard $(basename "$one") ${sum:-none} $(stat -c %F "$one" | tr ' ' -)"
done
""".strip()
COPY, LINK = "regular-file", "symbolic-link"


class Staging(Cluster):
    """slurmd has loaded the plugin when it starts, as it asks only then whether there is an epilog."""

    words = "size=1G"

    def _configure(self) -> None:
        super()._configure()
        build_spank(self.home / "spank")
        self.configure()
        self.caches.mkdir(exist_ok=True)

    def configure(self, *words: str) -> None:
        line = f"optional {self.home}/spank/adminkit_data.so cache={self.caches}/%n {self.words} {' '.join(words)}\n"
        (self.home / "plugstack.conf").write_text(line)

    @property
    def caches(self) -> Path:
        return self.home / "caches"

    def cache(self, node: str = "n1") -> Path:
        return self.caches / node

    def made(self, node: str) -> Path:
        """The cache, made as the plugin makes it where no job has run yet."""
        cache = self.cache(node)
        for folder, mode in ((cache, 0o711), (cache / "store", 0o700)):
            folder.mkdir(mode=mode, exist_ok=True)
            folder.chmod(mode)
        (cache / "boot").write_text(Path("/proc/sys/kernel/random/boot_id").read_text())
        return cache

    def store(self, node: str = "n1") -> dict[str, int]:
        """The copies, with their link counts, and whatever else lies beside them."""
        folder = self.cache(node) / "store"
        found = {}
        for path in sorted(folder.iterdir()) if folder.exists() else []:
            with suppress(FileNotFoundError):
                if path.suffix != ".from":
                    found[path.name] = path.stat().st_nlink
        return found

    def left(self, node: str = "n1") -> list[str]:
        """What ended jobs have not removed: states, folders, parts of copies."""
        cache = self.cache(node)
        names = [path.name for folder in ("state", "jobs") for path in (cache / folder).glob("*")]
        return names + [path.name for path in (cache / "store").glob("*.part")]

    def helpers(self) -> list[int]:
        """The processes that copy for this cluster."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if words[0] == b"adminkit-stage" and words[1].startswith(os.fsencode(self.caches)):
                    found.append(int(folder.name))
        return found

    def job(self, script: str, *options: str, user: str = "games") -> StagedJob:
        output = self.work / f"out.{os.urandom(6).hex()}"
        done = self.run("sbatch", "--parsable", "-t", "5", "-o", str(output), *options, "--wrap", script, user=user)
        assert done.code == 0, done.err
        return StagedJob(self, int(done.text.partition(";")[0]), output, done.err.decode())

    def left_of(self, job: int, node: str = "n1") -> list[str]:
        """What is there of a job."""
        return [name for name in self.left(node) if name == str(job)]

    def stepds(self, job: int) -> list[int]:
        """The slurmstepd of a job's steps."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (folder / "cmdline").read_bytes().startswith(f"slurmstepd: [{job}.".encode()):
                    found.append(int(folder.name))
        return found

    def ended(self, job: int) -> bool:
        return not {"PENDING", "CONFIGURING", "RUNNING"} & set(self.states(job))

    def sound(self, node: str = "n1") -> bool:
        """Whether each copy is what its name says."""
        folder = self.cache(node) / "store"
        return all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == name for name in self.store(node))

    def quiet(self) -> None:
        """Wait until nothing of an ended job is left on the nodes."""
        until("the helpers to end", lambda: not self.helpers(), 30)
        for node in self.caches.iterdir():
            until(f"{node.name} to be clean", lambda node=node: not self.left(node.name), 30)  # type: ignore[misc]


@contextmanager
def copying(site: Staging, packed: DataSet, *numbers: int, nodes: tuple[str, ...] = ("n1",)) -> Iterator[None]:
    """As if another job copied these shards of the set."""
    with ExitStack() as stack:
        for node in nodes:
            store = site.made(node) / "store"
            for path in (store / packed.part(number) for number in numbers):
                part = stack.enter_context(path.open("w"))
                fcntl.flock(part, fcntl.LOCK_EX)
                stack.callback(path.unlink, missing_ok=True)
        yield


@dataclass(frozen=True)
class StagedJob:
    cluster: Staging
    id: int
    output: Path
    hint: str  # what sbatch said

    def ended(self, state: str = "COMPLETED") -> StagedJob:
        self.cluster.wait(self.id, state)
        return self

    @cached_property
    def text(self) -> str:
        return self.output.read_text(errors="replace")

    @property
    def folder(self) -> str:
        found = re.search(r"^data (.*)$", self.text, re.MULTILINE)
        return found[1] if found else ""

    @property
    def shards(self) -> list[tuple[str, str]]:
        """SHA-256 and kind of each shard that the job found, in order of their names."""
        return [(sha, kind) for sha, kind in re.findall(r"^shard \S+ (\S+) (\S+)$", self.text, re.MULTILINE)]

    @property
    def said(self) -> list[str]:
        return [line.partition("adminkit: ")[2] for line in self.text.splitlines() if "adminkit: " in line]

    @property
    def words(self) -> list[dict[str, str]]:
        """Of its last run, by sacct."""
        accounted(self.cluster, self.id, self.cluster.states(self.id)[0])
        comment = self.cluster.ask("sacct", "-X", "-n", "-P", "-o", "AdminComment", "-j", str(self.id)).strip()
        found = [one[4:] for one in comment.split() if one.startswith("st1:")]
        return [dict(re.findall(r"(\w+)=(\w+)", one)) for one in found]
