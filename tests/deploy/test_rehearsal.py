"""Whatever is installed was loaded once before, by a process that may come to harm in slurmctld's stead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adminkit.deploy import install
from adminkit.deploy.bundle import tables_only
from adminkit.deploy.program import ENTRY, shipped
from adminkit.deploy.rehearse import rehearse
from adminkit.errors import AdminkitError
from tests.deploy.test_put import table

DEEP = 'if ("").pack == nil then local x = ("a"):rep(9):find((".-"):rep(200000)) end return 0'
#: It takes 2 GiB, which is more than it may have, in a few large steps: without a bound it would end, and be noticed.
#: Trap: Lua 5.1 repeats a string byte by byte, so a long one is repeated.
GREEDY = "local s, t = ('x'):rep(2^13):rep(2^13), {} for i = 1, 32 do t[i] = s .. i end return 0"


def test_the_program_answers_with_the_tables_in_both_luas() -> None:
    rehearse(shipped(), {"policy": table("one")})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("error('broken')", r"job_submit\.lua fails in lua51: Lua: .*broken"),
        ("return 1", "it returns 1"),
        ("return 0", "a function is missing"),
        ("x = (", "job_submit.lua fails in lua51"),
        ("if not setfenv then error('broken') end " + "%s", "job_submit.lua fails in lua54"),
        (DEEP, "job_submit.lua fails in lua51: it ended by signal 11"),
        (GREEDY, "job_submit.lua fails in lua51: Lua: failed"),
    ],
)
def test_a_program_that_fails_or_dies_is_not_installed(text: str, why: str) -> None:
    files = shipped()
    text = text.replace("%s", files[ENTRY].decode())
    with pytest.raises(AdminkitError, match=why):
        rehearse({**files, ENTRY: text.encode()}, {"policy": table("one")})


def test_a_program_that_never_ends_is_ended(tmp_path: Path) -> None:
    """By the CPU's time, which a busy machine does not shorten."""
    (tmp_path / ENTRY).write_text("while true do end")
    limit = "from adminkit.deploy import load_once; load_once.CPU_SECONDS = 1"
    code = f"import sys; {limit}; load_once.main(sys.argv[1], ['lua51'])"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / ENTRY], capture_output=True, timeout=120, check=False)
    assert done.returncode < 0, done.stderr


def test_what_takes_slurmctld_long_to_load_is_not_installed(tmp_path: Path) -> None:
    """Names that collide in Lua's table of strings load in the square of their number. By the CPU's time."""
    (tmp_path / ENTRY).write_bytes(shipped()[ENTRY])
    code = (
        "import sys; from adminkit.deploy import load_once; load_once.LOAD_SECONDS = 0; load_once.act = lambda *_: b''"
    )
    code += "; sys.exit(load_once.main(sys.argv[1], ['lua51']))"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / ENTRY], capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"it takes more than 0 s of CPU time to load" in done.stderr


def test_a_table_is_rehearsed_elsewhere_before_it_is_loaded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(install, "rehearse", lambda *_: order.append("rehearsed"))
    monkeypatch.setattr(install, "check_table", lambda *_: order.append("checked"))
    install._refuse_damaged(tables_only({"policy": table("one")}))
    assert order == ["rehearsed", "checked"]
