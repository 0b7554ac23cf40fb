"""A Python that is too old is refused in one sentence, wherever it is met."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
OLD: Final = tuple(f"python3.{minor}" for minor in range(6, 11))


def runs(name: str) -> str | None:
    """The path of a Python that starts; a shim may stand for one that is not installed."""
    path = shutil.which(name)
    works = path and subprocess.run([path, "-c", "pass"], capture_output=True, check=False).returncode == 0
    return path if works else None


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py"])
def test_what_refuses_it_is_in_its_language(name: str) -> None:
    text = (ROOT / "adminkit" / name).read_text()
    ast.parse(text, feature_version=(3, 6))
    assert "__future__" not in text, "annotations are not known to 3.6"


def test_each_old_python_of_this_host_says_what_it_needs() -> None:
    for name in OLD:
        if (path := runs(name)) is None:
            continue
        done = subprocess.run([path, "-m", "adminkit"], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
        assert f"adminkit needs Python 3.11 or newer, and this is {name.removeprefix('python')}" in done.stderr


#: Who else refuses it -> what says so.
SAYS: Final = {
    "adminkit/__init__.py": r"version_info < \((\d+, \d+)\)",
    "debian/control": r"python3 \(>= (\d+\.\d+)~\)",
    "adminkit.spec": r"BuildRequires:  python\(abi\) >= (\d+\.\d+)",
}


@pytest.mark.parametrize("name", SAYS)
def test_packages_and_pip_ask_for_the_same(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = re.findall(SAYS[name], (ROOT / name).read_text())
    assert [f">={one.replace(', ', '.')}" for one in found] == [project["requires-python"]]
