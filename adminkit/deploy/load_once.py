"""Load job_submit.lua once as slurmctld would, in a child process that may die: `python -m … FILE LUA…`.

slurmctld loads its script in a thread with a stack of 1 MB, Python's main one has 8: what fits there proves nothing.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.lua.runtime import Lua, LuaVersion
from adminkit.slurm.reload import PROBE

#: Bytes; slurmctld's own for its threads (STACK_SIZE of Slurm's macros.h).
STACK: Final = 1 << 20
#: Bytes of addresses, for Python and lupa as well.
MEMORY: Final = 1 << 30
CPU_SECONDS: Final = 5
#: Seconds of CPU time that slurmctld may be held up for by loading, in either Lua.
LOAD_SECONDS: Final = 2

#: As much of slurmctld as loading the script and asking it for its generations needs.
_STAGE: Final = b"""
local path, probe = ...
local lines = {}
local function add(text) lines[#lines + 1] = tostring(text) end
local function log(format, ...) add(string.format(format, ...)) end
slurm = { SUCCESS = 0, ERROR = -1, NO_VAL = 4294967294, INFINITE = 4294967295, user_msg = add,
          log_info = log, log_error = log, log_debug = log, log_verbose = log, log_user = log }
local code = dofile(path)
if code ~= 0 then error("it returns " .. tostring(code), 0) end
if not slurm_job_submit or not slurm_job_modify then error("a function is missing", 0) end
slurm_job_submit({ name = probe }, {}, 0)
return table.concat(lines, "; ")
"""


def act(version: LuaVersion, path: str) -> bytes:
    """The script's answer to the probe, after loading it. AdminkitError when it fails."""
    answer: bytes = Lua(version).run(_STAGE, path.encode(), PROBE.encode())
    return answer


def main(path: str, versions: Sequence[str]) -> int:
    """0 with the answer in each Lua on stdout, each ended by a zero byte; 1 with the reason on stderr."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.stack_size(STACK)
    for version in versions:
        outcome = _in_a_thread("lua54" if version == "lua54" else "lua51", path)
        if isinstance(outcome, Exception):
            sys.stderr.write(f"{outcome}\n")
            return 1
        sys.stdout.buffer.write(outcome + b"\0")
        sys.stdout.buffer.flush()
    return 0


def _in_a_thread(version: LuaVersion, path: str) -> bytes | Exception:
    outcome: list[bytes | Exception] = [AdminkitError("it ran out of memory")]

    def perform() -> None:
        try:
            started = time.thread_time()
            answer = act(version, path)
            if time.thread_time() - started > LOAD_SECONDS:
                raise AdminkitError(f"it takes more than {LOAD_SECONDS} s of CPU time to load")
            outcome[0] = answer
        except (AdminkitError, MemoryError) as error:
            outcome[0] = error

    thread = threading.Thread(target=perform)
    thread.start()
    thread.join()
    return outcome[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
