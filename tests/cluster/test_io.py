"""How often a job's tasks wait for files, on a real slurmd: loaders on slow and fast file systems, and what is not
seen."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from adminkit.findings.io_bound import class_of
from adminkit.trace.io_word import file_waits_of
from tests.cluster.conftest import private_slurm
from tests.cluster.harness import slow_files
from tests.cluster.harness.checkpoint import build_spank
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import accounted, adminkit
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster
ROOT: Final = Path(__file__).resolve().parents[2]
LOADER: Final = ROOT / "tests/cluster/harness/loader.py"
GPUS: Final = 8


@dataclass
class Measured:
    """A cluster whose slurmstepd looks at threads every second, and reads GPUs that loaders keep busy."""

    cluster: Cluster
    spank: Path
    slow_files: Path

    @property
    def gpus(self) -> Path:
        """What the stand-in for NVML says; loaders write to it."""
        return self.spank / "gpus"

    def configure(self, *words: str) -> None:
        home, library = self.cluster.home, self.spank / "libnvidia-ml.so.1"
        lines = [
            f"optional {self.spank}/adminkit_io.so period=1 state={home}/io {' '.join(words)}",
            f"optional {self.spank}/adminkit_gpu_use.so period=1 state={home}/gpu-use nvml={library}",
        ]
        (home / "plugstack.conf").write_text("".join(f"{line}\n" for line in lines))

    def loader(self, folder: Path, compute: float, decode: float, lasts: float = 25, batch: int = 4) -> str:
        return f"python3 {self.cluster.work}/loader.py {folder} 4 {batch} {compute} {decode} {lasts} {self.gpus}"

    def start(self, script: str, *options: str) -> int:
        return self.cluster.submit(script, "-t", "5", "-o", f"{self.cluster.work}/%j.out", *options, user="games")

    def ended(self, job: int, state: str = "COMPLETED") -> list[dict[str, str]]:
        """The words of a job once it has ended in that state."""
        self.cluster.wait(job, state)
        accounted(self.cluster, job, state)
        comment = self.cluster.ask("sacct", "-X", "-n", "-P", "-o", "AdminComment", "-j", str(job)).strip()
        print(comment)
        words = [one[4:] for one in comment.split() if one.startswith("io1:")]
        return [dict(re.findall(r"(\w+)=([^,]+)", one)) for one in words]

    def shown(self, job: int) -> dict[str, str]:
        """The word of a job that runs; empty: it has none yet."""
        found = re.search(r"io1:(\S+)", self.cluster.ask("scontrol", "show", "job", str(job)))
        return dict(re.findall(r"(\w+)=([^,]+)", found[1])) if found else {}

    def told(self, job: int) -> float:
        """The share of its time that the training waited, as the loader says."""
        text = (self.cluster.work / f"{job}.out").read_text()
        print(text)
        return float(text.split()[0])

    @property
    def log(self) -> str:
        """slurmd's."""
        return "".join(path.read_text(errors="replace") for path in (self.cluster.home / "log").glob("slurmd*"))


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Measured]:
    with private_slurm(nodes=1) as booted:
        folder = build_spank(booted.home / "spank")
        library = folder / "libnvidia-ml.so.1"
        fake = ROOT / "tests/spank/fake_nvml.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, fake], check=True)
        found = Measured(booted, folder, slow_files.build(booted.home))
        found.gpus.write_text("".join(f"{minor:02} 000 0001 0002 ok\n" for minor in range(GPUS)))
        found.gpus.chmod(0o666)
        shutil.copy(LOADER, booted.work / "loader.py")
        found.configure()
        yield found


@pytest.fixture(scope="module")
def slow(site: Measured) -> Iterator[Path]:
    """30 files a second, however many readers there are."""
    # Trap: an open by its path does not tell the file system, so reads have to take long, too.
    with slow_files.mounted(site.slow_files, site.cluster.home / "slow", 400, 270_000, 0.5, 60, 8) as folder:
        yield folder


@pytest.fixture(scope="module")
def fast(site: Measured) -> Iterator[Path]:
    with slow_files.mounted(site.slow_files, site.cluster.home / "fast", 400, 270_000, 0, 0, 0) as folder:
        yield folder


def share(word: dict[str, str], key: str) -> float:
    return int(word[key]) / int(word["n"])


def test_a_loader_that_waits_for_a_slow_file_system(site: Measured, slow: Path) -> None:
    """Most looks see a worker wait for files and none run; the file system is named."""
    job = site.start(f"exec {site.loader(slow, compute=30, decode=0)}", "--gres=gpu:1")
    (word,) = site.ended(job)
    assert site.told(job) > 0.6
    assert share(word, "only") > 0.6
    assert word["fs"].startswith("fuse.slow-")
    assert word["node"] == "0"
    assert 12 <= int(word["n"]) <= 30


def test_the_batch_step_does_not_count_while_it_waits_for_a_step(site: Measured, slow: Path) -> None:
    """One task, not two; what the step saw is in the word that the batch step leaves."""
    job = site.start(f"srun {site.loader(slow, compute=30, decode=0)}")
    (word,) = site.ended(job)
    assert share(word, "only") > 0.5
    assert int(word["n"]) <= 32


