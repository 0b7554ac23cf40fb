"""adminkit-stage, the program that copies, by itself and with sanitizers: what users can lay before it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pwd
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.spank.stage import SANITIZE
from tests.spank.stage_program import Node, build, made
from tests.support.data_sets import MIB, data_set, settle, write_index
from tests.support.others import gives_files_away
from tests.support.user_mount import mounted_by

pytestmark = gives_files_away
#: A sanitizer's word goes to a file, as the program has no stderr; leaks cannot be looked for in who may not be traced.
OPTIONS = 'const char *__asan_default_options(void);const char *__asan_default_options(void) {return "%s";}'
READY, DONE, FAILED = 1, 3, 4
WHOLE, FULL, CHANGED, UNREADABLE, WRONG, MOUNT, NO_INDEX, BAD_INDEX, NODE = range(9)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The program; at the end, that no sanitizer said anything."""
    folder = tmp_path_factory.mktemp("stage")
    (folder / "options.c").write_text(OPTIONS % f"detect_leaks=0:log_path={folder}/said")
    yield build(folder, *SANITIZE, more=(folder / "options.c",))
    assert [path.read_text() for path in folder.glob("said.*")] == []


@pytest.fixture
def tmp_path(open_folder: Path) -> Path:
    """Users have to come as far as their data, and as the cache."""
    return open_folder


@pytest.fixture
def node(program: Path, tmp_path: Path) -> Node:
    return made(program, tmp_path)


def test_a_set_is_copied_once(node: Node, tmp_path: Path) -> None:
    packed = settle(data_set(tmp_path / "set", 3 * MIB, MIB + 1, 1))
    cold = node.stage(packed.folder)
    assert (cold["phase"], cold["why"], cold["copied"], cold["hit"], node.kinds()) == (
        DONE,
        WHOLE,
        packed.bytes,
        0,
        "ccc",
    )
    warm = node.stage(packed.folder)
    assert (warm["phase"], warm["copied"], warm["hit"], node.kinds()) == (DONE, 0, packed.bytes, "ccc")
    assert node.store() == sorted(packed.sums)
    assert (node.folder / "index.tsv").readlink() == packed.folder / "index.tsv"
    modes = {stat.S_IMODE((node.folder / name).stat().st_mode) for name in packed.shards}
    assert (modes, node.folder.stat().st_uid, stat.S_IMODE(node.folder.stat().st_mode)) == ({0o444}, 0, 0o750)


def test_what_was_just_written_is_compared_again(node: Node, tmp_path: Path) -> None:
    """It may change once more without another ctime."""
    packed = data_set(tmp_path / "set", MIB)
    (packed.folder / "000000.tar").touch()
    assert node.stage(packed.folder)["copied"] == MIB
    settle(packed)
    assert [node.stage(packed.folder)["copied"] for _ in range(2)] == [MIB, 0]


@pytest.mark.parametrize(
    ("mode", "owner", "group", "groups", "here", "why"),
    [
        (0o400, "games", "root", (), 1, "its owner"),
        (0o040, "root", "news", (9,), 1, "a group of the user's"),
        (0o040, "root", "news", (), 0, "a group of others"),
        (0o400, "root", "root", (), 0, "root's"),
        (0o040, "root", "root", (), 0, "that of root's own group"),
        (0o404, "root", "root", (), 1, "everybody's"),
    ],
)
def test_a_shard_is_opened_as_the_user(
    node: Node, tmp_path: Path, mode: int, owner: str, group: str, groups: tuple[int, ...], here: int, why: str
) -> None:
    packed = data_set(tmp_path / "set", MIB)
    shard = packed.folder / "000000.tar"
    os.chown(shard, pwd.getpwnam(owner).pw_uid, pwd.getpwnam(group).pw_gid)
    shard.chmod(mode)
    found = node.stage(packed.folder, groups)
    assert (found["here"], found["why"]) == (here, WHOLE if here else UNREADABLE), why


