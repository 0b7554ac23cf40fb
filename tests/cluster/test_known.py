"""A release that adds, renames or changes what adminkit uses is noticed: each kind of change, made to what is known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adminkit.ingest.sources.sacct_fields import fields_of
from adminkit.lua.runtime import LuaVersion
from adminkit.slurm.release import Release
from tests.cluster.harness import known
from tests.job_submit.runtime import RELEASES, Lua
from tests.slurm.test_seals import questions

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/slurm"

#: slurm.h of 26.05, as far as it is read.
HEADER = """
enum job_states {
	JOB_PENDING,		/* queued waiting for initiation */
	JOB_RUNNING,
	JOB_SUSPENDED,
	JOB_COMPLETE,		/* completed execution successfully */
	JOB_CANCELLED,
	JOB_FAILED,
	JOB_TIMEOUT,		/* terminated on reaching time limit */
	JOB_NODE_FAIL,
	JOB_PREEMPTED,
	JOB_BOOT_FAIL,
	JOB_DEADLINE,
	JOB_OOM,		/* experienced out of memory error */
	JOB_END			/* not a real state, last entry in table */
};
#define JOB_STATE_BASE 0x000000ff
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", []),
        ("\tJOB_END", "\tJOB_EXPIRED,\n\tJOB_END", ["state EXPIRED is new"]),
        ("JOB_OOM", "JOB_KILLED", ["state KILLED is new", "state OUT_OF_MEMORY is gone"]),
        ("\tJOB_DEADLINE,\n", "", ["state DEADLINE is gone"]),
    ],
)
def test_a_state_that_is_new_renamed_or_gone(old: str, new: str, said: list[str]) -> None:
    assert old in HEADER
    assert known.states(HEADER.replace(old, new) if old else HEADER) == said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", []),
        ("Restarts", "Restarts Requeues", ["field Requeues is new"]),
        ("TimelimitRaw", "LimitRaw", ["field LimitRaw is new", "field TimelimitRaw is gone"]),
        ("AdminComment", "", ["field AdminComment is gone"]),
    ],
)
def test_a_field_of_sacct_that_is_new_renamed_or_gone(old: str, new: str, said: list[str]) -> None:
    text = (DATA / "sacct-helpformat-26.05.txt").read_text()
    assert old in text
    doctored = re.sub(rf"\b{old}\b", new, text) if old else text
    assert known.fields(doctored.split(), (26, 5, 5)) == said


def test_a_field_that_came_in_earlier_or_later_than_is_known() -> None:
    assert known.fields(fields_of((24, 11, 0)), (24, 5, 0)) == [
        f"field {name} is new" for name in ("QOSREQ", "Restarts", "SLUID")
    ]
    assert known.fields(fields_of((22, 5, 0)), (23, 2, 0))[-3:] == [
        f"field {name} is gone" for name in ("Planned", "PlannedCPU", "PlannedCPURAW")
    ]


#: Of scontrol show config.
CONFIG = """Configuration data as of 1795234487
PriorityMaxAge          = 7-00:00:00
PrioritySiteFactorPlugin = (null)
PriorityType            = priority/multifactor
PriorityWeightAge       = 1000
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", []),
        ("PriorityMaxAge", "PriorityAgeMax", ["word PriorityMaxAge is gone"]),
        ("PriorityType ", "XPriorityType ", ["word PriorityType is gone"]),
    ],
)
def test_a_word_of_scontrol_that_is_renamed(old: str, new: str, said: list[str]) -> None:
    assert old in CONFIG
    assert known.words("priority", CONFIG.replace(old, new) if old else CONFIG) == said


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ((22, 5, 8), "CgroupPlugin Exclusive MaxMemPerCPU MemSpecLimit"),
        ((25, 11, 9), "CgroupPlugin Exclusive MaxMemPerCPU MemSpecLimit"),
        ((26, 5, 0), "BOOT_TIME CgroupPlugin MaxMemPerCPU MemSpecLimit"),
    ],
)
def test_a_word_that_a_known_release_does_not_print_yet_or_any_more(of: Release, words: str) -> None:
    assert known.gone(of) == [f"word {word} is gone" for word in words.split()]


def test_every_module_that_reads_words_is_held_against_the_release() -> None:
    modules = {path.stem for path in (ROOT / "adminkit/slurm").glob("*.py") if known.words_of(path.stem)}
    assert modules == set(known.READERS)
    assert all(len(known.words_of(module)) >= 2 for module in modules), "they stand as words.get(…) and words[…]"


def test_each_question_has_one_home() -> None:
    """A second module that asks the same has a second parser soon: take a view of what the first has read."""
    asked = {
        (what, where.split(".")[1])
        for path in sorted((ROOT / "adminkit").rglob("*.py"))
        for where, _, what in (question.partition(": ") for question, _ in questions(path))
        if re.match(r"(?:scontrol|sacctmgr) show|sdiag|sinfo|sprio|squeue", what)
    }
    assert asked == {*known.HOMES.items(), *known.ALSO}


# job_submit.lua


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("", []),
        ("slurm.ESLURM_INVALID_TIME_LIMIT = nil", ["constant ESLURM_INVALID_TIME_LIMIT"]),
        ("slurm.ESLURM_INVALID_TRES = mock.slurm(22.05).ESLURM_INVALID_TRES", ["constant ESLURM_INVALID_TRES"]),
        ("slurm.user_message, slurm.log_info = slurm.user_msg, nil", ["function log_info"]),
        ("lost = 'site_factor'", ["number site_factor"]),
        ("lost = 'tres_per_node'", ["text tres_per_node"]),
        ("parts.gq.name = nil", ["queue gq"]),
        ("slurm.user_msg = error", ["the probe did not come to its end"]),
    ],
)
def test_what_a_release_takes_from_job_submit_lua(release: LuaVersion, change: str, said: list[str]) -> None:
    assert known.lacking(_said_by_the_probe(Lua(release), change)) == said


def test_a_probe_asks_for_what_is_read_and_for_no_word_of_a_pattern() -> None:
    asked = dict(re.findall(r"local ([A-Z]+) = {(.*)}", known.probe()))
    assert "'tres_per_node'" in asked["STRINGS"] and "'time_limit'" in asked["NUMBERS"]
    assert "'gres'" not in asked["STRINGS"], "22.05 has none, and gres.lua only matches lists that begin so"


def _said_by_the_probe(lua: Lua, change: str) -> list[str]:
    """The probe in the slurmctld that tests/job_submit/mock.lua is, with `change` made to it."""
    mock = lua.run((ROOT / "tests/job_submit/mock.lua").read_bytes())
    words = ({"name": "train"}, known.probe(), change)
    return list(lua.out(lua.run(_SUBMISSION.encode(), mock, *map(lua.into, words))))


_SUBMISSION = """
local mock, fields, probe, change = ...
local load = loadstring or load
local said
slurm, said = mock.slurm(23.11)
parts, lost = { gq = { name = "gq" } }, nil
assert(load('local mock = ... ' .. change))(mock)
local whole = mock.job_desc(fields, said)
local desc = setmetatable({}, {
    __index = function(_, name) if name ~= lost then return whole[name] end end,
    __newindex = function(_, name, value) if name ~= lost then whole[name] = value end end,
})
assert(load(probe))()
pcall(slurm_job_submit, desc, mock.part_list(parts), 1001)
return said.messages
"""
