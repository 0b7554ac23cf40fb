"""Rules in a ConfigMap: a real slurmctld reads them from a folder that is written as kubelet writes such a volume."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.ruled import HEAD, Ruled, at_most, ruling
from tools.docs import DOCS

pytestmark = pytest.mark.soak

PAGE: Final = DOCS / "kubernetes.md"
#: Kubernetes takes no ConfigMap of more bytes.
MOST: Final = 2**20
NOT_IN_FORCE: Final = "adminkit: not in force"


def shell_line(begins: str) -> str:
    """The line of the page's commands that begins so."""
    return next(line for line in PAGE.read_text().splitlines() if line.startswith(begins))


class Volume:
    """Files in ..NUMBER, the link ..data to it, and for each file a link through ..data, as kubelet writes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        #: Whole seconds, which each write has one more of: as if there was time between any two.
        self.at = int(time.time())

    def write(self, files: Mapping[str, bytes]) -> None:
        old = self.folder / f"..{self.count}"
        self.swap(files)
        self.link(files)
        for link in self.folder.iterdir():
            if link.is_symlink() and not link.exists():
                link.unlink()
        shutil.rmtree(old, ignore_errors=True)

    def swap(self, files: Mapping[str, bytes]) -> None:
        """The files are there and ..data leads to them; links of new files are not there yet."""
        self.count, self.at = self.count + 1, self.at + 1
        new = self.folder / f"..{self.count}"
        new.mkdir()
        for name, data in files.items():
            (new / name).write_bytes(data)
            os.utime(new / name, (self.at, self.at))
        link = self.folder / "..data_tmp"
        link.symlink_to(new.name)
        link.rename(self.folder / "..data")

    def link(self, files: Mapping[str, bytes]) -> None:
        for name in files:
            if not (self.folder / name).is_symlink():
                (self.folder / name).unlink(missing_ok=True)
                (self.folder / name).symlink_to(f"..data/{name}")


class Delivered:
    """A cluster whose rules come by a volume, and how they are made: by the commands of the page."""

    def __init__(self, ruled: Ruled, work: Path) -> None:
        self.ruled, self.work = ruled, work
        self.volume = Volume(ruled.folder)
        self.made: dict[int, dict[str, bytes]] = {}

    def files(self, hours: int) -> dict[str, bytes]:
        """The keys of the ConfigMap for a policy that gives so many hours in gq."""
        if hours not in self.made:
            policy, folder = self.work / f"{hours}.toml", self.work / str(hours)
            policy.write_text(HEAD + at_most(hours))
            self.ruled.adminkit("policy", "install", "--policy", policy, "--out", folder)
            subprocess.run(["sh", "-ec", shell_line("sed -i")], cwd=folder, check=True)
            flat = [folder / "job_submit.lua", *(folder / "adminkit").iterdir()]
            self.made[hours] = {path.name: path.read_bytes() for path in flat}
        return self.made[hours]

    def hours(self) -> int | None:
        return self.ruled.most()


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Delivered]:
    with private_slurm(nodes=2) as cluster, ruling(cluster) as ruled:
        here = Delivered(ruled, tmp_path_factory.mktemp("configmap"))
        for hours in (20, 21, 22):
            here.files(hours)
        shutil.rmtree(ruled.inner)
        here.volume.write(here.files(20))
        yield here


def test_the_next_submission_after_a_swap_is_decided_by_the_new_rules(delivered: Delivered) -> None:
    assert delivered.hours() == 20
    delivered.volume.write(delivered.files(21))
    assert delivered.hours() == 21
    delivered.volume.write(delivered.files(20))
    assert delivered.hours() == 20, "older rules come back in the same way"


def test_slurmctld_tells_what_is_in_force(delivered: Delivered) -> None:
    delivered.volume.write(delivered.files(20))
    words = shlex.split(shell_line("sbatch --test-only"), comments=True)
    text = delivered.ruled.run(*words).text
    generation = re.search(rb"generation\W+(\w{12})\b", delivered.files(20)["policy.lua"])
    assert generation and generation[1].decode() in text, text


def test_every_submission_beside_swaps_is_decided_by_one_of_the_two_sets_of_rules(delivered: Delivered) -> None:
    since, enough = delivered.ruled.log_size(), threading.Event()

    def swaps() -> None:
        for turn in count():
            delivered.volume.write(delivered.files(21 if turn % 2 else 22))
            if enough.wait(0.05):
                return

    thread = threading.Thread(target=swaps)
    thread.start()
    seen = [delivered.hours() for _ in range(100)]
    enough.set()
    thread.join()
    print(
        f"100 submissions: {seen.count(21)} by 21 hours, {seen.count(22)} by 22; {delivered.volume.count} swaps so far"
    )
    assert set(seen) <= {20, 21, 22}, "20: before the first swap"
    assert NOT_IN_FORCE not in delivered.ruled.log(since)


@pytest.mark.parametrize(
    ("place", "in_force", "why"),
    [
        ("..data/start.lua", True, "the page's: modules are found where the script's own bytes are"),
        (
            "start.lua",
            False,
            "the link of a new module comes after the script that wants it, and slurmctld keeps what it has",
        ),
    ],
)
def test_a_release_with_a_new_module_is_whole_as_soon_as_its_script_is(
    delivered: Delivered, place: str, in_force: bool, why: str
) -> None:
    def with_place(files: dict[str, bytes]) -> dict[str, bytes]:
        return {**files, "job_submit.lua": files["job_submit.lua"].replace(b"..data/start.lua", place.encode())}

    module = f"newer{int(in_force)}"
    old = with_place(delivered.files(20))
    new = {**with_place(delivered.files(21)), f"{module}.lua": b"return {}\n"}
    new["start.lua"] = new["start.lua"].replace(b"local slurm_api", f'need("{module}")\nlocal slurm_api'.encode(), 1)
    delivered.volume.write(old)
    assert delivered.hours() == 20
    delivered.volume.swap(new)
    assert (delivered.hours() == 21) is in_force, why
    delivered.volume.link(new)
    assert (delivered.hours() == 21) is in_force, "slurmctld looks at the time of its script alone"
    delivered.volume.write(delivered.files(20))
    assert delivered.hours() == 20, "the next change puts it right"


def test_a_reconfigure_after_a_swap_keeps_the_rules(delivered: Delivered) -> None:
    """The operator's sidecar asks for one whenever a file of /etc/slurm changed."""
    delivered.volume.write(delivered.files(22))
    delivered.ruled.cluster.ask("scontrol", "reconfigure")
    delivered.ruled.cluster.until_idle()
    assert delivered.hours() == 22


def test_rules_fit_a_configmap_many_times(delivered: Delivered) -> None:
    size = sum(map(len, delivered.files(20).values()))
    print(f"{len(delivered.files(20))} files of {size} bytes")
    assert size < MOST / 2
    assert all(re.fullmatch(r"[-._a-zA-Z0-9]+", name) for name in delivered.files(20)), "what a key may be"
