"""Training data on the nodes before a job reads it, on a real slurmd: what jobs find, what is left, and who may."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.cluster.harness.staging import COPY, LINK, LOOK, Staging, copying
from tests.support.data_sets import MIB, DataSet, data_set, settle, write_index

pytestmark = pytest.mark.cluster
ON = ("-w", "n1")


@pytest.fixture(scope="module")
def booted(outside: Listing) -> Iterator[Staging]:
    with private_slurm(nodes=2, kind=Staging) as cluster:
        assert isinstance(cluster, Staging)
        yield cluster


@pytest.fixture
def site(booted: Staging) -> Iterator[Staging]:
    """Whatever a test does: no node is drained, no job is held, and nothing of a job is left."""
    yield booted
    booted.configure()
    booted.quiet()
    # Trap: 26.05 calls a node planned until backfill has forgotten a job that waited for it.
    until("the nodes", lambda: set(booted.ask("sinfo", "-h", "-p", "gq", "-N", "-o", "%T").split()) == {"idle"}, 60)


@pytest.fixture
def shared(booted: Staging) -> Path:
    folder = booted.folder / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def test_a_job_finds_its_data_on_the_node(site: Staging, shared: Path) -> None:
    """Cold, then from the cache; of each job nothing is left but the copies."""
    packed = settle(data_set(shared / "cold", 3 * MIB, 2 * MIB, 5))
    for turn in ("cold", "hit"):
        job = site.job(LOOK, f"--data={packed.folder}", *ON).ended()
        assert job.folder == f"{site.cache()}/jobs/{job.id}", job.text
        assert (job.shards, job.said) == ([(sha, COPY) for sha in packed.sums], []), turn
        (word,) = job.words
        assert (word["node"], word["mode"]) == ("0", "first")
        assert (int(word["bytes"]), int(word["hit"])) == ((packed.bytes, 0) if turn == "cold" else (0, packed.bytes))
        site.quiet()
        assert {site.store()[sha] for sha in packed.sums} == {1}


def test_tasks_of_behind_start_at_once_and_shards_appear_whole(site: Staging, shared: Path) -> None:
    packed = data_set(shared / "behind", 2 * MIB, MIB)
    wait = 'until [ -z "$(find $ADMINKIT_DATA -name "*.tar" -type l)" ]; do sleep 0.1; done'
    with copying(site, packed, 0):
        job = site.job(f"{LOOK}; {wait}; {LOOK}", f"--data={packed.folder}:behind", *ON)
        until("the job to look", lambda: job.output.exists() and job.output.read_text().count("shard") >= 2, 60)
    job.ended()
    assert [sha for sha, _ in job.shards] == packed.sums * 2
    kinds = [kind for _, kind in job.shards]
    assert (kinds[0], kinds[2:]) == (LINK, [COPY, COPY])
    assert job.words[0]["mode"] == "behind"


@pytest.mark.parametrize(
    ("option", "why"), [("{}:off", "it says so"), ("{}/nothing", "there is none"), ("{}/../shared", "it has no index")]
)
def test_a_job_reads_the_shared_folder(site: Staging, shared: Path, option: str, why: str) -> None:
    if not (shared / "plain").exists():
        data_set(shared / "plain", 10)
    folder = option.format(shared / "plain")
    job = site.job('echo "data $ADMINKIT_DATA"', f"--data={folder}", *ON).ended()
    assert job.folder == folder.removesuffix(":off"), why
    if ":off" not in option:
        assert "pack it first" in job.hint
        assert any("pack it first" in line for line in job.said)


def test_an_array_is_copied_once_a_node(site: Staging, shared: Path) -> None:
    packed = settle(data_set(shared / "array", 4 * MIB, 4 * MIB))
    job = site.job(LOOK, f"--data={packed.folder}", "--array=1-20", "-c", "2", "-o", f"{site.work}/array.%a")
    site.wait(job.id, "COMPLETED")
    texts = [(site.work / f"array.{task}").read_text() for task in range(1, 21)]
    nodes = {text.split("/jobs/")[0].rpartition("/")[2] for text in texts}
    assert all(text.count(COPY) == 2 for text in texts)
    site.settle()
    comments = site.ask("sacct", "-X", "-n", "-P", "-o", "AdminComment", "-j", str(job.id))
    found = [tuple(map(int, pair)) for pair in re.findall(r"bytes=(\d+),hit=(\d+)", comments)]
    assert len(found) == 20
    assert sum(read for read, _ in found) == packed.bytes * len(nodes)
    assert {read + hit for read, hit in found} == {packed.bytes}


def test_each_node_has_its_part_first(site: Staging, shared: Path) -> None:
    """Of two nodes each waits for every second shard; the others may come later."""
    packed = data_set(shared / "parts", *[MIB] * 6)
    with copying(site, packed, 1, 3, 5, nodes=("n1",)), copying(site, packed, 0, 2, 4, nodes=("n2",)):
        script = f"srun -l bash -c '{LOOK.replace(chr(39), chr(34))}'"
        job = site.job(script, f"--data={packed.folder}", "-N2").ended()
    for node in (0, 1):
        kinds = re.findall(rf"^{node}: shard (\d+)\.tar \S+ (\S+)$", job.text, re.MULTILINE)
        assert {kind for number, kind in kinds if int(number) % 2 == node} == {COPY}
        assert {kind for number, kind in kinds if int(number) % 2 != node} == {LINK}
    assert {word["node"] for word in job.words} == {"0", "1"}


def test_a_step_with_another_set_leaves_that_of_the_job_as_it_is(site: Staging, shared: Path) -> None:
    """The names of both sets' shards are the same."""
    first, second = (data_set(shared / name, MIB, MIB) for name in ("one set", "another set"))
    step = f"srun --mem=50 '--data={second.folder}' bash -c '{LOOK}'".replace("tr ' ' -", 'tr " " -')
    job = site.job(f"{step}; {LOOK}", f"--data={first.folder}", "--mem=100", *ON).ended()
    assert [sha for sha, _ in job.shards] == [*second.sums, *first.sums], job.text
    assert re.findall(r"^data (.*)$", job.text, re.MULTILINE) == [str(second.folder), f"{site.cache()}/jobs/{job.id}"]


