"""`make -C spank install` on a node whose slurmstepd runs: it keeps the file it has, the next one gets the new one."""

from __future__ import annotations

import mmap
import subprocess
from pathlib import Path

import pytest

from tests.setup.parts import slurm_headers

SPANK = Path(__file__).parents[2] / "spank"


@pytest.mark.skipif(slurm_headers() is not None, reason="not run: no slurm/spank.h")
def test_the_plugin_is_put_in_place_by_rename(tmp_path: Path) -> None:
    command = [
        "make",
        "-s",
        "-C",
        SPANK,
        "install",
        f"OUT={tmp_path}/out",
        f"DESTDIR={tmp_path}/root",
        "PLUGINDIR=/lib",
    ]
    folder = tmp_path / "root/lib"
    subprocess.run(command, check=True)
    plugin = folder / "adminkit_ckpt.so"
    before = plugin.stat()
    with plugin.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        whole = bytes(mapped)
        subprocess.run([*command, "CFLAGS=-O0", "-B"], check=True)
        assert bytes(mapped) == whole
        assert plugin.read_bytes() != whole
    assert before.st_ino != plugin.stat().st_ino
    assert (before.st_mode & 0o777, [path.name for path in folder.iterdir()]) == (0o755, ["adminkit_ckpt.so"])