@pytest.mark.parametrize(
    ("shard", "why", "said"),
    [
        ("shard\t000000.tar\t{size}\t1\t{sha}\n", "right", WHOLE),
        ("shard\t000000.tar\t{size}\t1\t{zero}\n", "another sum", WRONG),
        ("shard\t000000.tar\t1\t1\t{sha}\n", "shorter", CHANGED),
        ("shard\t000000.tar\t4611686018427387904\t1\t{sha}\n", "longer than any file", CHANGED),
        ("shard\t000001.tar\t{size}\t1\t{sha}\n", "not there", UNREADABLE),
        ("shard\t000002.tar\t{size}\t1\t{sha}\n", "a link out of the folder", UNREADABLE),
        ("shard\t000003.tar\t{size}\t1\t{sha}\n", "a FIFO", UNREADABLE),
        ("shard\t000004.tar\t{size}\t1\t{sha}\n", "a folder", UNREADABLE),
        ("shard\t../out.tar\t{size}\t1\t{sha}\n", "a name that leads out", BAD_INDEX),
        ("shard\t000000.tar\t{size}\t1\t../../../etc/shadow\n", "a path for a sum", BAD_INDEX),
        ("", "none", BAD_INDEX),
    ],
)
def test_an_index_is_its_owners_word(node: Node, tmp_path: Path, shard: str, why: str, said: int) -> None:
    shared, data = tmp_path / "set", os.urandom(MIB)
    shared.mkdir()
    (shared / "000000.tar").write_bytes(data)
    (tmp_path / "out.tar").write_bytes(data)
    (shared / "000002.tar").symlink_to(tmp_path / "out.tar")
    os.mkfifo(shared / "000003.tar", 0o666)
    (shared / "000004.tar").mkdir()
    line = shard.format(size=MIB, sha=hashlib.sha256(data).hexdigest(), zero="0" * 64)
    write_index(shared, [line] if line else [])
    found = node.stage(shared)
    assert (found["why"], found["here"]) == (said, int(said == WHOLE)), why
    assert len(node.store()) == int(said == WHOLE), why


@pytest.mark.parametrize("index", [b"", b"\0" * 4096, b"adminkit-data\t1\n" + b"x\ty\n" * 9, b"\n" * (1 << 20)])
def test_what_is_not_an_index_is_refused(node: Node, tmp_path: Path, index: bytes) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/index.tsv").write_bytes(index)
    found = node.stage(tmp_path / "set")
    assert (found["phase"], found["why"], node.folder.exists()) == (FAILED, BAD_INDEX, False)


def test_a_folder_is_not_what_the_program_has_open(node: Node, tmp_path: Path) -> None:
    """Through a link of /proc, a user would name the cache, or root's folders."""
    for place in ("/proc/self/fd/4", "/proc/self/cwd", "/proc/1/root/etc", "/nonexistent", "/root"):
        assert node.stage(Path(place))["why"] == NO_INDEX, place


def test_a_file_system_that_a_user_mounted_is_refused(node: Node, tmp_path: Path) -> None:
    packed = settle(data_set(tmp_path / "set", MIB))
    node.stage(packed.folder)
    files = {"index.tsv": ((packed.folder / "index.tsv").read_bytes(), None)}
    files["000000.tar"] = (os.urandom(MIB), (packed.folder / "000000.tar").stat())  # type: ignore[assignment]
    with mounted_by(node.user.pw_uid, tmp_path / "theirs", files):
        found = node.stage(tmp_path / "theirs")
    assert (found["phase"], found["why"]) == (FAILED, MOUNT)
    with mounted_by(0, tmp_path / "roots", files):
        found = node.stage(tmp_path / "roots")
    assert (found["here"], found["why"]) == (0, WRONG), "root's is read, and is not what the index says"


def test_a_slow_file_system_that_can_be_interrupted_is_read(node: Node, tmp_path: Path) -> None:
    """As some FUSE file systems of root's are: a call that takes long ends with EINTR when a signal comes."""
    packed = data_set(tmp_path / "set", 1000)
    files = {name: ((packed.folder / name).read_bytes(), None) for name in ("index.tsv", "000000.tar")}
    with mounted_by(0, tmp_path / "slow", files, span=0.4):
        found = node.stage(tmp_path / "slow")
        assert (found["here"], found["why"]) == (1, WHOLE)


def test_a_node_waits_for_its_part_and_takes_the_rest_where_there_is_room(node: Node, tmp_path: Path) -> None:
    packed = settle(data_set(tmp_path / "set", *[MIB] * 6))
    found = node.stage(packed.folder, place=1, nodes=3, size=4 * MIB)
    assert (found["here"], found["left"], node.kinds()) == (4, 0, "cccl" + "cl")


def test_room_is_made_only_of_what_no_job_uses(node: Node, tmp_path: Path) -> None:
    first, second = (settle(data_set(tmp_path / name, MIB, MIB)) for name in ("first", "second"))
    node.stage(first.folder, size=3 * MIB)
    assert node.stage(second.folder, size=3 * MIB)["why"] == FULL
    assert node.kinds() == "cl"
    for job in (1, 2):
        for path in (node.cache / "jobs" / str(job)).iterdir():
            path.unlink()
    assert node.stage(second.folder, size=3 * MIB)["why"] == WHOLE
    assert set(node.store()) == {*second.sums, first.sums[1]}


def test_a_file_system_without_acls_costs_the_copy(node: Node, tmp_path: Path) -> None:
    """ramfs has none."""
    packed = data_set(tmp_path / "set", MIB)
    subprocess.run(["mount", "-t", "ramfs", "ramfs", node.cache / "jobs"], check=True)
    try:
        found = node.stage(packed.folder)
    finally:
        subprocess.run(["umount", node.cache / "jobs"], check=True)
    assert (found["phase"], found["why"]) == (FAILED, NODE)


