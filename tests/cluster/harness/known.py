"""What adminkit knows of Slurm, held against what a release says: each difference is a sentence. Slurm is not asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from adminkit.ingest.sources.sacct_fields import RECORD_FIELDS, fields_of
from adminkit.slurm import release
from adminkit.slurm.release import Release
from tests.cluster.harness.cluster import FINISHED

ROOT: Final = Path(__file__).resolve().parents[3]

#: Names of slurm.h's enum job_states whose word is another.
_WORDS: Final = {"COMPLETE": "COMPLETED", "OOM": "OUT_OF_MEMORY"}
#: Those that a run is in; of what ends one, RQ, RS, RV are flags beside a state.
STATES: Final = {"PENDING", "RUNNING", "SUSPENDED"} | (FINISHED - {"REVOKED"})
_FLAGS: Final = {"RQ", "RS", "RV"}

#: The one module of adminkit/slurm that asks a question and parses its answer; others take a view of what it has read.
#: One way to spell lists of hosts (hostlist), lists of GRES (adminkit/gres.py) and amounts of TRES (associations).
#: (question, module) beside its home -> why it is asked there as well.
ALSO: Final = {
    ("scontrol show partition", "switching"): "each word as it is said, to be put back as it was",
}
HOMES: Final = {
    "sacctmgr show account withcoord": "coordinators",
    "sacctmgr show assoc": "associations",
    "sacctmgr show cluster": "cluster",
    "sacctmgr show configuration": "cluster",
    "sacctmgr show event": "events",
    "sacctmgr show qos": "associations",
    "sacctmgr show stats": "cluster",
    "sacctmgr show user": "cluster",
    "scontrol show": "scontrol_show",  # partition, node, reservation
    "scontrol show assoc_mgr": "assoc_limits",
    "scontrol show config": "show_config",
    "scontrol show federation": "planning",
    "scontrol show licenses": "licences",
    "sdiag": "cluster",
    "sinfo": "plugstack",
    "sprio": "fair_share",  # each part of the priority of each job
    "sprio %Y": "priority",  # the sums
    "sprio %i|%S": "bonus",  # the site's part only, of one user's jobs
    "squeue": "squeue",
    "squeue all": "server_job",  # those that are over, too: once a second, without a text of users
}
#: A module of adminkit/slurm that reads Key=Value words, and the commands they come from.
READERS: Final = {
    "assoc_limits": (("scontrol", "show", "config"), ("scontrol", "show", "assoc_mgr")),
    "budget_limits": (("scontrol", "show", "assoc_mgr"),),
    "cluster": (("sacctmgr", "show", "configuration"),),
    "controller": (("scontrol", "show", "config"),),
    "planning": (("scontrol", "show", "config"), ("scontrol", "show", "assoc_mgr")),
    "plugstack": (("scontrol", "show", "config"),),
    "priority": (("scontrol", "show", "config"),),
    "requeue": (("scontrol", "show", "config"),),
    "queue_qos": (("scontrol", "show", "config"),),
    "scheduler": (("scontrol", "show", "config"),),
    "scontrol_show": (
        ("scontrol", "show", "config"),  # a queue has timeouts only where they are its own
        ("scontrol", "-o", "-d", "--all", "show", "node"),
        ("scontrol", "-o", "--all", "show", "partition"),
        ("scontrol", "-o", "--all", "show", "reservation"),
    ),
    "tres_minutes": (("scontrol", "show", "config"), ("scontrol", "show", "assoc_mgr")),
}
#: Words that are read where a release prints them, with the first release that does not. Of cgroups, of memory kept for
#: a node's own programs, and of a queue's own maximum of memory for a CPU, none prints anything on a cluster without
#: them, as the one of these tests is.
GONE: Final = {
    "BOOT_TIME": (26, 5, 0),
    **dict.fromkeys(("CgroupPlugin", "MaxMemPerCPU", "MemSpecLimit"), release.OLDEST),
}
#: Words that are read where a release prints them, with the first release that does.
LATE: Final = {"Exclusive": (26, 5, 0)}


def states(header: str) -> list[str]:
    """slurm.h. sync asks for the runs in a state that is over by that state's name: a new one it would never see."""
    names = re.findall(r"^\s*JOB_(\w+)", header.partition("enum job_states {")[2].partition("}")[0], re.MULTILINE)
    found = {_WORDS.get(name, name) for name in names if name != "END"}
    asked = len(release.OPEN) + len(set(release.FINISHED) - _FLAGS)
    unequal = [] if asked == len(STATES) else [f"sync asks for {asked} states of {len(STATES)}"]
    return _compared("state", STATES, found) + unequal


