"""A test that hangs ends, and says where every thread of it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import bounds

ROOT = Path(__file__).resolve().parents[2]

#: A file of tests of which one hangs, with a second thread; `{hang}` says how.
FILE = """
import ctypes, threading, time
import pytest

def a_thread_of_its_own():
    time.sleep(600)

@pytest.fixture
def later():
    yield
    {afterwards}

@pytest.mark.timeout(1)
def test_hanging(later):
    threading.Thread(target=a_thread_of_its_own, daemon=True).start()
    {hang}

def test_next():
    pass
"""
CONFTEST = """
from tests.support import bounds
from tests.support.bounds import *  # noqa: F403
bounds.GRACE = 1.0
"""


def pytest_of(folder: Path, hang: str, afterwards: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(FILE.format(hang=hang, afterwards=afterwards))
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words, "test_it.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("hang", "afterwards", "words", "said", "why"),
    [
        ("time.sleep(600)", "pass", "-n1", "1 failed, 1 passed", "it is failed, and the next one runs"),
        ("ctypes.PyDLL(None).sleep(600)", "pass", "-n0", "", "it waits in C and lets no other thread run"),
        ("assert False", "time.sleep(600)", "-n1", "2 failed, 1 passed", "its cleaning up hangs, for another process"),
    ],
)
def test_a_test_that_hangs_is_ended_with_all_its_stacks(
    tmp_path: Path, hang: str, afterwards: str, words: str, said: str, why: str
) -> None:
    done = pytest_of(tmp_path, hang, afterwards, words)
    assert done.returncode != 0
    assert "in a_thread_of_its_own" in done.stderr, why
    assert ("in later" if "assert" in hang else "in test_hanging") in done.stderr, why
    assert said in done.stdout, why
    assert "test_it.py::test_hanging" in done.stdout or not said


@pytest.mark.parametrize(
    ("marks", "seconds"),
    [((), 300), (("cluster",), 1200), (("soak",), 4 * 3600), (("cluster", "soak"), 4 * 3600), (("web",), 600)],
)
def test_a_test_has_the_bound_of_its_kind(request: pytest.FixtureRequest, marks: tuple[str, ...], seconds: int) -> None:
    item = pytest.Function.from_parent(request.node.parent, name="made", callobj=lambda: None)
    for mark in marks:
        item.add_marker(mark)
    assert bounds.bound(item) == seconds


def test_this_test_has_a_bound(request: pytest.FixtureRequest) -> None:
    (marker,) = request.node.iter_markers("timeout")
    assert marker.args == (300,)
