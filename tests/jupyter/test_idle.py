"""When a server is idle, warned, asked to save, and ended; what its kernels and terminals do."""

from __future__ import annotations

import json
import os
import pty
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adminkit
from adminkit.jupyter.activity import quiet_for, runs_a_program
from adminkit.jupyter.idle import SAVE, Watch, settings, variables

IDLE, WARN = 100.0, 20.0
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def watch() -> Watch:
    return Watch(IDLE, WARN, active=0.0)


@pytest.mark.parametrize(
    ("looks", "phases", "why"),
    [
        ([(0, 0), (79, 79)], "idle idle", "not long enough"),
        ([(79, 79), (80, 80), (99, 99), (100, 100)], "idle warn warn end", "nobody has a page open"),
        ([(80, 80), (99, None), (100, 1), (178, 79)], "warn idle idle idle", "a kernel ran meanwhile"),
        ([(80, 80), (100, None)], "warn idle", "a kernel begins at the last moment"),
        ([(80, None), (500, None)], "idle idle", "it runs and runs"),
        ([(80, 10_000)], "warn", "a clock that jumped, or no kernel at all, counts from the start of the server"),
        ([(50, 50), (95, 95), (110, 110), (115, 115)], "idle warn warn end", "seen late, warned in full"),
        ([(80, 80), (5000, 5000), (5019, 5019), (5020, 5020)], "warn warn warn end", "suspended while it was warned"),
    ],
)
def test_a_warning_comes_first_and_stands_in_full(looks: list[tuple[float, float]], phases: str, why: str) -> None:
    one = watch()
    assert [one.look(now, quiet) for now, quiet in looks] == phases.split(), why


def test_pages_are_waited_for_until_they_have_saved() -> None:
    one = watch()
    one.look(80, 80)
    for page in ("a", "b"):
        one.page(page, 85)
    one.saved("a")  # before it was asked to: of what was typed until the warning
    assert one.look(100, 100) == "save"
    one.saved("a")
    assert one.look(102, 102) == "save", "the other has not"
    one.saved("b")
    assert one.look(104, 104) == "end"


def test_a_page_that_never_saves_does_not_hold_the_gpu_for_ever() -> None:
    one = watch()
    one.page("asleep", 80)
    one.look(80, 80)
    assert one.look(100, 100) == "save"
    assert [one.look(100 + second, 100 + second) for second in (30, 60, SAVE - 1, SAVE)] == ["save"] * 3 + ["end"]


def test_a_page_that_was_closed_long_ago_is_not_waited_for() -> None:
    one = Watch(1000.0, WARN, active=0.0)
    one.page("closed", 500)
    one.look(980, 980)
    assert one.look(1000, 1000) == "end"


@pytest.mark.parametrize("at", [81, 99, 105])
def test_who_keeps_it_has_the_whole_time_again(at: float) -> None:
    one = watch()
    one.page("a", 80)
    one.look(80, 80)
    one.look(100, 100)
    one.keep(at)
    assert one.look(at + 1, at + 1) == "idle"
    assert one.look(at + 50, at + 50) == "idle"
    assert one.look(at + 80, at + 80) == "warn"


def test_names_that_a_script_makes_up_are_bounded() -> None:
    one = watch()
    for number in range(10_000):
        one.page(str(number), 1.0)
    assert len(one._pages) == 100


@given(st.lists(st.tuples(st.floats(0, 70), st.none() | st.floats(0, 300)), max_size=60))
def test_nothing_ends_that_ran_lately_or_was_not_warned(looks: list[tuple[float, float | None]]) -> None:
    """`looks`: seconds since the last one, and how long all has been quiet."""
    one, now, ran, warned = watch(), 0.0, 0.0, None
    for passed, quiet in looks:
        now += passed
        ran = now if quiet is None else max(ran, now - quiet)
        phase = one.look(now, quiet)
        if phase == "idle":
            warned = None
        elif warned is None:
            warned = now
        if phase in ("save", "end"):
            assert now - ran >= IDLE - WARN
            assert warned is not None
            assert now - warned >= WARN