def test_a_job_that_is_cancelled_while_it_waits_ends_at_once(site: Staging, shared: Path) -> None:
    packed = data_set(shared / "cancelled", MIB)
    with copying(site, packed, 0):
        job = site.job(LOOK, f"--data={packed.folder}", *ON)
        until("the helper to run", site.helpers, 60)
        site.wait(job.id, "RUNNING")
        time.sleep(1)
        assert "step_" not in "".join(Path(f"/proc/{pid}/cgroup").read_text() for pid in site.helpers())
        began = time.monotonic()
        site.ask("scancel", str(job.id))
        until("the helper to end", lambda: not site.helpers() and not site.left_of(job.id), 10, pause=0.05)
        assert time.monotonic() - began < 5, "on a busy machine; on a quiet one 1 s"
        site.wait(job.id, "CANCELLED")
    assert job.shards == []


def test_a_helper_that_is_copying_ends_with_its_job(site: Staging, shared: Path) -> None:
    """1 GB of zeros, whose SHA-256 the index has wrong: nothing of them stays."""
    folder = shared / "large"
    folder.mkdir()
    with (folder / "000000.tar").open("wb") as file:
        file.truncate(1 << 30)
    write_index(folder, [f"shard\t000000.tar\t{1 << 30}\t1\t{'0' * 64}\n"])
    site.configure("size=5G")
    job = site.job(LOOK, f"--data={folder}", *ON)
    until("the helper to copy", lambda: any(name.endswith(".part") for name in site.store()), 60, pause=0.02)
    site.ask("scancel", str(job.id))
    until("the copy to go", lambda: not site.left_of(job.id) and not site.helpers(), 10, pause=0.05)
    assert "0" * 64 not in site.store()
    site.wait(job.id, "CANCELLED")


def test_a_job_that_is_put_back_finds_its_data_at_the_next_start(site: Staging, shared: Path) -> None:
    packed = settle(data_set(shared / "requeued", MIB, MIB))
    with copying(site, packed, 0):
        job = site.job(LOOK, f"--data={packed.folder}", *ON, "--requeue")
        until("a whole shard", lambda: packed.sums[1] in site.store(), 60)
        site.ask("scontrol", "requeue", str(job.id))
        site.wait(job.id, "PENDING")
        until("nothing to be left", lambda: not site.helpers() and not site.left_of(job.id), 30)
    time.sleep(2)  # slurmd takes no credential of the second in which the first run's was revoked
    site.ask("scontrol", "update", f"JobId={job.id}", "StartTime=now")
    job.ended()
    assert job.shards == [(sha, COPY) for sha in packed.sums]
    (word,) = job.words
    assert (int(word["bytes"]), int(word["hit"])) == (MIB, MIB)