def test_the_links_of_an_index_take_no_more_than_there_is(node: Node, tmp_path: Path) -> None:
    """Each shard has a name in the job's folder, also where no file is. A fortieth of the names stays free."""
    (tmp_path / "set").mkdir()
    write_index(tmp_path / "set", [f"shard\t{i:06}.tar\t1\t1\t{i:064}\n" for i in range(990)])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=1000,mode=711", "tmpfs", node.cache / "jobs"], check=True)
    try:
        found = node.stage(tmp_path / "set")
        left = os.statvfs(node.cache / "jobs").f_ffree
    finally:
        subprocess.run(["umount", node.cache / "jobs"], check=True)
    assert (found["phase"], found["why"]) == (FAILED, FULL)
    assert left > 900


def test_by_hand_it_does_nothing(program: Path, node: Node, tmp_path: Path) -> None:
    """Its input is a job's state in the cache, and no other file is written to."""
    other = tmp_path / "other"
    other.write_text("mine")
    (node.cache / "state/1").write_text("")
    words = [program, node.cache, "0", "1", "5", "60", "60", "0", "1", "first"]
    for job in ("1", "2", "../../other"):
        words[3] = job
        with other.open("r+") as file:
            done = subprocess.run(words, stdin=file, capture_output=True, env={"ADMINKIT_FOLDER": "/"}, check=False)
        assert (done.returncode, other.read_text()) == (2, "mine"), job
        assert done.stderr == b"adminkit-stage: Slurm's plugin adminkit_data starts this program; nobody else does\n"


def test_what_ended_jobs_left_goes(node: Node, tmp_path: Path) -> None:
    packed = data_set(tmp_path / "set", MIB)
    cache = node.cache
    (cache / "store" / f"{'0' * 64}.part").write_bytes(b"x")
    (cache / "store" / f"{'0' * 64}.from").write_text("8:1 1\n")
    for name in ("900", "901"):
        (cache / "jobs" / name).mkdir()
        (cache / "jobs" / name / "000000.tar").symlink_to("/nowhere")
    (cache / "state/901").touch()
    os.utime(cache / "state/901", (1, 1))
    (cache / "state/902").touch()
    (cache / "gone.1.store").mkdir()
    (cache / "gone.1.store/x").touch()
    (cache / "gone.1.jobs/7").mkdir(parents=True)
    (cache / "gone.1.jobs/7/x").touch()
    node.stage(packed.folder)
    assert sorted(path.name for path in (cache / "jobs").iterdir()) == ["1"]
    assert sorted(path.name for path in (cache / "state").iterdir()) == ["1", "902"]
    assert node.store() == packed.sums
    assert [path.name for path in (cache / "store").glob(f"{'0' * 64}*")] == []
    assert list(cache.glob("gone.*")) == []


def test_nobody_waits_for_who_copies_something_else_under_that_sum(node: Node, tmp_path: Path) -> None:
    """A user's index has another's SHA-256 beside files of theirs, so that its helper holds the name of the copy."""
    packed, theirs = (settle(data_set(tmp_path / name, MIB)) for name in ("set", "theirs"))
    held = [theirs.part(0).replace(theirs.sums[0], packed.sums[0]), f"{packed.sums[0]}.part"]
    with ExitStack() as stack:
        for name in held:
            part = stack.enter_context((node.cache / "store" / name).open("w"))
            fcntl.flock(part, fcntl.LOCK_EX)
        found = node.stage(packed.folder)
    assert (found["phase"], found["why"], node.kinds()) == (DONE, WHOLE, "c")


def test_a_copy_that_two_make_from_two_files_is_one(node: Node, tmp_path: Path) -> None:
    """Both jobs have it, and the file is in the store once."""
    one, two = (settle(data_set(tmp_path / name, 48 * MIB, seed=b"same")) for name in ("one", "two"))
    node.start(one.folder)
    node.start(two.folder)
    for job in (1, 2):
        node.job = job
        assert (node.ended()["why"], node.kinds()) == (WHOLE, "c")
    assert node.store() == one.sums
    assert (node.cache / "store" / one.sums[0]).stat().st_nlink == 3


def test_the_program_ends_when_its_job_has(node: Node, tmp_path: Path) -> None:
    """It waits for a shard that another job copies; then the job's file loses its name."""
    packed = data_set(tmp_path / "set", MIB)
    with (node.cache / "store" / packed.part(0)).open("w") as part:
        fcntl.flock(part, fcntl.LOCK_EX)
        node.start(packed.folder, mode="behind")
        until = time.monotonic() + 30
        while node.phase() != READY:
            assert time.monotonic() < until
            time.sleep(0.02)
        pid = int(node.words()[5])
        assert Path(f"/proc/{pid}").exists()
        (node.cache / "state/1").unlink()
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < until, "it does not end"
            time.sleep(0.02)
