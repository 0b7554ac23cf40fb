"""Try tables and program in the Lua that slurmctld may be built with, before they are written and after."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from adminkit.deploy import load_once
from adminkit.errors import AdminkitError, cause
from adminkit.lua.runtime import Lua, LuaVersion
from adminkit.slurm.reload import parse_answer

#: Slurm of Debian and Ubuntu is built with the first, that of RHEL and its kin with the second.
LUAS: Final[tuple[LuaVersion, ...]] = ("lua51", "lua54")
#: Seconds for a rehearsal. The child has less of the CPU's: this is for a machine that is busy.
TIMEOUT: Final = 300


@lru_cache(maxsize=16)
def check_table(name: str, text: str) -> None:
    """AdminkitError, with Lua's own words, when slurmctld would pass over this text as the table `name`."""
    for version in LUAS:
        lua = Lua(version)
        try:
            table = lua.table(text.encode("utf-8", "surrogateescape"), f"{name}.lua")
        except AdminkitError as error:
            raise AdminkitError(f"{name}.lua does not load in {version}: {error.message}", "make it again") from error
        wrong = lua.call(lua.module("validate")[name.encode()], table)
        if wrong:
            raise AdminkitError(f"{name}.lua is damaged: {lua.out(wrong)}", "make it again")


def rehearse(files: Mapping[str, bytes], tables: Mapping[str, str]) -> None:
    """Load all of it as slurmctld would, elsewhere. AdminkitError when it would not answer with these tables.

    `files` are the program by its places below the folder, job_submit.lua among them. A process of its own does it,
    with the stack that slurmctld gives a thread and bounded in time and memory: see load_once.py.
    """
    with tempfile.TemporaryDirectory(prefix="adminkit-") as top:
        for name, data in files.items():
            (Path(top) / name).parent.mkdir(exist_ok=True)
            (Path(top) / name).write_bytes(data)
        for name, text in tables.items():
            (Path(top) / "adminkit" / f"{name}.lua").write_text(text, "utf-8", "surrogateescape")
        for version, said in zip(LUAS, _rehearsed(f"{top}/job_submit.lua"), strict=True):
            answer = parse_answer(said)
            lacking = [name for name in tables if answer is None or getattr(answer, name) is None]
            if answer is None or lacking:
                raise AdminkitError(
                    f"job_submit.lua did not load {', '.join(lacking)} under {version}; it answered: {said}",
                    "install adminkit again",
                )


def _rehearsed(entry: str) -> list[str]:
    """The generations that the script answers with, in each Lua."""
    command = [sys.executable, "-I", "-m", load_once.__name__, entry, *LUAS]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise AdminkitError(f"job_submit.lua does not load within {TIMEOUT} s", "install it again") from None
    except OSError as error:
        raise AdminkitError(f"couldn't run {sys.executable}: {cause(error)}", "install adminkit again") from error
    answers = done.stdout.decode("utf-8", "replace").split("\0")[:-1]
    if done.returncode == 0:
        return answers
    why = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if done.returncode < 0:
        why = f"it ended by signal {-done.returncode}"
    where = f" in {LUAS[len(answers)]}" if len(answers) < len(LUAS) else ""
    raise AdminkitError(f"job_submit.lua fails{where}: {why}", "install it again")
