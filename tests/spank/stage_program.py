"""adminkit-stage, the program that copies training data, by itself: built, and run for one job after the other."""

from __future__ import annotations

import fcntl
import os
import pwd
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.spank.stage import FLAGS, SPANK

PARTS = "stage_main store room source job_folder leave mounts digest index cache state record request".split()
F_OFD_GETLK, F_OFD_SETLK = 36, 37


def build(folder: Path, *flags: str, more: tuple[Path, ...] = ()) -> Path:
    """The program, compiled into this folder."""
    sources = [*(SPANK / f"data/{part}.c" for part in PARTS), SPANK / "common/proc_parse.c", *more]
    subprocess.run(["cc", *FLAGS, *flags, "-o", folder / "adminkit-stage", *sources, "-ldl"], check=True)
    return folder / "adminkit-stage"


@dataclass
class Node:
    """A node's cache, in which jobs are staged one after the other."""

    program: Path
    cache: Path
    user: pwd.struct_passwd
    job: int = 0

    def stage(
        self, shared: Path, groups: tuple[int, ...] = (), place: int = 0, nodes: int = 1, size: int = 1 << 30
    ) -> dict[str, int]:
        """What the record says when the program has ended."""
        self.start(shared, groups, place, nodes, size)
        return self.ended()

    def start(
        self,
        shared: Path,
        groups: tuple[int, ...] = (),
        place: int = 0,
        nodes: int = 1,
        size: int = 1 << 30,
        mode: str = "first",
    ) -> None:
        """Start it for the next job."""
        self.job += 1
        state = os.open(self.cache / "state" / str(self.job), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.fcntl(state, F_OFD_SETLK, struct.pack("hh4xqqi4x", fcntl.F_WRLCK, 0, 0, 2, 0))
        ids = (self.job, self.user.pw_uid, self.user.pw_gid)
        listed = ",".join(map(str, groups or (self.user.pw_gid,)))
        words = [self.program, self.cache, size, *ids, listed, place, nodes, mode]
        env = {"ADMINKIT_FOLDER": str(shared)}
        subprocess.run([str(word) for word in words], check=True, env=env, stdin=state, close_fds=True)
        os.close(state)

    def words(self) -> list[str]:
        """What the record has now; nothing where there is none yet."""
        return (self.cache / "state" / str(self.job)).read_bytes()[:256].decode().split()

    def phase(self) -> int:
        """0: the program begins."""
        words = self.words()
        return int(words[1]) if len(words) > 1 else 0

    def runs(self) -> bool:
        with (self.cache / "state" / str(self.job)).open("rb+") as state:
            free = struct.pack("hh4xqqi4x", fcntl.F_WRLCK, 0, 1, 1, 0)
            found: int = struct.unpack_from("h", fcntl.fcntl(state, F_OFD_GETLK, free))[0]
            return found != fcntl.F_UNLCK

    def ended(self) -> dict[str, int]:
        """Wait for it."""
        until = time.monotonic() + 60
        while self.runs():
            assert time.monotonic() < until, "the program does not end"
            time.sleep(0.02)
        words = self.words()
        names = "phase mode why".split(), "began ms copied hit shards here left".split()
        return dict(zip(names[0], map(int, words[1:4]), strict=True)) | dict(
            zip(names[1], map(int, words[6:13]), strict=True)
        )

    @property
    def folder(self) -> Path:
        return self.cache / "jobs" / str(self.job)

    def kinds(self) -> str:
        """Of each shard, in order: c for a copy, l for a link to the shared folder."""
        return "".join("l" if path.is_symlink() else "c" for path in sorted(self.folder.glob("*.tar")))

    def store(self) -> list[str]:
        return sorted(path.name for path in (self.cache / "store").iterdir() if path.suffix != ".from")


def made(program: Path, folder: Path, user: str = "games") -> Node:
    """A node whose cache is new, as cache.c makes it."""
    cache = folder / "cache"
    for path, mode in ((cache, 0o711), (cache / "store", 0o700), (cache / "state", 0o700), (cache / "jobs", 0o711)):
        path.mkdir()
        path.chmod(mode)
    return Node(program, cache, pwd.getpwnam(user))
