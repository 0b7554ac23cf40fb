"""A folder as `policy install` leaves it beside slurm.conf, and submissions to it as slurmctld makes them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adminkit.lua.literal import module
from tests.job_submit.policies import QUEUES
from tests.job_submit.runtime import JOB_SUBMIT, Lua

DRIVER = Path(__file__).with_name("driver.lua")
INTERPRETERS = ("lua5.1", "lua5.4")

#: What sbatch fills in for one GPU in 20 hours; what is not here is unset in its way.
DESC: dict[str, Any] = {
    "user_id": 1001,
    "user_name": "alice",
    "default_account": "physics",
    "default_qos": "normal",
    "name": "train",
    "time_limit": 1200,
    "min_nodes": 1,
    "min_cpus": 1,
    "num_tasks": 1,
    "cpus_per_task": 1,
    "tres_per_node": "gres:gpu:1",
    "script": "#!/bin/sh\n",
    "partition": "gq",
}
PARTS: dict[str, dict[str, Any]] = {name: {"name": name} for name in QUEUES}
JOB_REC: dict[str, Any] = {
    "user_id": 1001,
    "account": "physics",
    "qos": "normal",
    "name": "train",
    "partition": "gq",
    "time_limit": 1200,
    "time_min": 0,
    "min_nodes": 1,
    "max_nodes": 0,
    "min_cpus": 1,
    "tres_per_node": "gres:gpu:1",
    "job_state": 0,
    "job_id": 7,
    "site_factor": 0,
    "array_job_id": 0,
}


def write(folder: Path, **tables: Mapping[str, Any] | str | bytes) -> Path:
    """job_submit.lua, the modules, and NAME.lua for each table: a mapping is compiled, a text is put there as it is."""
    shutil.copy(JOB_SUBMIT / "job_submit.lua", folder)
    shutil.copytree(JOB_SUBMIT / "adminkit", folder / "adminkit", dirs_exist_ok=True)
    for name, table in tables.items():
        content = module(table, "made for a test") if isinstance(table, Mapping) else table
        data = content.encode("utf-8") if isinstance(content, str) else content
        (folder / "adminkit" / f"{name.replace('_good', '.good')}.lua").write_bytes(data)
    return folder


def case(folder: Path, uid: int = 1001, **more: Any) -> dict[str, Any]:
    """A submission of DESC by `uid`; `desc` changes fields (None takes one out), `rec` makes it an update."""
    desc = {**({} if "rec" in more else DESC), **more.pop("desc", {})}
    made = {"folder": str(folder), "uid": uid, "parts": PARTS, **more}
    if "rec" in made:
        made["rec"] = {**JOB_REC, **made["rec"]}
    return {**made, "desc": {key: value for key, value in desc.items() if value is not None}}


def run(lua: Lua, one: Mapping[str, Any]) -> dict[str, Any]:
    """The case in this state of Lua: code, desc (the job afterwards), messages, info, errors, lookups, loading."""
    driver = lua.run(f"return dofile({json.dumps(str(DRIVER))})".encode())
    answer = lua.out(lua.call(driver.run, one))
    return {**answer, **{key: answer[key] or [] for key in ("messages", "info", "errors")}}


def run_by(interpreter: str, cases: Sequence[Mapping[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The cases by a Lua program of its own, as one process."""
    path = folder / "cases.lua"
    path.write_text(module({"cases": list(cases)}, "cases").replace("return {", "return ({", 1).rstrip() + ").cases\n")
    done = subprocess.run([interpreter, str(DRIVER), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    raw = json.loads(done.stdout)
    return [{**one, **{key: one[key] or [] for key in ("messages", "info", "errors")}} for one in raw]
