"""A slurmctld of a few jobs in a file (marshal), as squeue and scontrol show and change it. Run as these programs.

    {"jobs": {"1": {"state": …, "tres": …, "comment": …, "reason": …, "name": …}}, "fails": N, "calls": [[…], …]}

From the N-th change on each is refused, as if slurmctld were away; `calls` are the changes that were taken. `faults`
are words of a call and what becomes of it: "fails", "garbage", "empty" or "hangs". squeue lists the jobs that it is
asked of.
"""

# Started some hundred times: nothing more is imported, which would take twice as long.
import marshal
import os
import sys
import time

place = os.environ["FAKE_SLURM"]
with open(place, "rb") as file:  # noqa: PTH123
    world = marshal.load(file)
name, words = sys.argv[1], sys.argv[2:]
now = 1_700_000_000
for part, fault in world.get("faults", {}).items():
    if not f"{' '.join([name, *words])} ".startswith(f"{part} "):
        continue
    if fault == "hangs":
        time.sleep(600)
    print("x|y\n\x1f\x1f 7=" if fault == "garbage" else "", end="")
    sys.exit(f"{name}: error: it broke" if fault == "fails" else 0)
if name == "squeue":
    shape, stamp = words[words.index("-O") + 1], os.environ["SLURM_TIME_FORMAT"].removeprefix("%s")
    mark = shape.split(",")[0].partition(":0")[2]
    asked = words[words.index("-j") + 1].split(",") if "-j" in words else world["jobs"]
    for number in (one for one in asked if one in world["jobs"]):
        job = world["jobs"][number]
        cells = {
            "JobID": number, "ArrayTaskID": "N/A", "State": job["state"], "Partition": job["queue"],
            "NodeList": job["nodes"], "NumNodes": "1", "tres-per-node": job["tres"], "tres-per-job": "N/A",
            "SubmitTime": f"{now - 7200}{stamp}",
            "StartTime": f"{now - 3600}{stamp}", "EndTime": f"{now + 3600}{stamp}", "TimeLimit": job["limit"],
            "Reason": job["reason"], "UserName": "games", "Account": "physics", "QOS": "normal", "HetJobID": "0",
            "RestartCnt": "0", "UserID": "5", "MinTime": "0:00", "tres-alloc": "cpu=1,mem=4G,node=1,gres/gpu=1",
            "cpus-per-tres": "N/A", "mem-per-tres": "N/A", "admin_comment": job["comment"], "Name": job["name"],
        }  # fmt: skip
        print(mark.join(cells[field.partition(":")[0]] for field in shape.split(",")) + mark)
    sys.exit()
if words[0] not in ("update", "release"):
    sys.exit()
if world["fails"] is not None and len(world["calls"]) >= world["fails"]:
    sys.exit("slurm_update error: Unable to contact slurm controller (connect failure)")
world["calls"].append(words)
if words[0] == "release":
    world["jobs"][words[1]].update(state="PENDING", reason="None")
else:
    job = world["jobs"][words[1].partition("=")[2]]
    key, _, value = words[2].partition("=")
    if key == "AdminComment":
        job["comment"] = value
    elif key == "Gres":
        job["tres"] = "gres:" + value
        job["queue"] = job.get("moves", job["queue"])  # by its owner, at that moment
with open(place, "wb") as file:  # noqa: PTH123
    marshal.dump(world, file)
