"""What every test has, a bound and a place in the order, and may use: golden files."""

from __future__ import annotations

import difflib
import gc
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from adminkit import config, installed
from tests.support import bounds, order
from tests.support.bounds import (
    pytest_configure,
    pytest_runtest_protocol,
    pytest_runtest_teardown,
    pytest_timeout_cancel_timer,
    pytest_timeout_set_timer,
)

__all__ = (
    "pytest_configure",
    "pytest_runtest_protocol",
    "pytest_runtest_teardown",
    "pytest_timeout_cancel_timer",
    "pytest_timeout_set_timer",
)

#: Nothing is timed: how long an example takes says how busy the machine is. Examples are the same in each run, so that
#: a commit that passed passes again; `make soak` looks for new ones.
settings.register_profile(
    "untimed", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", settings.get_profile("untimed"), derandomize=False, print_blob=True)
settings.load_profile("untimed")

GOLDEN = Path(__file__).parent / "golden"

#: All objects that collecting makes stay until the end: to look for garbage among them takes a quarter of its time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what the tests see into tests/golden")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    bounds.pytest_collection_modifyitems(items)
    order.slow_first(config, items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The files of tests/cluster go to processes in a way of their own."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.cluster.harness.order import Files

    return Files(config, log)


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every setting is its default, whatever this host and this shell say; output is as wide as without a terminal."""
    for name in ("ADMINKIT_DB", "ADMINKIT_CONFIG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "none.toml")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden(name, text): the text is that of tests/golden/NAME. A missing file is a failure."""
    update = request.config.getoption("--update-golden")

    def check(name: str, text: str) -> None:
        if found := _differs(GOLDEN / name, text, update):
            pytest.fail(found)

    return check


@pytest.fixture
def goldens(request: pytest.FixtureRequest) -> Callable[[Mapping[str, str]], None]:
    """goldens({name: text, …}): like golden; each file that differs is named."""
    update = request.config.getoption("--update-golden")

    def check(texts: Mapping[str, str]) -> None:
        if found := list(filter(None, (_differs(GOLDEN / name, text, update) for name, text in texts.items()))):
            pytest.fail("\n\n".join(found))

    return check


def _differs(path: Path, text: str, update: bool) -> str:
    """How the text differs from that of the file, or ""; with `update` the file gets the text."""
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return ""
    if not path.exists():
        return f"{path} is missing: look at the output, then run pytest --update-golden"
    wanted = path.read_text()
    if text == wanted:
        return ""
    lines = difflib.unified_diff(wanted.splitlines(), text.splitlines(), "golden", "now", lineterm="")
    name = path.relative_to(GOLDEN)
    return f"{name} has changed; if rightly so, run pytest --update-golden\n" + "\n".join(lines)


@pytest.fixture
def open_install(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of adminkit's data files and helper that every user can read, used from here on; PATH has nothing else.

    For tests that become other users, who may not enter the clone. Import what they need before.
    """
    helper = installed.helper_path()
    for name in ("etc", "job_submit"):
        shutil.copytree(installed.CHECKOUT / name, open_folder / name)
    shutil.copy(installed.CHECKOUT / "pyproject.toml", open_folder)
    (open_folder / "bin").mkdir()
    shutil.copy(helper, open_folder / "bin")
    for path in open_folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    monkeypatch.setattr(installed, "CHECKOUT", open_folder)
    monkeypatch.setenv("PATH", str(open_folder / "bin"))
    return open_folder


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that every user can enter; no folder above it changes its mode."""
    with tempfile.TemporaryDirectory(prefix="adminkit-test-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
