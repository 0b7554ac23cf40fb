"""Where several processes share the files of unit tests, the slow ones run first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup.parts import ROOT, SLOW, UNIT

TEST = "def test_it() -> None:\n    pass\n"


@pytest.mark.parametrize(("words", "first"), [(UNIT[2:], "slow"), ((), "quick")], ids=["several", "one"])
def test_slow_files_are_first_where_several_processes_share_them(
    words: tuple[str, ...], first: str, tmp_path: Path
) -> None:
    """One process keeps the order of the folders."""
    (tmp_path / "conftest.py").write_text(
        "from pathlib import Path\n"
        "from tests.support import order\n"
        "order.ROOT, order.SLOW = Path(__file__).parent, 'slow.txt'\n"
        "def pytest_collection_modifyitems(config, items):\n    order.slow_first(config, items)\n"
    )
    (tmp_path / "slow.txt").write_text("test_slow.py\n")
    for name in ("quick", "slow"):
        (tmp_path / f"test_{name}.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    many = ("-n", "1", *words) if words else ()
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *many]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True).stdout
    ran = [line for line in said.splitlines() if "PASSED" in line]
    assert len(ran) == 2 and f"test_{first}.py" in ran[0], said


def test_every_slow_file_is_named_once_in_order() -> None:
    lines = (ROOT / SLOW).read_text().split()
    assert lines == sorted(set(lines))
    assert all((ROOT / line).is_file() for line in lines)
