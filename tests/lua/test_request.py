"""What job_desc says, as a request: unset numbers, spellings of GPUs, sizes, queues."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lua.policies import policy
from tests.lua.runtime import Lua
from tests.lua.site import DRIVER

NO_VAL, INFINITE, NO_VAL16 = 4294967294, 4294967295, 65534

FIELDS = (
    "uid by queues limit limit_kind time_min nodes gpus gpus_per_node gpu_type cpus mem max_nodes account qos "
    "qos_given job_name features node_list reservation array het_offset batch restartable admin_comment "
    "most_gpus"
).split()

#: Where false is an answer; elsewhere it is what is not there.
ANSWERS = {"batch", "restartable", "qos_given"}


def read(lua: Lua, desc: dict[str, Any], **more: Any) -> dict[str, Any]:
    mock = lua.state.execute(f"return dofile({str(DRIVER.with_name('mock.lua'))!r})")
    table = lua.table({**policy(), **more})
    said = mock.slurm()[1]
    job_desc = mock.job_desc(lua.table({"user_id": 1001, **desc}), said)
    plan = lua.need("plan").of(table)
    made = lua.need("request").of_submission(job_desc, None, 1001.0, table, plan, 5)
    found = {name: lua.value(made[name]) for name in FIELDS}
    found = {name: None if value is False and name not in ANSWERS else value for name, value in found.items()}
    return {**found, "queues": found["queues"] or []}


#: a list of resources, GPUs, type
GRES: list[tuple[str, int | None, str | None]] = [
    ("gres:gpu:2", 2, None),
    ("gres/gpu:2", 2, None),
    ("gpu:2", 2, None),
    ("gpu", 1, None),
    ("gres:gpu", 1, None),
    ("gres/gpu", 1, None),
    ("gres:gpu:a100:4", 4, "a100"),
    ("gres/gpu:a100:4", 4, "a100"),
    ("gres/gpu:a100=4", 4, "a100"),
    ("gres/gpu=4", 4, None),
    ("gpu:a100", 1, "a100"),
    ("gpu:a100_80gb:2", 2, "a100_80gb"),
    ("gpu:3g.20gb:2", 2, "3g.20gb"),
    ("gpu:2k", 2048, None),
    ("gpu:0", 0, None),
    ("gpu:2(S:0-1)", 2, None),
    ("gpu:a100:2(IDX:0-1)", 2, "a100"),
    ("gres:gpu:1,gres:gpu:v100:2", 3, "v100"),
    ("gpu:a100:1,gpu:v100:2", 3, "a100,v100"),
    ("gres:shard:4,gres:gpu:1", 1, None),
    ("gres:mygpu:4", None, None),
    ("gres:gpumem:4", None, None),
    ("license:gpu:4", None, None),
    ("craynetwork:1", None, None),
    ("", None, None),
    (",,", None, None),
]


@pytest.mark.parametrize(("text", "count", "kind"), GRES)
def test_gpus_in_every_spelling(lua: Lua, text: str, count: int | None, kind: str | None) -> None:
    found = lua.state.eval("function(f, text) local n, kind = f(text) return {n = n, kind = kind} end")(
        lua.need("gres").gpus, text
    )
    assert (found.n, found.kind) == (count, kind)


BLANKS = " " * 1_000_000


@pytest.mark.parametrize(
    ("field", "value", "shown", "expected"),
    [
        ("partition", f"gq,a{BLANKS}x", "queues", ["gq", f"a{BLANKS}x"]),
        ("partition", f"gq,{BLANKS}", "queues", ["gq"]),
        ("tres_per_node", f"gres:gpu:1{BLANKS}x", "gpus", 1),
        ("tres_per_node", f"gres:gpu:2{BLANKS}(S:0)", "gpus", 2),
    ],
    ids=["a queue", "no queue", "no GPUs", "GPUs"],
)
def test_a_million_blanks_are_read_to_their_end(lua: Lua, field: str, value: str, shown: str, expected: Any) -> None:
    """Slurm looks at lengths after the script has run; a pattern that tries again from each blank would take hours."""
    assert read(lua, {field: value})[shown] == expected


@given(st.text(alphabet="gres:/=gpu0123456789kM,() \n%a.-", max_size=40))
def test_any_list_is_read_or_left(lua: Lua, text: str) -> None:
    found = lua.state.eval("function(f, text) return (f(text)) end")(lua.need("gres").gpus, text)
    assert found is None or found >= 0


#: fields of job_desc, what the request says
SIZES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"nodes": 1, "gpus": 0, "cpus": 1, "limit_kind": "unset", "queues": []}, "nothing is set"),
    ({"min_nodes": NO_VAL, "num_tasks": NO_VAL, "cpus_per_task": NO_VAL16}, {"nodes": 1, "cpus": 1}, "all unset"),
    ({"min_nodes": 4, "max_nodes": 4}, {"nodes": 4, "max_nodes": 4, "cpus": 4}, "--nodes=4"),
    ({"num_tasks": 16, "ntasks_per_node": 4}, {"nodes": 4, "cpus": 16}, "-n 16 --ntasks-per-node=4"),
    ({"min_nodes": 2, "ntasks_per_node": 4, "cpus_per_task": 2}, {"cpus": 16}, "num_tasks not filled since 23.02"),
    ({"num_tasks": 8, "cpus_per_task": 3, "min_cpus": 8}, {"cpus": 24}, "CPUs per task"),
    ({"tres_per_node": "gres:gpu:2", "min_nodes": 3}, {"gpus": 6, "gpus_per_node": 2}, "--gres"),
    ({"tres_per_job": "gres:gpu:16"}, {"gpus": 16, "gpus_per_node": None, "nodes": 1}, "--gpus"),
    ({"tres_per_job": "gres:gpu:4", "min_nodes": 1, "max_nodes": 1}, {"gpus_per_node": 4}, "--gpus on one node"),
    ({"min_nodes": 2}, {"gpus": 0, "gpus_per_node": 0}, "no GPUs are none on each node"),
    (
        {"tres_per_job": "gres/gpu:16", "tres_per_node": "gres/gpu:8"},
        {"gpus": 16, "gpus_per_node": 8, "nodes": 2},
        "--gpus with --gpus-per-node",
    ),
    ({"tres_per_task": "gres:gpu:a100:2", "num_tasks": 4}, {"gpus": 8, "gpu_type": "a100"}, "--gpus-per-task"),
    ({"tres_per_socket": "gres:gpu:1", "sockets_per_node": 2, "min_nodes": 2}, {"gpus": 4}, "--gpus-per-socket"),
    ({"ntasks_per_tres": 2, "num_tasks": 8}, {"gpus": 4}, "--ntasks-per-gpu"),
    ({"min_mem_per_node": 1000, "min_nodes": 2}, {"mem": 2000}, "--mem"),
    ({"min_mem_per_cpu": 1000, "num_tasks": 3}, {"mem": 3000}, "--mem-per-cpu"),
    ({"cpus_per_tres": "gres:gpu:16", "tres_per_node": "gres:gpu:4"}, {"cpus": 64}, "--cpus-per-gpu"),
    ({"tres_per_node": "gres:gpu:1", "min_nodes": 1, "max_nodes": 4}, {"gpus": 1, "most_gpus": 4}, "a range of nodes"),
    (
        {"tres_per_job": "gres:gpu:4", "tres_per_node": "gres:gpu:2", "max_nodes": 4},
        {"gpus": 4, "most_gpus": None},
        "a range of nodes, GPUs of the job",
    ),
    ({"mem_per_tres": "gres:gpu:500", "tres_per_node": "gres:gpu:4"}, {"mem": 2000}, "--mem-per-gpu"),
    ({"time_limit": 7}, {"limit": 420, "limit_kind": "finite"}, "a limit in minutes"),
    ({"time_limit": INFINITE}, {"limit": None, "limit_kind": "unlimited"}, "unlimited"),
    ({"time_limit": NO_VAL}, {"limit": None, "limit_kind": "unset"}, "unset"),
    ({"time_min": 5}, {"time_min": 300}, "--time-min"),
    ({"time_min": NO_VAL}, {"time_min": None}, "no --time-min"),
    ({"partition": "a"}, {"queues": ["a"]}, "one partition"),
    ({"partition": "a, b,,a"}, {"queues": ["a", "b"]}, "several, with noise"),
    ({"partition": ""}, {"queues": []}, "the empty text"),
    ({"account": "Physics", "default_account": "x"}, {"account": "physics"}, "Slurm lowers it after us"),
    ({"default_account": "Physics"}, {"account": "physics"}, "the user's own account"),
    ({"qos": "High", "default_qos": "x"}, {"qos": "high", "qos_given": True}, "a QOS"),
    ({"default_qos": "normal"}, {"qos": "normal", "qos_given": False}, "the user's own QOS"),
    ({"het_job_offset": NO_VAL}, {"het_offset": None}, "no component"),
    ({"het_job_offset": 0}, {"het_offset": 0}, "the first component"),
    ({"array_inx": "1-4%2"}, {"array": "1-4%2"}, "an array"),
    ({"req_nodes": "n[1-2]", "reservation": "r"}, {"node_list": "n[1-2]", "reservation": "r"}, "named nodes"),
    (
        {"req_nodes": "n[1-3,07],m,r[1-2]n[1-2]", "min_nodes": 1, "tres_per_node": "gres:gpu:1"},
        {"nodes": 9, "gpus": 9},
        "more named nodes than --nodes: Slurm takes them all",
    ),
    ({"req_nodes": "n[1-2]", "min_nodes": 4}, {"nodes": 4}, "fewer named nodes than --nodes"),
    ({"pn_min_cpus": 16, "min_nodes": 2}, {"cpus": 32}, "--mincpus, of each node"),
    ({"pn_min_cpus": 2, "num_tasks": 8}, {"cpus": 8}, "--mincpus, fewer than the tasks need"),
    ({"shared": 0, "num_tasks": 1}, {"cpus": 1}, "--exclusive: whole nodes, of how many CPUs nobody knows yet"),
    ({"req_nodes": "n[2-1],[[,]"}, {"nodes": 1}, "named nodes that are none"),
    ({"admin_comment": "x"}, {"admin_comment": "x"}, "the record's field"),
]


@pytest.mark.parametrize(("desc", "expected", "why"), SIZES, ids=[case[2] for case in SIZES])
def test_a_submission(lua: Lua, desc: dict[str, Any], expected: dict[str, Any], why: str) -> None:
    made = read(lua, desc)
    assert {key: made.get(key) for key in expected} == expected, why


@given(
    st.fixed_dictionaries(
        {},
        optional={
            **{
                name: st.sampled_from([0, 1, 2, 7, 65533, NO_VAL, INFINITE]) | st.integers(0, INFINITE)
                for name in ("time_limit", "time_min", "min_nodes", "max_nodes", "num_tasks", "min_cpus")
            },
            **{
                name: st.sampled_from([0, 1, 2, NO_VAL16, 65535])
                for name in ("cpus_per_task", "ntasks_per_node", "ntasks_per_tres", "sockets_per_node")
            },
            **{
                name: st.text(alphabet="gres:/pu,=1289ak\n %", max_size=12)
                for name in ("tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket", "mem_per_tres")
            },
            "partition": st.text(alphabet="a,b \n", max_size=8),
        },
    )
)
def test_any_fields_are_read(lua: Lua, desc: dict[str, Any]) -> None:
    made = read(lua, desc)
    assert made["nodes"] >= 1
    assert made["gpus"] >= 0
    assert made["cpus"] >= 1
    assert (made.get("limit") is None) == (made["limit_kind"] != "finite")
