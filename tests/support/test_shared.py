"""What several processes use at a time is made once, and gone when the last one is done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.setup.parts import ROOT
from tests.support.shared import shared

#: Uses the folder until its input ends, and says what is in it.
USE = """
import sys, time
from pathlib import Path
from tests.support.shared import shared
def make(folder):
    time.sleep(float(sys.argv[2]))
    with (folder / "log").open("a") as log:
        log.write("made\\n")
with shared(Path(sys.argv[1]), make) as folder:
    print((folder / "log").read_text().count("made"), flush=True)
    sys.stdin.read()
"""


def begin(folder: Path, takes: float = 0.0) -> subprocess.Popen[str]:
    """Another process that goes into the block; to make the folder takes it so many seconds."""
    command = [sys.executable, "-c", USE, str(folder), str(takes)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    """What it says in the block."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    with process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


@contextmanager
def another(folder: Path) -> Iterator[str]:
    """What another process says that is in the block."""
    process = begin(folder)
    try:
        yield said(process)
    finally:
        end(process)


def test_the_first_makes_it_and_the_last_removes_it(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    with another(folder) as first:
        with another(folder) as second:
            assert (first, second) == ("1", "1"), "nobody waits for those who use it"
        assert folder.exists(), "one still uses it"
    assert not folder.exists()
    with another(folder) as again:
        assert again == "1", "a later run makes it again"


def test_several_that_come_at_a_time_make_it_once(tmp_path: Path) -> None:
    """It takes longer to make than a process to start."""
    folder = tmp_path / "shared"
    several = [begin(folder, 3.0) for _ in range(4)]
    assert [said(one) for one in several] == ["1"] * 4
    for one in several:
        end(one)
    assert not folder.exists()


def test_what_could_not_be_made_leaves_nothing_and_is_made_again(tmp_path: Path) -> None:
    def fails(_: Path) -> None:
        raise ValueError

    folder = tmp_path / "shared"
    with pytest.raises(ValueError), shared(folder, fails):
        pass
    assert not folder.exists()
    with another(folder) as found:
        assert found == "1"
