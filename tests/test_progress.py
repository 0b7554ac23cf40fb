"""progress.py, which people copy: what it writes, and that no training fails by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adminkit import progress
from adminkit.progress import VARIABLE, Progress
from tests.examples.running import PYTHON, has_torch


def test_the_count_is_in_the_file_whenever_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "progress"
    counted = Progress(str(file), every=0)
    for _ in range(11):
        counted.step()
        assert int(file.read_text()) == counted.done
    counted.step(1000)
    assert file.read_text().split() == ["1011"] and len(file.read_text()) == 21, "as long as before: nothing is cut off"


def test_it_writes_once_in_a_while_and_when_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "progress"
    counted = Progress(str(file), every=1000)
    counted.step()
    counted.step()
    assert file.read_text().split() == ["1"], "the second one is not due yet"
    counted.write()
    assert file.read_text().split() == ["2"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (None, "no plugin"),
        ("", "an empty name"),
        ("/nowhere/at/all", "no such folder"),
        ("/proc/1/adminkit", "what nobody may write"),
        (".", "a folder"),
    ],
)
def test_no_training_fails_by_it(path: str | None, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if path is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, path)
    counted = Progress(every=0)
    counted.step()
    counted.write()
    assert counted.done == 1, why


def test_a_copy_runs_without_adminkit(tmp_path: Path) -> None:
    copy = tmp_path / "progress.py"
    copy.write_text(Path(progress.__file__).read_text())
    code = "import sys; sys.path.insert(0, '.'); from progress import Progress; p = Progress('n'); p.step(42)"
    subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "n").read_text().split() == ["42"]


def test_nothing_that_acts_on_people_reads_the_claim() -> None:
    """The columns that rooms select are words of their source."""
    root = Path(progress.__file__).parents[1]
    rooms = ("adminkit/policy", "adminkit/economy", "adminkit/feedback", "adminkit/deploy", "job_submit")
    files = [file for room in rooms for file in sorted((root / room).rglob("*")) if file.suffix in (".py", ".lua")]
    assert len(files) > 50
    assert [file.name for file in files if "iterations" in file.read_text()] == []
    read_by = [file.name for file in sorted((root / "adminkit/stats").glob("*.py")) if "iterations" in file.read_text()]
    assert read_by == ["iterations.py", "power_curve.py", "progress.py"]


EXAMPLE = Path(progress.__file__).parents[1] / "docs/examples/progress"


def test_the_copy_beside_the_example_is_the_same_and_the_page_shows_the_training() -> None:
    assert (EXAMPLE / "progress.py").read_text() == Path(progress.__file__).read_text()
    assert f"```python\n{(EXAMPLE / 'train.py').read_text()}```" in (EXAMPLE.parents[1] / "progress.md").read_text()


@pytest.mark.skipif(not has_torch(), reason="not run: apt-get install python3-torch")
def test_the_training_tells_its_steps(tmp_path: Path) -> None:
    said = tmp_path / "said"
    environment = {"PATH": "/usr/bin:/bin", VARIABLE: str(said), "OMP_NUM_THREADS": "1"}
    subprocess.run([PYTHON, EXAMPLE / "train.py", "300"], env=environment, check=True, timeout=100)
    assert said.read_text().split() == ["300"]
