"""What states of nodes say of power, and how long a node that sleeps takes to wake."""

from __future__ import annotations

import pytest

from adminkit.slurm.power_saving import Timeouts, parse_state, parse_timeouts, timeouts_of
from adminkit.slurm.scontrol_show import parse_partitions

#: (state, why no job may have it, its power, why)
STATES = [
    ("IDLE", "", "", "up"),
    ("IDLE+CLOUD", "", "", "a cloud's, and up"),
    ("IDLE+DYNAMIC_NORM", "", "", "a dynamic one"),
    ("IDLE+CLOUD+POWERED_DOWN", "", "asleep", "woken for a job"),
    ("IDLE~", "", "asleep", "as sinfo says it"),
    ("IDLE+CLOUD+NOT_RESPONDING+POWERED_DOWN", "", "asleep", "who sleeps does not respond"),
    ("MIXED+NOT_RESPONDING+POWERING_UP", "", "waking", "as 22.05 has it of a job's node that wakes"),
    ("MIXED#", "", "waking", "as sinfo says it"),
    ("IDLE+CLOUD+POWER_UP+POWERED_DOWN", "", "waking", "an operator wakes it"),
    ("IDLE+POWERING_DOWN", "", "falling", "given to nobody for SuspendTimeout"),
    ("IDLE%", "", "falling", "as sinfo says it"),
    ("IDLE+POWERED_DOWN+POWERING_DOWN", "", "falling", "powered down again"),
    ("IDLE+POWER_DOWN", "", "falling", "its power is to go, and nothing runs there"),
    ("IDLE!", "", "falling", "as sinfo says it"),
    ("MIXED+POWER_DOWN", "", "", "more jobs start there until the last has ended"),
    ("ALLOCATED!", "", "", "the same, as sinfo says it"),
    ("MIXED+POWER_DOWN+NOT_RESPONDING+POWERING_UP", "", "waking", "it wakes all the same"),
    ("IDLE+PLANNED", "", "", "backfill has a plan for it"),
    ("IDLE-", "", "", "as sinfo says it"),
    ("MIXED-", "", "", "the same of one with jobs"),
    ("IDLE+MAINTENANCE", "", "", "a reservation says when"),
    ("IDLE$", "", "", "as sinfo says it"),
    ("DOWN+CLOUD+POWERED_DOWN", "down", "", "not up within ResumeTimeout"),
    ("DOWN~", "down", "", "as sinfo says it"),
    ("DOWN*", "down", "", "not responding"),
    ("IDLE*", "down", "", "not responding, and not asleep"),
    ("IDLE+NOT_RESPONDING", "down", "", "the same in words"),
    ("IDLE+DRAIN+POWERED_DOWN", "drained", "", "asleep, and not to be woken"),
    ("DRAINED~", "drained", "", "as sinfo says it"),
    ("IDLE+DRAIN+POWER_DOWN", "drained", "", "POWER_DOWN_ASAP"),
    ("IDLE^", "down", "", "it reboots"),
    ("IDLE@", "down", "", "it is about to"),
    ("MIXED+REBOOT_REQUESTED", "", "", "more jobs start there until the last has ended"),
    ("ALLOCATED@", "", "", "the same, as sinfo says it of it"),
    ("DOWN+REBOOT_ISSUED", "down", "", "the same in words"),
    ("REBOOT^", "down", "", "as older releases say it"),
    ("IDLE+INVALID_REG", "down", "", "it is not what slurm.conf says"),
    ("FUTURE", "down", "", "not there yet"),
    ("", "", "", "nothing is said against it"),
    ("IDLE?", "down", "", "a mark that is not known"),
]


@pytest.mark.parametrize(("state", "away", "power", "why"), STATES, ids=[f"{one[0]}: {one[3]}" for one in STATES])
def test_what_a_state_says(state: str, away: str, power: str, why: str) -> None:
    found = parse_state(state)
    assert (found.away, found.power) == (away, power)


PARTITIONS = """\
PartitionName=gq State=UP ResumeTimeout=GLOBAL SuspendTimeout=GLOBAL SuspendTime=GLOBAL
PartitionName=cloud State=UP ResumeTimeout=900 SuspendTimeout=90 SuspendTime=300
PartitionName=slow State=UP ResumeTimeout=1200 SuspendTimeout=GLOBAL
PartitionName=ever State=UP ResumeTimeout=INFINITE SuspendTimeout=GLOBAL
PartitionName=old State=UP
"""


@pytest.mark.parametrize(
    ("queues", "resume", "suspend", "why"),
    [
        ("gq", 60, 30, "slurm.conf's"),
        ("old", 60, 30, "a release that does not say it of queues"),
        ("cloud", 900, 90, "the queue's own"),
        ("gq cloud", 900, 90, "one of its queues has its own"),
        ("gq cloud slow", 1200, 90, "the longest of its queues"),
        ("ever cloud", None, 90, "without end"),
        ("", 60, 30, "in no queue"),
        ("nosuch", 60, 30, "a queue that is not shown"),
    ],
)
def test_a_node_has_the_longest_timeout_of_its_queues(
    queues: str, resume: int | None, suspend: int | None, why: str
) -> None:
    whole, own = parse_timeouts(parse_partitions(PARTITIONS), {"ResumeTimeout": "60 sec", "SuspendTimeout": "30 sec"})
    assert timeouts_of(frozenset(queues.split()), whole, own) == Timeouts(resume, suspend), why


def test_what_slurmctld_does_not_say_is_unknown() -> None:
    whole, own = parse_timeouts([], {})
    assert timeouts_of(frozenset({"gq"}), whole, own) == Timeouts(None, None)