@pytest.mark.parametrize(
    ("idle", "warn", "found", "why"),
    [
        (7200, 600, (7200, 600), "as a profile has it"),
        (None, None, None, "a profile without idle"),
        (60, 60, None, "no time before the warning"),
        (60, 9, None, "nobody reads so fast"),
    ],
)
def test_settings_go_through_the_environment(
    idle: int | None, warn: int | None, found: tuple[int, int] | None, why: str
) -> None:
    assert settings(variables(idle, warn)) == found, why


@pytest.mark.parametrize("text", ["", "-1", "1e9", "２", "9" * 30, "1 "])
def test_what_is_no_number_switches_it_off(text: str) -> None:
    assert settings({"ADMINKIT_IDLE": text, "ADMINKIT_WARN": "600"}) is None


def test_the_part_that_pages_load_has_the_number_of_the_release() -> None:
    """JupyterLab shows it in its list of extensions, and browsers keep a file by it."""
    folder = Path(adminkit.__file__).parent / "jupyter/data/share/jupyter/labextensions/adminkit-idle"
    given = json.loads((folder / "package.json").read_text())
    assert given["version"] == adminkit.__version__
    assert (folder / given["jupyterlab"]["_build"]["load"]).exists()


# --- what runs


def kernel(state: str | None, ago: float | None) -> Any:
    last = {} if ago is None else {"last_activity": NOW - timedelta(seconds=ago)}
    return SimpleNamespace(execution_state=state, **last)


def server(*kernels: Any) -> Any:
    manager = SimpleNamespace(list_kernel_ids=lambda: list(range(len(kernels))), get_kernel=kernels.__getitem__)
    return SimpleNamespace(kernel_manager=manager, web_app=SimpleNamespace(settings={}))


@pytest.mark.parametrize(
    ("kernels", "quiet", "why"),
    [
        ([kernel("idle", 50), kernel("idle", 30)], 30.0, "the last that did something"),
        ([kernel("idle", 50), kernel("busy", 500)], None, "one is busy, however long it has said nothing"),
        ([kernel("starting", 40)], 40.0, "nobody has connected to it since"),
        ([kernel("dead", 40)], 40.0, "what is dead does nothing"),
        ([kernel("idle", None)], None, "it is being started"),
        ([kernel("idle", -5)], 0.0, "a clock that was put back"),
    ],
)
def test_how_long_kernels_are_quiet(kernels: list[Any], quiet: float | None, why: str) -> None:
    assert quiet_for(server(*kernels), NOW) == quiet, why


def test_a_server_without_kernels_is_quiet_since_long() -> None:
    found = quiet_for(server(), NOW)
    assert found is not None
    assert found > 1e9


@pytest.fixture
def shell() -> Iterator[tuple[int, int]]:
    """A bash at a terminal: its id, and the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv("/bin/bash", ["/bin/bash", "--norc", "--noprofile"])
    yield pid, terminal
    os.close(terminal)
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def settled(pid: int, expected: bool) -> bool:
    for _ in range(100):
        if runs_a_program(pid, "/bin/bash") == expected:
            break
        time.sleep(0.05)
    return runs_a_program(pid, "/bin/bash")


@pytest.mark.parametrize("line", ["sleep 60", "sleep 60 &", "exec sleep 60", "(trap '' HUP; sleep 60) &"])
def test_a_program_in_a_terminal_is_seen(shell: tuple[int, int], line: str) -> None:
    pid, terminal = shell
    assert not settled(pid, False), "a prompt alone is none"
    os.write(terminal, f"{line}\n".encode())
    assert settled(pid, True)


def test_where_it_cannot_be_told_a_program_is_taken_to_run(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/comm").write_text("bash\n")
    assert runs_a_program(7, "/bin/bash", tmp_path), "this kernel does not list children"
    assert not runs_a_program(8, "/bin/bash", tmp_path), "the shell has ended"
