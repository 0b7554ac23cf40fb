"""What several processes use at a time is made once, and gone when the last one is done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.setup.parts import ROOT
from tests.support.shared import shared

#: Uses the folder until its input ends, and says what is in it.
USE = """
import sys
from pathlib import Path
from tests.support.shared import shared
def make(folder):
    with (folder / "log").open("a") as log:
        log.write("made\\n")
with shared(Path(sys.argv[1]), make) as folder:
    print((folder / "log").read_text().count("made"), flush=True)
    sys.stdin.read()
"""


@contextmanager
def another(folder: Path) -> Iterator[str]:
    """What another process says that is in the block."""
    command = [sys.executable, "-c", USE, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
        assert process.wait() == 0


def test_the_first_makes_it_and_the_last_removes_it(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    with another(folder) as first:
        with another(folder) as second:
            assert (first, second) == ("1", "1"), "nobody waits for those who use it"
        assert folder.exists(), "one still uses it"
    assert not folder.exists()
    with another(folder) as again:
        assert again == "1", "a later run makes it again"


def test_many_that_come_and_go_at_a_time_find_it_whole(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    for _ in range(3):
        with ExitStack() as stack:
            assert {stack.enter_context(another(folder)) for _ in range(4)} == {"1"}
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
