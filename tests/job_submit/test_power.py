"""The power budget: licences for a job's GPUs, and what users try with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.job_submit import site
from tests.job_submit.policies import policy
from tests.job_submit.runtime import Lua

POWER = {"licence": "watts", "budget_w": 2000, "gpu_w": {"": 250}}
BY_TYPE = {"licence": "watts", "budget_w": 2000, "gpu_w": {"a100": 400, "v100": 250}}

#: (licences that are named, watts, the list that the job gets or None, why)
LISTS: list[tuple[str | None, int, str | None, str]] = [
    (None, 250, "watts:250", "none"),
    ("", 250, "watts:250", "an empty list"),
    ("matlab:1", 250, "matlab:1,watts:250", "others stay"),
    ("matlab:1;idl", 250, "matlab:1,idl,watts:250", "Slurm's other separator"),
    ("watts:1", 250, "watts:250", "fewer than it takes"),
    ("watts:9999", 250, "watts:250", "more than it takes"),
    ("watts", 250, "watts:250", "without a number"),
    ("watts=7", 250, "watts:250", "Slurm's other sign"),
    ("watts:1,watts:2,matlab", 250, "matlab,watts:250", "twice"),
    ("watts:9999", 0, "", "a job without GPUs takes none from others"),
    ("matlab:1", 0, "matlab:1", "nothing of ours"),
    ("watts@far:1", 250, "watts@far:1,watts:250", "another server's"),
    ("kilowatts:1", 250, "kilowatts:1,watts:250", "another name"),
    ("matlab:1|idl:1", 250, None, "alternatives, of which Slurm takes one"),
    ("matlab:1|idl:1", 0, "matlab:1|idl:1", "of a job without GPUs"),
    ("matlab:1|watts:9999", 0, None, "with ours among them"),
]


@pytest.mark.parametrize(("listed", "watts", "expected", "why"), LISTS, ids=[case[3] for case in LISTS])
def test_a_list_of_licences(lua: Lua, listed: str | None, watts: int, expected: str | None, why: str) -> None:
    assert lua.ask("power", "licences", listed, "watts", watts) == expected, why


@given(st.text(alphabet="wats:=,;|@1m ", max_size=30), st.integers(0, 5000))
def test_a_list_has_our_licence_once_and_with_our_number(lua: Lua, listed: str, watts: int) -> None:
    found = lua.ask("power", "licences", listed, "watts", watts)
    if found is None:
        assert "|" in listed
    elif "|" not in found:
        ours = [item for item in found.split(",") if item.partition(":")[0].partition("=")[0] == "watts"]
        assert ours == ([f"watts:{watts}"] if watts else [])


def submit(lua: Lua, folder: Path, power: dict[str, Any], **desc: Any) -> Any:
    site.write(folder, policy={**policy(), "power": power})
    return site.run(lua, site.case(folder, desc={"partition": "gq", "time_limit": 20, **desc}))


#: (the settings, job_desc, the licences or None where it is refused, why)
JOBS: list[tuple[dict[str, Any], dict[str, Any], str | None, str]] = [
    (POWER, {"tres_per_node": "gres:gpu:1"}, "watts:250", "one GPU"),
    (POWER, {"tres_per_node": "gres:gpu:2", "licenses": "matlab:1"}, "matlab:1,watts:500", "two, and a licence"),
    (POWER, {"tres_per_node": None, "tres_per_job": "gres:gpu:4"}, "watts:1000", "--gpus"),
    (POWER, {"tres_per_node": "gres:gpu:2", "min_nodes": 2, "max_nodes": 2}, "watts:1000", "two nodes"),
    (POWER, {"tres_per_node": "gres:gpu:2", "min_nodes": 1, "max_nodes": 3}, "watts:1500", "up to three"),
    (POWER, {"tres_per_node": None, "licenses": "watts:2000"}, "", "no GPUs, all of the budget"),
    (POWER, {"tres_per_node": "gres:gpu:8"}, "watts:2000", "all there is"),
    (POWER, {"tres_per_node": "gres:gpu:9"}, None, "more than there is"),
    (
        POWER,
        {"tres_per_node": "gres:gpu:2", "tres_per_job": "gres:gpu:a:0"},
        "watts:500",
        "none of the job, two of a node",
    ),
    (
        POWER,
        {"tres_per_node": None, "tres_per_job": "gres:gpu:1", "num_tasks": 4, "min_cpus": 4},
        "watts:250",
        "held to one node",
    ),
    (
        POWER,
        {"tres_per_node": None, "tres_per_job": "gres:gpu:1", "num_tasks": 99, "min_cpus": 99},
        None,
        "more nodes than GPUs, which then are all of theirs",
    ),
    (POWER, {"tres_per_node": "gres:gpu:1", "licenses": "a|b"}, None, "alternatives"),
    (POWER, {"tres_per_node": "gres:gpu:nonsense:x"}, None, "a list that cannot be read"),
    (
        POWER,
        {
            "tres_per_node": None,
            "tres_per_socket": "gres/gpu:0,gres/gpu:0",
            "num_tasks": 4,
            "ntasks_per_tres": 1,
            "max_nodes": 1,
        },
        "watts:1000",
        "a GPU for each task, beside a list of none",
    ),
    (
        POWER,
        {"tres_per_node": "gres:gpu:8", "ntasks_per_tres": 1, "num_tasks": 1, "max_nodes": 1},
        "watts:2000",
        "a task for each GPU, of fewer tasks: the node's GPUs come all the same",
    ),
    (
        POWER,
        {
            "tres_per_node": None,
            "tres_per_task": "gres/gpu:1",
            "num_tasks": 1,
            "ntasks_per_node": 4,
            "ntasks_per_tres": 1,
            "max_nodes": 1,
        },
        None,
        "GPUs of tasks and tasks of GPUs: 24.11 gave four tasks a GPU each",
    ),
    (
        POWER,
        {
            "tres_per_node": None,
            "tres_per_job": "gres/gpu:1",
            "tres_per_socket": "gres:gpu",
            "sockets_per_node": 1,
            "num_tasks": 1,
            "ntasks_per_node": 4,
            "max_nodes": 1,
        },
        None,
        "GPUs of the job beside a list by sockets: 24.11 gave four of one",
    ),
    (
        POWER,
        {"tres_per_node": None, "tres_per_task": "gres:gpu:2", "num_tasks": 1, "min_nodes": 2, "max_nodes": 2},
        "watts:1000",
        "more nodes than tasks: each gets a task",
    ),
    (
        POWER,
        {
            "tres_per_node": None,
            "tres_per_task": "gres:gpu:2",
            "num_tasks": 1,
            "min_nodes": None,
            "req_nodes": "n[1-2]",
        },
        "watts:1000",
        "more nodes by name",
    ),
    (
        POWER,
        {"tres_per_node": None, "tres_per_task": "gres:gpu:2", "num_tasks": 1, "max_nodes": 1, "req_nodes": "n1,n2"},
        "watts:500",
        "more by name than it takes, as sbatch has it",
    ),
    (
        POWER,
        {"tres_per_node": None, "tres_per_task": "gres:gpu:2", "num_tasks": 1, "features": "[odd*1&even*1]"},
        "watts:1000",
        "more nodes by counts of features",
    ),
    (POWER, {"tres_per_node": "gres:gpu:2", "features": "[odd*1&even*2]"}, "watts:1500", "on each of them"),
    (POWER, {"tres_per_node": None, "tres_per_job": "gres:gpu:2", "features": "[odd*2&even*2]"}, None, "of the job"),
    (POWER, {"tres_per_node": "gres:gpu:2", "features": "odd&even"}, "watts:500", "features without counts"),
    (POWER, {"tres_per_node": "gres:gpu:2", "features": "[odd* 2]"}, None, "a count that cannot be read"),
    (BY_TYPE, {"tres_per_node": "gres:gpu:v100:2"}, "watts:500", "by its type"),
    (
        BY_TYPE,
        {"tres_per_job": "gres:gpu:v100:2", "tres_per_node": "gres:gpu:a100:2", "max_nodes": 1},
        "watts:1600",
        "both come together: four, of which two draw more",
    ),
    (BY_TYPE, {"tres_per_node": "gres:gpu:2"}, "watts:800", "of any type, which may be the larger"),
    (BY_TYPE, {"tres_per_node": "gres:gpu:h100:2"}, "watts:800", "of one that nobody listed"),
]


@pytest.mark.parametrize(("power", "desc", "expected", "why"), JOBS, ids=[case[3] for case in JOBS])
def test_a_job_gets_the_licences_of_its_gpus(
    lua: Lua, tmp_path: Path, power: dict[str, Any], desc: dict[str, Any], expected: str | None, why: str
) -> None:
    answer = submit(lua, tmp_path, power, **desc)
    assert answer["errors"] == [], why
    if expected is None:
        assert answer["code"] != 0 and len(answer["messages"]) == 1, (why, answer)
    else:
        assert (answer["code"], answer["desc"].get("licenses") or "") == (0, expected), (why, answer)


@pytest.mark.parametrize(("has", "code"), [("watts:400", True), ("watts:250", False)])
def test_another_type_takes_the_watts_of_that(lua: Lua, tmp_path: Path, has: str, code: bool) -> None:
    """From 23.11 on the first type goes."""
    site.write(tmp_path, policy={**policy(), "power": BY_TYPE})
    record = {"tres_per_node": "gres/gpu:v100:1", "licenses": has, "job_state": 0}
    change = {"tres_per_node": "gres/gpu:a100:1"}
    answer = site.run(lua, site.case(tmp_path, uid=1001, desc=change, rec=record, release=23.11))
    assert ((answer["code"] == 0), answer["errors"]) == (code, []), answer


def test_without_a_budget_nothing_is_touched(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy=policy())
    answer = site.run(lua, site.case(tmp_path, desc={"licenses": "watts:7"}))
    assert (answer["code"], answer["desc"]["licenses"]) == (0, "watts:7")


RECORD = {"tres_per_node": "gres:gpu:v100:1", "licenses": "watts:250", "job_state": 0}
#: (the update, the job as it is, who, its licences after that or None where it is refused, why)
UPDATES: list[tuple[dict[str, Any], dict[str, Any], int, str | None, str]] = [
    ({"licenses": ""}, RECORD, 1001, "watts:250", "its owner takes them off"),
    ({"licenses": ""}, {**RECORD, "max_nodes": 1, "licenses": "watts:1000"}, 1001, "watts:250", "those of fewer GPUs"),
    ({"licenses": "matlab:1"}, RECORD, 1001, "matlab:1,watts:250", "or names another"),
    ({"licenses": "watts:1"}, RECORD, 1001, "watts:250", "or fewer"),
    ({"licenses": "a|b"}, RECORD, 1001, None, "or alternatives"),
    ({"tres_per_node": "gres:gpu:v100:4"}, RECORD, 1001, None, "more GPUs"),
    ({"tres_per_node": "gres:gpu:v100:4"}, {**RECORD, "licenses": "watts:1000"}, 1001, "(unset)", "as it has for four"),
    (
        {"tres_per_node": "gres:gpu:v100:2"},
        {**RECORD, "licenses": "watts:1000"},
        1001,
        "(unset)",
        "fewer, with its watts",
    ),
    ({"max_nodes": 4}, {**RECORD, "max_nodes": 1}, 1001, None, "as many on up to four nodes"),
    ({"min_nodes": 1, "max_nodes": 4}, RECORD, 0, "watts:1000", "by an operator"),
    ({"tres_per_node": "gres:gpu:v100:1,gres:gpu:v100:8"}, RECORD, 1001, None, "one or eight"),
    (
        {"min_nodes": 1, "tres_per_node": "gres:gpu:v100:2"},
        {**RECORD, "min_nodes": 2, "max_nodes": 2, "licenses": "watts:500"},
        1001,
        None,
        "two on each of two nodes, where Slurm takes half of it",
    ),
    (
        {"min_nodes": 1, "max_nodes": 1},
        {**RECORD, "min_nodes": 2, "max_nodes": 2, "licenses": "watts:500"},
        1001,
        "(unset)",
        "one node of two",
    ),
    ({"partition": "gq-long"}, RECORD, 1001, "(unset)", "another queue with shared nodes"),
    (
        {"tres_per_node": None, "tres_per_job": "gres:gpu:1", "min_nodes": 4},
        {**RECORD, "tres_per_node": None, "tres_per_job": "gres:gpu:1"},
        1001,
        None,
        "more nodes than GPUs",
    ),
    ({"tres_per_node": "gres:gpu:9"}, RECORD, 1001, None, "more than there is"),
    ({"tres_per_node": "gres:gpu:a100:1"}, {**RECORD, "licenses": "watts:400"}, 1001, None, "both types, on 22.05"),
    ({"time_limit": 10}, {**RECORD, "licenses": "watts:400"}, 1001, "(unset)", "what it has, for the same GPUs"),
    ({"tres_per_node": "gres:gpu:v100:4"}, RECORD, 0, "watts:1000", "an operator gives it more GPUs"),
    ({"licenses": ""}, RECORD, 0, "", "an operator takes them off"),
    ({"licenses": ""}, {**RECORD, "job_state": 1}, 1001, "watts:250", "of a job that runs"),
    ({"time_limit": 10}, {**RECORD, "job_state": 1, "licenses": None}, 1001, "(unset)", "a running job of before"),
    ({"name": "x"}, {**RECORD, "licenses": None}, 1001, "(unset)", "a name"),
    ({"licenses": ""}, {**RECORD, "tres_per_node": None}, 1001, None, "GPUs of --ntasks-per-gpu, which nothing shows"),
    ({"num_tasks": 32}, {**RECORD, "tres_per_node": None}, 1001, None, "and more of them"),
    (
        {"min_nodes": 2},
        {
            "tres_per_task": "gres/gpu:2",
            "tres_per_node": "gres/gpu:8",
            "num_tasks": 1,
            "min_nodes": 1,
            "job_state": 0,
            "licenses": "watts:2000",
            "tres_fmt_req_str": "cpu=1,node=1,gres/gpu=8",
        },
        1001,
        None,
        "words that 22.05 passes over, on two nodes: its count is that of one",
    ),
]


@pytest.mark.parametrize(("change", "record", "who", "expected", "why"), UPDATES, ids=[case[4] for case in UPDATES])
def test_an_update_keeps_them(
    lua: Lua, tmp_path: Path, change: dict[str, Any], record: dict[str, Any], who: int, expected: str | None, why: str
) -> None:
    site.write(tmp_path, policy={**policy(), "power": {**POWER, "gpu_w": {"": 250, "a100": 400, "v100": 250}}})
    answer = site.run(lua, site.case(tmp_path, uid=who, desc=change, rec=record))
    assert answer["errors"] == [], why
    if expected is None:
        assert answer["code"] != 0, (why, answer)
    else:
        assert (answer["code"], answer["desc"].get("licenses", "(unset)")) == (0, expected), (why, answer)


def test_an_update_that_is_within_the_watts_on_fewer_nodes_is_held_to_them(lua: Lua, tmp_path: Path) -> None:
    """job_rec of 22.05 shows neither how many tasks there are nor how many nodes they may take."""
    site.write(tmp_path, policy={**policy(), "power": POWER})
    record = {"tres_per_node": "gres:gpu:4", "licenses": "watts:2000", "job_state": 0, "num_tasks": None}
    answer = site.run(lua, site.case(tmp_path, uid=1001, desc={"tres_per_node": "gres:gpu:8"}, rec=record))
    assert (answer["code"], answer["desc"].get("max_nodes")) == (0, 1), answer


#: As JOBS, where Slurm takes the number on each node of the job (mode 3 of resources.yaml).
OF_NODES: list[tuple[dict[str, Any], str | None, str]] = [
    ({"tres_per_node": "gres:gpu:2"}, "watts:500", "one node"),
    ({"tres_per_node": "gres:gpu:2", "min_nodes": 2, "max_nodes": 2}, "watts:500", "two nodes with two each"),
    ({"tres_per_node": None, "tres_per_job": "gres:gpu:4", "min_nodes": 2, "max_nodes": 2}, "watts:1000", "3 + 1"),
    ({"tres_per_node": None, "licenses": "watts:2000"}, "", "no GPUs"),
    ({"tres_per_node": "gres:gpu:3", "min_nodes": 3, "max_nodes": 3}, None, "more than there is"),
]  # fmt: skip


@pytest.mark.parametrize(("desc", "expected", "why"), OF_NODES, ids=[case[2] for case in OF_NODES])
def test_slurm_is_told_the_watts_of_one_node_where_it_counts_by_node(
    lua: Lua, tmp_path: Path, desc: dict[str, Any], expected: str | None, why: str
) -> None:
    answer = submit(lua, tmp_path, {**POWER, "each_node": True}, **desc)
    assert answer["errors"] == [], why
    if expected is None:
        assert answer["code"] != 0, (why, answer)
    else:
        assert (answer["code"], answer["desc"].get("licenses") or "") == (0, expected), (why, answer)


def test_an_update_never_tells_more_for_a_node_than_for_the_job(lua: Lua, tmp_path: Path) -> None:
    """Slurm's count is that of before: 26.05 gives up the GPUs of gres/gpu:0, 22.05 keeps them."""
    site.write(tmp_path, policy={**policy(), "power": {**POWER, "each_node": True}})
    record = {
        "tres_per_node": "gres/gpu:2",
        "tres_fmt_req_str": "cpu=1,gres/gpu=2",
        "licenses": "watts:500",
        "job_state": 0,
    }
    answer = site.run(lua, site.case(tmp_path, uid=1001, desc={"tres_per_node": "gres/gpu:0"}, rec=record))
    assert (answer["code"], answer["desc"].get("licenses", "watts:500")) == (0, "watts:500"), answer