def fields(printed: Iterable[str], of: Release) -> list[str]:
    """What `sacct --helpformat` lists."""
    return _compared("field", fields_of(of), set(printed))


def words_of(module: str) -> set[str]:
    """What a module of adminkit/slurm reads of Key=Value."""
    source = (ROOT / "adminkit/slurm" / f"{module}.py").read_text()
    return set(re.findall(r'words(?:\.get\(|\[)"(\w+)"', source))


def words(module: str, printed: str) -> list[str]:
    """What this release calls otherwise would be read as unknown, in silence."""
    absent = (word for word in words_of(module) if not re.search(rf"(?:^|\s){word}\s*=", printed, re.MULTILINE))
    return [f"word {word} is gone" for word in sorted(absent)]


def gone(of: Release) -> list[str]:
    """What `words` says of a release that is known, in the order of the words."""
    absent = {word for word, first in GONE.items() if of >= first} | {w for w, first in LATE.items() if of < first}
    return [f"word {word} is gone" for word in sorted(absent)]


def _compared(what: str, known: Iterable[str], found: set[str]) -> list[str]:
    ours = set(known)
    new = [f"{what} {name} is new" for name in sorted(found - ours)]
    return new + [f"{what} {name} is gone" for name in sorted(ours - found)]


# job_submit.lua

#: What a probe says before 23.02: slurm_api.lua then answers that a policy is broken.
LATE_ERRORS: Final = {
    f"constant ESLURM_{name}"
    for name in ("INVALID_CPU_COUNT", "INVALID_GRES", "INVALID_TRES", "REQUESTED_NODE_CONFIG_UNAVAILABLE")
}


def probe() -> str:
    """A job_submit.lua that takes what job_submit/adminkit takes, as tests/job_submit/mock.lua sorts it; it refuses
    every job with a line `probe WHAT NAME` for each thing that this release lacks, then `probe done`."""
    mock = (ROOT / "tests/job_submit/mock.lua").read_text()
    source = "\n".join(path.read_text() for path in sorted((ROOT / "job_submit/adminkit").glob("*.lua")))
    used = {dotted or quoted for dotted, quoted in re.findall(r"\.(\w+)|(?<!need\()\"(\w+)\"", source)}
    sets = {
        name: sorted(set(text.split()) & used)
        for name, text in re.findall(r"local (\w+) = set\(\[?\[?\"?([\w\s]+)", mock)
    }
    codes = sorted(set(re.findall(r"\bESLURM_\w+\w", source)) - {"ESLURM_"})
    assert len(sets["STRINGS"]) > 10 and len(sets["LARGE"]) > 5 and len(codes) >= 3
    lists: Mapping[str, list[str]] = {
        "STRINGS": sorted({*sets["STRINGS"], *RECORD_FIELDS}),
        "NUMBERS": sets["SMALL"] + sets["LARGE"],
        "RECORD": sets["RECORD"],
        "CONSTANTS": ["SUCCESS", "ERROR", *codes],
        "FUNCTIONS": sorted(set(re.findall(r"\bslurm\.(log_\w+|user_msg)", source))),
    }
    named = "".join(f"local {name} = {{{', '.join(map(repr, words))}}}\n" for name, words in lists.items())
    return named + _SCRIPT


def lacking(lines: Iterable[str]) -> list[str]:
    """What a probe said; it has to come to its end."""
    said = [line.partition("probe ")[2] for line in lines if "probe " in line]
    return said[:-1] if said[-1:] == ["done"] else [*said, "the probe did not come to its end"]


_SCRIPT: Final = """
local function lack(what, name) slurm.user_msg("probe " .. what .. " " .. name) end

function slurm_job_submit(job_desc, part_list, submit_uid)
    if job_desc.name == "kept" then return slurm.SUCCESS end
    for _, name in ipairs(CONSTANTS) do
        if type(slurm[name]) ~= "number" then lack("constant", name) end
    end
    for _, name in ipairs(FUNCTIONS) do
        if type(slurm[name]) ~= "function" then lack("function", name) end
    end
    for _, name in ipairs(NUMBERS) do
        if type(job_desc[name]) ~= "number" then lack("number", name) end
    end
    for _, name in ipairs(STRINGS) do
        pcall(function() job_desc[name] = "x" end)
        if job_desc[name] ~= "x" then lack("text", name) end
    end
    for name, part in pairs(part_list) do
        if type(part.state_up) ~= "number" or part.name ~= name then lack("queue", name) end
    end
    slurm.user_msg("probe done")
    return slurm.ERROR
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    for _, name in ipairs(RECORD) do
        local _ = job_rec[name]
    end
    slurm.log_info("probe modified")
    return slurm.SUCCESS
end

return slurm.SUCCESS
"""