def test_a_restart_of_slurmd_is_not_noticed(site: Staging, shared: Path) -> None:
    packed = data_set(shared / "restarted", MIB)
    with copying(site, packed, 0):
        job = site.job(LOOK, f"--data={packed.folder}", *ON)
        until("the helper to run", site.helpers, 60)
        slurmd = site.ledger.find(f"{site.name}-slurmd-n1")
        assert slurmd is not None
        site.ledger.stop(slurmd)
        site.start_node("n1")
    assert job.ended().shards == [(packed.sums[0], COPY)]


def test_a_job_waits_no_longer_than_the_sites_patience(site: Staging, shared: Path) -> None:
    packed = data_set(shared / "patience", MIB, MIB)
    site.configure("patience=2")
    with copying(site, packed, 0):
        job = site.job(LOOK, f"--data={packed.folder}", *ON).ended()
    assert job.shards == [(packed.sums[0], LINK), (packed.sums[1], COPY)]
    assert job.said == [f"data: 1 of 2 shards are here; the others are read from {packed.folder} until they are"]


def test_a_job_goes_on_when_its_helper_is_killed(site: Staging, shared: Path) -> None:
    packed = data_set(shared / "killed", MIB, MIB)
    with copying(site, packed, 0):
        job = site.job(LOOK, f"--data={packed.folder}", *ON)
        until("a whole shard", lambda: packed.sums[1] in site.store(), 60)
        for pid in site.helpers():
            os.kill(pid, signal.SIGKILL)
        job.ended()
    assert job.shards == [(packed.sums[0], LINK), (packed.sums[1], COPY)]


def test_a_full_cache_lets_the_oldest_go_and_takes_what_fits(site: Staging, shared: Path, tmp_path: Path) -> None:
    """64 MB, of which a twentieth stays free."""
    small = site.home / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", small], check=True)
    try:
        site.configure(f"cache={small}/cache", "size=1T")
        first, second, third = (settle(data_set(shared / f"full {size}", *[size * MIB] * 3)) for size in (8, 9, 22))
        store = small / "cache/store"
        for packed in (first, second):
            job = site.job(LOOK, f"--data={packed.folder}", *ON).ended()
            assert {kind for _, kind in job.shards} == {COPY}, job.text
            until("the job's folder to go", lambda: not list((small / "cache/jobs").iterdir()), 30)
        assert {path.name for path in store.iterdir() if path.suffix == ""} == {*first.sums, *second.sums}
        job = site.job(LOOK, f"--data={third.folder}", *ON).ended()
        assert job.shards == [(sha, kind) for sha, kind in zip(third.sums, (COPY, COPY, LINK), strict=True)]
        assert job.said == [
            f"data: 1 of 3 shards are read from {third.folder}, such as 000002.tar: the cache of the node is full"
        ]
        until("the job's folder to go", lambda: not list((small / "cache/jobs").iterdir()), 30)
        assert sorted(path.name for path in store.iterdir() if path.suffix == "") == sorted(
            [*third.sums[:2], second.sums[2]]  # to remove it would not have made room
        )
    finally:
        subprocess.run(["umount", "-l", small], check=True)


@pytest.mark.parametrize("turns", [3, pytest.param(100, marks=pytest.mark.soak)], ids=["some kills", "a hundred kills"])
def test_whatever_is_killed_no_byte_is_wrong_and_nothing_is_left(site: Staging, shared: Path, turns: int) -> None:
    """The helper or slurmstepd, at any moment of a copy; then the set is asked for again."""
    for turn in range(turns):
        packed = data_set(shared / f"kills {turns} {turn}", *[5 * MIB] * 8)
        job = site.job(LOOK, f"--data={packed.folder}" + (":behind" if turn % 3 == 2 else ""), *ON)
        until("the helper to run", lambda job=job: site.helpers() or site.ended(job.id), 60, pause=0.005)  # type: ignore[misc]
        time.sleep(turn % 10 / 50)
        helper = turn % 2 == 0
        for pid in site.helpers() if helper else site.stepds(job.id):
            os.kill(pid, signal.SIGKILL)
        if not helper:  # slurmctld learns of it minutes later
            site.run("scancel", str(job.id))
        site.wait(job.id)
        assert {sha for sha, _ in job.shards} <= set(packed.sums)
        site.quiet()
        assert site.sound(), packed.folder
        again = site.job(LOOK, f"--data={packed.folder}", *ON).ended()
        assert again.shards == [(sha, COPY) for sha in packed.sums]
        until("the node", lambda: site.ask("sinfo", "-h", "-n", "n1", "-p", "gq", "-o", "%T") == "idle", 60)
        remove(packed)


def remove(packed: DataSet) -> None:
    for path in packed.folder.iterdir():
        path.unlink()
    packed.folder.rmdir()
