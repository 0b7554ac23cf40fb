"""A slurmctld of a few jobs, as squeue and scontrol show and change it.

    {"jobs": {"1": {"state": …, "tres": …, "comment": …, "reason": …, "name": …}}, "fails": N, "calls": [[…], …]}

From the N-th change on each is refused, as if slurmctld were away; `calls` are the changes that were taken. `faults`
are words of a call and what becomes of it: "fails", "garbage", "empty" or "hangs". squeue lists the jobs that it is
asked of.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tests.support.answered import Answer, Question, seal_of

NOW = 1_700_000_000
World = dict[str, Any]


def answer(world: World, asked: Question) -> Answer:
    said = " ".join([asked.name, *asked.args])
    for part, fault in world["faults"].items():
        if f"{said} ".startswith(f"{part} "):
            if fault == "hangs":
                time.sleep(600)
            out = "x|y\n\x1f\x1f 7=" if fault == "garbage" else ""
            return Answer(out, f"{asked.name}: error: it broke\n", 1) if fault == "fails" else Answer(out)
    if asked.name == "squeue":
        return Answer("".join(f"{line}\n" for line in open_jobs(world, asked)))
    return change(world, asked.args) if asked.args[0] in ("update", "release") else Answer()


def open_jobs(world: World, asked: Question) -> Iterator[str]:
    words = asked.args
    shape, stamp = words[words.index("-O") + 1], seal_of(asked)
    mark = shape.split(",")[0].partition(":0")[2]
    numbers = words[words.index("-j") + 1].split(",") if "-j" in words else world["jobs"]
    for number in (one for one in numbers if one in world["jobs"]):
        job = world["jobs"][number]
        cells = {
            "JobID": number, "ArrayTaskID": "N/A", "State": job["state"], "Partition": job["queue"],
            "NodeList": job["nodes"], "NumNodes": "1", "tres-per-node": job["tres"], "tres-per-job": "N/A",
            "SubmitTime": f"{NOW - 7200}{stamp}",
            "StartTime": f"{NOW - 3600}{stamp}", "EndTime": f"{NOW + 3600}{stamp}", "TimeLimit": job["limit"],
            "Reason": job["reason"], "UserName": "games", "Account": "physics", "QOS": "normal", "HetJobID": "0",
            "RestartCnt": "0", "UserID": "5", "MinTime": "0:00", "tres-alloc": "cpu=1,mem=4G,node=1,gres/gpu=1",
            "cpus-per-tres": "N/A", "mem-per-tres": "N/A", "admin_comment": job["comment"], "Name": job["name"],
        }  # fmt: skip
        yield mark.join(cells[field.partition(":")[0]] for field in shape.split(",")) + mark


def change(world: World, words: list[str]) -> Answer:
    if world["fails"] is not None and len(world["calls"]) >= world["fails"]:
        return Answer(err="slurm_update error: Unable to contact slurm controller (connect failure)\n", code=1)
    world["calls"].append(words)
    if words[0] == "release":
        world["jobs"][words[1]].update(state="PENDING", reason="None")
        return Answer()
    job = world["jobs"][words[1].partition("=")[2]]
    key, _, value = words[2].partition("=")
    if key == "AdminComment":
        job["comment"] = value
    elif key == "Gres":
        job["tres"] = "gres:" + value
        job["queue"] = job.get("moves", job["queue"])  # by its owner, at that moment
    return Answer()
