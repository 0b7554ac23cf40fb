"""Try tables and program in the Lua that slurmctld may be built with, before they are written and after."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.policy.runtime import Lua, LuaVersion
from adminkit.slurm.act import PROBE, parse_answer

#: Slurm of Debian and Ubuntu is built with the first, that of RHEL and its kin with the second.
LUAS: Final[tuple[LuaVersion, ...]] = ("lua51", "lua54")

#: As much of slurmctld as loading the script and asking it for its generations needs.
_STAGE: Final = b"""
local path, probe = ...
local said = {}
local function add(text) said[#said + 1] = tostring(text) end
local function log(format, ...) add(string.format(format, ...)) end
slurm = { SUCCESS = 0, ERROR = -1, NO_VAL = 4294967294, INFINITE = 4294967295, user_msg = add,
          log_info = log, log_error = log, log_debug = log, log_verbose = log, log_user = log }
local code = dofile(path)
if code ~= 0 then error("it returns " .. tostring(code), 0) end
if not slurm_job_submit or not slurm_job_modify then error("a function is missing", 0) end
slurm_job_submit({ name = probe }, {}, 0)
return table.concat(said, "; ")
"""


@lru_cache(maxsize=16)
def check_table(name: str, text: str) -> None:
    """AdminkitError, with Lua's own words, when slurmctld would pass over this text as the table `name`."""
    for version in LUAS:
        lua = Lua(version)
        try:
            table = lua.table(text.encode("utf-8", "surrogateescape"), f"{name}.lua")
        except AdminkitError as error:
            raise AdminkitError(f"{name}.lua does not load in {version}: {error.message}", "make it again") from error
        wrong = lua.call(lua.module("shape")[name.encode()], table)
        if wrong:
            raise AdminkitError(f"{name}.lua is damaged: {lua.out(wrong)}", "make it again")


def rehearse(files: Mapping[str, bytes], tables: Mapping[str, str]) -> None:
    """Load all of it as slurmctld would, elsewhere. AdminkitError when it would not answer with these tables.

    `files` are the program by its places below the folder, job_submit.lua among them.
    """
    with tempfile.TemporaryDirectory(prefix="adminkit-") as top:
        for name, data in files.items():
            (Path(top) / name).parent.mkdir(exist_ok=True)
            (Path(top) / name).write_bytes(data)
        for name, text in tables.items():
            (Path(top) / "adminkit" / f"{name}.lua").write_text(text, "utf-8", "surrogateescape")
        for version in LUAS:
            try:
                said = Lua(version).run(_STAGE, f"{top}/job_submit.lua".encode(), PROBE.encode())
            except AdminkitError as error:
                raise AdminkitError(
                    f"job_submit.lua fails in {version}: {error.message}", "install it again"
                ) from error
            answer = parse_answer(said.decode("utf-8", "replace"))
            lacking = [name for name in tables if answer is None or getattr(answer, name) is None]
            if answer is None or lacking:
                raise AdminkitError(f"job_submit.lua does not take {', '.join(lacking)} in {version}: {said.decode()}")