@pytest.mark.parametrize(
    ("script", "state", "why"),
    [
        ("sleep 3", "COMPLETED", "it ended before the twelfth look"),
        ("exit 3", "FAILED", "it failed at once"),
    ],
)
def test_what_leaves_no_word_and_no_mark_on_the_job(site: Measured, script: str, state: str, why: str) -> None:
    assert site.ended(site.start(script), state) == [], why


def test_a_program_that_waits_for_something_else_does_not_wait_for_files(site: Measured) -> None:
    """A pipe, another program, time; and nothing of it is named a file system."""
    job = site.start("mkfifo $SLURM_JOB_ID.fifo; cat < $SLURM_JOB_ID.fifo & sleep 40 | cat; kill $(jobs -p); true")
    (word,) = site.ended(job)
    assert (word["wait"], word["only"], "fs" in word) == ("0", "0", False)


def test_a_job_cannot_say_what_is_seen(site: Measured) -> None:
    lie = "io1:at=1,to=9999999999,node=0,n=99,wait=99,only=99,full=99,fs=mine"
    (word,) = site.ended(site.start("sleep 40", "-J", lie, "--comment", lie))
    assert word["only"] == "0"


def test_a_server_that_does_not_answer_keeps_only_its_own_job_waiting(site: Measured) -> None:
    """The plugin looks on and writes its words; the job and its node end as they would without it."""
    site.configure("report=10")
    with slow_files.mounted(site.slow_files, site.cluster.home / "dead", 400, 270_000, 0.5, 60, 278) as folder:
        job = site.start(site.loader(folder, compute=30, decode=0, lasts=600))
        until("the first word", lambda: site.shown(job), 60)
        with slow_files.stopped(folder):
            time.sleep(2)
            before = site.shown(job)
            until("a word of later", lambda: int(site.shown(job)["to"]) >= int(before["to"]) + 10, 60)
            after = site.shown(job)
        site.cluster.ask("scancel", str(job))
        (word,) = site.ended(job, "CANCELLED")
        site.cluster.until_idle()
    added = int(after["n"]) - int(before["n"])
    assert int(after["only"]) - int(before["only"]) >= added - 3
    assert int(word["n"]) >= int(after["n"])
    site.configure()


def test_a_run_that_is_put_back_has_its_own_sums(site: Measured, slow: Path) -> None:
    cluster = site.cluster
    flag = cluster.work / "again"
    job = site.start(f"[ -e {flag} ] || {site.loader(slow, compute=30, decode=0, lasts=100)}; sleep 40")
    until("the first run to be seen", lambda: (cluster.home / "io" / f"{job}.steps").exists(), 60)
    time.sleep(20)
    flag.touch()
    cluster.ask("scontrol", "requeue", str(job))
    cluster.wait(job, "PENDING")
    time.sleep(2)  # slurmd takes no credential of the second in which the first run's was revoked
    cluster.ask("scontrol", "update", f"JobId={job}", "StartTime=now")
    (word,) = site.ended(job)
    assert word["wait"] == "0"


#: The five loaders of docs/io.md: folder, batch, compute ms, decode ms, CPUs; the class with the GPUs' use, or without.
CASES: Final = {
    "slow": ("slow", 4, 30, 0, "", "bound", "may_be_bound"),
    "keeps_up": ("slow", 4, 140, 0, "", "not_bound", "may_be_bound"),
    "long": ("slow", 4, 1500, 0, "", "not_bound", "not_bound"),
    "decodes": ("fast", 8, 20, 20, "taskset -c 0 ", "short_of_cpus", "short_of_cpus"),
    "computes": ("fast", 4, 300, 1, "", "not_bound", "not_bound"),
}


@pytest.mark.soak
def test_each_loader_has_its_class(site: Measured, tmp_path: Path) -> None:
    """One after the other, as they would share the file system's cap and the host's CPUs."""
    db, found = tmp_path / "trace.db", {}
    for name, (kind, batch, compute, decode, before, *_) in CASES.items():
        numbers = (0.5, 60, 278) if kind == "slow" else (0, 0, 0)
        with slow_files.mounted(site.slow_files, site.cluster.home / name, 400, 270_000, *numbers) as folder:
            script = site.loader(folder, compute, decode, lasts=45, batch=batch)
            job = site.start(f"exec {before}{script}", "-J", name, "--gres=gpu:1")
            site.ended(job)
            found[name] = site.told(job)
    adminkit(site.cluster, db, "sync", "--since", "1d")
    words = ("report", "io", "--by", "name", "--min-elapsed", "0")
    print(adminkit(site.cluster, db, *words).stdout)
    report = json.loads(adminkit(site.cluster, db, *words, "--format", "json").stdout)
    rows = {row["name"]: row for row in report["rows"]}
    for name, (*_, expected, without) in CASES.items():
        assert rows[name][expected] == rows[name]["gpu_hours"] > 0, (name, found, rows[name])
        with closing(sqlite3.connect(db)) as trace:
            comment, start = trace.execute(
                "SELECT admin_comment, start_time FROM job WHERE job_name = ?", (name,)
            ).fetchone()
        seen = file_waits_of(comment, start)
        assert seen is not None
        assert class_of(seen.samples, seen.only, seen.full, None) == without, (name, seen)
    assert found["slow"] > 0.6 > 0.2 > found["keeps_up"]
    assert found["decodes"] > 0.6 > 0.2 > found["computes"]
