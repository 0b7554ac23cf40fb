"""Who gets what from the cache of a node, on a real slurmd: who names others' data, and what can be done to copies."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.cluster.harness.staging import COPY, LINK, LOOK, Staging
from tests.support.data_sets import MIB, data_set, settle, write_index
from tests.support.user_mount import mounted_by

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
    assert set(booted.ask("sinfo", "-h", "-p", "gq", "-N", "-o", "%T").split()) == {"idle"}


@pytest.fixture
def shared(booted: Staging) -> Path:
    folder = booted.folder / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def test_who_may_not_read_the_source_gets_nothing_from_the_cache(site: Staging, shared: Path) -> None:
    """The copies are there, of another user's jobs, and the index names them."""
    packed = settle(data_set(shared / "private", MIB, MIB))
    owner = pwd.getpwnam("games")
    for name in packed.shards:
        os.chown(packed.folder / name, owner.pw_uid, owner.pw_gid)
        (packed.folder / name).chmod(0o400)
    settle(packed)
    assert site.job(LOOK, f"--data={packed.folder}", *ON).ended().shards == [(sha, COPY) for sha in packed.sums]
    job = site.job(LOOK, f"--data={packed.folder}", *ON, user="news").ended()
    assert job.shards == [("none", LINK)] * 2
    assert "2 of 2 shards are read from" in job.said[0]
    assert not job.words
    packed.folder.chmod(0o700)
    job = site.job(LOOK, f"--data={packed.folder}", *ON, user="news").ended()
    assert (job.folder, "no index" in job.said[-1]) == (str(packed.folder), True)


@pytest.mark.parametrize("how", ["a file of that size", "a link to it", "a FIFO", "another size", "a hole"])
def test_a_hash_in_an_index_opens_nobodys_copy(site: Staging, shared: Path, how: str) -> None:
    """A user names the SHA-256 of another's copy, and lays something else beside the index."""
    secret = settle(data_set(shared / f"secret {how}", MIB))
    secret.folder.chmod(0o700)
    os.chown(secret.folder, pwd.getpwnam("news").pw_uid, -1)
    assert site.job(LOOK, f"--data={secret.folder}", *ON, user="news").ended().shards == [(secret.sums[0], COPY)]
    fake = shared / f"fake {how}"
    fake.mkdir()
    shard = fake / "000000.tar"
    size = MIB
    if how == "a link to it":
        shard.symlink_to(secret.folder / "000000.tar")
    elif how == "a FIFO":
        os.mkfifo(shard, 0o666)
    elif how == "another size":
        shard.write_bytes(b"x")
    elif how == "a hole":
        with shard.open("wb") as file:
            file.truncate(size)
    else:
        shard.write_bytes(os.urandom(size))
    write_index(fake, [f"shard\t000000.tar\t{size}\t1\t{secret.sums[0]}\n"])
    look = 'echo "data $ADMINKIT_DATA"; stat -c "%F %N" $ADMINKIT_DATA/*.tar' if how == "a FIFO" else LOOK
    job = site.job(look.replace("$ADMINKIT_DATA/*", '"$ADMINKIT_DATA"/*'), f"--data={fake}", *ON).ended()
    assert secret.sums[0] not in job.text, how
    assert "1 of 1 shards are read from" in job.said[0], job.text


def test_what_a_user_mounted_is_not_believed(site: Staging, shared: Path) -> None:
    """FUSE whose answers have the number, size and times of the very file of which the cache has a copy."""
    secret = settle(data_set(shared / "believed", MIB))
    assert site.job(LOOK, f"--data={secret.folder}", *ON, user="news").ended().shards == [(secret.sums[0], COPY)]
    shard, fake = secret.folder / "000000.tar", os.urandom(MIB)
    index = (secret.folder / "index.tsv").read_bytes()
    place = site.folder / "mounted"
    games = pwd.getpwnam("games").pw_uid
    with mounted_by(games, place, {"index.tsv": (index, None), "000000.tar": (fake, shard.stat())}):
        job = site.job(LOOK, f"--data={place}", *ON).ended()
    assert (job.folder, secret.sums[0] in job.text) == (str(place), False)
    assert job.said == [f"data: {place} is read where it is: it is on a file system that a user mounted"]


def test_a_source_that_changed_is_not_what_was_copied(site: Staging, shared: Path) -> None:
    packed = settle(data_set(shared / "changed", MIB, MIB))
    before = packed.sums
    assert site.job(LOOK, f"--data={packed.folder}", *ON).ended().shards == [(sha, COPY) for sha in before]
    stamp = (packed.folder / "000001.tar").stat()
    (packed.folder / "000001.tar").write_bytes(os.urandom(MIB))
    os.utime(packed.folder / "000001.tar", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    job = site.job(LOOK, f"--data={packed.folder}", *ON).ended()
    assert job.shards == [(before[0], COPY), (packed.sums[1], LINK)]
    assert "not what the index says" in job.said[0]


def test_a_user_can_read_their_folder_and_nothing_else(site: Staging, shared: Path) -> None:
    """While the job runs: what its own user and another one can do to what is in the job's folder."""
    packed = settle(data_set(shared / "rights", MIB))
    job = site.job("until [ -e go ]; do sleep 0.1; done", f"--data={packed.folder}", *ON, "-D", str(site.work))
    site.wait(job.id, "RUNNING")
    folder = site.cache() / "jobs" / str(job.id)
    shard = folder / "000000.tar"
    until("the copy", lambda: shard.is_file() and not shard.is_symlink(), 30)
    tries = {
        f"cat '{shard}'": (True, False),
        f"ls '{folder}'": (True, False),
        f"echo x >> '{shard}'": (False, False),
        f"chmod 600 '{shard}'": (False, False),
        f"rm -f '{shard}'": (False, False),
        f"mv '{shard}' '{folder}/other'": (False, False),
        f"touch '{folder}/mine'": (False, False),
        f"ln '{shard}' '{site.work}/kept.{job.id}'": (False, False),
        f"ls '{site.cache()}/store'": (False, False),
        f"ls '{site.cache()}/state'": (False, False),
        f"ls '{site.cache()}/jobs'": (False, False),
        f"cat '{site.cache()}/lock'": (False, False),
    }
    for command, expected in tries.items():
        done = [site.run("sh", "-c", command, user=user).code == 0 for user in ("games", "news")]
        assert tuple(done) == expected, command
    assert site.store()[packed.sums[0]] == 2
    (site.work / "go").touch()
    job.ended()


def test_an_index_that_is_not_one_costs_the_copy_and_not_the_job(site: Staging, shared: Path) -> None:
    """Its names, lengths and counts are a user's; tests/spank/test_data.c has them all."""
    line = f"shard\t000000.tar\t9\t1\t{'0' * 64}\n"
    lines = {
        "cut": [line[:-9]],
        "out": [line.replace("000000.tar", "../000000.tar")],
        "negative": [line.replace("\t9\t", "\t-9\t")],
        "long": [line.replace("\t9\t", f"\t{'9' * 60}\t")],
        "twice": [line, line],
        "binary": [line.replace("0", "\0")],
        "none": [],
    }
    jobs = {}
    for name, shards in lines.items():
        (shared / f"bad {name}").mkdir()
        write_index(shared / f"bad {name}", shards)
        jobs[name] = site.job('echo "data $ADMINKIT_DATA"', f"--data={shared / f'bad {name}'}", *ON)
    for name, job in jobs.items():
        job.ended()
        assert job.folder == str(shared / f"bad {name}")
        assert ["its index is damaged" in one for one in job.said] == [True], (name, job.said)
