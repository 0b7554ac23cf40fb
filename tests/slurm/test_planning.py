"""What slurmctld prints of planning by need, as values."""

from __future__ import annotations

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm.planning import next_start, parse_bounds, parse_jobs, parse_queues
from adminkit.slurm.scontrol_show import Reservation
from adminkit.slurm.seal import Marks

NOW = 1_800_000_000
DAY = 86_400
#: As slurmctld of 26.05 prints it, without lines that say nothing here.
ASSOC_MGR = """Current Association Manager state

Association Records

ClusterName=alpha Account=root UserName= Partition= Priority=0 ID=1
    ParentAccount= Lineage=/ DefAssoc=No
    GrpTRESMins=cpu=N(0),mem=N(0)
    GrpTRESRunMins=cpu=N(0),mem=N(0)
    MaxTRESMinsPJ=
ClusterName=alpha Account=physics UserName= Partition= Priority=0 ID=4
    ParentAccount=root(1) Lineage=/physics/ DefAssoc=No
    GrpTRESMins=cpu=N(0),mem=N(0)
    GrpTRESRunMins=cpu=1000(5),mem=N(0)
    MaxTRESMinsPJ=
ClusterName=alpha Account=optics UserName= Partition= Priority=0 ID=6
    ParentAccount=physics(4) Lineage=/physics/optics/ DefAssoc=No
    GrpTRESMins=cpu=N(0)
    GrpTRESRunMins=cpu=N(0)
    MaxTRESMinsPJ=
ClusterName=alpha Account=chemistry UserName=news(9) Partition= Priority=0 ID=5
    ParentAccount= Lineage=/chemistry/0-news/ DefAssoc=Yes
    GrpTRESMins=cpu=N(0)
    GrpTRESRunMins=cpu=N(0)
    MaxTRESMinsPJ=cpu=60
    Comment=GrpTRESMins=cpu=5

QOS Records

QOS=normal(1)
    GrpTRESMins=cpu=N(0)
    MaxTRESMinsPJ=
QOS=low(4)
    GrpTRESMins=cpu=60(0)
    MaxTRESMinsPJ=
    Preempt=
QOS=high(5)
    GrpTRESMins=cpu=N(0)
    Preempt=low,normal
"""


def test_who_has_limits_on_minutes() -> None:
    found = parse_bounds(ASSOC_MGR)
    assert found.qos == {"low"}
    assert found.accounts == {"physics", "optics"}, "with those below"
    assert found.uids == {9}
    assert found.preempted == {"low", "normal"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("x\n    GrpTRESMins=cpu=N(0)", "its head ends too early"),
        ("x UserName= Partition= Priority=0 ID=9\nClusterName=alpha Account=optics", "another's account a second time"),
        ("x UserName= Partition= Priority=0 ID=9\nQOS=low(4)\nClusterName=alpha Account=y", "a QOS a second time"),
    ],
)
def test_an_account_called_like_a_record_is_an_error(name: str, why: str) -> None:
    with pytest.raises(AdminkitError, match="not whole, or is there twice"):
        parse_bounds(ASSOC_MGR.replace("Account=physics UserName= ", f"Account={name} UserName= "))


@pytest.mark.parametrize(
    ("start", "flags", "expected", "why"),
    [
        (NOW + 5, "MAINT", NOW + 5, "ahead"),
        (NOW - 5, "MAINT", None, "it has begun"),
        (NOW - 5, "DAILY,SPEC_NODES", NOW - 5 + DAY, "and begins again"),
        (NOW - 3 * DAY, "DAILY", NOW + DAY, "Slurm has not moved it on yet"),
        (NOW + 5, "TIME_FLOAT", NOW, "its start moves with the clock"),
        (None, "", NOW, "nobody knows"),
    ],
)
def test_when_a_reservation_begins_next(start: int | None, flags: str, expected: int | None, why: str) -> None:
    one = Reservation(
        name="r", nodes=frozenset({"n1"}), start_time=start, end_time=None, flags=frozenset(flags.split(","))
    )
    assert next_start(one, NOW) == expected, why


def test_queues() -> None:
    text = (
        "PartitionName=gq QoS=low DefaultTime=01:00:00 MaxTime=3-00:00:00 PreemptMode=REQUEUE PriorityTier=2\n"
        "PartitionName=open QoS=N/A DefaultTime=NONE MaxTime=UNLIMITED PreemptMode=OFF PriorityTier=1\n"
    )
    first, second = parse_queues(text, {"gq": frozenset({"n1"})})
    assert (first.default_limit, first.max_limit, first.qos, first.tier, first.preempt_mode) == (
        3600, 259_200, "low", 2, "REQUEUE",
    )  # fmt: skip
    assert (second.default_limit, second.max_limit, second.qos, second.nodes) == (None, None, None, frozenset())


def test_open_jobs() -> None:
    marks = Marks("|", "S")
    lines = [
        f"7|7|N/A|PENDING|gq,gq-short|1:00:00|5:00|0|N/A|N/A|5|physics|normal|4|Resources|{NOW}S|cpu=4,mem=1G,node=4|ak1:lim=3600,src=e,soft=300|",
        f"9|8|3|RUNNING|gq|1-00:00:00|0:00|2|{NOW}S|{NOW}S|5|physics|normal|1|None|{NOW}S|cpu=1,node=1|(null)|",
        f"11|11|4-6,9%2|PENDING|gq|1:00:00|5:00|0|N/A|N/A|5|a|b|1|Priority|{NOW}S|N/A|(null)|",
        f"12|12|1,3,5...|PENDING|gq|1:00:00|5:00|0|N/A|N/A|5|a|b|1|Priority|{NOW}S|N/A|(null)|",
        f"13|13|N/A|PENDING|gq|1:xx|5:00|0|N/A|N/A|5|a|b|1|Priority|{NOW}S|N/A|(null)|",
        "what stands behind a newline of somebody's comment",
        "10|10|N/A|RUNNING|gq|UNLIMITED|N/A|0|1|1|5|a|b|more|fields|",
        f"14|14|N/A|RUNNING|gq|1:00:00|0:00|0|N/A|N/A|5|a|b|1|None|{NOW}|N/A|by who read the delimiter, not the seal|",
    ]
    first, second, waits, cut_short, odd = parse_jobs("\n".join(lines), marks)
    assert (odd.job_id, odd.odd) == ("13", "its limit is 1:xx") and not first.odd
    assert (waits.job_id, cut_short.job_id) == ("11_[4-6,9]", "12")
    assert (first.job_id_raw, first.job_id, first.queues, first.time_limit, first.time_min) == (
        7,
        "7",
        ("gq", "gq-short"),
        3600,
        300,
    )
    assert (first.nodes, first.reason, first.comment) == (4, "Resources", "ak1:lim=3600,src=e,soft=300")
    assert (second.job_id, second.time_min, second.restarts, second.has_deadline, second.start_time) == (
        "8_3", None, 2, True, NOW,
    )  # fmt: skip
