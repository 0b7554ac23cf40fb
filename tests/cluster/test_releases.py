"""What adminkit knows of Slurm is what this release is: a new state, a word gone or renamed fails here first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminkit.ingest.fields import RECORD_FIELDS, fields_of
from adminkit.slurm import bindings, release
from adminkit.slurm import cluster as slurm
from tests.cluster import machine
from tests.cluster.cluster import FINISHED, Cluster
from tests.cluster.conftest import private_slurm
from tests.cluster.listing import Listing

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parents[2]

#: Names of slurm.h's enum job_states whose word is another.
WORDS = {"COMPLETE": "COMPLETED", "OOM": "OUT_OF_MEMORY"}
#: Words that are read where a release prints them, with the first release that does not.
GONE = {"BOOT_TIME": (26, 5)}


@pytest.fixture
def reached(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The environment of a process that talks to the cluster."""
    for name, value in cluster.env().items():
        monkeypatch.setenv(name, value)
    return cluster


def test_its_states_are_those_adminkit_knows() -> None:
    """sync asks for the runs in a state that is over by that state's name: a new one it would never see."""
    text = machine.header("slurm.h")
    names = re.findall(r"^\s*JOB_(\w+)", text.partition("enum job_states {")[2].partition("}")[0], re.MULTILINE)
    found = {WORDS.get(name, name) for name in names if name != "END"}
    assert found == {"PENDING", "RUNNING", "SUSPENDED"} | (FINISHED - {"REVOKED"})
    assert len(found) == len(release.OPEN) + len(set(release.FINISHED) - {"RQ", "RS", "RV"})  # those three are flags


def test_its_fields_are_those_of_this_release(reached: Cluster) -> None:
    assert release.sacct_fields() == fields_of(release.release())


#: A module of adminkit/slurm that reads Key=Value words, and the commands they come from.
READERS = {
    "cluster": (("scontrol", "-o", "--all", "show", "partition"), ("sacctmgr", "show", "configuration")),
    "gather": (("scontrol", "-o", "--all", "show", "partition"), ("scontrol", "-o", "--all", "show", "node")),
    "controller": (("scontrol", "show", "config"),),
    "priority": (("scontrol", "show", "config"),),
}


def test_every_word_that_is_read_is_printed(reached: Cluster) -> None:
    """What this release calls otherwise would be read as unknown, in silence."""
    reached.ask("scontrol", "create", "PartitionName=denied", "Nodes=n1", "DenyAccounts=chemistry", "DenyQos=normal")
    try:
        lacking = {word for module, commands in READERS.items() for word in _lacking(reached, module, commands)}
    finally:
        reached.ask("scontrol", "delete", "PartitionName=denied")
    assert lacking == {word for word, first in GONE.items() if machine.release() >= first}


def _lacking(cluster: Cluster, module: str, commands: tuple[tuple[str, ...], ...]) -> set[str]:
    printed = "\n".join(cluster.ask(*command) for command in commands)
    source = (ROOT / "adminkit" / "slurm" / f"{module}.py").read_text()
    wanted = set(re.findall(r'words(?:\.get\(|\[)"(\w+)"', source))
    assert len(wanted) >= 4, f"they are in {module}.py as words.get(…) and words[…]"
    return {word for word in wanted if not re.search(rf"(?:^|\s){word}\s*=", printed, re.MULTILINE)}


def test_pyslurm_says_what_scontrol_says(reached: Cluster) -> None:
    module, why = bindings.found()
    if module is None:
        pytest.skip(f"no pyslurm that goes with this Slurm{why and ': '}{why}")
    assert slurm.queues() == slurm.parse_partitions(reached.ask("scontrol", "-o", "--all", "show", "partition"))


# job_submit.lua


@pytest.fixture(scope="module")
def probed(outside: Listing) -> Iterator[Cluster]:
    """A cluster whose job_submit.lua refuses every job, and says what this release lacks of what ours reads."""
    with private_slurm() as booted:
        (booted.home / "job_submit.lua").write_text(_probe())
        with (booted.home / "slurm.conf").open("a") as conf:
            conf.write("JobSubmitPlugins=lua\n")
        booted.restart_ctld()
        booted.until_idle()
        yield booted


def test_job_submit_has_every_field_constant_and_function_that_ours_takes(probed: Cluster) -> None:
    done = probed.run("sbatch", "-N", "1", "--time=5", "--gres=gpu:1", "--wrap", "true", user="games")
    said = [line.partition("probe ")[2] for line in done.err.decode().splitlines() if "probe " in line]
    assert said[-1:] == ["done"], done.err
    assert said[:-1] == []


def test_job_modify_has_every_field_of_the_record_that_ours_takes(probed: Cluster) -> None:
    """Slurm says of a field that it does not have only so much in its log."""
    job = probed.submit("true", "--hold", "--job-name=kept", "--time=5", user="games")
    probed.ask("scontrol", "update", f"JobId={job}", "TimeLimit=4", user="games")
    log = (probed.home / "log" / "slurmctld.log").read_text(errors="replace")
    assert "probe modified" in log
    assert re.findall(r".*unrecognized field.*", log) == []


def _probe() -> str:
    """A job_submit.lua that takes what job_submit/adminkit takes, as tests/lua/mock.lua sorts it."""
    mock = (ROOT / "tests" / "lua" / "mock.lua").read_text()
    source = "\n".join(path.read_text() for path in sorted((ROOT / "job_submit" / "adminkit").glob("*.lua")))
    used = set(re.findall(r"(?:\.|(?<!need\()\")(\w+)", source))
    sets = {
        name: sorted(set(text.split()) & used)
        for name, text in re.findall(r"local (\w+) = set\(\[?\[?\"?([\w\s]+)", mock)
    }
    codes = sorted(set(re.findall(r"\bESLURM_\w+\w", source)) - {"ESLURM_"})
    assert len(sets["STRINGS"]) > 10 and len(sets["LARGE"]) > 5 and len(codes) >= 3
    lists = {
        "STRINGS": sorted({*sets["STRINGS"], *RECORD_FIELDS}),
        "NUMBERS": sets["SMALL"] + sets["LARGE"],
        "RECORD": sets["RECORD"],
        "CONSTANTS": ["SUCCESS", "ERROR", *codes],
        "FUNCTIONS": sorted(set(re.findall(r"\bslurm\.(log_\w+|user_msg)", source))),
    }
    named = "".join(f"local {name} = {{{', '.join(map(repr, words))}}}\n" for name, words in lists.items())
    return named + _SCRIPT


_SCRIPT = """
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
