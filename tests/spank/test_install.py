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
    assert (before.st_mode & 0o777, sorted(path.name for path in folder.iterdir())) == (
        0o755,
        [
            "adminkit-gpu-use",
            "adminkit-stage",
            "adminkit_ckpt.so",
            "adminkit_data.so",
            "adminkit_gpu_use.so",
            "adminkit_io.so",
        ],
    )


@pytest.mark.parametrize("folder", [SPANK, Path(__file__).parent])
@pytest.mark.parametrize(
    ("compiler", "what", "packages"),
    [
        ("no-such-cc", "no C compiler (no-such-cc) and no slurm/spank.h", "gcc libc6-dev libslurm-dev"),
        ("bare-cc", "no slurm/spank.h", "libslurm-dev"),
    ],
)
def test_what_the_build_lacks_is_said_at_once_with_the_command(
    folder: Path, compiler: str, what: str, packages: str, tmp_path: Path
) -> None:
    """A compiler that finds no header of Slurm's stands for a host without them."""
    bare = tmp_path / "bare-cc"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(0o755)
    words = [f"CC={tmp_path / compiler}", f"OUT={tmp_path}/out", f"SLURM_PREFIX={tmp_path}"]
    goal = f"{tmp_path}/out/ckpt/deadline.o"
    done = subprocess.run(["make", "-s", "-C", folder, goal, *words], capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert (done.returncode, lines[0]) == (
        2,
        f"error: the plugin cannot be built: {what.replace('(', f'({tmp_path}/')}",
    )
    assert lines[1].startswith(f"hint: apt-get install {packages} (")
    assert len(lines) == 2
