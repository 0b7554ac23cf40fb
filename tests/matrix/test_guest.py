"""What a guest answers, with a program in the kernel's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.matrix import guest

#: Does what boot.sh does, here.
KERNEL = """#!/bin/bash
for word in "$@"; do
    case $word in guest.share=*:/guest) pair=${word#*=} && folder=${pair%:*} ;; esac
done
cd "$folder"
"""
BOOTS = "bash script >out 2>&1 </dev/null\necho $? >code\n"


@pytest.mark.parametrize(
    ("kernel", "script", "code", "output", "why"),
    [
        (BOOTS, "echo done", 0, "done\n", "it ran"),
        (BOOTS, "echo ill >&2; exit 3", 3, "ill\n", "its exit code and both outputs"),
        ("echo 'no disk'; exit 1", "echo done", 1, "no disk\n", "a kernel that dies: what it said"),
        (BOOTS.replace("echo $?", "#"), "echo half; exit 3", 1, "half\n", "a guest that dies halfway"),
        ("sleep 600 & sleep 600", "", None, "", "a guest that hangs is ended"),
    ],
)
def test_a_guest_answers_with_its_scripts_output_and_code(
    tmp_path: Path, kernel: str, script: str, code: int | None, output: str, why: str
) -> None:
    program = tmp_path / "linux"
    program.write_text(KERNEL + kernel)
    program.chmod(0o755)
    (tmp_path / "image").touch()
    with (tmp_path / "log").open("wb") as out:
        answer = guest.run(program, tmp_path / "image", {}, script, out, 1.0 if code is None else 60.0)
    assert (answer, (tmp_path / "log").read_text()) == (code, output), why
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image", "linux", "log"], "nothing is left behind"


@pytest.mark.parametrize(
    ("output", "crashed", "why"),
    [
        (b"1 passed\nKernel panic - not syncing: Kernel mode fault at addr 0x0\n", True, "halfway"),
        (b"Kernel panic - not syncing: VFS: Unable to mount root fs\n", True, "at once"),
        (b"1 failed\nE  said 'Kernel panic - not syncing: x'\n", False, "a test's own words"),
        (b"", False, "it said nothing"),
    ],
)
def test_a_crash_of_the_guests_kernel_is_no_failure_of_a_suite(output: bytes, crashed: bool, why: str) -> None:
    assert guest.crashed(output) is crashed, why
