"""What job_desc says, as a request: unset numbers, spellings of GPUs, sizes, queues."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.job_submit.policies import policy
from tests.job_submit.runtime import JOB_SUBMIT, Lua
from tests.job_submit.site import DRIVER

NO_VAL, INFINITE, NO_VAL16 = 4294967294, 4294967295, 65534

FIELDS = (
    "uid by queues limit limit_kind time_min nodes gpus gpus_per_node gpu_type cpus mem max_nodes account qos "
    "qos_given job_name features node_list reservation array het_offset batch restartable admin_comment "
    "most_nodes gpus_fixed gpus_each cpus_fixed cpus_each whole"
).split()

#: Where false is an answer; elsewhere it is what is not there.
ANSWERS = {"batch", "restartable", "qos_given"}


def read(lua: Lua, desc: dict[str, Any], **more: Any) -> dict[str, Any]:
    mock = lua.run(f"return dofile({str(DRIVER.with_name('mock.lua'))!r})".encode())
    said = mock.slurm()[1]
    job_desc = mock.job_desc(lua.into({"user_id": 1001, **desc}), said)
    reader = lua.call(lua.module("request").reader, lua.ruleset({**policy(), **more}), True)
    made = reader.of_submission(job_desc, None, 1001.0, 5)
    found = {name: lua.out(made[name.encode()]) for name in FIELDS}
    found = {name: None if value is False and name not in ANSWERS else value for name, value in found.items()}
    return {**found, "queues": found["queues"] or []}


UNKNOWN = math.inf

#: a list of resources, the least and the most GPUs it may ask for, their type
GRES: list[tuple[str, float | None, float | None, str | None]] = [
    ("gres:gpu:2", 2, 2, None),
    ("gres/gpu:2", 2, 2, None),
    ("gres:gpu", 1, 1, None),
    ("gres/gpu", 1, 1, None),
    ("gres:gpu:a100:4", 4, 4, "a100"),
    ("gres/gpu:a100:4", 4, 4, "a100"),
    ("gres/gpu:a100=4", 4, 4, "a100"),
    ("gres/gpu=4", 4, 4, None),
    ("gres:gpu:a100", 1, 1, "a100"),
    ("gres:gpu:2080ti:2", 2, 2, "2080ti"),
    ("gres:gpu:2080ti", 1, 1, "2080ti"),
    ("gres:gpu:a100_80gb:2", 2, 2, "a100_80gb"),
    ("gres:gpu:3g.20gb:2", 2, 2, "3g.20gb"),
    ("gres:gpu:2k", 2048, 2048, None),
    ("gres:gpu:1gb", 1e9, 1e9, None),
    ("gres:gpu:0", 0, 0, None),
    ("gres:gpu:k", 0, 0, None),
    ("gres:gpu:+8", 8, 8, None),
    ("gres:gpu: 8", 8, 8, None),
    ("gres:gpu: +08", 8, 8, None),
    ("gres:gpu:\t8", 8, 8, None),
    ("gres:gpu:a100:+8", 8, 8, "a100"),
    ("gres:gpu:0,gres:gpu:+8", 8, 8, None),
    ("gres:gpu:-8", 0, UNKNOWN, None),
    ("gres:gpu:-18446744073709551608", 0, UNKNOWN, None),
    ("gres:gpu:18014398509481985k", 0, UNKNOWN, None),
    ("gres:gpu:8 ", 0, UNKNOWN, None),
    ("gres:gpu:", 0, UNKNOWN, None),
    ("gres:gpu::8", 0, UNKNOWN, None),
    ("gres:gpu :8", 0, UNKNOWN, None),
    ("gres: gpu:8", 0, UNKNOWN, None),
    (" gres:gpu:8", 0, 8, None),
    ("gres:gpu:1,\tgres/gpu:1", 0, 1, None),
    ("gres:gpu:a100:x:8", 0, UNKNOWN, None),
    ("gres:gpu:2(S:0-1)", 0, UNKNOWN, "2(S"),
    ("gres:gpu:1,gres:gpu:1", 1, 1, None),
    ("gres:gpu:1,gres:gpu:3", 1, UNKNOWN, None),
    ("gres:gpu:a100:1,gres:gpu:a100:1,gres:gpu:v100:2", 3, 3, "a100,v100"),
    ("gres:gpu:1,gres:gpu:v100:2", 3, 3, "v100"),
    ("gres:shard:4,gres:gpu:1", 1, 1, None),
    ("gpu:2", 0, 2, None),
    ("gpu", 0, 1, None),
    ("gpu:a100", 0, 1, "a100"),
    ("gres:gpu:1,gpu:8", 0, UNKNOWN, None),
    ("xgres:gpu:8", 0, UNKNOWN, None),
    ("gres:mygpu:4", None, None, None),
    ("gres:gpumem:4", None, None, None),
    ("license:gpu:4", None, None, None),
    ("craynetwork:1", None, None, None),
    ("", None, None, None),
    (",,", None, None, None),
]


def gpus_in(lua: Lua, text: str, slash: bool = True) -> tuple[float | None, float | None, str | None]:
    """The least, the most and the types; `slash`: as 23.11 and later read it."""
    read = b"local reader, list = ... return reader[list]"
    found = lua.out(lua.run(read, lua.call(lua.module("gres").reader, slash), lua.into(text)))
    return found.get("least"), found.get("most"), found.get("types")


@pytest.mark.parametrize(("text", "least", "most", "kind"), GRES)
def test_gpus_in_every_spelling(lua: Lua, text: str, least: float, most: float, kind: str | None) -> None:
    assert gpus_in(lua, text) == (least, most, kind)


def test_a_slash_asks_for_nothing_where_slurm_reads_colons(lua: Lua) -> None:
    """22.05 passes over gres/gpu:8 without a word, so it may not earn what eight GPUs earn."""
    assert gpus_in(lua, "gres/gpu:77", slash=False) == (0, 77, None)


BLANKS = " " * 1_000_000


@pytest.mark.parametrize(
    ("desc", "most", "why"),
    [
        ({"num_tasks": 1, "min_cpus": 8}, 8, "a client of one's own: one task, eight CPUs"),
        ({"num_tasks": 4, "min_cpus": 8, "cpus_per_task": 2}, 4, "four tasks of two CPUs"),
        ({"num_tasks": 4, "min_cpus": 8, "tres_per_task": "cpu:2"}, 4, "the same since 24.05"),
        ({"min_cpus": 8}, 8, "no tasks are told"),
        ({"num_tasks": 1, "min_cpus": 8, "max_nodes": 2}, 2, "the job says how many"),
    ],
)
def test_the_most_nodes_by_cpus(lua: Lua, desc: dict[str, Any], most: int, why: str) -> None:
    assert read(lua, desc)["most_nodes"] == most, why


@pytest.mark.parametrize(
    ("field", "value", "shown", "expected"),
    [
        ("partition", f"gq,a{BLANKS}x", "queues", ["gq", f"a{BLANKS}x"]),
        ("partition", f"gq,{BLANKS}", "queues", ["gq"]),
        ("tres_per_node", f"gres:gpu:1{BLANKS}x", "gpus_each", UNKNOWN),
        ("tres_per_node", f"gres:gpu:{BLANKS}2", "gpus_each", UNKNOWN),
        ("tres_per_task", f"cpu:2{BLANKS}x", "cpus_fixed", UNKNOWN),
    ],
    ids=["a queue", "no queue", "no GPUs", "GPUs", "CPUs"],
)
def test_a_million_blanks_are_read_to_their_end(lua: Lua, field: str, value: str, shown: str, expected: Any) -> None:
    """Slurm looks at lengths after the script has run; a pattern that tries again from each blank would take hours."""
    assert read(lua, {field: value})[shown] == expected


MANY = ",".join(f"gres:gpu:t{number}:1" for number in range(50_000))
KEPT = "gres:gpu:1" + "," * 1014


@pytest.mark.parametrize(
    ("desc", "shown", "expected", "why"),
    [
        ({"tres_per_node": MANY}, "gpus", 0, "nobody tells how many there are at least"),
        ({"tres_per_node": MANY}, "gpus_each", UNKNOWN, "nor at most"),
        ({"tres_per_node": MANY}, "gpu_type", None, "nor of which type"),
        ({"tres_per_node": KEPT}, "gpus_each", 1, "1024 bytes are read"),
        ({"tres_per_node": KEPT + ","}, "gpus_each", UNKNOWN, "one more is too long"),
        ({"tres_per_node": MANY.replace("gpu", "x")}, "gpus_each", 0, "no GPU in it, however long"),
        ({"tres_per_task": MANY.replace("gres:gpu", "cpu")}, "cpus_fixed", UNKNOWN, "CPUs"),
        ({"tres_per_node": "gres:gpu:1", "cpus_per_tres": MANY}, "cpus_each", UNKNOWN, "CPUs of each GPU"),
        ({"req_nodes": "n" + "," * 65_536}, "most_nodes", UNKNOWN, "nodes"),
        ({"req_nodes": "n" + "," * 65_535}, "most_nodes", 1, "as many bytes as Slurm takes"),
    ],
)
def test_a_list_longer_than_slurm_takes_is_unknown(
    lua: Lua, desc: dict[str, Any], shown: str, expected: Any, why: str
) -> None:
    """Slurm refuses it after the script has run; to read it would hold up slurmctld."""
    assert read(lua, desc)[shown] == expected, why


@given(st.text(alphabet="gres:/=gpu0123456789kM,() \n%a.-", max_size=40))
def test_any_list_is_read_or_left(lua: Lua, text: str) -> None:
    least, most, _ = gpus_in(lua, text)
    assert least is None or (most is not None and 0 <= least <= most)


#: fields of job_desc, what the request says
SIZES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"nodes": 1, "gpus": 0, "cpus": 1, "limit_kind": "unset", "queues": []}, "nothing is set"),
    ({"min_nodes": NO_VAL, "num_tasks": NO_VAL, "cpus_per_task": NO_VAL16}, {"nodes": 1, "cpus": 1}, "all unset"),
    ({"min_nodes": 4, "max_nodes": 4}, {"nodes": 4, "max_nodes": 4, "cpus": 4}, "--nodes=4"),
    ({"num_tasks": 16, "ntasks_per_node": 4}, {"nodes": 4, "cpus": 16}, "-n 16 --ntasks-per-node=4"),
    ({"min_nodes": 2, "ntasks_per_node": 4, "cpus_per_task": 2}, {"cpus": 16}, "num_tasks not filled since 23.02"),
    ({"num_tasks": 8, "cpus_per_task": 3, "min_cpus": 8}, {"cpus": 24, "cpus_fixed": 24}, "CPUs per task"),
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
    (
        {"tres_per_socket": "gres:gpu:1", "sockets_per_node": 2, "min_nodes": 2},
        {"gpus": 2, "gpus_each": UNKNOWN},
        "--gpus-per-socket, of one socket at least",
    ),
    ({"ntasks_per_tres": 2, "num_tasks": 8}, {"gpus": 4, "gpus_fixed": 4}, "--ntasks-per-gpu"),
    (
        {"ntasks_per_tres": 1, "min_nodes": 4, "max_nodes": 4},
        {"gpus": 0, "gpus_fixed": UNKNOWN},
        "--ntasks-per-gpu of tasks that Slurm works out",
    ),
    ({"ntasks_per_tres": 2, "num_tasks": 3}, {"gpus": 1, "gpus_fixed": 2}, "--ntasks-per-gpu, which Slurm rounds down"),
    ({"min_mem_per_node": 1000, "min_nodes": 2}, {"mem": 2000}, "--mem"),
    ({"min_mem_per_cpu": 1000, "num_tasks": 3}, {"mem": 3000}, "--mem-per-cpu"),
    ({"cpus_per_tres": "gres:gpu:16", "tres_per_node": "gres:gpu:4"}, {"cpus": 64}, "--cpus-per-gpu"),
    (
        {"tres_per_node": "gres:gpu:1", "min_nodes": 1, "max_nodes": 4},
        {"gpus": 1, "gpus_each": 1, "most_nodes": 4},
        "a range of nodes",
    ),
    (
        {"tres_per_job": "gres:gpu:4", "tres_per_node": "gres:gpu:2", "max_nodes": 4},
        {"gpus": 4, "gpus_fixed": 4, "gpus_each": 0},
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
        {"nodes": 1, "gpus": 1, "most_nodes": 9},
        "more named nodes than --nodes: 22.05 takes them all, 23.02 chooses among them",
    ),
    ({"req_nodes": "n[1-3,07],m,r[1-2]n[1-2]"}, {"nodes": 1, "most_nodes": 9}, "named nodes without --nodes"),
    ({"req_nodes": "n[1-2]", "min_nodes": 4}, {"nodes": 4}, "fewer named nodes than --nodes"),
    ({"req_nodes": "n[1-2]", "min_nodes": 1, "max_nodes": 1}, {"nodes": 1, "most_nodes": 1}, "one of the named nodes"),
    ({"req_nodes": "switch{s1}"}, {"nodes": 1, "most_nodes": UNKNOWN}, "all nodes of a switch"),
    ({"req_nodes": "block{b}", "min_nodes": 1, "max_nodes": 1}, {"most_nodes": UNKNOWN}, "all nodes of a block"),
    ({"num_tasks": 32, "min_cpus": 32}, {"nodes": 1, "most_nodes": 32}, "-n 32: as many nodes as tasks"),
    ({"num_tasks": 1, "min_cpus": 1}, {"most_nodes": 1}, "-n 1"),
    ({"min_cpus": 1}, {"most_nodes": 1}, "neither tasks nor nodes"),
    ({"num_tasks": 2, "bitflags": 256}, {"most_nodes": UNKNOWN}, "--spread-job"),
    ({"num_tasks": 2, "bitflags": 512}, {"most_nodes": 2}, "--use-min-nodes"),
    ({"num_tasks": 2, "max_cpus": 32}, {"most_nodes": UNKNOWN}, "a raw client's most CPUs"),
    ({"tres_per_job": "gres:gpu:4"}, {"most_nodes": 4}, "--gpus: as many nodes as GPUs"),
    ({"tres_per_task": "gres:gpu:1"}, {"gpus": 1, "gpus_fixed": UNKNOWN}, "GPUs of tasks that nobody has counted"),
    ({"tres_per_socket": "gres:gpu:1"}, {"gpus": 0, "gpus_each": UNKNOWN}, "GPUs of sockets that nobody has counted"),
    (
        {"tres_per_job": "gres:gpu:a:8", "tres_per_node": "gres:gpu:b:4"},
        {"nodes": 1, "gpus": 8},
        "GPUs of two types need no second node",
    ),
    (
        {"tres_per_job": "gres:gpu:a:1", "tres_per_node": "gres:gpu:b:2", "min_nodes": 1},
        {"gpus_fixed": 1, "gpus_each": 3},
        "GPUs of two types, of the job and of its nodes",
    ),
    ({"num_tasks": 32, "min_cpus": 1}, {"cpus": 1, "cpus_fixed": 32}, "-n 32 --overcommit"),
    ({"num_tasks": 2, "tres_per_task": "cpu:8"}, {"cpus": 16, "cpus_fixed": 16}, "--tres-per-task=cpu:8"),
    ({"num_tasks": 2, "tres_per_task": "cpu=+8"}, {"cpus": 16}, "--tres-per-task=cpu=+8"),
    ({"num_tasks": 2, "max_cpus": 32}, {"cpus": 2, "cpus_fixed": 32}, "the most CPUs"),
    ({"num_tasks": 8, "min_cpus": 8, "ntasks_per_node": 4}, {"cpus_fixed": 8, "cpus_each": 4}, "tasks on each node"),
    (
        {"cpus_per_tres": "gres:gpu:6", "tres_per_node": "gres:gpu:2"},
        {"cpus": 12, "cpus_each": 12},
        "CPUs of each GPU, on each node",
    ),
    ({"shared": 0}, {"whole": True}, "--exclusive"),
    ({"shared": 1}, {"whole": None}, "--oversubscribe"),
    ({"shared": 2}, {"whole": None}, "--exclusive=user"),
    ({"shared": 9}, {"whole": True}, "a way of sharing that nobody knows"),
    ({"reboot": 1}, {"whole": True}, "--reboot takes whole nodes"),
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
    assert 1 <= made["nodes"] <= made["most_nodes"]
    assert made["gpus"] >= 0
    assert made["cpus"] >= 1
    assert (made.get("limit") is None) == (made["limit_kind"] != "finite")


def test_every_field_that_is_read_later_is_forgotten_before_the_next_submission(lua: Lua) -> None:
    source = (JOB_SUBMIT / "adminkit" / "request.lua").read_text()
    later = sorted(set(re.findall(r"^(?:function )?later\.(\w+)", source, re.MULTILINE)))
    assert len(later) > 15
    mock = lua.run(f"return dofile({str(DRIVER.with_name('mock.lua'))!r})".encode())
    said = mock.slurm()[1]
    texts = ("account", "qos", "name", "features", "array_inx", "reservation", "admin_comment", "comment", "extra")
    full = {
        **dict.fromkeys(texts, "x"), "het_job_offset": 1, "max_cpus": 9, "cpus_per_task": 3, "num_tasks": 7,
        "min_mem_per_node": 5, "ntasks_per_node": 2, "bitflags": 512, "script": "#!",
        "environment": {"ADMINKIT_CKPT": "on"},
    }  # fmt: skip
    table = {**policy(), "record": "admin_comment"}

    def fields(*descs: dict[str, Any]) -> list[Any]:
        """Each field of the last of these submissions, all of them read in the order of one reader."""
        reader = lua.call(lua.module("request").reader, lua.ruleset(table), True)
        for desc in descs:
            made = reader.of_submission(mock.job_desc(lua.into({"user_id": 1001, **desc}), said), None, 1001.0, 5)
            found = [lua.out(made[name.encode()]) for name in later]
        return found

    assert fields(full, {}) == fields({})
    assert fields({}, full) == fields(full) != fields({})
